"""Bets on a mean: they show what is true, seldom what is not, and at any look."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept

from equipoise.stats.betting import Units

RNG = np.random.default_rng(39)


def shares(share: float, audits: int, size: int) -> Units:
    drawn = (RNG.random((audits, size)) < share).astype(float)
    return Units(drawn, np.ones_like(drawn), horizon=size)


@pytest.mark.parametrize("bound", [0.03, 0.1, 0.5, 0.9])
def test_what_is_not_true_is_seldom_shown_at_any_look(bound: float) -> None:
    at_the_bound = shares(bound, 1500, 400)
    for shown in (at_the_bound.shown_above, at_the_bound.shown_below):
        # Three standard errors above 5%: a bet that looks ahead, or pays too much, is far beyond.
        assert (shown(bound, 0.05) > 0).mean() < 0.05 + 3 * 0.0057


def test_units_of_uneven_size_are_a_ratio_not_a_mean_of_means() -> None:
    # Large units have a share of 0.2, small ones of 0.05: the ratio is 0.175, the mean of the units' means 0.125.
    large = RNG.random((400, 600)) < 0.5
    counts = np.where(large, 5.0, 1.0)
    sums = RNG.binomial(counts.astype(int), np.where(large, 0.2, 0.05)).astype(float)
    units = Units(sums, counts, most=5.0, horizon=600)
    assert (units.shown_below(0.175, 0.05) > 0).mean() < 0.08
    assert (units.shown_above(0.175, 0.05) > 0).mean() < 0.08
    assert (units.shown_above(0.13, 0.05) > 0).mean() > 0.9, "0.125 would be below"


def test_what_is_far_from_the_bound_is_shown_after_few_units() -> None:
    needed = shares(0.02, 200, 400).shown_below(0.1, 0.025)
    assert (needed > 0).mean() > 0.97 and np.median(needed) < 100
    assert not shares(0.02, 50, 400).shown_above(0.1, 0.025).any()


@given(
    values=st.lists(st.floats(-2, 3), min_size=1, max_size=60),
    bounds=st.tuples(st.floats(-2, 3), st.floats(-2, 3)).map(sorted),
)
def test_more_is_never_shown_of_a_higher_bound_and_more_units_never_show_less(
    values: list[float], bounds: list[float]
) -> None:
    sums = np.array(values)
    units = Units(sums, np.ones(len(sums)), (-2.0, 3.0), horizon=100)
    low, high = bounds
    if units.shown_above(high, 0.05):
        assert units.shown_above(low, 0.05)
    if units.shown_below(low, 0.05):
        assert units.shown_below(high, 0.05)
    after = int(units.shown_above(low, 0.05))
    if after:
        first = Units(sums[:after], np.ones(after), (-2.0, 3.0), horizon=100)
        assert int(first.shown_above(low, 0.05)) == after, "what was shown at a look stays shown"


@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=80))
def test_the_interval_is_what_is_not_ruled_out(values: list[float]) -> None:
    units = Units(np.array(values), np.ones(len(values)), horizon=200)
    low, high = units.interval(0.025)
    assert 0 <= low <= high <= 1
    if low > 0.001:
        assert units.shown_above(low - 1e-4, 0.025) and not units.shown_above(low + 1e-4, 0.025)
    mirrored = Units(1 - np.array(values), np.ones(len(values)), horizon=200).interval(0.025)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-6)


def test_a_bound_outside_of_what_is_possible_needs_no_data() -> None:
    units = shares(0.5, 1, 30)
    assert units.shown_above(-0.1, 0.05).all() and not units.shown_above(0.0, 0.05).any()
    assert units.shown_below(1.1, 0.05).all() and not units.shown_below(1.0, 0.05).any()
    assert not units.shown_above(1.0, 0.05).any()


def test_bets_that_cannot_pay_in_time_are_left_out() -> None:
    assert min(Units(np.ones(1), np.ones(1), horizon=50).bets) > min(Units(np.ones(1), np.ones(1), horizon=9000).bets)
    assert Units(np.ones(1), np.ones(1), horizon=1).bets


def test_what_is_shown_of_drawn_units_is_kept() -> None:
    made = {}
    rng = np.random.default_rng(7)
    for name, counts in (("even", np.ones(90)), ("uneven", rng.integers(0, 4, 90).astype(float))):
        for share in (0.05, 0.4, 0.95):
            sums = -1 * counts + 3 * rng.binomial(counts.astype(int), share)
            units = Units(sums, counts, (-1.0, 2.0), most=float(counts.max()), horizon=90)
            looks = {
                bound: [int(units.shown_above(bound, 0.05)), int(units.shown_below(bound, 0.05))]
                for bound in (-1.1, -1.0, -0.8, 0.2, 1.0, 1.9, 2.0, 2.1)
            }
            made[f"{name}, {share}"] = {
                "looks": looks,
                "interval": units.interval(0.025),
                "estimates": [units.estimate(level) for level in (0.8, 0.95)],
                "wealth": units.log_wealth((sums + counts) / 3, 0.5)[[0, 5, 40, -1]],
            }
    made["bets"] = {
        horizon: Units(np.ones(1), np.ones(1), horizon=horizon).bets for horizon in (0, 1, 9, 50, 400, 9000)
    }
    assert_kept("stats/betting", made)


def test_wealth_is_the_mean_of_what_the_gamblers_have() -> None:
    x = np.array([0.0, 1.0, 1.0, 0.5, 1.0])
    units = Units(x, np.ones(5), horizon=400)
    wealth = np.mean([np.cumprod(1 + bet * (x / 0.4 - 1)) for bet in units.bets], axis=0)
    assert units.log_wealth(x, 0.4) == pytest.approx(np.log(wealth))
    assert units.bets == [0.1, 0.25, 0.5, 0.75, 0.92] and units.bets != Units(x, np.ones(5), horizon=9000).bets


def test_who_has_just_what_is_needed_is_rich() -> None:
    half = Units(np.full(3, 0.5), np.ones(3), horizon=1)
    assert half.log_wealth(half.sums, 0.5).tolist() == [0.0] * 3, "nothing is won or lost at the bound"
    assert half.shown_above(0.5, 1.0) == 1 == half.shown_below(0.5, 1.0)
    assert half.shown_above(0.5, 0.999) == 0 == half.shown_below(0.5, 0.999)
