"""Ranks from estimates with intervals: a rank is a range wherever the intervals do not settle the order."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ..records import Booleans, EquipoiseError, Estimate


class Rank(NamedTuple):
    """The best and the worst rank that the intervals allow; 1 is the best."""

    best: int
    worst: int

    def __str__(self) -> str:
        return f"{self.best}" if self.best == self.worst else f"{self.best}–{self.worst}"


def rank_ranges(estimates: Sequence[Estimate], *, higher: bool, level: float = 0.95) -> list[Rank]:
    """Return the ranks that are possible for each estimate; all ranges hold together with probability `level`.

    Two estimates are ranked apart when their difference is larger than Bonferroni's bound for all pairs allows:
    |a - b| > z sqrt(se_a^2 + se_b^2), with the standard errors that their intervals imply on the sides that face each
    other. This takes the estimates as independent, which is cautious for models that were asked the same sentences. An
    estimate without an interval is ranked apart from none.
    """
    if not 0 < level < 1:
        raise EquipoiseError(f"level must lie between 0 and 1, not {level}")
    count = len(estimates)
    if count < 2:
        return [Rank(1, 1)] * count
    pairs = count * (count - 1) / 2
    bound = NormalDist().inv_cdf(1 - (1 - level) / (2 * pairs))
    turned = [estimate if higher else -estimate for estimate in estimates]
    values, lows, highs = (np.array([getattr(e, end) for e in turned]) for end in ("value", "low", "high"))
    scales = np.array([NormalDist().inv_cdf((1 + estimate.level) / 2) for estimate in turned])
    below, above = np.maximum((values - lows) / scales, 0.0), np.maximum((highs - values) / scales, 0.0)
    # Row above column: the row's lower side faces the column's upper side.
    errors = np.hypot(below[:, None], above[None, :])
    apart = values[:, None] - values[None, :] > bound * errors  # NaN, a missing interval, compares as False
    return ranks_of(apart)


def ranks_of(apart: Booleans) -> list[Rank]:
    """Return the ranks that are possible, given which (row) is shown to be better than which (column)."""
    count = len(apart)
    return [Rank(1 + int(apart[:, i].sum()), count - int(apart[i].sum())) for i in range(count)]
