"""Intervals and tests for the largest difference between groups, which is a maximum and so biased upwards.

Even where all groups are equal, max - min of their sample means is positive, and a percentile bootstrap of it lies
higher still. Instead all pairwise differences are covered at once: with R the quantile of the range of the
resampled deviations from the sample means, |(mean_g - mean_h) - (true_g - true_h)| <= R for all g, h together, and
so |max-min of the means - true max-min| <= R. This is the bootstrap form of Tukey's simultaneous intervals
(Romano & Wolf 2005; Chernozhukov, Chetverikov & Kato 2013): valid wherever the maximum sits, a little conservative.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..records import Floats
from . import paired

METHOD = "simultaneous bootstrap of all pairwise differences"


def radius(means: Floats, resampled: Floats, *, level: float, shrink: float = 1.0) -> float:
    """Return R: how far max - min of the means may lie from the truth, at that level.

    `resampled` has a row a resample and a column a group. `shrink` scales the deviations, for a sample that is a
    good part of all there is: sqrt(1 - n/N).
    """
    deviations = _deviations(means, resampled)
    if len(deviations) < len(resampled) / 2 or not len(deviations):
        return float("nan")
    return shrink * float(np.quantile(np.ptp(deviations, axis=1), level, method="higher"))


def range_interval(means: Floats, resampled: Floats, *, level: float, shrink: float = 1.0) -> tuple[float, float]:
    """Return the interval of the true max - min over groups; its lower end is 0 where no group is known to differ."""
    r = radius(means, resampled, level=level, shrink=shrink)
    value = float(np.ptp(means))
    return max(0.0, value - r) if np.isfinite(r) else r, value + r


def range_p_value(means: Floats, resampled: Floats, *, shrink: float = 1.0) -> float:
    """Return the p-value of "no group differs": how often deviations alone range as widely as the means do."""
    deviations = shrink * _deviations(means, resampled)
    exceeding = int((np.ptp(deviations, axis=1) >= np.ptp(means)).sum())
    return (1 + exceeding) / (1 + len(deviations))


def absolute_radius(values: Floats, resampled: Floats, *, level: float, shrink: float = 1.0) -> float:
    """Return R with |value - truth| <= R for all values at once, at that level."""
    deviations = _deviations(values, resampled)
    if len(deviations) < len(resampled) / 2 or not len(deviations):
        return float("nan")
    return shrink * float(np.quantile(np.abs(deviations).max(axis=1), level, method="higher"))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values corrected for their number (Holm 1979): the chance of any false finding stays below each."""
    return [float(value) for value in paired.holm(np.asarray(p_values, dtype=np.float64))]


def _deviations(means: Floats, resampled: Floats) -> Floats:
    """Return the deviations of the resamples in which every group has a value."""
    deviations: Floats = resampled - means
    return deviations[~np.isnan(deviations).any(axis=1)]
