"""Ranks as ranges: what intervals settle is settled, what they do not is a range, and the ranges hold together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.records import EquipoiseError, Estimate
from equipoise.stats.ranks import Rank, rank_ranges


def estimate(value: float, half: float, level: float = 0.95) -> Estimate:
    return Estimate(value, value - half, value + half, level, 100, "test")


def test_far_apart_is_a_number_and_close_together_a_range() -> None:
    several = [estimate(0.9, 0.01), estimate(0.5, 0.05), estimate(0.52, 0.05), estimate(0.1, 0.01)]
    assert rank_ranges(several, higher=True) == [Rank(1, 1), Rank(2, 3), Rank(2, 3), Rank(4, 4)]
    assert rank_ranges(several, higher=False) == [Rank(4, 4), Rank(2, 3), Rank(2, 3), Rank(1, 1)]
    assert [str(rank) for rank in rank_ranges(several, higher=True)] == ["1", "2–3", "2–3", "4"]


def test_only_the_sides_that_face_each_other_count() -> None:
    narrow_above, narrow_below = Estimate(0.5, 0.2, 0.51, 0.95, 9, ""), Estimate(0.6, 0.59, 0.9, 0.95, 9, "")
    assert rank_ranges([narrow_above, narrow_below], higher=True) == [Rank(2, 2), Rank(1, 1)]
    wide_above = Estimate(0.5, 0.49, 0.8, 0.95, 9, "")
    assert rank_ranges([wide_above, narrow_below], higher=True) == [Rank(1, 2), Rank(1, 2)]


SIDES = st.tuples(st.floats(0, 1), st.floats(0, 0.3), st.floats(0, 0.3))


@given(st.lists(SIDES, min_size=2, max_size=6))
def test_lower_is_better_is_higher_is_better_of_the_opposite_with_its_sides_exchanged(
    several: list[tuple[float, float, float]],
) -> None:
    lower = [Estimate(value, value - below, value + above, 0.95, 9, "") for value, below, above in several]
    opposite = [Estimate(-value, -value - above, -value + below, 0.95, 9, "") for value, below, above in several]
    ranks = rank_ranges(lower, higher=False)
    assert ranks == rank_ranges(opposite, higher=True)
    assert all(1 <= rank.best <= rank.worst <= len(several) for rank in ranks)
    best = min(range(len(several)), key=lambda place: several[place][0])
    assert ranks[best].best == 1, "nothing is ranked above the best value"


def test_an_estimate_without_an_interval_is_ranked_apart_from_none() -> None:
    bare = Estimate(0.1, math.nan, math.nan, 0.95, 1, "none")
    assert rank_ranges([estimate(0.9, 0.01), bare, estimate(0.5, 0.01)], higher=True) == [
        Rank(1, 2),
        Rank(1, 3),
        Rank(2, 3),
    ]


def test_where_lower_is_better_the_sides_that_face_each_other_are_the_others() -> None:
    narrow_above, narrow_below = Estimate(0.5, 0.2, 0.51, 0.95, 9, ""), Estimate(0.6, 0.59, 0.9, 0.95, 9, "")
    assert rank_ranges([narrow_above, narrow_below], higher=False) == [Rank(1, 1), Rank(2, 2)]
    wide_below = Estimate(0.6, 0.3, 0.61, 0.95, 9, "")
    assert rank_ranges([narrow_above, wide_below], higher=False) == [Rank(1, 2), Rank(1, 2)]


def test_one_and_none() -> None:
    assert rank_ranges([], higher=True) == []
    assert rank_ranges([estimate(1, 0.1)], higher=True) == [Rank(1, 1)]
    with pytest.raises(EquipoiseError, match="level must lie between 0 and 1"):
        rank_ranges([estimate(1, 0.1)], higher=True, level=95)


def test_intervals_of_another_level_say_the_same_of_the_standard_error() -> None:
    first = [estimate(0.5, 0.0392), estimate(0.58, 0.0392)]  # a standard error of 0.02
    second = [estimate(0.5, 0.0329, 0.9), estimate(0.58, 0.0329, 0.9)]
    assert rank_ranges(first, higher=True) == rank_ranges(second, higher=True) == [Rank(2, 2), Rank(1, 1)]


@pytest.mark.parametrize("spread", [0.0, 0.02])
def test_all_ranges_hold_together_as_often_as_they_say(spread: float) -> None:
    generator = np.random.default_rng(3)
    truth = np.arange(12) * spread
    errors = generator.uniform(0.005, 0.05, 12)
    held = 0
    for _ in range(400):
        drawn = generator.normal(truth, errors)
        ranks = rank_ranges([estimate(v, 1.96 * se) for v, se in zip(drawn, errors, strict=True)], higher=True)
        best = [1 + int((truth > value).sum()) for value in truth]
        worst = [12 - int((truth < value).sum()) for value in truth]
        held += all(r.best <= w and r.worst >= b for r, b, w in zip(ranks, best, worst, strict=True))
        # Equal models must all keep the whole range.
        held -= spread == 0 and any(rank != Rank(1, 12) for rank in ranks)
    assert held / 400 >= 0.93
