"""How much more data would decide whether a mean meets a bound, were further units like those seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..records import Booleans, Estimate, Floats, Integers
from . import bounded
from .betting import Units
from .distributions import ndtri, stdtrit

MOST_UNITS = 1_000_000
"""Nobody asks that many sentences: what needs more is called undecidable."""

STEP, LARGE = 1.05, 20_000
"""An audit that goes on is looked at whenever it is so much larger; a large one narrows with 1 / sqrt(n)."""

REHEARSALS = 2000
"""Audits that are drawn to see how many units they need: by factors of ten more or less, so a median of few is off."""

BLOCK = 100
"""Rehearsed audits that are drawn at once."""

SHARES = (0.1, 0.5, 0.9)
"""Shares of the rehearsed audits that are told."""

Decides = Callable[[Floats, Floats], Booleans]
"""Whether intervals with these lower and upper ends decide."""


@dataclass(frozen=True)
class More:
    """How many more units audits take that go on: a tenth of them at most `few`, half `half`, nine tenths `many`.

    None is more than anybody asks.
    """

    few: int | None
    half: int | None
    many: int | None

    def times(self, factor: float) -> More:
        """Return the same in other units, of which there are `factor` to each."""
        return More(*(n if n is None else max(1, round(n * factor)) for n in (self.few, self.half, self.many)))


@dataclass(frozen=True)
class Seen:
    """The units of a mean, what bounds them, and whether they are whole answers: what its interval is made of."""

    units: Floats
    bounds: tuple[float, float]
    level: float
    whole: bool = False

    def estimate(self, size: int) -> Estimate:
        """Return the mean with the interval that it would have with this many units, spread as those seen are."""
        units = self._spread_over(size)
        if not bounded.is_enough(units, self.bounds[1] - self.bounds[0]):
            return bounded.mean_interval(units, self.bounds, level=self.level, whole=self.whole)
        # A bootstrap of that many units is as wide as Student's interval.
        radius = float(stdtrit(size - 1, (1 + self.level) / 2) * units.std(ddof=1)) / math.sqrt(size)
        return Estimate.around(float(units.mean()), radius, self.bounds, level=self.level, n=size, method="planned")

    def _spread_over(self, size: int) -> Floats:
        """Return this many units, spread as those seen are."""
        places = (np.arange(size) + 0.5) / size
        return np.sort(self.units)[np.minimum((places * len(self.units)).astype(np.int64), len(self.units) - 1)]

    def more(self, decides: Decides) -> More:
        """Return how many more units it takes until the interval decides.

        Each audit that is continued is one of a world whose units are weighted at random (a Bayesian bootstrap).
        """
        few, centre = len(self.units), float(self.units.mean())
        sides = np.array(bounded.sides(self.units, self.bounds[1] - self.bounds[0]), dtype=np.float64)
        columns = np.stack([self.units, (self.units - centre) ** 2, *sides], axis=1)
        rng = np.random.default_rng(few)
        worlds = [rng.dirichlet(np.ones(few), BLOCK) @ columns for _ in range(REHEARSALS // BLOCK)]
        means, squares, *shares = np.concatenate(worlds).T
        seen = Continued(centre, few, self.bounds, means, np.sqrt(np.maximum(squares - (means - centre) ** 2, 0.0)))
        # On each side of the mean are those seen, and a world's share of those added.
        added = seen.sizes - few
        counts = [side.sum() + share[:, None] * added for side, share in zip(sides, shares, strict=True)]
        is_enough = np.minimum(*counts) >= bounded.ENOUGH_UNITS
        student = stdtrit(seen.sizes - 1, (1 + self.level) / 2) * self.units.std() / np.sqrt(seen.sizes)
        spread = seen.spread_at_sizes(float(self.units.std()))
        offsets = tuple(np.where(is_enough, student, few_units) * spread for few_units in self._offsets(seen.sizes))
        return seen.more((offsets[0], offsets[1]), decides)

    def _offsets(self, sizes: Integers) -> tuple[Floats, Floats]:
        """Return how far the interval for few units reaches below and above the mean at each size."""
        reaches, large = [(math.nan, math.nan)], 1
        for size in sizes.tolist():
            if size <= LARGE or large == 1:
                units, large = self._spread_over(size), size
                planned = bounded.mean_interval(units, self.bounds, level=self.level, whole=self.whole)
                reach = planned.value - planned.low, planned.high - planned.value
            reaches.append((reach[0] * math.sqrt(large / size), reach[1] * math.sqrt(large / size)))
        below, above = np.array(reaches[1:]).reshape(-1, 2).T
        return below, above


@dataclass(frozen=True)
class Continued:
    """Audits that go on from a value of some units: each has a true mean of its own, and a spread of its units.

    The value of a sample is itself uncertain, and the more so the nearer it is to the bound. So there are many audits,
    and what they take is told as a range.
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

    def spread_at_sizes(self, seen: float) -> Floats:
        """Return the spread of each audit's units at each size, as a share of the spread of those seen."""
        if seen == 0:
            return np.ones((1, 1))
        added = (self.sizes - self.n) * (self.spreads[:, None] / seen) ** 2
        return np.asarray(np.sqrt((self.n + added) / self.sizes))

    def more(self, offsets: tuple[Floats, Floats], decides: Decides) -> More:
        """Return how many more units the audits take; `offsets` are the reach of the interval at each size."""
        if not len(self.sizes):
            return More(None, None, None)
        values = self._values()
        below, above = offsets
        low, high = self.bounds
        decided = decides(np.maximum(low, values - below), np.minimum(high, values + above))
        took = np.where(decided.any(axis=1), self.sizes[decided.argmax(axis=1)].astype(np.float64), np.inf)
        sizes = np.quantile(took, SHARES, method="inverted_cdf").tolist()
        return More(*(int(size) - self.n if math.isfinite(size) else None for size in sizes))

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


