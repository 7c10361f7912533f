"""Intervals for few units: exact, never of zero width, and valid near the bounds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from equipoise.stats import bounded
from equipoise.stats.means import at_means, joint_interval, units
from equipoise.stats.resampling import Statistic


@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 1), (0, 20), (3, 20), (20, 20), (34, 244)])
def test_clopper_pearson_is_scipy_s_exact_interval(hits: int, n: int) -> None:
    expected = binomtest(hits, n).proportion_ci(0.95, method="exact")
    assert bounded.clopper_pearson(hits, n, level=0.95) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 30, 100, 2500])
@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_identical_values_have_an_interval_with_a_width(n: int, value: float) -> None:
    low, high = bounded.mean_interval(np.full(n, value), (0, 1), level=0.95)
    assert 0 <= low <= value <= high <= 1
    assert high - low > 0.5 / n


def test_one_unit_says_next_to_nothing() -> None:
    low, high = bounded.mean_interval(np.array([1.0]), (0, 1), level=0.95)
    assert low < 0.05 and high == 1


@pytest.mark.parametrize(("n", "draw"), [(5, "rare"), (10, "beta"), (30, "rare"), (100, "beta"), (100, "rare")])
def test_the_betting_interval_holds_the_truth_as_often_as_it_says(n: int, draw: str) -> None:
    rng = np.random.default_rng(n)
    truth = 0.9 if draw == "beta" else 0.98
    held = 0
    for _ in range(200):
        values = rng.beta(9, 1, n) if draw == "beta" else np.where(rng.random(n) < 0.02, 0.0, 1.0)
        low, high = bounded.betting_interval(values, level=0.95)
        held += low <= truth <= high
    assert held >= 190


def test_more_units_make_it_narrower_and_a_higher_level_wider() -> None:
    rng = np.random.default_rng(0)
    values = rng.beta(5, 2, 400)
    widths = [np.ptp(bounded.betting_interval(values[:n], level=0.95)) for n in (10, 40, 400)]
    assert widths[0] > widths[1] > widths[2]
    assert np.ptp(bounded.betting_interval(values, level=0.99)) > widths[2]


def difference(values, groups, *, weights=None):
    from equipoise.metrics.groups import share

    first = share(values, groups == "a", weights=weights, of="a")
    return np.abs(first - share(values, groups == "b", weights=weights, of="b"))


def test_a_statistic_of_two_means_is_taken_apart_and_put_together() -> None:
    values = np.array([0.2, 0.4, 0.9, 0.7, 0.8])
    groups = np.array(["a", "a", "b", "b", "b"], dtype=object)
    statistic = Statistic(difference, [values, groups], np.arange(5))
    first, second = units(statistic)
    assert (len(first), len(second)) == (2, 3)
    means = [np.array([first.mean()]), np.array([second.mean()])]
    assert at_means(statistic, means) == pytest.approx(difference(values, groups))
    low, high = joint_interval(statistic, 1.0, level=0.95) or (np.nan, np.nan)
    assert low == 0 and high > 0.9  # five values do not show a difference


def test_a_clear_difference_is_shown_by_enough_values() -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.uniform(0, 0.2, 60), rng.uniform(0.8, 1, 60)])
    groups = np.repeat(np.array(["a", "b"], dtype=object), 60)
    low, high = joint_interval(Statistic(difference, [values, groups], np.arange(120)), 1.0, level=0.95) or (0, 0)
    assert 0.3 < low < 0.8 < high
