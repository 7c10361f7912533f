"""Comparing runs: differences that are those of the runs, corrected together, and where the models differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kept_texts import assert_kept

import equipoise
from equipoise.comparing.comparison import Choices, Comparison, compare
from equipoise.records import EquipoiseError, Estimate
from equipoise.runs.run import Run

QUICK = Choices(permutations=400, resamples=100)


@pytest.fixture(scope="module")
def compared(planted_run: Path, mild_run: Path) -> Comparison:
    return compare([planted_run, mild_run], QUICK)


def test_differences_are_those_of_the_runs(compared: Comparison, planted_run: Path, mild_run: Path) -> None:
    first, second = (Run(path).parts[0].measured for path in (planted_run, mild_run))
    assert compared.names == ["planted (strong)", "planted (mild)"]
    kinds = {"resolvable (type 2)": "type2", "ambiguous (type 1)": "type1"}
    assert len(compared.tests) == 13
    for test in compared.tests:
        rows = [measured.get(test.row.metric, type=kinds[test.kind]) for measured in (first, second)]
        assert test.difference.value == pytest.approx(rows[0].value - rows[1].value, abs=1e-9)
        assert test.difference.low <= test.difference.value <= test.difference.high
        assert test.difference.p_corrected >= test.difference.p
    worse = {(test.row.metric, test.kind): test for test in compared.tests}
    assert worse["ucerf", "resolvable (type 2)"].difference.high < 0
    assert worse["ucerf", "resolvable (type 2)"].difference.p_corrected < 0.05


def differences_in(metric: str, *runs: Path) -> dict[str, Any]:
    """Return the differences in one metric by where they were taken; each must be that of the runs."""
    comparison = compare(list(runs), Choices(metrics=(metric,), permutations=200, resamples=100))
    assert {test.row.metric for test in comparison.tests} == {metric}
    return {test.kind: test for test in comparison.tests}


def test_calibration_is_compared(cloze_runs: tuple[Path, Path]) -> None:
    first, second = (Run(path).parts[0].measured.get("ece") for path in cloze_runs)
    differences = differences_in("ece", *cloze_runs)
    difference = differences["all items"].difference
    assert difference.value == pytest.approx(first.value - second.value)
    assert difference.n == first.n and difference.level == 0.95
    assert difference.low < difference.value < difference.high
    assert 0 < differences["all items"].difference.p < 0.05


def test_confidence_with_markers_counted_is_compared(tmp_path: Path) -> None:
    choices = {"base": "builtin", "limit": 12, "attributes": ["age"], "augment": ["R"], "resamples": 30}
    metrics = ["confidence_marked", "confidence_marked_drop"]
    runs = []
    for strength in (0.4, 2.0):
        model = f"planted:strength={strength},bias=0.4,noise=0.5"
        runs.append(equipoise.audit(model, "winoidentity", out=tmp_path / str(strength), metrics=metrics, **choices))
    for metric in metrics:
        differences = differences_in(metric, *(run.path for run in runs))
        assert differences
        for where, test in differences.items():
            difference = test.difference
            assert difference.n > 0 and difference.low <= difference.value <= difference.high, where
    first, second = (run.parts[0].measured.get("confidence_marked", type="type2") for run in runs)
    difference = differences_in("confidence_marked", *(run.path for run in runs))["resolvable (type 2)"].difference
    assert difference.value == pytest.approx(first.value - second.value) and difference.value != 0


def test_vocabulary_entropy_is_compared(tiny_llama: Callable[..., Path], tmp_path: Path) -> None:
    choices = {"limit": 8, "resamples": 20, "device": "cpu", "whole_vocabulary": True}
    runs = [equipoise.audit(str(tiny_llama(seed=seed)), out=tmp_path / str(seed), **choices) for seed in (1, 2)]
    first, second = (run.parts[0].measured.get("vocab_bits", type="type2") for run in runs)
    differences = differences_in("vocab_bits", *(run.path for run in runs))
    assert set(differences) == {"resolvable (type 2)", "ambiguous (type 1)"}
    assert differences["resolvable (type 2)"].difference.value == pytest.approx(first.value - second.value) != 0


def test_corrections_are_over_all_comparisons(planted_run: Path, mild_run: Path, compared: Comparison) -> None:
    other = compare([planted_run, mild_run], Choices(permutations=400, resamples=100, correction="bh"))
    for test, same in zip(other.tests, compared.tests, strict=True):
        assert test.corrected(1) == same.corrected(1)
        assert test.difference.p_corrected <= same.difference.p_corrected
    with pytest.raises(EquipoiseError, match="unknown correction 'bonferoni'"):
        Choices(correction="bonferoni")


def test_one_run_or_the_same_twice_is_no_comparison(planted_run: Path) -> None:
    with pytest.raises(EquipoiseError, match="at least two"):
        compare([planted_run])
    with pytest.raises(EquipoiseError, match="named twice"):
        compare([planted_run, planted_run / "."])


def test_overlaps_count_what_a_loop_counts(compared: Comparison) -> None:
    first, second = (run.outcomes for run in compared.runs)
    labelled = first["type"] == "type2"
    a, b = (frame[labelled]["correct"].to_numpy() == 1 for frame in (first, second))
    overlaps = {overlap.data.partition(", ")[2]: overlap for overlap in compared.overlaps}
    table = (int((a & b).sum()), int((a & ~b).sum()), int((~a & b).sum()), int((~a & ~b).sum()))
    assert overlaps["resolvable (type 2)"].right == table
    turned = [
        {pair for pair, rows in frame[~labelled].groupby("set_id") if rows["predicted"].nunique() > 1}
        for frame in (first, second)
    ]
    assert overlaps["ambiguous (type 1)"].flips == (len(turned[0]), len(turned[1]), len(turned[0] & turned[1]))
    union = len(turned[0] | turned[1])
    assert overlaps["ambiguous (type 1)"].jaccard == pytest.approx(len(turned[0] & turned[1]) / union)
    assert overlaps["ambiguous (type 1)"].sets == int((~labelled).sum()) // 2


@pytest.mark.parametrize(
    ("low", "corrected", "detected"), [(0.01, 0.04, True), (-0.01, 0.04, False), (0.01, 0.05, False)]
)
def test_a_difference_needs_a_test_and_an_interval(
    compared: Comparison, low: float, corrected: float, detected: bool
) -> None:
    (first,) = [test for test in compared.tests if (test.row.metric, test.row.group) == ("ucerf", "type=type2")]
    row = replace(first.row, estimate=Estimate(0.1, low, 0.2, 0.95, 40, ""))
    test = replace(first, row=row).corrected(corrected)
    assert test.detected == detected and test.better == ("planted (strong)" if detected else "")


def test_the_better_run_is_the_lower_one_where_lower_is_better(compared: Comparison) -> None:
    better = {test.row.metric: test.better for test in compared.tests if test.row.group == "type=type2"}
    assert better["ucerf"] == better["eo_sum"] == better["flip_rate"] == "planted (mild)"
    assert better["flip_bias"] == "", "it has no better direction"


def test_the_tests_are_as_they_were_kept(compared: Comparison) -> None:
    assert_kept("comparing/comparison", compared.tests)