def scaled_more(estimate: Estimate, bounds: tuple[float, float], decides: Decides) -> More:
    """Return how many more units it takes for any metric, as intervals narrow with 1 / sqrt(n).

    An end at the metric's own bound was cut off there, so the other end tells how far the interval reaches.
    """
    below, above = estimate.value - estimate.low, estimate.high - estimate.value
    cut = [estimate.low in bounds, estimate.high in bounds]
    reach = [above if cut[0] else below, below if cut[1] else above] if sum(cut) < 2 else [max(below, above)] * 2
    if estimate.n < 1 or not np.isfinite(reach).all():
        return More(None, None, None)
    error = sum(reach) / 2 / float(ndtri((1 + estimate.level) / 2))
    means = estimate.value + error * ndtri((np.arange(REHEARSALS) + 0.5) / REHEARSALS)
    spreads = np.full(REHEARSALS, error * math.sqrt(estimate.n))
    seen = Continued(estimate.value, estimate.n, bounds, means, spreads)
    narrower = np.sqrt(estimate.n / seen.sizes)
    return seen.more((reach[0] * narrower, reach[1] * narrower), decides)


SETTLED = 400
"""Audits that are rehearsed until they are settled."""

MOST_REHEARSED = 40_000
"""Units of a rehearsed audit at most: what needs more is not planned."""


def units_to_settle(seen: Units, bound: float, error: float, *, seed: int = 0) -> int | None:
    """Return how many units half of all audits need until a mean is above or below a bound, were they like those seen.

    `error` is that of each side. None where that is more than anybody asks, as for a mean at the bound.
    """
    rng = np.random.default_rng(seed)
    size = 128
    while size <= MOST_REHEARSED:
        drawn = rng.integers(0, len(seen.counts), (SETTLED, size))
        # More units than there are would be those of a larger dataset.
        there_are = max(seen.horizon, size)
        audits = replace(seen.take(drawn), horizon=there_are)
        sides = [shown(bound, error) for shown in (audits.shown_above, audits.shown_below)]
        needed = np.min([np.where(side > 0, side, size + 1) for side in sides], axis=0)
        half = int(np.median(needed))
        if half <= size:
            return half
        size *= 2
    return None
