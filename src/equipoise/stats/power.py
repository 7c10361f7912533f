"""How often an audit of some size shows what is true: rehearsed with units like those seen, at any true value."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..records import EquipoiseError, Estimate, Floats, Integers
from . import bootstrap, bounded
from .betting import Units
from .distributions import bdtr, ndtr, ndtri, stdtrit
from .planning import MOST_REHEARSED, MOST_UNITS

REWEIGHTED = 4000
"""Units that stand for a distribution with another mean."""


def with_true_value(units: Units, value: float, *, whole: bool = False) -> Units:
    """Return units like these, but with that ratio: those that are nearer to it are drawn more often.

    Where no weights give it, as for a share that was never seen, units are moved: `whole` ones to an end.
    """
    low, high = units.bounds
    if not low <= value <= high:
        raise EquipoiseError(f"a true value of {value:g} is not possible: it lies between {low:g} and {high:g}")
    apart = units.sums - value * units.counts
    if apart.min() < 0 < apart.max():
        return _reweighted(units, apart)
    mean = units.ratio
    end = high if value > mean else low
    share = (value - mean) / (end - mean) if end != mean else 0.0
    if not whole:
        return replace(units, sums=units.sums + share * (end * units.counts - units.sums))
    moved = np.arange(REWEIGHTED) < round(share * REWEIGHTED)
    places = np.arange(REWEIGHTED) % len(units.counts)
    drawn = units.take(places)
    return replace(drawn, sums=np.where(moved, end * drawn.counts, drawn.sums))


def _reweighted(units: Units, apart: Floats) -> Units:
    """Return the units, drawn so that what they are apart from the value adds up to nothing."""
    scaled = apart / np.abs(apart).max()
    least, most = -500.0, 500.0
    for _ in range(80):
        tilt = (least + most) / 2
        weights = np.exp(tilt * scaled - np.max(tilt * scaled))
        least, most = (least, tilt) if weights @ scaled > 0 else (tilt, most)
    # Evenly spaced places in the weights, so that the drawn units have the value to within rounding.
    places = (np.arange(REWEIGHTED) + 0.5) / REWEIGHTED
    order = np.argsort(scaled)
    drawn = order[np.searchsorted(np.cumsum(weights[order]) / weights.sum(), places).clip(max=len(order) - 1)]
    return units.take(drawn)


def units_for_width(units: Units, width: float, level: float) -> int:
    """Return how many units give an interval of that width, in a full audit."""
    deviation = float(units.means.std())
    return max(2, math.ceil((2 * float(ndtri((1 + level) / 2)) * deviation / width) ** 2))


DISCRETENESS = 3
"""Units for each degree of freedom of an absolute gap of few units, as in its interval."""


AUDITS, MOST_DRAWN = 4000, 4_000_000
"""Audits that are rehearsed, which tells their power to within a point; units that are drawn at once."""

LEAST_CHANCE = 1e-9


@dataclass(frozen=True)
class Contrast:
    """What an audit of some units is to show: that a mean is not at the bound; `absolute`: of the size of a gap."""

    bound: float
    level: float
    whole: bool = False
    absolute: bool = False

    def power(self, units: Units, size: int, *, seed: int = 0, audits: int = AUDITS) -> float:
        """Return how often an interval of that many units leaves the bound out, on the side where the mean is."""
        true = units.ratio
        if self._is_share(units):
            return self._of_share(true, size)
        rng, shown = np.random.default_rng(seed), 0
        for first in range(0, audits, max(1, MOST_DRAWN // size)):
            several = min(audits - first, max(1, MOST_DRAWN // size))
            drawn = rng.integers(0, len(units.counts), (several, size))
            lows, highs = self._intervals(units.sums[drawn], units.counts[drawn], units.bounds)
            shown += int(np.count_nonzero(lows > self.bound if true > self.bound else highs < self.bound))
        return shown / audits

    def _is_share(self, units: Units) -> bool:
        """Return whether the units are answers of yes or no, one each."""
        answers = bool((units.counts == 1).all() and np.isin(units.sums, (0.0, 1.0)).all())
        return self.whole and not self.absolute and units.bounds == (0.0, 1.0) and answers

    def _of_share(self, true: float, size: int) -> float:
        """Return the power for a share: every number of hits has one interval, and a chance that is known.

        A bootstrap of hits moves in steps of one hit, which the moments of other units do not tell.
        """
        hits = np.arange(size + 1)
        chances = np.diff(bdtr(hits, size, true), prepend=0.0)
        hits, chances = hits[chances > LEAST_CHANCE], chances[chances > LEAST_CHANCE]
        shares = hits / size
        deviations = np.sqrt(shares * (1 - shares) * size)
        with np.errstate(invalid="ignore", divide="ignore"):
            skewness = np.nan_to_num((1 - 2 * shares) / deviations)
        lows, highs = (_binomial_quantiles(ndtr(side), hits, size) / size for side in self._sides(skewness, size))
        yes = np.where(1 - shares > bounded.NEARLY_EQUAL, hits, 0)
        no = np.where(shares > bounded.NEARLY_EQUAL, size - hits, 0)
        for place in np.flatnonzero(np.minimum(yes, no) < bounded.ENOUGH_UNITS):
            lows[place], highs[place] = bounded.clopper_pearson(int(hits[place]), size, level=self.level).ends
        return float(chances[lows > self.bound if true > self.bound else highs < self.bound].sum())

    def _intervals(self, sums: Floats, counts: Floats, bounds: tuple[float, float]) -> tuple[Floats, Floats]:
        """Return the ends of the intervals of audits, a row of units each."""
        means, values = sums / counts, sums.sum(axis=1) / counts.sum(axis=1)
        lows, highs = self._ends(means, values)
        width = bounds[1] - bounds[0]
        few = np.flatnonzero([not self.absolute and not bounded.is_enough(row, width) for row in means])
        for place in few:
            ends = bounded.mean_interval(means[place], bounds, level=self.level, whole=self.whole).ends
            lows[place], highs[place] = ends
        return lows, highs

    def _ends(self, means: Floats, values: Floats) -> tuple[Floats, Floats]:
        """Return the ends of the intervals that a bootstrap would have: its quantiles follow from three moments."""
        size = means.shape[1]
        error = np.sqrt(means.var(axis=1) / size)
        if self.absolute:  # deviations have no side
            degrees = max((size / DISCRETENESS if size < bootstrap.FEW_UNITS else size) - 1, 1)
            z = float(stdtrit(degrees, (1 + self.level) / 2)) * math.sqrt(size / (size - 1))
            return values - z * error, values + z * error
        apart = means - means.mean(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            skewness = np.nan_to_num((apart**3).mean(axis=1) / apart.std(axis=1) ** 3) / math.sqrt(size)
        lows, highs = (side + (side**2 - 1) * skewness / 6 for side in self._sides(skewness, size))
        return values + lows * error, values + highs * error

    def _sides(self, skewness: Floats, size: int) -> tuple[Floats, Floats]:
        """Return which quantiles of its resamples a bootstrap takes, as those of a normal variable."""
        z = float(ndtri((1 + self.level) / 2))
        if size >= bootstrap.FEW_UNITS:
            return np.full(len(skewness), -z), np.full(len(skewness), z)
        # Each end is the outer one of two: as it is, and corrected for skewness.
        z = float(stdtrit(max(size - 1, 1), (1 + self.level) / 2)) * math.sqrt(size / (size - 1))
        a = np.clip(skewness / 6, -bootstrap.MOST_ACCELERATION, bootstrap.MOST_ACCELERATION)
        low, high = (a + (a + side) / (1 - a * (a + side)) for side in (-z, z))
        return np.minimum(low, -z), np.maximum(high, z)

    def units_for(self, units: Units, power: float, *, seed: int = 0) -> int | None:
        """Return how many units give that power; None where no number that anybody asks does."""
        few, size = 2, 32
        while self.power(units, size, seed=seed, audits=AUDITS // 10) < power:
            few, size = size, 2 * size
            if size > MOST_REHEARSED // 4:
                return self._by_root(units, power)
        while size - few > max(2, few // 25):
            middle = (few + size) // 2
            is_enough = self.power(units, middle, seed=seed, audits=AUDITS // 4) >= power
            few, size = (few, middle) if is_enough else (middle, size)
        return size

    def _by_root(self, units: Units, power: float) -> int | None:
        """Return the same where it is large: a mean is then normal, and its error falls with the root."""
        true = units.ratio
        if abs(true - self.bound) < 1e-9:
            return None
        reach = float(ndtri((1 + self.level) / 2) + ndtri(power)) * float(units.means.std())
        size = math.ceil((reach / (true - self.bound)) ** 2)
        return size if size <= MOST_UNITS else None


def _binomial_quantiles(levels: Floats, hits: Integers, size: int) -> Integers:
    """Return the smallest number of hits that a resample of each audit does not exceed with that chance."""
    shares = hits / size
    around = np.floor(hits + ndtri(levels) * np.sqrt(size * shares * (1 - shares))).astype(np.int64)
    near = np.clip(around[:, None] + np.arange(-STEPS_AROUND, STEPS_AROUND + 1), 0, size)
    below = bdtr(near, size, shares[:, None]) < levels[:, None]
    return np.asarray(near[np.arange(len(hits)), np.minimum(below.sum(axis=1), 2 * STEPS_AROUND)])


STEPS_AROUND = 6
"""How far the quantiles of a binomial variable are from those of a normal one at most, in hits."""

PILOTS = 200
"""Runs like an earlier one that are drawn, to see what it leaves open."""


def spreads_of_pilots(units: Units, value: float | None, *, whole: bool = False, seed: int = 0) -> Floats:
    """Return the deviation of units of runs like an earlier one, as shares of its own; `value` is assumed to be true.

    An earlier run tells the spread of sets only so well: it is drawn again, set by set.
    """

    def deviation(drawn: Units) -> float:
        chosen = drawn if value is None else with_true_value(drawn, value, whole=whole)
        return float(chosen.means.std())

    rng, count = np.random.default_rng(seed), len(units.counts)
    drawn = (rng.integers(0, count, count) for _ in range(PILOTS))
    spreads = [deviation(units.take(places)) for places in drawn]
    return np.array(spreads) / max(deviation(units), 1e-12)


def power_of_pilots(power: float, spreads: Floats, units: Units, level: float) -> Estimate:
    """Return a power with what it may be, as far as the spread of sets is not known.

    A mean is normal, so a power says by how many of its errors the value and the bound are apart.
    """
    z = float(ndtri((1 + level) / 2))
    apart = float(ndtri(np.clip(power, 1e-6, 1 - 1e-6))) + z
    possible = np.where(spreads == 1, power, ndtr(apart / spreads - z))  # a spread that is known leaves nothing open
    low, high = np.quantile(possible, [(1 - level) / 2, (1 + level) / 2]).tolist()
    ends = min(low, power), max(high, power)
    return Estimate(power, *ends, level, len(units.counts), "earlier run drawn again")
