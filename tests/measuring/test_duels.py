"""Which of two runs is better, sentence by sentence: what is asked, and that it agrees with a comparison."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_texts import assert_kept
from test_kept_measurements import asked, builtin

from equipoise.comparing.comparison import Choices, compare
from equipoise.measuring.duels import final_improvement, improvement
from equipoise.measuring.goals import Goal, goals
from equipoise.measuring.measure import Plan
from equipoise.metrics import METRICS
from equipoise.metrics.requirement import parse_duel
from equipoise.records import ABSENT, EquipoiseError, Limits, Outcomes
from equipoise.run import audit
from equipoise.runs import Run
from equipoise.verdict.gate import gate
from equipoise.verdict.settled import decisions_of

FEW: dict[str, Any] = {"by": [], "resamples": 50, "metrics": ["flip_rate", "ucerf", "accuracy", "ucerf_signed"]}
OLD = "planted:strength=1,bias=0.8,noise=0.7"


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("old") / "run"
    audit(OLD, "builtin", out=out, **FEW)
    return out


def against(old: Path, out: Path, model: str, *metrics: str, **choices: Any) -> Run:
    return audit(model, "builtin", out=out, until_better=str(old), better_in=metrics, **{**FEW, **choices})


def test_a_better_model_is_known_after_few_sets(old: Path, tmp_path: Path) -> None:
    run = against(old, tmp_path, "planted:strength=2,bias=0.2,noise=0.7,seed=1", "flip_rate[type=type2]", "accuracy")
    flips, accuracy = decisions_of(run.parts[0])
    assert (flips.word, accuracy.word) == ("better", "better") and flips.sets < 266 / 2
    assert flips.value > 0 and accuracy.value > 0, "an improvement, whichever way the metric goes"
    assert flips.level == pytest.approx(1 - 0.05 / 4), "two comparisons, each of which may be wrong in two ways"
    assert [check.outcome for check in gate(run)] == ["passed", "passed"]


def test_a_worse_model_fails_and_one_like_it_is_within_the_margin(old: Path, tmp_path: Path) -> None:
    worse = against(old, tmp_path / "worse", "planted:strength=0.2,bias=2,noise=0.7,seed=1", "accuracy[type=type2]")
    assert decisions_of(worse.parts[0])[0].word == "worse" and gate(worse, insist=True)[0].outcome == "FAILED"
    metric = "ucerf_signed[type=type1]"
    alike = against(old, tmp_path / "alike", f"{OLD},seed=5", metric, margin=0.15)
    (decision,) = decisions_of(alike.parts[0])
    assert decision.word == "within 0.15" and decision.low > -0.15 and decision.high < 0.15
    not_worse = against(old, tmp_path / "one", f"{OLD},seed=5", metric, margin=0.15, one_sided=True)
    (one,) = decisions_of(not_worse.parts[0])
    assert one.word == "not worse" and one.sets <= decision.sets


def test_all_sets_give_the_interval_of_a_comparison(old: Path, tmp_path: Path) -> None:
    run = against(old, tmp_path, OLD.replace("noise=0.7", "noise=0.69"), "ucerf[type=type2]", resamples=300)
    (decision,) = decisions_of(run.parts[0])
    assert decision.sets == decision.of == 266
    (tested,) = [
        test
        for test in compare([tmp_path, old], Choices(metrics=("ucerf",), intersect=True, permutations=1)).tests
        if test.row.group == "type=type2"
    ]
    assert decision.value == pytest.approx(tested.difference.value, abs=1e-9)
    width = (decision.high - decision.low) / tested.difference.width
    assert 1 < width < 1.3, "at the level that both ways of being wrong share"


def test_only_sentences_of_the_earlier_run_are_asked(old: Path, tmp_path: Path) -> None:
    few = tmp_path / "few"
    audit(OLD, "builtin", out=few, limit=60, **FEW)
    run = against(few, tmp_path / "new", "planted:strength=1,bias=0.7,noise=0.7,seed=2", "accuracy")
    assert set(run.examples["id"]) <= set(Run(few).examples["id"]) and np.isfinite(decisions_of(run.parts[0])[0].value)


@pytest.mark.parametrize(
    ("choices", "match"),
    [
        ({"until_better": None, "better_in": ["accuracy"]}, "give both"),
        ({"better_in": []}, "give both"),
        ({"better_in": ["accuracy[type=type9]"]}, "names nothing"),
        ({"better_in": ["certainty"]}, "no better direction"),
        ({"until_better": None, "better_in": [], "margin": 0.1}, "need until_better"),
    ],
)
def test_what_cannot_be_compared_is_refused(choices: dict[str, Any], match: str, old: Path, tmp_path: Path) -> None:
    asked = {"until_better": str(old), **FEW, **choices}
    with pytest.raises(EquipoiseError, match=match):
        audit(OLD, "builtin", out=tmp_path, **asked)


PLAN = Plan([METRICS[name] for name in ("flip_rate", "accuracy", "ucerf")], by=(), resamples=20)


def goal_of(metric: str, earlier: Outcomes) -> Goal:
    parts = {("builtin", "next-word"): earlier}
    ((goal,),) = goals([(builtin(60), "next-word")], [parse_duel(metric, 0.1)], PLAN, parts)
    return goal


@pytest.mark.parametrize("size", [10, 60])
def test_improvements_are_as_kept(size: int) -> None:
    earlier, now = asked(builtin(50)), asked(builtin(size), model="strength=2,bias=0.2,noise=1,seed=4")
    made = {}
    for metric in ("flip_rate", "accuracy", "ucerf[type=type1]"):
        goal = goal_of(metric, earlier)
        units = improvement(now, goal)
        assert units is not None
        made[metric] = [
            [units.sums.sum(), units.counts.sum(), *units.bounds, len(units.sums)],
            final_improvement(now, goal, PLAN),
        ]
    assert_kept(f"measured/improved-{size}", made)


def test_an_improvement_is_this_run_less_the_earlier_one_in_the_better_direction() -> None:
    earlier, now = asked(builtin(40)), asked(builtin(40), model="strength=3,bias=0,noise=0.5")
    for metric, sign in (("accuracy", 1), ("flip_rate", -1)):
        goal = goal_of(metric, earlier)
        units = improvement(now, goal)
        values = [float(np.nanmean(measured(outcomes, metric))) for outcomes in (now, earlier)]
        assert units is not None
        assert units.sums.sum() / units.counts.sum() == pytest.approx(sign * (values[0] - values[1]))


def measured(outcomes: Outcomes, metric: str) -> Any:
    from equipoise.measuring.items import Items
    from equipoise.uncertainty import PERPLEXITY

    items = Items(outcomes)
    column = METRICS[metric].inputs[0]
    return items.columns(PERPLEXITY)[column][items.applicable[METRICS[metric].applies_to]]


def test_limits_in_either_run_and_what_is_no_mean_of_the_same_sentences_are_refused() -> None:
    exact = asked(builtin(12))
    limited = replace(exact, limits=Limits(low=exact.probs, high=exact.probs))
    reason = "^until_better needs exact probabilities, and a server gave limits; use equipoise compare$"
    for now, earlier in ((exact, limited), (limited, exact)):
        with pytest.raises(EquipoiseError, match=reason):
            improvement(now, goal_of("accuracy", earlier))
    goal = goal_of("accuracy", exact)
    assert improvement(exact.take(np.flatnonzero(~exact.labelled)), goal) is None
    assert final_improvement(exact.take(np.flatnonzero(~exact.labelled)), goal, PLAN) is None
    fewer = exact.gold.copy()
    fewer[np.flatnonzero(exact.labelled)[0]] = ABSENT
    whole = "accuracy cannot be compared: it is not a mean over the same sentences in both runs"
    with pytest.raises(EquipoiseError, match=f"^better in accuracy: {whole}$"):
        improvement(exact, goal_of("accuracy", replace(exact, gold=fewer)))
