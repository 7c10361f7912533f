"""A metric or an estimator of another package that goes wrong: a sentence says whose it is, and answers are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plug_in import write_plug_in

import equipoise
from equipoise.metrics import METRICS
from equipoise.metrics.naming import metric_named
from equipoise.metrics.plugged import estimator_row, metric_row
from equipoise.records import EquipoiseError
from equipoise.uncertainty import ESTIMATORS

CODE = """
import numpy as np
from equipoise.metrics import Metric
from equipoise.metrics.groups import Norm, mean, total_size
from equipoise.uncertainty import Estimator

def row(function):
    return Metric(function.__name__, function, ("certainty",), "lower", "L", "what it is", bounds=(0, 1))

def raises(certainty):
    raise ValueError("operands could not\\nbe broadcast")

def seldom(certainty):
    if len(set(certainty.tolist())) < len(certainty):
        raise KeyError("twice")
    return float(certainty.mean())

def outside(certainty, *, weights=None):
    return mean(5 * certainty, weights=weights)

def words(certainty):
    return "high"

def one_for_all(certainty, *, weights=None):
    return float(certainty.mean())

def sound(certainty, *, weights=None):
    return 1 + 1e-9 if weights is None else mean(certainty, weights=weights)

def apart(certainty, *, weights=None):
    return np.stack([5 + mean(certainty, weights=weights)])

RAISES, SELDOM, OUTSIDE, WORDS, ONE, SOUND = map(row, (raises, seldom, outside, words, one_for_all, sound))
NORM = Metric("norm", Norm(apart, total_size), ("certainty",), "lower", "L", "what it is", bounds=(0, 1))
TOP = Estimator("top", None, lambda probs: probs.max(axis=1))
DOUBLE = Estimator("double", None, lambda probs: 2 * probs.max(axis=1))
GAPS = Estimator("gaps", None, lambda probs: np.where(probs.max(axis=1) > 0.9, np.nan, 0.5))
FIRST = Estimator("first", None, lambda probs: probs.max(axis=1)[:3])
BROKEN = Estimator("broken", None, lambda probs: probs @ None)
"""
METRIC_NAMES = ("raises", "seldom", "outside", "words", "one", "sound", "norm")
ESTIMATOR_NAMES = ("top", "double", "gaps", "first", "broken")


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = f"faulty_{tmp_path.parent.name}_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{module}.py").write_text(CODE, encoding="utf-8")
    sections = (("metrics", METRIC_NAMES), ("estimators", ESTIMATOR_NAMES))
    lines = [
        line
        for kind, names in sections
        for line in (f"[equipoise.{kind}]", *(f"{name} = {module}:{name.upper()}" for name in names))
    ]
    write_plug_in(tmp_path, "faulty-metrics", "\n".join(lines), version="1.2")
    monkeypatch.syspath_prepend(str(tmp_path))


def audit(out: Path, metric: str, **choices: Any) -> Any:
    metrics = [metric, "flip_rate"]
    return equipoise.audit("planted:noise=1", limit=60, out=out, metrics=metrics, resamples=20, by=[], **choices)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("raises", r"raised ValueError: operands could not be broadcast"),
        ("seldom", r"raised KeyError: 'twice' \(faulty_.*\.py, line 15\)"),
        ("outside", r"gives \d\.\d+, but its row says that it lies between 0 and 1"),
        ("words", "gives str, not a number"),
        ("one", "gives no number for each column of its weights"),
        ("norm", r"gives 5\.\d+, but its row says that it lies between 0 and 1"),
    ],
)
def test_a_metric_that_goes_wrong_is_named_with_its_package_and_the_answers_are_kept(
    tmp_path: Path, name: str, said: str
) -> None:
    out = tmp_path / "run"
    with pytest.raises(EquipoiseError, match=rf"^the metric '{name}' of faulty-metrics 1\.2 {said}.*answers are kept"):
        audit(out, name)
    answers = (out / "scores.jsonl").read_bytes()
    run = audit(out, "sound")
    assert (out / "scores.jsonl").read_bytes() == answers, "nothing was asked again"
    assert {"sound", "flip_rate"} == set(run.measurements["metric"])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("double", r"gives a certainty of [12]\.\d+, not one from 0 to 1"),
        ("gaps", r"gives a certainty of nan, not one from 0 to 1"),
        ("first", "gives no number for each of 4 rows"),
        ("broken", "raised "),
    ],
)
def test_an_estimator_that_goes_wrong_is_named_with_its_package(name: str, said: str) -> None:
    probs = np.array([[0.95, 0.05], [0.4, 0.6], [0.5, 0.5], [0.2, 0.8]])
    with pytest.raises(EquipoiseError, match=rf"^the estimator '{name}' of faulty-metrics 1\.2 {said}.*kept"):
        estimator_row(name).certainty(probs)


def test_the_certainty_of_a_row_that_has_no_probability_is_not_known() -> None:
    given = estimator_row("gaps").certainty(np.array([[0.5, 0.5], [np.nan, np.nan]]))
    assert given[0] == 0.5


def test_rows_are_the_same_each_time_and_those_of_the_tables_are_as_they_are() -> None:
    assert metric_row("sound") is metric_named("sound")
    assert estimator_row("top") is estimator_row("top")
    assert metric_row("ucerf") is METRICS["ucerf"] and estimator_row("renyi") is ESTIMATORS["renyi"]


def test_undefined_and_a_lack_of_memory_are_not_the_metric_s_fault() -> None:
    function: Callable[..., Any] = metric_row("outside").function
    with pytest.raises(EquipoiseError, match=r"^mean of an empty group$"):
        function(np.array([]))

    class Huge:
        def __rmul__(self, other: object) -> object:
            raise MemoryError

    with pytest.raises(MemoryError):
        function(Huge())
