"""Which interval a metric gets depends on its evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kept_texts import assert_kept

from equipoise.measuring.evidence import (
    Evidence,
    _finite,
    is_additive,
    is_plain_mean,
    mean_contest,
    paired_means,
    paired_units,
    seen_units,
    unit_differences,
    unit_means,
    unit_sizes,
    width_of,
)
from equipoise.measuring.stopping import Sample
from equipoise.metrics import METRICS, Metric
from equipoise.metrics.groups import mean
from equipoise.records import Estimate, Floats, UndefinedMetric
from equipoise.stats import bounded, jackknife, means
from equipoise.stats.bootstrap import weight_chunks
from equipoise.stats.paired import Trial
from equipoise.stats.resampling import Statistic, evaluate
from test_invariants import drawn_column


def evidence_of(metric: Metric, statistic: Statistic, value: float, **facts: Any) -> Evidence:
    return Evidence(metric, [statistic], value, **{"k": 2, "level": 0.95, **facts})


def gap_evidence(units: int, undefined: float = 0.0, **facts: Any) -> tuple[Evidence, Floats]:
    """Return evidence of a gap in accuracy, and 100 resamples, of which a share has no value."""
    metric = METRICS["accuracy_gap"]
    correct = np.tile([1.0, 0.0, 1.0], units)[: 2 * units]
    kinds = np.repeat(np.array(["pro", "anti"], dtype=object), units)
    statistic = Statistic(metric.function, [correct, kinds], np.tile(np.arange(units), 2))
    assert metric.norm is not None
    centre = np.asarray(metric.norm.differences(correct, kinds))
    samples = centre[:, None] + np.linspace(-0.1, 0.1, 100)
    samples[:, : round(100 * undefined)] = np.nan
    return evidence_of(metric, statistic, float(metric.function(correct, kinds)), **facts), samples


def gap_estimate(units: int, undefined: float = 0.0) -> Estimate:
    evidence, samples = gap_evidence(units, undefined)
    return evidence.estimate(samples)


@pytest.mark.parametrize(("undefined", "method"), [(0.0, "bootstrap"), (0.5, "bootstrap"), (0.6, "betting")])
def test_resamples_are_used_where_at_least_half_of_them_have_a_value(undefined: float, method: str) -> None:
    assert gap_estimate(60, undefined).method.startswith(method)


@pytest.mark.parametrize(("units", "reach"), [(60, 2.0930), (199, 1.9971), (200, 1.9720), (600, 1.9639)])
def test_gaps_of_few_units_count_a_third_of_them_as_degrees_of_freedom(units: int, reach: float) -> None:
    # 95% of the deviations are at most 95/99 of 0.1; Student's t at the stated degrees of freedom widens it.
    estimate = gap_estimate(units)
    widened = 0.1 * 95 / 99 * reach / 1.95996 * np.sqrt(units / (units - 1))
    assert estimate.method == f"bootstrap of deviations, 100 resamples of {units} clusters" and estimate.n == units
    assert estimate.high == pytest.approx(estimate.value + widened, abs=1e-5)
    assert estimate.low == pytest.approx(max(0.0, estimate.value - widened), abs=1e-5)


@pytest.mark.parametrize(("apart", "method"), [(0.2, "percentile bootstrap"), (2e-4, "jackknife")])
def test_units_that_are_nearly_equal_for_the_width_of_their_column_are_no_evidence_of_a_narrow_interval(
    apart: float, method: str
) -> None:
    metric = METRICS["confidence"]
    values = np.repeat([-apart, apart], 40)
    statistic = Statistic(metric.function, [values], np.arange(len(values)))
    samples = np.random.default_rng(0).choice(values, (100, len(values))).mean(axis=1)
    evidence = evidence_of(metric, statistic, float(values.mean()))
    assert evidence.estimate(samples).method.startswith(method)
    assert evidence.needs_resamples == (method == "percentile bootstrap")


@pytest.mark.parametrize(("units", "reason"), [(29, "fewer than 30"), (30, "resamples are equal")])
def test_a_metric_without_bounds_has_no_interval_where_its_resamples_are_equal(units: int, reason: str) -> None:
    metric = METRICS["workforce_trend"]
    arrays = [np.full(units, 0.5), np.linspace(0, 1, units)]
    estimate = evidence_of(metric, Statistic(metric.function, arrays, np.arange(units)), 0.0).estimate(np.zeros(100))
    assert not estimate.has_interval and reason in estimate.method


def test_a_metric_without_bounds_counts_its_clusters_not_the_values_of_its_first_column() -> None:
    metric, first = METRICS["workforce_trend"], np.full(30, 0.5)
    first[3] = np.nan
    statistic = Statistic(metric.function, [first, np.linspace(0, 1, 30)], np.arange(30))
    assert evidence_of(metric, statistic, 0.0).needs_resamples


@pytest.mark.parametrize("interval", ["simultaneous", "deviations"])
def test_a_mean_of_one_column_has_the_interval_of_a_mean_whatever_its_row_says(interval: Any) -> None:
    usual = METRICS["accuracy"]
    statistic = Statistic(usual.function, [np.tile([1.0, 0.0], 20)], np.arange(40))
    samples = np.linspace(0.3, 0.7, 100)
    said = replace(usual, interval=interval)
    assert evidence_of(said, statistic, 0.5).estimate(samples) == evidence_of(usual, statistic, 0.5).estimate(samples)


@pytest.mark.parametrize(("units", "method"), [(29, "no interval"), (30, "percentile bootstrap")])
def test_a_mean_without_bounds_needs_thirty_units(units: int, method: str) -> None:
    metric = METRICS["vocab_bits"]
    statistic = Statistic(metric.function, [np.arange(float(units))], np.arange(units))
    assert evidence_of(metric, statistic, 14.0).estimate(np.linspace(13, 15, 100)).method.startswith(method)


def test_clusters_are_compared_where_both_sides_have_the_same_number_of_them() -> None:
    def side(*values: float) -> list[Statistic]:
        return [Statistic(METRICS["certainty"].function, [np.array(values)], np.arange(len(values)))]

    twice = [Statistic(METRICS["certainty"].function, [np.array([0.0, 1.0, 0.75])], np.array([0, 0, 1]))]
    np.testing.assert_allclose(unit_differences(twice, side(0.0, 0.0)), [0.5, 0.75])
    differences = unit_differences(side(0.5, 0.75, 1.0), side(0.25, 0.75, 0.5))
    assert differences is not None and differences.tolist() == [0.25, 0.0, 0.5]
    assert unit_differences(side(0.5, 0.75, np.nan), side(0.25, 0.75, 0.5)) is None


@pytest.mark.parametrize(
    ("units", "method"),
    [(7, bounded.JOINT), (8, "jackknife"), (29, "jackknife"), (30, "bootstrap of deviations")],
)
def test_a_gap_needs_thirty_units_in_each_group(units: int, method: str) -> None:
    assert gap_estimate(units).method.startswith(method)


def joint(statistic: Statistic, width: float, *, level: float = 0.95) -> tuple[float, float]:
    estimate = means.joint_interval(statistic, means.units(means.tables(statistic)), width, level=level)
    assert estimate is not None and estimate.method == bounded.JOINT
    return estimate.ends


def test_few_units_of_a_gap_have_the_interval_of_its_means_within_the_bounds_of_their_column() -> None:
    evidence, samples = gap_evidence(6)
    (statistic,) = evidence.statistics
    assert evidence.estimate(samples).ends == joint(statistic, 1.0)
    # Two variants share the error; the interval is the mean of theirs.
    seeds = replace(evidence, statistics=[statistic] * 2)
    assert seeds.estimate(None).ends == joint(statistic, 1.0, level=0.975)
    # Desirability lies between -1 and 1: its width is 2.
    metric, (correct, kinds) = METRICS["desirability_gap"], statistic.arrays
    signed = Statistic(metric.function, [correct * 2 - 1, kinds], statistic.clusters)
    assert evidence_of(metric, signed, float(signed.value)).estimate(None).ends == joint(signed, 2.0)


def test_few_units_of_what_is_not_made_of_means_have_hoeffding_s_interval() -> None:
    metric = METRICS["ece"]
    statistic = Statistic(metric.function, [np.tile([1.0, 0.0], 5), np.full(10, 0.8)], np.arange(10))
    estimate = evidence_of(metric, statistic, 0.3).estimate(None)
    radius = np.sqrt(np.log(2 / 0.05) / 20)
    assert (*estimate.ends, estimate.method) == (0.0, pytest.approx(0.3 + radius), bounded.HOEFFDING)


def test_a_gap_of_few_units_leaves_room_for_what_neither_group_has_shown() -> None:
    # 25 pairs, all right: in each group about 3 in 25 might be wrong.
    metric, kinds = METRICS["accuracy_gap"], np.repeat(np.array(["pro", "anti"], dtype=object), 25)
    statistic = Statistic(metric.function, [np.ones(50), kinds], np.tile(np.arange(25), 2))
    estimate = evidence_of(metric, statistic, 0.0).estimate(None)
    assert estimate.low == 0 and 0.08 < estimate.high < 0.16


def test_an_interval_from_bets_is_drawn_with_seed_0() -> None:
    metric, units = METRICS["certainty"], np.random.default_rng(0).random(7)
    statistic = Statistic(metric.function, [units], np.arange(7))
    plain, *ends = (
        evidence_of(metric, statistic, 0.5, **seed).estimate(None) for seed in ({}, {"seed": 0}, {"seed": 1})
    )
    assert plain.ends == ends[0].ends != ends[1].ends
    assert bounded.mean_interval(units, (0, 1), level=0.95).ends == plain.ends


def test_the_interval_of_a_mean_holds_the_mean_of_all_items() -> None:
    # One cluster has nine items of ten, so the mean of the clusters is far from that of the items.
    metric, clusters = METRICS["certainty"], np.repeat(np.arange(200), [1800, *[1] * 199])
    values = np.where(clusters == 0, 0.9, 0.1)
    estimate = evidence_of(metric, Statistic(metric.function, [values], clusters), float(values.mean())).estimate(None)
    assert estimate.value == pytest.approx(0.9 * 0.9 + 0.1 * 0.1, abs=1e-3) and estimate.value <= estimate.high
    # All but one cluster are at 0.1, so nothing rules that mean out.
    assert estimate.low < 0.1 and estimate.n == 200


def test_the_number_of_candidates_bounds_the_perplexity_and_nothing_else() -> None:
    assert width_of(METRICS["perplexity"], 3) == 2 and width_of(METRICS["certainty"], 3) == 1
    assert np.isinf(width_of(METRICS["vocab_bits"], 3))


def test_columns_without_bounds_are_flags_of_width_one() -> None:
    def chosen(flags: Any, *, weights: Any = None) -> Any:
        return mean(flags.astype(float), weights=weights)

    metric = Metric("mine", chosen, ("chosen_positive",), "neither", "Mine", "a share of flags", bounds=(0, 1))
    statistic = Statistic(chosen, [np.tile([True, False], 3)], np.arange(6))
    estimate = evidence_of(metric, statistic, 0.5).estimate(None)
    assert estimate.ends == joint(statistic, 1.0) and 0 <= estimate.low < estimate.high < 1


def marked_statistic(metric: Metric, drops: np.ndarray) -> Statistic:
    """Return sentences of very different confidence, each unmarked and marked, which costs these drops."""
    easy = np.random.default_rng(0).uniform(-0.5, 0.5, len(drops))
    values, marked = np.concatenate([easy, easy - drops]), np.repeat([0.0, 1.0], len(drops))
    return Statistic(metric.function, [values, marked], np.tile(np.arange(len(drops)), 2))


@pytest.mark.parametrize(("sentences", "method"), [(29, "jackknife"), (30, "percentile bootstrap")])
def test_a_drop_is_of_differences_within_sentences(sentences: int, method: str) -> None:
    drops = np.random.default_rng(1).normal(0.1, 0.01, sentences)
    statistic = marked_statistic(METRICS["confidence_drop"], drops)
    np.testing.assert_allclose(np.sort(paired_units(statistic)), np.sort(drops), atol=1e-12)
    evidence = evidence_of(METRICS["confidence_drop"], statistic, float(statistic.value))
    assert evidence.estimate(np.linspace(0.09, 0.11, 100)).method.startswith(method)
    # Right and wrong answers are not continuous: they need enough sentences on either side.
    accuracy = evidence_of(METRICS["accuracy_drop"], statistic, float(statistic.value))
    assert accuracy.estimate(np.linspace(0.09, 0.11, 100)).method == jackknife.METHOD


def disparity_evidence(sentences: int, **facts: Any) -> tuple[Evidence, Floats]:
    """Return evidence of two subgroups that are 0.2 apart, and resampled means that vary by 0.05."""
    metric, rng = METRICS["confidence_disparity"], np.random.default_rng(0)
    names = np.repeat(np.array(["he, old", "she, old"]), sentences)
    values = np.where(names == "he, old", 0.3, 0.1)
    statistic = Statistic(metric.function, [values, names], np.tile(np.arange(sentences), 2))
    samples = np.array([[0.3], [0.1]]) + rng.normal(0, 0.05, (2, 400))
    return evidence_of(metric, statistic, 0.2, **facts), samples


def test_a_disparity_is_known_as_closely_as_its_largest_deviation() -> None:
    evidence, samples = disparity_evidence(40)
    estimate = evidence.estimate(samples)
    sizes = np.ptp(samples - np.array([[0.3], [0.1]]), axis=0)
    assert estimate.high - 0.2 == pytest.approx(np.quantile(sizes, 0.95, method="higher")) and estimate.n == 40
    assert estimate.p == (1 + (sizes >= 0.2).sum()) / 401 and estimate.low == max(0.0, 0.4 - estimate.high)
    # A sample at the third look has a third of the error, and is about three quarters of all sentences.
    evidence, _ = disparity_evidence(40, sample=Sample({"type2": 160}, looks=3), kind="type2")
    sampled = evidence.estimate(samples)
    radius = np.sqrt(0.75) * np.quantile(sizes, 1 - 0.05 / 3, method="higher")
    assert sampled.high - 0.2 == pytest.approx(radius) and sampled.level == 0.95
    assert sampled.p == pytest.approx(3 * (1 + (np.sqrt(0.75) * sizes >= 0.2).sum()) / 401)


@pytest.mark.parametrize("sentences", [20, 40])
def test_a_disparity_of_few_sentences_or_of_equal_resamples_has_hoeffding_s_interval(sentences: int) -> None:
    evidence, samples = disparity_evidence(sentences)
    estimate = evidence.estimate(np.tile([[0.3], [0.1]], 400))
    radius = 2 * bounded.simultaneous_radius(sentences, 2, 2.0, level=0.95)
    assert estimate.high == pytest.approx(0.2 + radius) and estimate.method == bounded.HOEFFDING
    assert estimate.p == min(1.0, 4 * np.exp(-2 * sentences * (0.2 / 4) ** 2))
    assert (evidence.estimate(samples).method == bounded.HOEFFDING) == (sentences < 30)


def drawn_evidence(metric: Metric, units: int, variants: int) -> Evidence:
    """Return evidence of drawn columns: two items to a cluster, and for several variants as many statistics."""
    statistics = []
    for seed in range(variants):
        rng = np.random.default_rng([units, seed])
        columns = [drawn_column(name, 2 * units, 0.05, rng) for name in metric.inputs]
        statistics.append(Statistic(metric.function, columns, np.arange(2 * units) // 2))
    value = float(np.mean([float(statistic.value) for statistic in statistics]))
    return Evidence(metric, statistics, value, 3, 0.9, units, Sample({"a": 300}, looks=2, together=3), "a")


def told(estimate: Estimate) -> str:
    numbers = " ".join(f"{0.0 if abs(end) < 1e-9 else end:.4g}" for end in (estimate.value, *estimate.ends))
    return f"{numbers}, {estimate.n}, p {estimate.p:.3g}, {estimate.method}"


@pytest.mark.parametrize("units", [5, 14, 40])
def test_intervals_of_every_metric_are_as_kept(units: int) -> None:
    made = []
    for metric in METRICS.values():
        if not metric.inputs or (units > 30 and is_plain_mean(metric)):
            continue
        for variants in (1, 2):
            if variants == 2 and (units != 14 or metric.unit == "identity"):
                continue
            try:
                evidence = drawn_evidence(metric, units, variants)
            except UndefinedMetric:
                continue
            function = metric.norm.differences if metric.norm else metric.function
            signed = [replace(statistic, function=function) for statistic in evidence.statistics]
            samples = np.mean(evaluate(signed, weight_chunks(units, resamples=40, seed=1)), axis=0)
            made.append(f"{metric.name} {variants}: {evidence.needs_resamples} {told(evidence.estimate(samples))}")
    assert_kept(f"measured/evidence-{units}", "\n".join(made))


def test_units_of_drawn_statistics_are_those_of_a_loop() -> None:
    rng = np.random.default_rng(4)
    values, clusters = rng.random(20), rng.integers(0, 6, 20)
    values[3] = np.nan
    shares = rng.choice([0.5, 1.0, 2.0], 20)
    for weights in (None, shares):
        statistic = Statistic(mean, [values], clusters, shares=weights)
        several = []
        for number in sorted(set(clusters[~np.isnan(values)].tolist())):
            inside = (clusters == number) & ~np.isnan(values)
            counted = np.ones(20) if weights is None else shares
            several.append((float(np.average(values[inside], weights=counted[inside])), counted[inside].sum()))
        assert unit_means([statistic]) == pytest.approx([row[0] for row in several])
        assert unit_sizes([statistic]) == pytest.approx([row[1] for row in several])
        assert unit_sizes([statistic, statistic]) == pytest.approx([row[1] for row in several])


def test_a_contest_of_means_has_its_units_and_sizes() -> None:
    first, second, clusters = np.arange(6.0), np.ones(6), np.array([0, 0, 0, 1, 1, 2])
    contest = mean_contest(first, second, clusters, 3.0)
    assert contest.units is not None and contest.sizes is not None
    assert contest.units.tolist() == [0.0, 2.5, 4.0] and contest.sizes.tolist() == [3, 2, 1]
    assert (contest.n, contest.width, contest.difference) == (6, 3.0, 1.5)
    (estimate,) = paired_means([(first, second, clusters)], 5.0, 3, Trial(20, permutations=9, level=0.9))
    assert estimate.value == 1.5 and -5 <= estimate.low < 1.5 < estimate.high <= 5 and estimate.level == 0.9


def test_bounds_without_an_end_are_none_but_for_the_number_of_candidates() -> None:
    assert _finite((0, 1), 3) == (0, 1) and _finite(None, 3) is None
    assert _finite((1, np.inf), 3) == (1, 3.0) and _finite((0, np.inf), 3) is None and _finite((-np.inf, 0), 3) is None
    assert width_of(METRICS["perplexity"], 4) == 3.0 and width_of(METRICS["accuracy"], 4) == 1.0
    assert width_of(METRICS["vocab_bits"], 4) == np.inf


def test_metrics_are_plain_means_made_of_means_or_neither() -> None:
    assert is_plain_mean(METRICS["accuracy"]) and is_additive(METRICS["accuracy"])
    assert not is_plain_mean(METRICS["fp"]) and not is_additive(METRICS["ece"])
    assert is_additive(METRICS["confidence_drop"]) and not is_plain_mean(METRICS["confidence_drop"])
    assert not is_plain_mean(replace(METRICS["accuracy"], inputs=("correct", "certainty")))
    statistic = Statistic(mean, [np.array([0.0, 1.0, 1.0])], np.array([0, 0, 1]))
    seen = seen_units(METRICS["accuracy"], [statistic], 2, 0.9)
    assert seen is not None and seen.units.tolist() == [0.5, 1.0] and seen.bounds == (0, 1)
    assert (seen.level, seen.whole) == (0.9, True)
    assert seen_units(METRICS["vocab_bits"], [statistic], 2, 0.9) is None


def test_what_is_not_resampled_needs_no_resamples() -> None:
    evidence = drawn_evidence(replace(METRICS["eo_sum"], resampled=False), 40, 1)
    assert not evidence.needs_resamples and evidence.estimate(None).method == "no interval"
