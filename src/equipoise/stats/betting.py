"""Is a mean above or below a bound? Bets that may be looked at as often as one likes.

A gambler bets on every unit that the mean is above a bound. If it is not, the gambler does not get rich: the chance of
ever having 1/e times the stake is at most e (Ville 1939). So whoever gets rich has shown it, whenever one looks, for
every distribution of bounded units (Waudby-Smith & Ramdas 2024). The stake is shared by gamblers who bet little, which
pays where the mean is near the bound, and gamblers who bet much, which pays where it is far.

A mean of items by unit is a ratio: sums over numbers of items. It is above b where the mean of sum - b x number is
above 0, so units may differ in size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..records import Estimate, Floats, Integers

METHOD = "betting sequence, holds at any look (Waudby-Smith & Ramdas 2024)"
BETS = (0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 0.92)
"""What the gamblers bet, as shares of what they have."""

STEPS = 24
"""Halvings in the search for each end of an interval."""


@dataclass(frozen=True)
class Units:
    """Sums and numbers of the items of each unit, in the order in which the units were drawn at random.

    The last axis is that of the units; there may be others, for many audits at once. Items lie within `bounds`, and a
    unit has at most `most` of them. `horizon` is the number of units that there are: bets that would not pay until then
    are left out.
    """

    sums: Floats
    counts: Floats
    bounds: tuple[float, float] = (0.0, 1.0)
    most: float = 1.0
    horizon: int = 1000

    @property
    def means(self) -> Floats:
        """The mean of the items of each unit."""
        return self.sums / self.counts

    @property
    def ratio(self) -> float:
        """The mean of all items."""
        return float(self.sums.sum() / self.counts.sum())

    def take(self, places: Integers) -> Units:
        """Return these units; of a table of places a row for each audit."""
        return replace(self, sums=self.sums[places], counts=self.counts[places])

    def shown_above(self, bound: float, error: float) -> Integers:
        """Return after how many units the ratio is shown to be above the bound; 0 where it is not."""
        low, high = self.bounds
        return self._shown((self.sums - low * self.counts) / (high - low), (bound - low) / (high - low), error)

    def shown_below(self, bound: float, error: float) -> Integers:
        """Return after how many units the ratio is shown to be below the bound; 0 where it is not."""
        # Betting on less than b with x is betting on more than 1 - b with 1 - x.
        low, high = self.bounds
        return self._shown((high * self.counts - self.sums) / (high - low), (high - bound) / (high - low), error)

    def _shown(self, sums: Floats, bound: float, error: float) -> Integers:
        """Return when the gamblers on more than the bound are rich, for items within 0 and 1."""
        if bound >= 1:
            return np.zeros(sums.shape[:-1], dtype=np.int64)
        if bound <= 0:  # every ratio is above less than 0
            return np.full(sums.shape[:-1], int(bound < 0), dtype=np.int64)
        rich = self.log_wealth(sums, bound) >= math.log(1 / error)
        return np.where(rich.any(axis=-1), rich.argmax(axis=-1) + 1, 0)

    def log_wealth(self, sums: Floats, bound: float) -> Floats:
        """Return the log of what all gamblers together have after each unit; they begin with 1."""
        gains = (sums / bound - self.counts) / self.most
        chosen = self.bets
        wealth: Floats = np.full(gains.shape, -np.inf)
        for bet in chosen:
            wealth = np.logaddexp(wealth, np.cumsum(np.log1p(bet * gains), axis=-1))
        return wealth - math.log(len(chosen))

    @property
    def bets(self) -> list[float]:
        """The bets that may pay before all units are drawn: a mean one standard error away is shown by none."""
        least = 0.7 / math.sqrt(max(self.horizon, 1))
        return [bet for bet in BETS if bet >= least]

    def interval(self, error: float) -> tuple[float, float]:
        """Return what is not ruled out, with that error on each side; for one audit."""
        return self._end(error, above=True), self._end(error, above=False)

    def _end(self, error: float, *, above: bool) -> float:
        """Return the largest bound that the ratio is shown to be above, or the smallest that it is shown below."""
        shown = self.shown_above if above else self.shown_below
        ruled_out, left = self.bounds if above else self.bounds[::-1]
        for _ in range(STEPS):
            middle = (ruled_out + left) / 2
            ruled_out, left = (middle, left) if shown(middle, error) else (ruled_out, middle)
        return ruled_out

    def estimate(self, level: float) -> Estimate:
        """Return the ratio with its interval; each side has half of the error. For one audit with an item at least."""
        value = self.ratio
        low, high = self.interval((1 - level) / 2)
        return Estimate(value, min(low, value), max(high, value), level, int((self.counts > 0).sum()), METHOD)
