"""The interval of a maximum: it covers where a plain bootstrap fails, and agrees with its test."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept

from equipoise.stats import maximum, paired
from equipoise.stats.maximum import absolute_radius, p_value, radius


def range_interval(means: np.ndarray, drawn: np.ndarray, *, shrink: float = 1.0) -> tuple[float, float]:
    """Return the 95% interval of the true max - min over groups."""
    reach = radius(np.ptp(drawn - means, axis=1), level=0.95, shrink=shrink)
    return max(0.0, float(np.ptp(means)) - reach) if np.isfinite(reach) else reach, float(np.ptp(means)) + reach


def range_p_value(means: np.ndarray, drawn: np.ndarray) -> float:
    """Return the p-value of "no group differs"."""
    return p_value(float(np.ptp(means)), np.ptp(drawn - means, axis=1))


def holm(values: list[float]) -> list[float]:
    return [float(value) for value in paired.holm(np.array(values))]


def resampled(values: np.ndarray, rng: np.random.Generator, resamples: int = 300) -> np.ndarray:
    draws = rng.integers(0, len(values), size=(resamples, len(values)))
    return values[draws].mean(axis=1)


@pytest.mark.parametrize("effects", [(0, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 0.5), (0, 0.1, 0.2, 0.3, 0.4, 0.5)])
def test_it_covers_the_truth_where_a_percentile_bootstrap_may_not(effects: tuple[float, ...]) -> None:
    rng = np.random.default_rng(0)
    truth, ours, plain = np.ptp(effects), 0, 0
    for _ in range(200):
        values = rng.normal(effects, 1.0, size=(120, 6)) + rng.normal(0, 2, size=(120, 1))
        drawn = resampled(values, rng)
        low, high = range_interval(values.mean(axis=0), drawn)
        ours += low <= truth <= high
        low, high = np.quantile(np.ptp(drawn, axis=1), [0.025, 0.975])
        plain += low <= truth <= high
    assert ours >= 184  # 95% of 200, less twice the standard error
    if truth == 0:
        assert plain == 0


def test_the_test_keeps_its_level_and_finds_a_real_difference() -> None:
    rng = np.random.default_rng(1)
    false = found = 0
    for _ in range(200):
        values = rng.normal(0, 1, size=(120, 4))
        false += range_p_value(values.mean(axis=0), resampled(values, rng)) <= 0.05
        values[:, 0] += 0.6
        found += range_p_value(values.mean(axis=0), resampled(values, rng)) <= 0.05
    assert false <= 18 and found >= 190


def test_the_observed_means_count_as_one_of_the_resamples() -> None:
    # The range of the means is 1; deviations range as widely in one of three resamples, and one without a value.
    means = np.array([0.0, 1.0])
    drawn = means + np.array([[0.0, 0.5], [0.0, -1.0], [0.1, 0.1], [np.nan, 0.0]])
    assert range_p_value(means, drawn) == (1 + 1) / (1 + 3)
    # However far apart, the p-value is never below 1 / (resamples + 1).
    assert range_p_value(np.array([0.0, 9.0]), np.array([[0.0, 9.0]] * 4)) == 1 / 5


@given(st.integers(0, 2**32 - 1))
def test_interval_and_test_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(rng.normal(0, 0.2, size=5), 1, size=(60, 5))
    means, drawn = values.mean(axis=0), resampled(values, rng, 199)
    low, high = range_interval(means, drawn)
    assert 0 <= low <= np.ptp(means) <= high
    if low > 0:
        assert range_p_value(means, drawn) <= 0.06


def test_a_sample_of_everything_leaves_no_doubt() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(0, 1, size=(50, 3))
    means, drawn = values.mean(axis=0), resampled(values, rng)
    assert range_interval(means, drawn, shrink=0.0) == (np.ptp(means), np.ptp(means))
    whole, half = (range_interval(means, drawn, shrink=s)[1] - np.ptp(means) for s in (1.0, 0.5))
    assert half == pytest.approx(whole / 2)


def test_a_group_that_most_resamples_lack_has_no_interval() -> None:
    drawn = np.full((10, 2), np.nan)
    assert np.isnan(range_interval(np.array([0.0, 1.0]), drawn)).all()


def test_a_radius_needs_a_value_in_half_of_the_resamples() -> None:
    means = np.array([0.0, 1.0])
    # The second group is off by 0.5; it has a value in three of six resamples, or in two of five.
    drawn = np.array([[0.0, 1.5]] * 3 + [[0.0, np.nan]] * 3)
    for several, expected in ((drawn, 0.5), (drawn[1:], np.nan), (np.empty((0, 2)), np.nan)):
        for found in (absolute_radius(means, several, level=0.95), radius(np.ptp(several - means, axis=1), level=0.95)):
            assert found == pytest.approx(expected, nan_ok=True)


def test_deviations_that_are_smaller_by_rounding_count_as_equally_large() -> None:
    assert p_value(0.3, np.array([0.1 + 0.2 - 1e-16, 0.3 - 1e-12, 0.2])) == 3 / 4


def test_without_resamples_nothing_speaks_against_equal_groups() -> None:
    assert range_p_value(np.array([0.0, 1.0]), np.empty((0, 2))) == 1


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_lowers_a_p_value_and_keeps_their_order(values: list[float]) -> None:
    adjusted = holm(values)
    assert all(a >= p - 1e-12 and a <= 1 for a, p in zip(adjusted, values, strict=True))
    order = np.argsort(values, kind="stable")
    assert (np.diff(np.array(adjusted)[order]) >= -1e-12).all()


def test_radii_and_p_values_of_drawn_deviations_are_kept() -> None:
    sizes = np.random.default_rng(3).gamma(2, 1, 21)
    half, most = sizes.copy(), sizes.copy()
    half[:10], most[:11] = np.nan, np.nan
    made = {
        "radius": [radius(sizes, level=level, shrink=s) for level in (0.5, 0.9, 0.95) for s in (1.0, 0.5)],
        "linear": [radius(sizes, level=level, method="linear") for level in (0.5, 0.9)],
        "half": [radius(half, level=0.9), radius(most, level=0.9), radius(np.array([]), level=0.9)],
        "even": [radius(np.array([1.0, np.nan]), level=0.9), radius(np.array([np.nan, np.nan]), level=0.9)],
        "p": [p_value(x, sizes, shrink=s) for x in (0.0, 1.0, float(sizes[3]), 9.0) for s in (1.0, 0.5)],
        "missing": p_value(1.0, half),
        "absolute": absolute_radius(sizes[:3], sizes.reshape(7, 3), level=0.8),
    }
    assert_kept("stats/maximum", made)


def test_deviations_as_large_as_the_difference_count_and_rounding_makes_none_smaller() -> None:
    sizes = np.array([0.1, 0.2, 0.3, np.nan])
    assert (
        p_value(0.2, sizes) == 3 / 4 and p_value(0.2 + 0.9e-9, sizes) == 3 / 4 and p_value(0.2 + 3e-9, sizes) == 2 / 4
    )
    assert p_value(0.2, sizes, shrink=0.5) == 1 / 4 and p_value(0.05, sizes, shrink=0.5) == 4 / 4


def test_a_deviation_as_large_as_what_was_seen_but_for_rounding_counts() -> None:
    just = 1.0 - maximum.TIE
    assert maximum.p_value(1.0, np.array([just, 0.5, np.nan])) == 2 / 3
    assert maximum.p_value(1.0, np.array([np.nextafter(just, 0), 0.5, np.nan])) == 1 / 3
    assert maximum.p_value(1.0, np.array([2.0, 0.5]), shrink=0.5) == 2 / 3
