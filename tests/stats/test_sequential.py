"""Looks are planned, and every beginning of the order is balanced."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.stats.sequential import STEPS, _bets, balanced_order, betting_sequence, frequent_looks, planned_looks


def test_looks_grow_and_stop_before_the_end() -> None:
    assert planned_looks(1584) == [96, 144, 216, 324, 486, 729, 1094]
    assert planned_looks(90) == []


def test_frequent_looks_are_24_units_apart_and_later_five_percent() -> None:
    assert frequent_looks(73) == [24, 48, 72] and frequent_looks(72) == [24, 48] and frequent_looks(24) == []
    assert frequent_looks(620)[-5:] == [504, 530, 557, 585, 615]


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


def planted_audits(rng: np.random.Generator, kind: str, size: int) -> np.ndarray:
    """Return the values of a population: flips, or the U of sets."""
    if kind == "flips":
        return (rng.random(size) < 0.12).astype(float)
    return 1 - np.abs(rng.normal(0, 0.12, size)).clip(0, 1)


@pytest.mark.parametrize("kind", ["flips", "u"])
@pytest.mark.parametrize("target", [0.05, 0.02])
def test_betting_sequences_hold_at_all_looks_together_over_500_planted_audits(kind: str, target: float) -> None:
    rng = np.random.default_rng(4)
    missed = 0
    for _ in range(500):
        values = rng.permutation(planted_audits(rng, kind, 400))
        truth = float(values.mean())
        # The interval at the end misses the truth if any look before it did: it is the narrowest of all of them.
        low, high = betting_sequence(values[:300], 400, level=0.95, target=target).ends
        missed += not low <= truth <= high
    assert missed / 500 <= 0.05


def test_a_betting_sequence_of_all_units_is_the_mean() -> None:
    values = np.random.default_rng(0).random(50)
    low, high = betting_sequence(values, 50, level=0.95, target=0.05).ends
    assert low == pytest.approx(values.mean(), abs=1e-6) and high == pytest.approx(values.mean(), abs=1e-6)


def test_a_betting_sequence_never_widens_as_more_is_drawn() -> None:
    values = np.random.default_rng(1).random(200)
    spans = [betting_sequence(values[:n], 400, level=0.95, target=0.05) for n in (20, 50, 100, 200)]
    widths = [span.width for span in spans]
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(widths)) and widths[0] > 2 * widths[-1]


def test_frequent_looks_grow_slowly_and_end_before_all() -> None:
    looks = frequent_looks(2000)
    assert looks[0] == 24 and looks[-1] < 2000 and all(24 <= b - a <= 0.06 * b + 25 for a, b in pairwise(looks))


@pytest.mark.parametrize(
    ("draws", "population", "level", "target", "ends"),
    [
        (60, 200, 0.95, 0.1, (0.532305, 0.674769)),
        (60, 60, 0.95, 0.1, (0.597827, 0.597827)),
        (10, 40, 0.2, 0.5, (0.456674, 0.658719)),
    ],
)
def test_the_same_draws_give_the_same_interval_in_every_version(
    draws: int, population: int, level: float, target: float, ends: tuple[float, float]
) -> None:
    values = np.random.default_rng(0).beta(3, 2, 60)[:draws]
    sequence = betting_sequence(values, population, level=level, target=target)
    assert sequence.ends == pytest.approx(ends, abs=2e-6)
    assert (sequence.value, sequence.n) == (pytest.approx(values.mean()), draws)


@given(st.lists(st.sampled_from([0.0, 0.2, 1.0]), min_size=1, max_size=12), st.integers(0, 6), st.booleans())
def test_an_interval_has_the_means_against_which_nobody_gets_rich(values: list[float], more: int, early: bool) -> None:
    x, population = np.array(sorted(values, reverse=True) if early else values), len(values) + more
    found = betting_sequence(x, population, level=0.8, target=0.5)
    bets = _bets(x, 0.5)

    def is_possible(mean: float) -> bool:
        wealth, drawn = [0.0], 0.0
        for place, value in enumerate(x):
            rest = (population * mean - drawn) / (population - place)
            if rest < 0:
                return False
            wealth.append(wealth[-1] + float(np.log1p(bets[place] * (value - rest))))
            drawn += value
        return max(wealth) < np.log(2 / (1 - 0.8))

    floor = float(x.sum()) / population
    ceiling = (float(x.sum()) + more) / population
    if found.low > floor:
        above = found.low + 1.01 * (ceiling - floor) / 2**STEPS
        assert not is_possible(found.low) and (is_possible(above) or above >= ceiling)
    elif found.high < ceiling or more:
        assert is_possible(floor) or found.low == floor
