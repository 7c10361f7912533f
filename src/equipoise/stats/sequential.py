"""Sampling that may stop early, with intervals that hold whenever it stops: a group-sequential rule.

The looks are planned before anything is scored: at n_1 < n_2 < … < n_K units, each half as many again as the one
before. Each look spends an equal part of the error (Bonferroni over looks, the simplest of the error-spending rules of
Lan & DeMets 1983), so the chance that any of the K intervals misses the truth is at most the error asked for,
whatever the reason to stop at one of them. Drawing all units ends sampling, and needs no look.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ..records import Estimate, Floats

METHOD = "group-sequential, error spent equally over the planned looks (Lan & DeMets 1983)"
FIRST, GROWTH = 96, 1.5


def planned_looks(units: int, *, first: int = FIRST) -> list[int]:
    """Return the numbers of units at which to look, the last of them before all are drawn (none for few units)."""
    looks: list[int] = []
    size = first
    # A look at nearly everything would spend error and save nothing.
    while size <= 0.95 * units:
        looks.append(size)
        size = int(np.ceil(size * GROWTH))
    return looks


def balanced_order(strata: Sequence[str], rng: np.random.Generator) -> list[int]:
    """Return a random order of the units of which every beginning holds its share of every stratum, within one unit.

    Within a stratum the order is a random permutation; the strata are dealt evenly, each from a random start.
    """
    names = np.asarray(strata)
    place = np.empty(len(names))
    for name in sorted(set(names.tolist())):
        members = np.flatnonzero(names == name)
        place[rng.permutation(members)] = (np.arange(len(members)) + rng.random()) / len(members)
    return [int(unit) for unit in np.argsort(place, kind="stable")]


BETTING = "betting confidence sequence without replacement (Waudby-Smith & Ramdas 2024)"
FRESH = 24
"""Units before the first look, and the fewest between two looks."""

GROWTH_OF_LOOKS = 1.05
"""A sequence may be looked at as often as one likes; more often than this a batch would be too small to be quick."""

STEPS = 20
"""Halvings in the search for each end of an interval."""


def frequent_looks(units: int) -> list[int]:
    """Return the numbers of units at which to look at a sequence that holds at all of them, the last before all."""
    looks: list[int] = []
    size = FRESH
    while size < units:
        looks.append(size)
        size = max(size + FRESH, int(np.ceil(size * GROWTH_OF_LOOKS)))
    return looks


def betting_sequence(values: Floats, population: int, *, level: float, target: float) -> Estimate:
    """Return the mean of values in [0, 1], with an interval of the finite population they are drawn from at random.

    It holds for all numbers of draws together, so one may stop at any. The bets are those that are best where the
    interval is about to be as narrow as `target`; any target is sound. Nothing is assumed of the values.
    """
    x = np.asarray(values, dtype=np.float64)
    drawn = np.concatenate([[0.0], np.cumsum(x)[:-1]])
    left = population - np.arange(len(x))
    # What is drawn already bounds the mean of all: the rest lies between 0 and 1.
    floor, ceiling = float(x.sum()) / population, (float(x.sum()) + population - len(x)) / population
    bets = _bets(x, target)
    rich = math.log(2 / (1 - level))

    def poor(values: Floats, sums: Floats, mean: float) -> bool:
        means = (population * mean - sums) / left
        # A mean that leaves less than nothing for the rest is impossible.
        if (means < 0).any():
            return False
        # A bet is at most 0.9 and a mean at most 1, so nobody ever loses everything.
        return bool(np.log1p(bets * (values - means)).cumsum().max(initial=0.0) < rich)

    low = _boundary(lambda mean: poor(x, drawn, mean), floor, ceiling)
    # Betting on less than m with x is betting on more than 1 - m with 1 - x.
    other = 1 - x
    high = 1 - _boundary(lambda mean: poor(other, np.arange(len(x)) - drawn, mean), 1 - ceiling, 1 - floor)
    low, high = (low, high) if low < high else (floor, ceiling)
    return Estimate(float(x.mean()), low, high, level, len(x), BETTING)


def _bets(x: Floats, target: float) -> Floats:
    """Return how much to stake on each value, from the values before it only."""
    seen = np.arange(1, len(x) + 1)
    means = (0.5 + np.cumsum(x)) / (seen + 1)
    variances = (0.25 + np.cumsum((x - means) ** 2)) / (seen + 1)
    before = np.concatenate([[0.25], variances[:-1]])
    # The width is about sqrt(8 v log(2/a) / n); solved for n and put into the best bet sqrt(2 log(2/a) / (n v)).
    bets: Floats = target / (2 * before)
    return np.minimum(bets, 0.9)


def _boundary(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return about where a condition that fails below and holds above begins to hold, a little too low."""
    if holds(low):
        return low
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low
