"""Intervals and tests for the largest difference between groups, which is a maximum and so biased upwards.

Even where all groups are equal, max - min of their sample means is positive, and a percentile bootstrap of it lies
higher still. Instead all pairwise differences are covered at once: with R the quantile of the range of the
resampled deviations from the sample means, |(mean_g - mean_h) - (true_g - true_h)| <= R for all g, h together, and
so |max-min of the means - true max-min| <= R. This is the bootstrap form of Tukey's simultaneous intervals
(Romano & Wolf 2005; Chernozhukov, Chetverikov & Kato 2013): valid wherever the maximum sits, a little conservative.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..records import Floats

METHOD = "simultaneous bootstrap of all pairwise differences"
TIE = 1e-9
"""Deviations that are smaller by less, which is rounding, count as equally large."""


def radius(
    sizes: Floats, *, level: float, shrink: float = 1.0, method: Literal["higher", "linear"] = "higher"
) -> float:
    """Return R: how far a value may lie from the truth at that level; NaN where most resamples are undefined.

    `sizes` are those of the deviations of each resample, such as their range. `shrink` scales them, for a sample that
    is a good part of all there is: sqrt(1 - n/N).
    """
    defined = sizes[~np.isnan(sizes)]
    if len(defined) < len(sizes) / 2 or not len(defined):
        return float("nan")
    return shrink * float(np.quantile(defined, level, method=method))


def p_value(largest: float, sizes: Floats, *, shrink: float = 1.0) -> float:
    """Return the p-value of "nothing differs": how often deviations alone are as large as the difference seen."""
    defined = shrink * sizes[~np.isnan(sizes)]
    return (1 + int((defined >= largest - TIE).sum())) / (1 + len(defined))


def absolute_radius(values: Floats, resampled: Floats, *, level: float) -> float:
    """Return R with |value - truth| <= R for all values at once; `resampled` has a row for each resample."""
    return radius(np.abs(resampled - values).max(axis=1), level=level)
