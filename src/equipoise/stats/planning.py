"""How much more data would decide whether a mean meets a bound, were further units like those seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtrit

from ..records import Estimate, Floats, Integers
from . import bounded
from .betting import Units

MOST_UNITS = 1_000_000
"""Nobody asks that many sentences: what needs more is called undecidable."""

STEP, LARGE = 1.05, 20_000
"""An audit that goes on is looked at whenever it is so much larger; a large one narrows with 1 / sqrt(n)."""

REHEARSALS = 100
"""Audits that are drawn to see how many units they need."""

Decides = Callable[[Estimate], bool]
Point = tuple[float, float]


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

        The mean of the units seen is itself uncertain, and the more so the nearer it is to the bound. So audits are
        continued many times, each in a world whose units are weighted at random (a Bayesian bootstrap), until the
        interval decides; the median of what it took is told.
        """
        few = len(self.units)
        sizes = np.unique((few * STEP ** np.arange(1, 1 + math.log(MOST_UNITS / few, STEP))).astype(np.int64))
        sizes = sizes[sizes > few]
        if not len(sizes):
            return None
        offsets = list(self._offsets(sizes))
        took = sorted(self._took(sizes, offsets, means, decides) for means in self._continued(sizes))
        median = took[len(took) // 2]
        return max(1, round(median) - few) if math.isfinite(median) else None

    def _offsets(self, sizes: Integers) -> Iterator[Point]:
        """Yield how far the interval reaches below and above the mean at each size."""
        reach, large = (math.nan, math.nan), 1
        for size in sizes.tolist():
            if size <= LARGE or math.isnan(reach[0]):
                planned, large = self.estimate(size), size
                reach = planned.value - planned.low, planned.high - planned.value
            yield reach[0] * math.sqrt(large / size), reach[1] * math.sqrt(large / size)

    def _continued(self, sizes: Integers) -> Iterator[Floats]:
        """Yield the mean at each size of audits that go on."""
        rng, few = np.random.default_rng(len(self.units)), len(self.units)
        added = np.diff(sizes, prepend=few)
        for weights in rng.dirichlet(np.ones(few), REHEARSALS):
            mean = float(weights @ self.units)
            spread = math.sqrt(max(float(weights @ self.units**2) - mean**2, 0.0))
            sums = added * mean + np.sqrt(added) * spread * rng.standard_normal(len(added))
            yield (self.units.sum() + sums.cumsum()) / sizes

    def _took(self, sizes: Integers, offsets: Sequence[Point], means: Floats, decides: Decides) -> float:
        low, high = self.bounds
        for size, (below, above), mean in zip(sizes.tolist(), offsets, means.tolist(), strict=True):
            ends = max(low, mean - below), min(high, mean + above)
            if decides(Estimate(mean, *ends, self.level, size, "planned")):
                return float(size)
        return math.inf


def scaled_more(estimate: Estimate, bound: float, bounds: tuple[float, float]) -> int | None:
    """Return how many more units it takes for any metric, as intervals narrow with 1 / sqrt(n); None where none would.

    An end at the metric's own bound was cut off there, so the other end tells how far the interval reaches.
    """
    distance = abs(estimate.value - bound)
    below, above = estimate.value - estimate.low, estimate.high - estimate.value
    reach = below if bound < estimate.value else above
    if (estimate.low if bound < estimate.value else estimate.high) in bounds:
        reach = max(below, above)
    if distance <= 0 or not math.isfinite(reach) or estimate.n < 1:
        return None
    return max(1, math.ceil(estimate.n * (reach / distance) ** 2) - estimate.n)


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
