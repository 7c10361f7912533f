"""Comparing runs: differences that are those of the runs, corrected together, and where the models differ."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kept_texts import assert_kept

import equipoise
from equipoise.comparing.comparison import (
    Choices,
    Comparison,
    Overlap,
    _plan,
    compare,
    corrected,
    paired_tests,
    trial_of,
)
from equipoise.comparing.comparison import Tested as Difference
from equipoise.records import EquipoiseError, Estimate, Measurement
from equipoise.runs.run import Run
from equipoise.stats.paired import Trial

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


def test_a_comparison_and_its_differences_are_shown_in_a_line(compared: Comparison) -> None:
    detected = sum(test.detected for test in compared.tests)
    names = ", ".join(compared.names)
    assert repr(compared) == f"<Comparison of {names}: {detected} of {len(compared.tests)} differences are detected>"
    assert detected and "array" not in repr(compared.tests[0])


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


def a_test(
    value: float = 0.1, p: float = 0.01, better: str = "higher", group: str = "type=type2", ends: float = 0.05
) -> Difference:
    estimate = Estimate(value, value - ends, value + ends, 0.95, 40, "", p, p)
    return Difference(Measurement("m", "a − b", "d", "t", group, estimate, better), "a", "b")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "better", "name"),
    [(0.1, "higher", "a"), (0.1, "lower", "b"), (-0.1, "higher", "b"), (-0.1, "lower", "a"), (0.1, "neither", "")],
)
def test_who_is_better_follows_from_the_sign_and_the_direction(value: float, better: str, name: str) -> None:
    assert a_test(value, better=better).better == name
    assert a_test(value, better=better, p=0.05).better == "" == a_test(value, better=better, ends=0.1).better
    assert a_test(value, better=better).detected and not a_test(value, p=0.05).detected


def test_a_difference_is_told_with_its_place_in_words() -> None:
    test = a_test(group="attribute=age,augmentation=R,type=type1")
    assert test.part == "d · t" and test.kind == "ambiguous (type 1), attribute age, augmentation R"
    assert test.data == f"d · t, {test.kind}" and a_test(group="all").kind == "all items"
    assert test.corrected(0.5).difference.p_corrected == 0.5 and test.corrected(0.5).difference.p == 0.01
    assert replace(test, contest=None) == test


def test_overlaps_have_what_chance_would_give_and_a_share() -> None:
    overlap = Overlap("d", "a", "b", (1, 2, 3, 4), (10, 6, 4), 30)
    assert overlap.expected == pytest.approx(2.0) and overlap.jaccard == pytest.approx(4 / 12)
    assert replace(overlap, sets=0).expected == 0.0 and replace(overlap, flips=(0, 0, 0)).jaccard is None


def test_p_values_are_corrected_among_those_that_there_are() -> None:
    tests = [a_test(p=p) for p in (0.01, math.nan, 0.04)]
    found = [test.difference.p_corrected for test in corrected(tests, "holm")]
    assert (found[0], found[2]) == (pytest.approx(0.02), pytest.approx(0.04)) and math.isnan(found[1])
    assert corrected([], "holm") == []


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        ({"level": 0.0}, "level must lie between 0 and 1, not 0.0"),
        ({"level": 1.0}, "level must lie between 0 and 1, not 1.0"),
        ({"resamples": 0}, "resamples must be at least 1, not 0"),
        ({"permutations": 0}, "permutations must be at least 1, not 0"),
    ],
)
def test_choices_that_say_nothing_are_refused(choices: dict[str, Any], reason: str) -> None:
    with pytest.raises(EquipoiseError) as error:
        Choices(**choices)
    assert str(error.value) == reason
    assert Choices(resamples=1, permutations=1, level=0.5).permutations == 1
    for wrong in ({"metrics": ("nope",)}, {"where": ("nonsense",)}):
        with pytest.raises(EquipoiseError):
            Choices(**wrong)
    assert [row.name for row in Choices(metrics=("ucerf", "ucerf_renyi", "accuracy")).rows()] == ["ucerf", "accuracy"]
    assert trial_of(Choices(resamples=3, permutations=4, level=0.8, seed=5), 6) == Trial(3, 4, 0.8, 5, 6)


def test_the_least_p_follows_from_tests_and_sentences(compared: Comparison) -> None:
    assert compared.trial == trial_of(QUICK, 13) and compared.least_p == pytest.approx(13 / 401)
    other = replace(compared, choices=replace(QUICK, correction="bh"))
    assert other.least_p == pytest.approx(1 / 401)
    assert replace(compared, matches=[]).least_p == pytest.approx(13.0)


def test_an_estimator_may_be_named_and_progress_is_told(planted_run: Path, mild_run: Path) -> None:
    told: list[tuple[str, int, int]] = []
    chosen = {"metrics": ["ucerf_renyi", "flip_rate"], "permutations": 20, "resamples": 20}
    found = compare([planted_run, mild_run], progress=lambda *seen: told.append(seen), **chosen)
    assert {test.row.metric for test in found.tests} == {"ucerf_renyi", "flip_rate"}
    assert told == [("comparing", 0, 1), ("comparing", 1, 1)]
    with pytest.raises(EquipoiseError) as error:
        compare([planted_run, mild_run], metrics=["ucerf_prompt_ensemble"])
    told_why = "the runs lack what the estimator prompt-ensemble needs, so it cannot be compared"
    assert str(error.value) == told_why
    assert_kept("comparing/overlaps", found.overlaps, [test.row for test in found.tests])


def test_two_parts_are_tested_without_correction(planted_run: Path, mild_run: Path, twin_run: Path) -> None:
    parts = [part for path in (planted_run, mild_run, twin_run) for part in Run(path).parts]
    tests = paired_tests(parts, Choices(metrics=("ucerf",), permutations=30, resamples=20))
    assert len(tests) == 6 and all(math.isnan(test.difference.p_corrected) for test in tests)
    same = [test for test in tests if test.difference.value == 0]
    assert len(same) == 2 and all(test.difference.p == 1 for test in same)


def test_each_estimator_is_measured_once_and_what_was_named_is_tested() -> None:
    renyi: Any = SimpleNamespace(manifest=SimpleNamespace(settings={"estimators": ["renyi"]}))

    def planned(*metrics: str) -> tuple[list[str], set[str]]:
        plan, tested = _plan([renyi, renyi], [], Choices(metrics=metrics))
        assert plan.by == () and plan.metrics == Choices(metrics=metrics).rows()
        return [estimator.name for estimator in plan.estimators], tested

    assert planned("ucerf_renyi") == (["renyi"], {"ucerf_renyi"})
    named = ("ucerf_margin", "certainty_margin", "ucerf_renyi", "accuracy")
    assert planned(*named) == (["renyi", "margin"], set(named))
    assert planned("ucerf", "accuracy") == (["renyi"], {"ucerf_renyi", "accuracy"})


def test_a_tie_changes_no_answer_in_overlaps_as_it_flips_nothing(tmp_path: Path) -> None:
    runs = []
    for name, her in (("tied", -1.0), ("sure", -0.5)):
        file = tmp_path / f"{name}.csv"
        logprobs = {"pa": (-1.0, her), "pb": (-1.0, -2.0), "qa": (-2.0, -1.0), "qb": (-1.0, -2.0)}
        lines = [
            f"{item},{candidate},{value},{int(candidate == 'nurse')},{item[1]},{item[0]}"
            for item, values in logprobs.items()
            for candidate, value in zip(("nurse", "driver"), values, strict=True)
        ]
        file.write_text("\n".join(["item,candidate,logprob,gold,group:land,pair", *lines]) + "\n")
        runs.append(equipoise.import_results(file, model=name, dataset="d", out=tmp_path / name).path)
    (overlap,) = compare(runs, QUICK).overlaps
    assert overlap.flips == (1, 2, 1)
    assert [Run(run).parts[0].measured.get("flip_rate").value for run in runs] == [0.5, 1.0]
