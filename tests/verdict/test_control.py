"""The control of a run: a model that cannot use the group word is not praised for treating everybody alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from stand_in_parts import StandIn, answers
from stand_in_parts import row as told

import equipoise
from equipoise.records import DECIDED
from equipoise.runs import Run
from equipoise.verdict.control import METRIC, control, understanding
from equipoise.verdict.validity import checks


def audited(folder: Path, model: str, data: list[str]) -> Run:
    return equipoise.audit(model, data=data, out=folder, resamples=100, progress=False)


def control_check(run: Run) -> list[tuple[str, str]]:
    return [(check.state, check.text) for check in checks(run.parts[0]) if check.name == "control of the group word"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "state", "words"),
    [
        ("planted:strength=4,bias=0", "fine", "a model that ignores the word has 50%"),
        ("planted:strength=0,bias=0,noise=3", "invalid", "says nothing about how it treats people"),
        ("planted:strength=0,bias=4,noise=1", "doubt", "not clearly more than the 50% of guessing"),
    ],
)
def test_who_cannot_use_the_word_is_not_judged_by_it(tmp_path: Path, model: str, state: str, words: str) -> None:
    run = audited(tmp_path / "run", model, ["builtin", "gendered:control"])
    ((found, text),) = control_check(run)
    assert found == state
    assert words in text


def test_a_run_without_the_control_has_no_check(tmp_path: Path) -> None:
    run = audited(tmp_path / "run", "planted:strength=4", ["builtin"])
    assert understanding(run.parts[0]) is None
    assert control_check(run) == []


def test_flips_are_not_counted_where_the_word_decides(tmp_path: Path) -> None:
    run = audited(tmp_path / "run", "planted:strength=9,bias=0", ["gendered:control"])
    (part,) = run.parts
    assert part.measured.get("flip_rate", type=DECIDED) is None, "every right answer is a change of the answer"
    assert part.measured.get(METRIC, type=DECIDED).value == 1
    assert part.measured.get(METRIC, type=DECIDED).n == 80


WHERE = "here the group word decides who is meant, it is right in 20.0% [{low:.1%}, 90.0%] of 1,200 sentences"


@pytest.mark.parametrize(
    ("low", "bias", "state"),
    [
        (0.51, (0.1, 0.2), "fine"),
        (0.51, None, "fine"),
        (0.5, (0.1, 0.2), "doubt"),
        (0.5, (-0.2, -0.1), "doubt"),
        (0.5, (0.0, 0.2), "invalid"),
        (0.5, (-0.2, 0.0), "invalid"),
        (0.5, None, "invalid"),
    ],
)
def test_a_model_at_chance_is_in_doubt_where_it_leans_and_invalid_where_it_does_not(
    low: float, bias: tuple[float, float] | None, state: str
) -> None:
    right = told(METRIC, f"type={DECIDED}", low=low, high=0.9)
    rows = [right] if bias is None else [right, told("flip_bias", "type=type1", low=bias[0], high=bias[1])]
    (check,) = control(StandIn(rows))  # type: ignore[arg-type]
    where = WHERE.format(low=low)
    ignores = ", not clearly more than the 50% of a model that ignores the word. That its"
    nothing = "with another word then says nothing about how it treats people"
    texts = {
        "fine": f"W{where}; a model that ignores the word has 50%.",
        "doubt": f"W{where}, not clearly more than the 50% of guessing.",
        "invalid": f"w{where}{ignores} answers stay the same {nothing}.",
    }
    assert (check.state, check.text) == (state, texts[state])
    assert check.short == "20% (chance 50%, n = 1,200)" and check.name == "control of the group word"
    assert (check.topic, list(check.rests_on)) == ("validity", [right])


def test_the_control_is_of_the_same_task_and_not_of_itself() -> None:
    right = told(METRIC, f"type={DECIDED}", low=0.6)
    own, other = StandIn([]), StandIn([right])
    own.run.parts = other.run.parts = [own, other]
    assert understanding(own) == right == understanding(other)  # type: ignore[arg-type]
    other.task = "mcq"
    assert understanding(own) is None and list(control(own)) == []  # type: ignore[arg-type]
    itself = StandIn([right], answers({DECIDED: 40}))
    assert understanding(itself) == right and list(control(itself)) == []  # type: ignore[arg-type]
