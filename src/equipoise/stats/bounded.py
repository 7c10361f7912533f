"""Intervals for bounded variables that are valid at any number of units, also where a bootstrap has no width.

A share of independent units gets Clopper and Pearson's exact interval. The mean of a bounded variable gets the
jackknife of jackknife.py; of fewer units than that can serve, the betting interval of Waudby-Smith and Ramdas (2024,
section 4): a gambler bets against each candidate mean, and those that make the gambler rich are not the mean. Several
means get an interval each, at a level that covers all at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from ..records import Booleans, Estimate, Floats, Integers
from . import jackknife
from .distributions import betaincinv

EXACT = "Clopper-Pearson, exact"
BETTING = "betting interval (Waudby-Smith & Ramdas 2024)"
HOEFFDING = "Hoeffding bound, few units"
JOINT = "betting intervals of its means, jointly (Bonferroni)"

ENOUGH_UNITS = 30
"""A bootstrap needs at least this many units, and on each side of the mean as many: else its ends cannot be trusted."""

NEARLY_EQUAL = 0.01
"""Units that lie closer to the mean than this share of the possible width are on neither side of it.

Else 100 values of 1, apart from rounding, would have an interval of hardly any width, and so would miss a rare 0.
"""

ROUNDING = 1e-6
"""An interval narrower than this share of the possible width is one value and its rounding."""

GRID = 1001
"""Candidate means that are tested; the interval is widened by one step at each end."""


@lru_cache(maxsize=4096)
def clopper_pearson(hits: int, n: int, *, level: float) -> Estimate:
    """Return a share with its exact interval: at least `level` of such intervals hold the truth, whatever it is."""
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1, tail))
    high = 1.0 if hits == n else float(betaincinv(hits + 1, n - hits, 1 - tail))
    return Estimate(hits / n, low, high, level, n, EXACT)


# Small groups often hold the same few values: five of six intervals of a small audit are asked for again.
@lru_cache(maxsize=1024)
def _betting(values: bytes, level: float, seed: int) -> tuple[float, float]:
    """Return the hedged betting interval of the mean of values in [0, 1], with predictable plug-in bets.

    The values are taken in a random order that the seed fixes, because bets may not look ahead.
    """
    x = np.frombuffer(values)
    x = x[_order(len(x), seed)]
    alpha, n = 1 - level, len(x)
    seen = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(x)) / (seen + 1)
    variances = (0.25 + np.cumsum((x - means) ** 2)) / (seen + 1)
    before = np.concatenate([[0.25], variances[:-1]])
    bets = np.sqrt(2 * math.log(2 / alpha) / (n * before))
    # Each side has half of the stake; being rich at any time is as unlikely as being rich at the end.
    rich = math.log(2 / alpha)
    step = 1 / (GRID - 1)
    # Betting on less than m with x is betting on more than 1 - m with 1 - x.
    sides = np.stack([x, 1 - x])[:, None]
    first, second = _first(lambda places: _log_wealth(sides, bets, places) < rich).tolist()
    last = GRID - 1 - second
    if first > last:
        centre = float(x.mean())
        return max(0.0, centre - 1 / GRID), min(1.0, centre + 1 / GRID)
    return max(0.0, (first - 1) * step), min(1.0, (last + 1) * step)


@lru_cache(maxsize=1024)
def _order(n: int, seed: int) -> Integers:
    return np.random.default_rng([seed, n]).permutation(n)


def _log_wealth(sides: Floats, bets: Floats, places: Integers) -> Floats:
    """Return the log of the most that a gambler ever has who bets on more than the mean at each place of the grid.

    A row for each side. It falls with the mean.
    """
    means = places[:, :, None] * (1 / (GRID - 1))
    with np.errstate(divide="ignore"):
        stakes = np.minimum(bets, 0.75 / means)
    return np.asarray(np.cumsum(np.log1p(stakes * (sides - means)), axis=2).max(axis=2))


def _first(holds: Callable[[Integers], Booleans]) -> Integers:
    """Return the first place of the grid for which it holds, for two sides.

    Where it holds for a place, it holds for all after it: the ends of ten hundreds, then of tens, then of ones tell.
    """
    first = np.zeros(2, dtype=np.int64)
    for step in (100, 10, 1):
        ends = first[:, None] + step * np.arange(1, 11) - 1
        first += step * (~holds(ends)).sum(axis=1)
    return first


def mean_interval(
    values: Floats,
    bounds: tuple[float, float],
    *,
    level: float,
    seed: int = 0,
    whole: bool = False,
    counts: Floats | None = None,
) -> Estimate:
    """Return the mean of independent values within the bounds, with an interval that is valid at any number of them.

    It is exact for shares (`whole` values that are all 0 or 1), else the jackknife's, or betting for very few values.
    `counts` are the numbers of items that the values are means of; the exact and the betting interval do not need them.
    """
    values = np.asarray(values, dtype=np.float64)
    if whole and bounds == (0, 1) and bool(np.isin(values, (0.0, 1.0)).all()):
        return clopper_pearson(int(values.sum()), len(values), level=level)
    if len(values) >= jackknife.FEWEST:
        return jackknife.mean_interval(values, bounds, level=level, counts=counts)
    low, high = bounds
    scaled = np.clip((values - low) / (high - low), 0.0, 1.0)
    first, last = _betting(scaled.tobytes(), level, seed)
    ends = low + (high - low) * first, low + (high - low) * last
    return Estimate(float(values.mean()), *ends, level, len(values), BETTING)


def hoeffding_radius(units: Sequence[int], width: float, *, level: float) -> float:
    """Return how far a sum or difference of means may lie from its truth, given each mean's number of units.

    Each mean of n values in an interval of that width is off by more than width sqrt(log(2 m / alpha) / 2n) with a
    probability of at most alpha / m; the errors of the m means add up.
    """
    share = math.log(2 * max(len(units), 1) / (1 - level))
    return sum(width * math.sqrt(share / (2 * max(n, 1))) for n in units)


def simultaneous_radius(units: int, means: int, width: float, *, level: float) -> float:
    """Return how far each of several means of n units may lie from its truth, all at once (Hoeffding)."""
    return hoeffding_radius([units], width, level=1 - (1 - level) / max(means, 1))


def is_enough(values: Floats, width: float) -> bool:
    """Return whether a percentile bootstrap of the mean of these units can be trusted; they span at most `width`."""
    return min(int(side.sum()) for side in sides(values, width)) >= ENOUGH_UNITS


def sides(values: Floats, width: float) -> tuple[Booleans, Booleans]:
    """Return which units are above the mean, and which below; those next to it are on neither side."""
    centre, apart = values.mean(), NEARLY_EQUAL * width
    return values > centre + apart, values < centre - apart


def has_width(low: float, high: float, width: float) -> bool:
    """Return whether an interval is wider than rounding alone could make it; `width` is that of all possible values."""
    return bool(high - low > ROUNDING * (width if math.isfinite(width) else max(1.0, abs(low), abs(high))))
