"""How often an audit of some size shows what is true: rehearsed with units like those seen, at any true value."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri, stdtrit

from ..records import EquipoiseError, Floats
from . import bootstrap, bounded
from .betting import Units
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
    mean = float(units.sums.sum() / units.counts.sum())
    end = high if value > mean else low
    share = (value - mean) / (end - mean) if end != mean else 0.0
    if not whole:
        return replace(units, sums=units.sums + share * (end * units.counts - units.sums))
    moved = np.arange(REWEIGHTED) < round(share * REWEIGHTED)
    places = np.arange(REWEIGHTED) % len(units.counts)
    counts, sums = units.counts[places], units.sums[places]
    return replace(units, sums=np.where(moved, end * counts, sums), counts=counts)


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
    return replace(units, sums=units.sums[drawn], counts=units.counts[drawn])


def units_for_width(units: Units, width: float, level: float) -> int:
    """Return how many units give an interval of that width, in a full audit."""
    deviation = float((units.sums / units.counts).std())
    return max(2, math.ceil((2 * float(ndtri((1 + level) / 2)) * deviation / width) ** 2))


DISCRETENESS = 3
"""Units for each degree of freedom of an absolute gap of few units, as in its interval."""


@dataclass(frozen=True)
class Contrast:
    """What an audit of some units is to show: that a mean is not at the bound; `absolute`: of the size of a gap."""

    bound: float
    level: float
    whole: bool = False
    absolute: bool = False

    def power(self, units: Units, size: int, *, seed: int = 0, audits: int = 1000) -> float:
        """Return how often an interval of that many units leaves the bound out, on the side where the mean is."""
        rng = np.random.default_rng(seed)
        drawn = rng.integers(0, len(units.counts), (audits, size))
        sums, counts = units.sums[drawn], units.counts[drawn]
        means = sums / counts
        values = sums.sum(axis=1) / counts.sum(axis=1)
        lows, highs = self._ends(means, values)
        width = units.bounds[1] - units.bounds[0]
        few = np.flatnonzero([not self.absolute and not bounded.is_enough(row, width) for row in means])
        for place in few:
            ends = bounded.mean_interval(means[place], units.bounds, level=self.level, whole=self.whole).ends
            lows[place], highs[place] = ends
        true = float(units.sums.sum() / units.counts.sum())
        return float(np.mean(lows > self.bound if true > self.bound else highs < self.bound))

    def _ends(self, means: Floats, values: Floats) -> tuple[Floats, Floats]:
        """Return the ends of the intervals that a bootstrap would have: its quantiles follow from three moments."""
        size = means.shape[1]
        error = np.sqrt(means.var(axis=1) / size)
        few = size < bootstrap.FEW_UNITS
        degrees = max((size / DISCRETENESS if self.absolute and few else size) - 1, 1)
        z = (
            float(stdtrit(degrees, (1 + self.level) / 2))
            if few or self.absolute
            else float(ndtri((1 + self.level) / 2))
        )
        z *= math.sqrt(size / (size - 1)) if few or self.absolute else 1.0
        if self.absolute:  # deviations have no side
            return values - z * error, values + z * error
        apart = means - means.mean(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            skewness = np.nan_to_num((apart**3).mean(axis=1) / apart.std(axis=1) ** 3) / math.sqrt(size)
        lows, highs = np.full(len(values), -z), np.full(len(values), z)
        if few:  # each end is the outer one of two: as it is, and corrected for skewness
            a = np.clip(skewness / 6, -bootstrap.MOST_ACCELERATION, bootstrap.MOST_ACCELERATION)
            lows = np.minimum(lows, a + (a - z) / (1 - a * (a - z)))
            highs = np.maximum(highs, a + (a + z) / (1 - a * (a + z)))
        lows, highs = (side + (side**2 - 1) * skewness / 6 for side in (lows, highs))
        return values + lows * error, values + highs * error

    def units_for(self, units: Units, power: float, *, seed: int = 0) -> int | None:
        """Return how many units give that power; None where no number that anybody asks does."""
        few, size = 2, 32
        while self.power(units, size, seed=seed, audits=400) < power:
            few, size = size, 2 * size
            if size > MOST_REHEARSED // 4:
                return self._by_root(units, power)
        while size - few > max(2, few // 25):
            middle = (few + size) // 2
            few, size = (few, middle) if self.power(units, middle, seed=seed) >= power else (middle, size)
        return size

    def _by_root(self, units: Units, power: float) -> int | None:
        """Return the same where it is large: a mean is then normal, and its error falls with the root."""
        true = float(units.sums.sum() / units.counts.sum())
        if abs(true - self.bound) < 1e-9:
            return None
        reach = float(ndtri((1 + self.level) / 2) + ndtri(power)) * float((units.sums / units.counts).std())
        size = math.ceil((reach / (true - self.bound)) ** 2)
        return size if size <= MOST_UNITS else None
