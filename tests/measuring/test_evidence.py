"""Which interval a metric gets depends on its evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise.measuring.evidence import Evidence, interval, of_mean, unit_differences, width_of
from equipoise.metrics import METRICS, Metric
from equipoise.metrics.groups import mean
from equipoise.stats import bounded, means
from equipoise.stats.resampling import Statistic


def gap_evidence(units: int, undefined: float) -> Evidence:
    """Return evidence of a gap in accuracy, of whose 100 resamples a share has no value."""
    metric = METRICS["accuracy_gap"]
    correct = np.tile([1.0, 0.0, 1.0], units)[: 2 * units]
    kinds = np.repeat(np.array(["pro", "anti"], dtype=object), units)
    statistic = Statistic(metric.function, [correct, kinds], np.tile(np.arange(units), 2))
    assert metric.differences is not None
    centre = np.asarray(metric.differences.function(correct, kinds))
    samples = centre[:, None] + np.linspace(-0.1, 0.1, 100)
    samples[:, : round(100 * undefined)] = np.nan
    return Evidence(metric, [statistic], samples, float(metric.function(correct, kinds)))


@pytest.mark.parametrize(("undefined", "method"), [(0.0, "bootstrap"), (0.5, "bootstrap"), (0.6, "betting")])
def test_resamples_are_used_where_at_least_half_of_them_have_a_value(undefined: float, method: str) -> None:
    assert interval(gap_evidence(60, undefined), 2, 0.95)[2].startswith(method)


@pytest.mark.parametrize(("units", "reach"), [(60, 2.0930), (199, 1.9971), (200, 1.9720), (600, 1.9639)])
def test_gaps_of_few_units_count_a_third_of_them_as_degrees_of_freedom(units: int, reach: float) -> None:
    # 95% of the deviations are at most 95/99 of 0.1; Student's t at the stated degrees of freedom widens it.
    low, high, method = interval(gap_evidence(units, 0.0), 2, 0.95)
    value = gap_evidence(units, 0.0).value
    widened = 0.1 * 95 / 99 * reach / 1.95996 * np.sqrt(units / (units - 1))
    assert method == f"bootstrap of deviations, 100 resamples of {units} clusters"
    assert high == pytest.approx(value + widened, abs=1e-5)
    assert low == pytest.approx(max(0.0, value - widened), abs=1e-5)


@pytest.mark.parametrize(("apart", "method"), [(0.2, "percentile bootstrap"), (2e-4, "betting")])
def test_units_that_are_nearly_equal_for_the_width_of_their_column_are_no_evidence_of_a_narrow_interval(
    apart: float, method: str
) -> None:
    metric = METRICS["confidence"]
    values = np.repeat([-apart, apart], 40)
    statistic = Statistic(metric.function, [values], np.arange(len(values)))
    samples = np.random.default_rng(0).choice(values, (100, len(values))).mean(axis=1)
    assert interval(Evidence(metric, [statistic], samples, float(values.mean())), 2, 0.95)[2].startswith(method)


@pytest.mark.parametrize(("units", "reason"), [(29, "fewer than 30"), (30, "resamples are equal")])
def test_a_metric_without_bounds_has_no_interval_where_its_resamples_are_equal(units: int, reason: str) -> None:
    metric = METRICS["workforce_trend"]
    arrays = [np.full(units, 0.5), np.linspace(0, 1, units)]
    statistic = Statistic(metric.function, arrays, np.arange(units))
    low, high, method = interval(Evidence(metric, [statistic], np.zeros(100), 0.0), 2, 0.95)
    assert np.isnan([low, high]).all() and reason in method


@pytest.mark.parametrize(("units", "method"), [(29, "no interval"), (30, "percentile bootstrap")])
def test_a_mean_without_bounds_needs_thirty_units(units: int, method: str) -> None:
    metric = METRICS["vocab_bits"]
    statistic = Statistic(metric.function, [np.arange(float(units))], np.arange(units))
    ends = interval(Evidence(metric, [statistic], np.linspace(13, 15, 100), 14.0), 2, 0.95)
    assert ends[2].startswith(method)


@pytest.mark.parametrize(("units", "method"), [(2000, bounded.BETTING), (2001, bounded.BERNSTEIN)])
def test_the_interval_of_a_mean_is_named_for_what_made_it(units: int, method: str) -> None:
    values = np.linspace(0.2, 0.8, units)
    low, high, name = of_mean(values, (0, 1), level=0.95)
    assert (low, high) == bounded.mean_interval(values, (0, 1), level=0.95) and name == method


def test_clusters_are_compared_where_both_sides_have_the_same_number_of_them() -> None:
    def side(*values: float) -> list[Statistic]:
        return [Statistic(METRICS["certainty"].function, [np.array(values)], np.arange(len(values)))]

    twice = [Statistic(METRICS["certainty"].function, [np.array([0.0, 1.0, 0.75])], np.array([0, 0, 1]))]
    np.testing.assert_allclose(unit_differences(twice, side(0.0, 0.0)), [0.5, 0.75])
    differences = unit_differences(side(0.5, 0.75, 1.0), side(0.25, 0.75, 0.5))
    assert differences is not None and differences.tolist() == [0.25, 0.0, 0.5]
    assert unit_differences(side(0.5, 0.75, np.nan), side(0.25, 0.75, 0.5)) is None


@pytest.mark.parametrize(("units", "method"), [(29, bounded.JOINT), (30, "bootstrap of deviations")])
def test_a_gap_needs_thirty_units_in_each_group(units: int, method: str) -> None:
    assert interval(gap_evidence(units, 0.0), 2, 0.95)[2].startswith(method)


def test_few_units_of_a_gap_have_the_interval_of_its_means_within_the_bounds_of_their_column() -> None:
    evidence = gap_evidence(10, 0.0)
    joint = means.joint_interval(evidence.statistics[0], 1.0, level=0.95)
    assert interval(evidence, 2, 0.95) == (*(joint or ()), bounded.JOINT)
    # Two variants share the error; the interval is the mean of theirs.
    seeds = replace(evidence, statistics=[evidence.statistics[0]] * 2)
    shared = means.joint_interval(evidence.statistics[0], 1.0, level=0.975)
    assert interval(seeds, 2, 0.95) == (*(shared or ()), bounded.JOINT)
    # Desirability lies between -1 and 1: its width is 2.
    metric, (correct, kinds) = METRICS["desirability_gap"], evidence.statistics[0].arrays
    statistic = Statistic(metric.function, [correct * 2 - 1, kinds], evidence.statistics[0].clusters)
    wide = means.joint_interval(statistic, 2.0, level=0.95)
    signed = Evidence(metric, [statistic], evidence.samples[0], float(metric.function(*statistic.arrays)))
    assert interval(signed, 2, 0.95) == (*(wide or ()), bounded.JOINT)


def test_few_units_of_what_is_not_made_of_means_have_hoeffding_s_interval() -> None:
    metric = METRICS["ece"]
    statistic = Statistic(metric.function, [np.tile([1.0, 0.0], 5), np.full(10, 0.8)], np.arange(10))
    ends = interval(Evidence(metric, [statistic], np.linspace(0, 1, 100), 0.3), 2, 0.95)
    radius = np.sqrt(np.log(2 / 0.05) / 20)
    assert ends == (0.0, pytest.approx(0.3 + radius), bounded.HOEFFDING)


def test_an_interval_from_bets_is_drawn_with_seed_0() -> None:
    metric = METRICS["certainty"]
    units = np.random.default_rng(0).random(20)
    evidence = Evidence(metric, [Statistic(metric.function, [units], np.arange(20))], np.zeros(9), 0.5)
    ends = [interval(evidence, 2, 0.95, seed) for seed in (0, 1)]
    assert interval(evidence, 2, 0.95) == ends[0] != ends[1]
    assert of_mean(units, (0, 1), level=0.95)[:2] == ends[0][:2]


def test_the_number_of_candidates_bounds_the_perplexity_and_nothing_else() -> None:
    assert width_of(METRICS["perplexity"], 3) == 2 and width_of(METRICS["certainty"], 3) == 1
    assert np.isinf(width_of(METRICS["vocab_bits"], 3))


def test_columns_without_bounds_are_flags_of_width_one() -> None:
    def chosen(flags: Any, *, weights: Any = None) -> Any:
        return mean(flags.astype(float), weights=weights)

    metric = Metric("mine", chosen, ("chosen_positive",), "neither", "Mine", "a share of flags", bounds=(0, 1))
    statistic = Statistic(chosen, [np.tile([True, False], 12)], np.arange(24))
    ends = interval(Evidence(metric, [statistic], np.linspace(0, 1, 9), 0.5), 2, 0.95)
    assert ends == (*(means.joint_interval(statistic, 1.0, level=0.95) or ()), bounded.JOINT)
    assert 0 < ends[0] < ends[1] < 1


def test_a_share_of_whole_answers_has_the_exact_interval_and_one_of_part_answers_has_not() -> None:
    exact = bounded.clopper_pearson(2, 3, level=0.95)
    assert of_mean(np.array([1.0, 0.0, 1.0]), (0, 1), whole=True, level=0.95) == (*exact, bounded.EXACT)
    assert of_mean(np.array([1.0, 0.0, 0.5]), (0, 1), whole=True, level=0.95)[2] == bounded.BETTING
    assert of_mean(np.array([1.0, 0.0, 1.0]), (0, 2), whole=True, level=0.95)[2] == bounded.BETTING
    assert of_mean(np.array([1.0, 0.0, 1.0]), (0, 1), level=0.95)[2] == bounded.BETTING
