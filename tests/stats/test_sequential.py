"""Looks are planned, and every beginning of the order is balanced."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from equipoise.stats.sequential import balanced_order, planned_looks


def test_looks_grow_and_stop_before_the_end() -> None:
    assert planned_looks(1584) == [96, 144, 216, 324, 486, 729, 1094]
    assert planned_looks(90) == []


def test_no_look_is_planned_at_more_than_95_percent_of_the_units() -> None:
    assert planned_looks(1600, first=1520) == [1520]
    assert planned_looks(1600, first=1521) == []
    # 144 units are 0.95 of 151.58: with 151 the second look would see nearly everything.
    assert (planned_looks(151), planned_looks(152)) == ([96], [96, 144])


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=80), st.integers(0, 1000))
def test_every_beginning_holds_its_share_of_every_stratum(strata: list[str], seed: int) -> None:
    order = balanced_order(strata, np.random.default_rng(seed))
    assert sorted(order) == list(range(len(strata)))
    drawn = np.array(strata)[order]
    for name in set(strata):
        share = np.cumsum(drawn == name)
        expected = np.arange(1, len(strata) + 1) * strata.count(name) / len(strata)
        # Each stratum is dealt evenly; the position of a beginning among all strata may be off by one from each.
        assert np.abs(share - expected).max() <= 1 + len(set(strata))


def test_a_small_stratum_is_spread_over_the_whole_order() -> None:
    strata = ["a"] * 300 + ["b"] * 30 + ["c"] * 300
    drawn = np.array(strata)[balanced_order(strata, np.random.default_rng(3))]
    # One of 30 in every thirtieth of the order, give or take a place for each stratum.
    places = np.flatnonzero(drawn == "b")
    assert np.all(places >= np.arange(30) * 21 - 3) and np.all(places <= np.arange(1, 31) * 21 + 3)


def test_the_seed_decides() -> None:
    strata = ["a", "b"] * 20
    one, same, other = (balanced_order(strata, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one == same != other
