"""Ranks from estimates with intervals: a rank is a range wherever the intervals do not settle the order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ..records import EquipoiseError, Estimate, Floats


class Rank(NamedTuple):
    """The best and the worst rank that the intervals allow; 1 is the best."""

    best: int
    worst: int

    def __str__(self) -> str:
        return f"{self.best}" if self.best == self.worst else f"{self.best}–{self.worst}"


@dataclass(frozen=True)
class _Ends:
    """Values so turned that higher is better, and the standard errors below and above them."""

    values: Floats
    below: Floats
    above: Floats


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
    ends = _ends(estimates, higher=higher)
    pairs = count * (count - 1) / 2
    bound = NormalDist().inv_cdf(1 - (1 - level) / (2 * pairs))
    gaps = ends.values[:, None] - ends.values[None, :]
    # Row above column: the row's lower side faces the column's upper side.
    errors = np.hypot(ends.below[:, None], ends.above[None, :])
    above = gaps > bound * errors  # False where an interval is missing: NaN compares as False
    return [Rank(1 + int(above[:, i].sum()), count - int(above[i].sum())) for i in range(count)]


def _ends(estimates: Sequence[Estimate], *, higher: bool) -> _Ends:
    sign = 1.0 if higher else -1.0
    values = np.array([estimate.value for estimate in estimates], dtype=np.float64)
    scales = np.array([NormalDist().inv_cdf((1 + estimate.level) / 2) for estimate in estimates])
    lower = (values - np.array([estimate.low for estimate in estimates], dtype=np.float64)) / scales
    upper = (np.array([estimate.high for estimate in estimates], dtype=np.float64) - values) / scales
    below, above = (lower, upper) if higher else (upper, lower)
    return _Ends(sign * values, np.maximum(below, 0.0), np.maximum(above, 0.0))
