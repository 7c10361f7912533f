"""How many sets for what: from planted sets or an earlier run, with plain answers where there are too few."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kept_texts import assert_kept

from equipoise.metrics import METRICS
from equipoise.metrics.naming import metric_named
from equipoise.metrics.requirement import parse_amount, parse_requirement
from equipoise.options import RunOptions
from equipoise.records import EquipoiseError
from equipoise.runs import Run
from equipoise.settings import Settings
from equipoise.stats.power import Contrast
from equipoise.suites import sizes
from equipoise.suites.forecast import Workload
from equipoise.suites.sizes import Planned, Wish, _at_look, _contrast, _text, planned, wishes_of

BUILTIN = RunOptions(model="planted", data=("builtin",))


def one(wish: Wish, **choices: object) -> Planned:
    (row,) = planned(BUILTIN, Settings(), [wish], **choices)  # type: ignore[arg-type]
    return row


def detect(text: str) -> Wish:
    amount = parse_amount(text)
    return Wish("detect", amount, amount.bound)


@pytest.mark.slow
def test_smaller_differences_need_more_sets_and_too_few_are_told_plainly() -> None:
    small, large = one(detect("flip_bias[type=type1]=0.05")), one(detect("flip_bias[type=type1]=0.3"))
    assert small.sets is not None and large.sets is not None and small.sets > 10 * large.sets
    assert small.answer == f"no: builtin · next-word has 244 such sets, you would need about {small.sets:,}"
    assert large.answer.startswith("yes: about ") and large.prompts == 2 * large.sets
    sizes, powers = zip(*large.powers, strict=True)
    shares = [power.value for power in powers]
    assert shares == sorted(shares) and large.sets in sizes
    assert all(power.low == power.high for power in powers), "no earlier run leaves anything open"


def test_more_power_needs_more_sets() -> None:
    wish = detect("accuracy_gap[type=type2]=0.1")
    assert (one(wish, power=0.95).sets or 0) > (one(wish, power=0.5).sets or 0) > 0


@pytest.mark.slow
def test_a_requirement_far_from_the_true_value_is_settled_sooner() -> None:
    near, far = (Wish("require", parse_requirement("flip_rate[type=type2] <= 0.10"), 0.0, v) for v in (0.06, 0.01))
    assert (one(near).sets or 0) > 2 * (one(far).sets or 0) > 0
    assert one(Wish("require", near.requirement, 0.0, 0.10)).sets is None


def test_widths_and_spread_come_from_an_earlier_run(make_run: Callable[..., Path]) -> None:
    folder = make_run("noisy", limit=510, by=[], strength=1.0)
    amount = parse_amount("ucerf[type=type2]=0.05")
    wish = Wish("width", amount, amount.bound)
    row = one(wish, like=Run(folder))
    measured = Run(folder).parts[0].measured.get("ucerf", type="type2")
    assert measured is not None and row.sets is not None
    assert row.sets == pytest.approx(measured.n * (measured.estimate.width / 0.05) ** 2, rel=0.25)
    _, power = one(detect("ucerf[type=type2]=0.03"), like=Run(folder)).powers[2]
    assert power.low < power.value < power.high and power.n == measured.n


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("ucerf[type=type9]=0.05", "names nothing in builtin"),
        ("ucerf=0.05", r"ucerf is taken of each type of sentences apart; name one: ucerf\[type=type2\]"),
        ("perplexity=0.05", "cannot be followed"),
        ("fp[type=type2]=0.05", "made of several means"),
    ],
)
def test_what_cannot_be_planned_is_said(text: str, match: str) -> None:
    with pytest.raises(EquipoiseError, match=match):
        one(detect(text))


def test_a_width_without_a_metric_is_planned_for_each_type_that_has_it() -> None:
    asked, settings = RunOptions(model="planted", data=["builtin"]), Settings()
    wishes = [Wish("width", parse_amount(f"{metric}=0.1"), 0.1, usual=True) for metric in ("ucerf", "accuracy", "fp")]
    rows = planned(asked, settings, wishes)
    assert [row.wish for row in rows] == [
        f"an interval of {named} 0.1 wide"
        for named in ("ucerf[type=type1]", "ucerf[type=type2]", "accuracy[type=type2]")
    ]
    with pytest.raises(EquipoiseError, match="names nothing in builtin"):
        planned(asked, settings, wishes[2:])


@pytest.mark.parametrize(
    ("sets", "answer"),
    [
        (None, "no: no number of sets would show it"),
        (1001, "no: builtin · mcq has 1,000 such sets, you would need about 1,001"),
        (1000, "yes: about 1,000 of 1,000 sets"),
    ],
)
def test_the_answer_in_words(sets: int | None, answer: str) -> None:
    assert Planned("w", "builtin · mcq", sets, 1000, "detect").answer == answer


def test_requirements_are_wished_near_the_bound_and_far_from_it() -> None:
    wishes = wishes_of([parse_requirement("flip_rate <= 0.2"), parse_requirement("accuracy >= 0.6")])
    assert [(wish.kind, wish.amount, wish.true) for wish in wishes] == [
        *(("require", 0.0, value) for value in (0.15, 0.1, 0.02)),
        *(("require", 0.0, value) for value in (0.7, 0.8, 0.96)),
    ]
    assert wishes_of([parse_requirement("perplexity >= 2")]) == []


@pytest.mark.parametrize(
    ("units", "there_are", "look"),
    [(1, 10, 1), (8, 500, 48), (48, 500, 48), (49, 500, 72), (499, 500, 500), (500, 500, 500), (501, 500, 501)],
)
def test_a_look_is_the_next_at_which_an_audit_asks(units: int, there_are: int, look: int) -> None:
    # An audit of 500 looks at every 24 sets, and believes no look at fewer than 30.
    assert _at_look(units, there_are) == look


def test_wishes_in_words() -> None:
    plain, grouped = parse_requirement("ucerf >= 0.5"), parse_requirement("ucerf[type=type2] >= 0.5")
    told = [
        _text(Wish("require", plain, 0.0)),
        _text(Wish("require", grouped, 0.0, 0.25)),
        _text(Wish("width", grouped, 0.05)),
        _text(Wish("detect", plain, 0.1)),
    ]
    assert told == [
        "settle ucerf >= 0.5",
        "settle ucerf[type=type2] >= 0.5 if the value is 0.25",
        "an interval of ucerf[type=type2] 0.05 wide",
        "detect ucerf = 0.1",
    ]


@pytest.mark.parametrize(
    ("wish", "metric", "expected"),
    [
        (
            Wish("require", parse_requirement("accuracy >= 0.5"), 0.0, 0.7),
            "accuracy",
            (Contrast(0.5, 0.9, True, False), 0.7),
        ),
        (Wish("detect", parse_amount("accuracy=0.1"), 0.1), "accuracy", (Contrast(0.6 - 0.1, 0.9, True, False), 0.6)),
        (
            Wish("detect", parse_amount("accuracy=0.1"), 0.1, 0.05),
            "accuracy",
            (Contrast(0.05 + 0.1, 0.9, True, False), 0.05),
        ),
        (Wish("detect", parse_amount("accuracy=0.7"), 0.7), "accuracy", (Contrast(0.6 + 0.7, 0.9, True, False), 0.6)),
    ],
)
def test_what_is_tested_follows_the_metric(wish: Wish, metric: str, expected: tuple[Contrast, float]) -> None:
    assert _contrast(wish, metric_named(metric), 0.6, 0.9, True) == expected


def test_a_difference_is_tested_against_nothing() -> None:
    signed = next(m for m in METRICS.values() if m.norm is None and m.bounds[0] < 0 < m.bounds[1])
    assert _contrast(Wish("detect", parse_amount("ucerf=0.1"), 0.1), signed, 0.6, 0.9, False) == (
        Contrast(0.0, 0.9, False, False),
        0.1,
    )
    absolute = next(m for m in METRICS.values() if m.norm is not None)
    assert _contrast(Wish("detect", parse_amount("ucerf=0.1"), 0.1), absolute, 0.6, 0.9, False) == (
        Contrast(0.0, 0.9, False, True),
        0.1,
    )


def test_plans_are_as_they_were_kept(planted_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    width = parse_amount("flip_rate[type=type2]=0.2")
    settled = parse_requirement("flip_rate[type=type2] <= 0.9")
    wishes = [Wish("width", width, 0.2), Wish("require", settled, 0.0, 0.3), detect("flip_rate[type=type1]=0.2")]
    asked = RunOptions(model="planted", data=("builtin",), task=("next-word", "mcq"))
    rows = planned(asked, Settings(), wishes, power=0.7)
    like = planned(BUILTIN, Settings(), wishes[:1], like=Run(planted_run))
    assert_kept("suites/plans", rows, like)
    served = planned(BUILTIN, Settings(server="http://127.0.0.1:1"), wishes[:1])
    assert served[0].seconds is None and served[0].prompts == rows[0].prompts


def test_a_share_of_the_sets_is_a_share_of_prompts_texts_and_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    place: Any = SimpleNamespace(
        dataset=SimpleNamespace(sets=40),
        task=SimpleNamespace(name="mcq-cot"),
        asked=SimpleNamespace(model="some"),
        settings=SimpleNamespace(engine=None, server="", device="cpu"),
    )
    monkeypatch.setattr(sizes, "workload", lambda *_: Workload(400, 80, 6000))
    monkeypatch.setattr(sizes.rates, "seconds", lambda *_, prompts, texts: given.append((prompts, texts)))
    monkeypatch.setattr(sizes, "forecast", lambda model, work, *, device: given.append((model, work, device)) or 7.0)
    assert sizes._cost(place, 10) == (100, 7.0)
    assert given == [(100, 20), ("some", Workload(100, 20, 1500), "cpu")]
    monkeypatch.setattr(sizes.rates, "seconds", lambda *_, **__: 3.0)
    assert sizes._cost(place, 10) == (100, 3.0), "a rate that was measured is better than a forecast"


def test_a_task_that_writes_cannot_be_planned_without_a_run() -> None:
    with pytest.raises(EquipoiseError, match=r"^this task writes texts, which a planted model cannot; give an earlier"):
        sizes._refuse([], 1)


def test_a_requirement_is_tested_against_its_bound_whatever_the_metric() -> None:
    wish = Wish("require", parse_requirement("accuracy_gap <= 0.1"), 0.0, 0.3)
    absolute = next(metric for metric in METRICS.values() if metric.norm is not None)
    assert _contrast(wish, absolute, 0.6, 0.9, False) == (Contrast(0.1, 0.9, False, True), 0.3)
    signed = next(metric for metric in METRICS.values() if metric.norm is None and metric.bounds[0] < 0)
    assert _contrast(wish, signed, 0.6, 0.9, False) == (Contrast(0.1, 0.9, False, False), 0.3)


@pytest.mark.parametrize(("task", "data", "found"), [("b", "x", 2), ("b", "z", 1), ("c", "y", 1), ("c", "q", 0)])
def test_an_earlier_run_is_followed_in_the_nearest_of_its_parts(task: str, data: str, found: int) -> None:
    places = (("a", "x"), ("b", "y"), ("b", "x"))
    parts = [SimpleNamespace(task=one, dataset=other, outcomes=at) for at, (one, other) in enumerate(places)]
    like: Any = SimpleNamespace(parts=parts)
    asked: Any = SimpleNamespace(name=task)
    assert sizes._seen(SimpleNamespace(name=data), asked, like) == found  # type: ignore[arg-type]


def test_a_metric_without_a_value_and_one_of_several_means_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    goal: Any = SimpleNamespace(
        followed=SimpleNamespace(group="type=type2", name="x"),
        requirement=SimpleNamespace(text="x=0.1"),
        metric=SimpleNamespace(name="x"),
    )
    monkeypatch.setattr(sizes, "measured_items", lambda *_: "items")
    monkeypatch.setattr(sizes, "units_of", lambda *_: ["one", "two"])
    ends = {"is made of several means": {"x": "point"}, "has no value in the run that is to be followed": {}}
    for why, points in ends.items():
        monkeypatch.setattr(sizes, "points_of", lambda *_, points=points: points)
        with pytest.raises(EquipoiseError, match=f"^x=0.1: x {why}, so its sets cannot be planned$"):
            sizes._units(None, goal)  # type: ignore[arg-type]
    monkeypatch.setattr(sizes, "points_of", lambda *_: {"x": "point"})
    monkeypatch.setattr(sizes, "units_of", lambda *_: ["one"])
    assert sizes._units(None, goal) == "one"  # type: ignore[arg-type]


def test_a_planted_model_knows_the_sentences_that_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Any] = []
    planted = SimpleNamespace(prepare=lambda examples: said.append(examples), score=lambda asked: iter([asked]))
    monkeypatch.setattr(sizes, "PLANTED", planted)
    task: Any = SimpleNamespace(run=lambda examples, *, scorer, writer: (examples, scorer(["p"]), writer))
    data: Any = SimpleNamespace(examples=["e"])
    assert sizes._seen(data, task, None) == (["e"], [["p"]], sizes._refuse) and said == [["e"]]
