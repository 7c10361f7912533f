"""Which of two runs is better, sentence by sentence: what is asked, and that it agrees with a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.comparing.comparison import Choices, compare
from equipoise.records import EquipoiseError
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
