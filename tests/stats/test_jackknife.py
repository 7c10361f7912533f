"""The jackknife of few clusters: by hand, at the ends of the scale, and how often it holds the truth."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept
from scipy.stats import t

from equipoise.metrics.groups import mean
from equipoise.metrics.stereotyped_answers import bias_score, scaled_bias_score
from equipoise.stats import jackknife
from equipoise.stats.resampling import Statistic


def test_what_is_added_is_one_cluster_in_the_middle_and_an_item_at_each_end() -> None:
    assert [(part.place, part.size) for part in jackknife.added((0, 1), 0.1)] == [(0.5, 1), (0, 0.1), (1, 0.1)]
    signed = [(part.place, part.size) for part in jackknife.added((-1, 1), 0.1)]
    assert signed == [(-0.5, 0.5), (0.5, 0.5), (-1, 0.1), (1, 0.1)]


def test_clusters_in_the_middle_of_the_scale_have_hardly_more_than_student_s_interval() -> None:
    values = np.tile([0.48, 0.52], 500)
    estimate = jackknife.mean_interval(values, (0, 1), level=0.9)
    plain = t.ppf(0.95, 999) * values.std(ddof=1) / np.sqrt(1000)
    assert (estimate.low, estimate.high) == pytest.approx((0.5 - plain, 0.5 + plain), rel=2e-3)
    assert (estimate.value, estimate.n, estimate.method) == (0.5, 1000, jackknife.METHOD)


@pytest.mark.parametrize("n", [8, 25, 266])
def test_equal_values_at_an_end_leave_room_for_what_was_not_seen(n: int) -> None:
    # Where all n are 1, about 3 in n others may not be: the rule of three.
    estimate = jackknife.mean_interval(np.ones(n), (0, 1), level=0.95)
    assert estimate.high == 1 and 2.5 / n < 1 - estimate.low < 4 / n


@given(st.lists(st.floats(0, 1), min_size=8, max_size=40), st.integers(0, 2**32))
def test_the_interval_holds_the_mean_and_keeps_to_the_scale(values: list[float], seed: int) -> None:
    counts = np.random.default_rng(seed).integers(1, 50, len(values)).astype(float)
    estimate = jackknife.mean_interval(np.array(values), (0, 1), level=0.95, counts=counts)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1 and estimate.width > 0
    assert estimate.value == pytest.approx(np.average(values, weights=counts))


def test_values_with_a_cluster_left_out_are_those_of_the_other_rows() -> None:
    rng, numbers = np.random.default_rng(0), np.array([4, 4, 1, 1, 1, 7, 7])
    several = [rng.random(7), rng.random(7)]
    # Cluster 9 belongs to rows that the statistics do not take.
    statistics = [Statistic(mean, [np.append(v, 9.0)], np.append(numbers, 9), rows=np.arange(7)) for v in several]
    expected = [np.mean([v[numbers != left].mean() for v in several]) for left in (1, 4, 7)]
    assert jackknife.left_out_values(statistics) == pytest.approx(expected)


def test_the_interval_of_a_mean_is_that_of_its_rows() -> None:
    rng = np.random.default_rng(1)
    numbers = np.repeat(np.arange(10), rng.integers(2, 9, 10))
    values = rng.random(len(numbers))
    counts = np.bincount(numbers).astype(float)
    estimate = jackknife.mean_interval(np.bincount(numbers, values) / counts, (0, 1), level=0.95, counts=counts)
    left_out = jackknife.left_out_values([Statistic(mean, [values], numbers)])
    ends = jackknife.scale_interval(float(values.mean()), left_out, (0, 1), item=10 / len(values), level=0.95)
    assert estimate.ends == pytest.approx(ends)


@pytest.mark.parametrize("ambiguous", [False, True])
def test_bbq_scores_hold_the_truth_where_few_answers_name_a_person(ambiguous: bool) -> None:
    rng, held = np.random.default_rng(2), 0
    for _ in range(300):
        numbers = np.repeat(np.arange(12), 30)
        person = rng.random(360) < rng.beta(0.4, 3.6, 12)[numbers]
        lean = np.where(person, np.where(rng.random(360) < 0.75, 1.0, -1.0), 0.0)
        columns = [lean, (lean == 0).astype(float)] if ambiguous else [lean]
        statistic = Statistic(scaled_bias_score if ambiguous else bias_score, columns, numbers)
        ends = jackknife.signed_interval([statistic], level=0.95)
        assert ends is not None
        held += ends[0] <= (0.05 if ambiguous else 0.5) <= ends[1]
    assert held >= 280


def test_a_second_variant_counts_once() -> None:
    rng, numbers = np.random.default_rng(3), np.repeat(np.arange(9), 20)
    statistic = Statistic(bias_score, [rng.choice([-1.0, 0.0, 1.0], 180)], numbers)
    once, twice = (jackknife.signed_interval([statistic] * times, level=0.95) for times in (1, 2))
    assert once == pytest.approx(twice)


def test_intervals_of_drawn_clusters_are_kept() -> None:
    made = {}
    for n, level, bounds in product((8, 30), (0.8, 0.95), ((0.0, 1.0), (-1.0, 1.0), (-2.0, 0.0))):
        rng = np.random.default_rng(n)
        values = bounds[0] + (bounds[1] - bounds[0]) * rng.beta(2, 5, n)
        counts = rng.integers(1, 6, n).astype(float)
        left_out = rng.normal(0.3, 0.02, n)
        made[f"{n} at {level} in {bounds}"] = [
            jackknife.mean_interval(values, bounds, level=level),
            jackknife.mean_interval(values, bounds, level=level, counts=counts),
            jackknife.scale_interval(0.0, left_out - 0.3, bounds, item=0.4, level=level),
            jackknife.plain_interval(0.3, left_out, level=level),
            jackknife.added(bounds, 0.3),
        ]
    assert_kept("stats/jackknife", made)


def test_signed_statistics_with_items_added_are_kept() -> None:
    rng = np.random.default_rng(3)
    made = {}
    for n, shares in product((12, 60), (False, True)):
        sides = rng.choice([1.0, 0.0, -1.0], n)
        sides[:2] = np.nan
        right = (sides == 0).astype(float)
        weights = rng.integers(1, 4, n).astype(float) if shares else None
        clusters = np.arange(n) // 3
        one = Statistic(bias_score, [sides], clusters, shares=weights)
        two = Statistic(scaled_bias_score, [sides, right], clusters, shares=weights)
        with_items = jackknife.with_signed_items(two, 2.5, 40)
        made[f"{n}, shares {shares}"] = {
            "intervals": [jackknife.signed_interval(chosen, level=0.9) for chosen in ([one], [two], [one, one])],
            "left out": jackknife.left_out_values([one])[:5],
            "of some": jackknife.left_out_values([one], np.array([1, 3])),
            "added": [array[n:] for array in with_items.arrays],
            "clusters": with_items.clusters[n:],
            "shares": with_items.row_shares[n - 2 :],
        }
    assert_kept("stats/signed", made)


def test_a_cluster_without_rows_is_left_out_like_any_other() -> None:
    statistic = Statistic(mean, [np.array([1.0, 2.0, 6.0])], np.array([0, 1, 4]), rows=np.array([0, 1]))
    assert jackknife.left_out_values([statistic]) == pytest.approx([2.0, 1.0])
    assert jackknife.left_out_values([statistic], np.array([0, 4, 5])) == pytest.approx([2.0, 1.5, 1.5])
