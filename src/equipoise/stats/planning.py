"""How much more data would decide whether a mean meets a bound, were further units like those seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtri, stdtrit

from ..records import Booleans, Estimate, Floats, Integers
from . import bounded
from .betting import Units

MOST_UNITS = 1_000_000
"""Nobody asks that many sentences: what needs more is called undecidable."""

STEP, LARGE = 1.05, 20_000
"""An audit that goes on is looked at whenever it is so much larger; a large one narrows with 1 / sqrt(n)."""

REHEARSALS = 400
"""Audits that are drawn to see how many units they need."""

Decides = Callable[[Floats, Floats], Booleans]
"""Whether intervals with these lower and upper ends decide."""


@dataclass(frozen=True)
class Seen:
    """The units of a mean, what bounds them, and whether they are whole answers: what its interval is made of."""

    units: Floats
    bounds: tuple[float, float]
    level: float
    whole: bool = False

    def estimate(self, size: int) -> Estimate:
        """Return the mean with the interval that it would have with this many units, spread as those seen are."""
        places = (np.arange(size) + 0.5) / size
        units = np.sort(self.units)[np.minimum((places * len(self.units)).astype(np.int64), len(self.units) - 1)]
        if not bounded.is_enough(units, self.bounds[1] - self.bounds[0]):
            return bounded.mean_interval(units, self.bounds, level=self.level, whole=self.whole)
        # A bootstrap of that many units is as wide as Student's interval.
        radius = float(stdtrit(size - 1, (1 + self.level) / 2) * units.std(ddof=1)) / math.sqrt(size)
        return Estimate.around(float(units.mean()), radius, self.bounds, level=self.level, n=size, method="planned")

    def more(self, decides: Decides) -> int | None:
        """Return how many more units it takes until the interval decides; None where no number of units would.

        Each audit that is continued is one of a world whose units are weighted at random (a Bayesian bootstrap).
        """
        few = len(self.units)
        weights = np.random.default_rng(few).dirichlet(np.ones(few), REHEARSALS)
        means = weights @ self.units
        spreads = np.sqrt(np.maximum(weights @ self.units**2 - means**2, 0.0))
        seen = Continued(float(self.units.mean()), few, self.bounds, means, spreads)
        return seen.more(self._offsets(seen.sizes), decides)

    def _offsets(self, sizes: Integers) -> tuple[Floats, Floats]:
        """Return how far the interval reaches below and above the mean at each size."""
        reaches, large = [(math.nan, math.nan)], 1
        for size in sizes.tolist():
            if size <= LARGE or large == 1:
                planned, large = self.estimate(size), size
                reach = planned.value - planned.low, planned.high - planned.value
            reaches.append((reach[0] * math.sqrt(large / size), reach[1] * math.sqrt(large / size)))
        below, above = np.array(reaches[1:]).reshape(-1, 2).T
        return below, above


@dataclass(frozen=True)
class Continued:
    """Audits that go on from a value of some units: each has a true mean of its own, and a spread of its units.

    The value of a sample is itself uncertain, and the more so the nearer it is to the bound. So there are many audits,
    and the median of what they take is told.
    """

    value: float
    n: int
    bounds: tuple[float, float]
    means: Floats
    spreads: Floats

    @cached_property
    def sizes(self) -> Integers:
        """The numbers of units at which the audits are looked at."""
        growth = STEP ** np.arange(1, 1 + max(0.0, math.log(MOST_UNITS / self.n, STEP)))
        sizes = np.unique((self.n * growth).astype(np.int64))
        return np.asarray(sizes[sizes > self.n], dtype=np.int64)

    def more(self, offsets: tuple[Floats, Floats], decides: Decides) -> int | None:
        """Return how many more units half of the audits take; `offsets` are the reach of the interval at each size."""
        if not len(self.sizes):
            return None
        values = self._values()
        below, above = offsets
        low, high = self.bounds
        decided = decides(np.maximum(low, values - below), np.minimum(high, values + above))
        took = np.where(decided.any(axis=1), self.sizes[decided.argmax(axis=1)].astype(np.float64), np.inf)
        median = float(np.median(took))
        return max(1, round(median) - self.n) if math.isfinite(median) else None

    def _values(self) -> Floats:
        """Return the value of each audit at each size."""
        rng = np.random.default_rng(self.n)
        added = np.diff(self.sizes, prepend=self.n)
        noise = np.sqrt(added) * self.spreads[:, None] * rng.standard_normal((len(self.means), len(added)))
        sums = self.n * self.value + np.cumsum(added * self.means[:, None] + noise, axis=1)
        values = sums / self.sizes
        # What would leave the scale is reflected, as the size of a gap is that changes its sign.
        low, high = self.bounds
        values = low + np.abs(values - low) if math.isfinite(low) else values
        return np.asarray(high - np.abs(high - values) if math.isfinite(high) else values)


def scaled_more(estimate: Estimate, bounds: tuple[float, float], decides: Decides) -> int | None:
    """Return how many more units it takes for any metric, as intervals narrow with 1 / sqrt(n); None where none would.

    An end at the metric's own bound was cut off there, so the other end tells how far the interval reaches.
    """
    below, above = estimate.value - estimate.low, estimate.high - estimate.value
    cut = [estimate.low in bounds, estimate.high in bounds]
    reach = [above if cut[0] else below, below if cut[1] else above] if sum(cut) < 2 else [max(below, above)] * 2
    if estimate.n < 1 or not np.isfinite(reach).all():
        return None
    error = sum(reach) / 2 / float(ndtri((1 + estimate.level) / 2))
    means = estimate.value + error * ndtri((np.arange(REHEARSALS) + 0.5) / REHEARSALS)
    spreads = np.full(REHEARSALS, error * math.sqrt(estimate.n))
    seen = Continued(estimate.value, estimate.n, bounds, means, spreads)
    narrower = np.sqrt(estimate.n / seen.sizes)
    return seen.more((reach[0] * narrower, reach[1] * narrower), decides)


MOST_REHEARSED = 40_000
"""Units of a rehearsed audit at most: what needs more is not planned."""


def units_to_settle(seen: Units, bound: float, error: float, *, seed: int = 0) -> int | None:
    """Return how many units half of all audits need until a mean is above or below a bound, were they like those seen.

    `error` is that of each side. None where that is more than anybody asks, as for a mean at the bound.
    """
    rng = np.random.default_rng(seed)
    size = 128
    while size <= MOST_REHEARSED:
        drawn = rng.integers(0, seen.counts.shape[-1], (REHEARSALS, size))
        # More units than there are would be those of a larger dataset.
        there_are = max(seen.horizon, size)
        audits = replace(seen, sums=seen.sums[drawn], counts=seen.counts[drawn], horizon=there_are)
        sides = [shown(bound, error) for shown in (audits.shown_above, audits.shown_below)]
        needed = np.min([np.where(side > 0, side, size + 1) for side in sides], axis=0)
        half = int(np.median(needed))
        if half <= size:
            return half
        size *= 2
    return None
