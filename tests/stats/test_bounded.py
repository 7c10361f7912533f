"""Intervals for few units: exact, never of zero width, and valid near the bounds."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept
from scipy.stats import binomtest

from equipoise.stats import bounded, jackknife
from equipoise.stats.means import at_means, joint_interval, tables, units
from equipoise.stats.resampling import Statistic


def betting(values: np.ndarray, *, level: float, seed: int = 0) -> tuple[float, float]:
    """Return the betting interval of values in [0, 1], however many they are."""
    return bounded._betting(np.asarray(values, dtype=np.float64).tobytes(), level, seed)


@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 1), (0, 20), (3, 20), (20, 20), (34, 244)])
def test_clopper_pearson_is_scipy_s_exact_interval(hits: int, n: int) -> None:
    expected = binomtest(hits, n).proportion_ci(0.95, method="exact")
    assert bounded.clopper_pearson(hits, n, level=0.95).ends == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 30, 100, 2500])
@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_identical_values_have_an_interval_with_a_width(n: int, value: float) -> None:
    low, high = bounded.mean_interval(np.full(n, value), (0, 1), level=0.95).ends
    assert 0 <= low <= value <= high <= 1
    assert high - low > 0.5 / n


def test_one_unit_says_next_to_nothing() -> None:
    low, high = bounded.mean_interval(np.array([1.0]), (0, 1), level=0.95).ends
    assert low < 0.05 and high == 1


@pytest.mark.parametrize(("n", "draw"), [(5, "rare"), (10, "beta"), (30, "rare"), (100, "beta"), (100, "rare")])
def test_the_betting_interval_holds_the_truth_as_often_as_it_says(n: int, draw: str) -> None:
    rng = np.random.default_rng(n)
    truth = 0.9 if draw == "beta" else 0.98
    held = 0
    for _ in range(200):
        values = rng.beta(9, 1, n) if draw == "beta" else np.where(rng.random(n) < 0.02, 0.0, 1.0)
        low, high = betting(values, level=0.95)
        held += low <= truth <= high
    assert held >= 190


def gambled(values: list[float], m: float, *, level: float) -> float:
    """Return the greatest log-wealth of a gambler against the mean m: Waudby-Smith and Ramdas, value by value."""
    n, alpha, most = len(values), 1 - level, [-np.inf, -np.inf]
    total, squares, variance, up, down = 0.0, 0.0, 0.25, 0.0, 0.0
    for t, x in enumerate(values, 1):
        bet = np.sqrt(2 * np.log(2 / alpha) / (n * variance))
        up += np.log1p(min(bet, 0.75 / m) * (x - m))
        down += np.log1p(-min(bet, 0.75 / (1 - m)) * (x - m))
        most = [max(most[0], up), max(most[1], down)]
        total += x
        squares += (x - (0.5 + total) / (t + 1)) ** 2
        variance = (0.25 + squares) / (t + 1)
    return max(most)


@pytest.mark.parametrize(("n", "level"), [(7, 0.9), (40, 0.95), (150, 0.95)])
def test_the_betting_interval_is_that_of_the_paper_value_by_value(n: int, level: float) -> None:
    values = np.random.default_rng(n).beta(3, 2, n)
    order = np.random.default_rng([5, n]).permutation(values).tolist()
    means = np.linspace(0, 1, 1001)[1:-1]
    kept = [m for m in means if gambled(order, float(m), level=level) < np.log(2 / (1 - level))]
    low, high = betting(values, level=level, seed=5)
    assert (low, high) == pytest.approx((max(0, kept[0] - 0.001), min(1, kept[-1] + 0.001)), abs=1e-9)


def test_hoeffding_by_hand() -> None:
    expected = 2 * np.sqrt(np.log(4 / 0.05) / 20) + 2 * np.sqrt(np.log(4 / 0.05) / 60)
    assert bounded.hoeffding_radius([10, 30], 2.0, level=0.95) == pytest.approx(expected)
    assert bounded.hoeffding_radius([0], 1.0, level=0.95) == pytest.approx(np.sqrt(np.log(40) / 2))


def test_betting_serves_up_to_seven_units_and_the_jackknife_more() -> None:
    values = np.random.default_rng(0).random(8)
    few, more = (bounded.mean_interval(values[:n], (0, 1), level=0.95) for n in (7, 8))
    assert few.ends == betting(values[:7], level=0.95) and few.method == bounded.BETTING
    assert more == jackknife.mean_interval(values, (0, 1), level=0.95)


def test_a_share_of_whole_answers_has_the_exact_interval_and_one_of_part_answers_has_not() -> None:
    whole = partial(bounded.mean_interval, whole=True, level=0.95)
    assert whole(np.array([1.0, 0.0, 1.0]), (0, 1)) == bounded.clopper_pearson(2, 3, level=0.95)
    assert whole(np.array([1.0, 0.0, 0.5]), (0, 1)).method == bounded.BETTING
    assert whole(np.array([1.0, 0.0, 1.0]), (0, 2)).method == bounded.BETTING
    assert bounded.mean_interval(np.array([1.0, 0.0, 1.0]), (0, 1), level=0.95).method == bounded.BETTING


def test_a_bootstrap_needs_thirty_units_on_each_side_of_the_mean() -> None:
    assert bounded.is_enough(np.repeat([0.0, 1.0], 30), 1.0)
    assert not bounded.is_enough(np.repeat([0.0, 1.0], [29, 40]), 1.0)
    assert not bounded.is_enough(np.repeat([0.0, 1.0], [40, 29]), 1.0)
    assert not bounded.is_enough(np.repeat([0.0, 0.5, 1.0], [29, 60, 29]), 1.0)
    # A hundredth of the width is not yet a side: 0 and 2 lie just that far from their mean.
    assert not bounded.is_enough(np.repeat([0.0, 2.0], 30), 1 / bounded.NEARLY_EQUAL)
    assert bounded.is_enough(np.repeat([0.0, 2.0], 30), 0.99 / bounded.NEARLY_EQUAL)


def test_more_units_make_it_narrower_and_a_higher_level_wider() -> None:
    rng = np.random.default_rng(0)
    values = rng.beta(5, 2, 400)
    widths = [np.ptp(betting(values[:n], level=0.95)) for n in (10, 40, 400)]
    assert widths[0] > widths[1] > widths[2]
    assert np.ptp(betting(values, level=0.99)) > widths[2]


def difference(values, groups, *, weights=None):
    from equipoise.metrics.groups import share

    first = share(values, groups == "a", weights=weights, of="a")
    return np.abs(first - share(values, groups == "b", weights=weights, of="b"))


def test_a_statistic_of_two_means_is_taken_apart_and_put_together() -> None:
    values = np.array([0.2, 0.4, 0.9, 0.7, 0.8])
    groups = np.array(["a", "a", "b", "b", "b"], dtype=object)
    statistic = Statistic(difference, [values, groups], np.arange(5))
    first, second = units(tables(statistic))
    assert (len(first), len(second)) == (2, 3)
    means = [np.array([first.mean()]), np.array([second.mean()])]
    assert at_means(statistic, means) == pytest.approx(difference(values, groups))
    joint = joint_interval(statistic, [first, second], 1.0, level=0.95)
    assert joint is not None and joint.value == pytest.approx(difference(values, groups)) and joint.n == 2
    assert joint.low == 0 and joint.high > 0.9  # five values do not show a difference


def test_a_clear_difference_is_shown_by_enough_values() -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.uniform(0, 0.2, 60), rng.uniform(0.8, 1, 60)])
    groups = np.repeat(np.array(["a", "b"], dtype=object), 60)
    statistic = Statistic(difference, [values, groups], np.arange(120))
    joint = joint_interval(statistic, units(tables(statistic)), 1.0, level=0.95)
    assert joint is not None and 0.3 < joint.low < 0.8 < joint.high


def test_one_mean_at_once_is_hoeffding_s_own_radius_and_more_means_lie_farther() -> None:
    radii = [bounded.simultaneous_radius(40, means, 2.0, level=0.95) for means in (1, 2, 10)]
    assert radii[0] == pytest.approx(bounded.hoeffding_radius([40], 2.0, level=0.95), abs=1e-12)
    assert radii == sorted(set(radii))


@pytest.mark.parametrize(("level", "seed"), [(0.2, 20), (0.5, 160)])
def test_values_that_rule_every_mean_out_leave_one_step_around_their_own(level: float, seed: int) -> None:
    values = np.random.default_rng(seed).beta(0.3, 0.3, 40)
    low, high = betting(values, level=level, seed=seed)
    step = 1 / bounded.GRID
    assert (low, high) == pytest.approx((values.mean() - step, values.mean() + step), abs=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
def test_units_a_hundredth_of_the_width_from_the_mean_are_on_neither_side(sign: int) -> None:
    # The mean is 0. Thirty units lie at 2 on one side, sixty exactly at the limit of 1 on the other.
    values = sign * np.repeat([2.0, -1.0], [30, 60])
    assert not bounded.is_enough(values, 1 / bounded.NEARLY_EQUAL)
    assert bounded.is_enough(values, 0.99 / bounded.NEARLY_EQUAL)


def test_an_interval_has_a_width_from_a_millionth_of_the_possible_one_on() -> None:
    assert not bounded.has_width(0.0, 1e-6, 1.0) and bounded.has_width(0.0, 1.1e-6, 1.0)
    # Without bounds the values themselves say how fine the rounding is.
    assert bounded.has_width(0.0, 1.5e-6, np.inf) and not bounded.has_width(0.0, 0.9e-6, np.inf)
    assert not bounded.has_width(5.0, 5.000004, np.inf) and bounded.has_width(5.0, 5.000006, np.inf)


@pytest.mark.parametrize(
    ("value", "interval"),
    [
        (0.0, (0.0, 0.001)),
        (0.5, (0.499, 0.501)),
        (1.0, (0.999, 1.0)),
        # Between two candidate means no candidate is left: one step around the value itself.
        (0.5005, (0.5005 - 1 / 1001, 0.5005 + 1 / 1001)),
        (0.0005, (0.0, 0.0005 + 1 / 1001)),
        (0.9995, (0.9995 - 1 / 1001, 1.0)),
    ],
)
def test_many_equal_values_leave_one_step_of_the_grid_around_them(value: float, interval: tuple[float, float]) -> None:
    assert betting(np.full(20_000, value), level=0.95) == pytest.approx(interval, abs=1e-12)


def test_values_beyond_their_bounds_count_as_at_the_bound() -> None:
    beyond, at = (bounded.mean_interval(np.array(v), (0, 1), level=0.95) for v in ([3.0, -2.0, 0.5], [1.0, 0.0, 0.5]))
    assert beyond.ends == at.ends


def test_intervals_of_drawn_values_are_kept() -> None:
    made = {}
    for n, level, seed in product((1, 3, 7, 8, 40), (0.8, 0.95), (0, 1)):
        rng = np.random.default_rng([n, seed])
        values = rng.beta(2, 4, n)
        counts = rng.integers(1, 5, n).astype(float)
        made[f"{n} at {level}, seed {seed}"] = [
            bounded.mean_interval(4 * values - 1, (-1, 3), level=level, seed=seed),
            bounded.mean_interval(values, (0, 1), level=level, seed=seed, counts=counts),
            bounded.mean_interval(np.round(values), (0, 1), level=level, seed=seed, whole=True),
            bounded.mean_interval(np.round(values), (0, 1), level=level, seed=seed),
        ]
    made["equal"] = [bounded.mean_interval(np.full(5, x), (0, 1), level=0.9) for x in (0.0, 0.3, 1.0)]
    made["far"] = bounded.mean_interval(np.array([0.0, 1.0] * 3), (0, 1), level=0.01)
    made["outside"] = bounded.mean_interval(np.array([-0.5, 1.5, 0.2]), (0, 1), level=0.9)
    assert_kept("stats/bounded", made)


@given(st.lists(st.integers(1, 900), max_size=4), st.floats(0.1, 5), st.floats(0.5, 0.99))
def test_hoeffding_s_radius_is_the_sum_of_those_of_the_means(units: list[int], width: float, level: float) -> None:
    several = [width * np.sqrt(np.log(2 * len(units) / (1 - level)) / 2 / n) for n in units]
    assert bounded.hoeffding_radius(units, width, level=level) == pytest.approx(sum(several))
    assert bounded.hoeffding_radius([0], width, level=level) == bounded.hoeffding_radius([1], width, level=level)
    for means in (0, 1, 5):
        joint = width * np.sqrt(np.log(2 * max(means, 1) / (1 - level)) / 2 / 30)
        assert bounded.simultaneous_radius(30, means, width, level=level) == pytest.approx(joint)


def test_thirty_units_on_each_side_of_the_mean_are_enough() -> None:
    values = np.array([0.0] * 30 + [0.5] * 7 + [1.0] * 30)
    assert bounded.is_enough(values, 1.0) and not bounded.is_enough(values[1:], 1.0)
    assert not bounded.is_enough(values[:-1], 1.0)
    # What is within a hundredth of the width of the mean is on neither side.
    above, below = bounded.sides(np.array([0.0, 1.0, 0.4, 0.6]), 10.0)
    assert (above.tolist(), below.tolist()) == ([False, True, False, False], [True, False, False, False])
    above, below = bounded.sides(np.array([0.0, 1.0, 0.375, 0.625]), 12.5)
    assert (above.sum(), below.sum()) == (1, 1), "exactly that far is not yet on a side"
    assert bounded.sides(np.array([0.0, 1.0, 0.375, 0.625]), 12.0)[0].sum() == 2


def test_a_width_is_more_than_rounding() -> None:
    assert bounded.has_width(0.0, 2e-6, 1.0) and not bounded.has_width(0.0, 2e-6, 2.5)
    assert not bounded.has_width(0.5, 0.5, 1.0) and bounded.has_width(0.0, 1.1e-6, np.inf)
    assert not bounded.has_width(0.0, 0.9e-6, np.inf)
    for low, high in ((100.0, 100.00005), (-100.00005, -100.0)):
        assert not bounded.has_width(low, high, np.inf) and bounded.has_width(low, high, 1.0)
    assert bounded.has_width(0.0, 0.5e-6, 0.1)
