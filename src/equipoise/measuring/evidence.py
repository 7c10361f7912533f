"""A metric's interval: by the bootstrap where there is enough evidence, else by a method that is valid at any n."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics import Metric
from ..metrics.columns import COLUMNS
from ..metrics.groups import mean
from ..records import Floats, Integers
from ..stats import bootstrap, bounded
from ..stats.resampling import Statistic, component_units

Interval = tuple[float, float, str]
"""The ends, and the method that made them."""


def interval(
    metric: Metric, statistics: Sequence[Statistic], samples: Floats, *, value: float, k: int, level: float, seed: int
) -> Interval:
    """Return the interval of a metric averaged over its variants; `samples` are its resampled values.

    `k` is the number of candidates: the bound of what has none of its own. No interval has zero width.
    """
    if metric.function is mean and len(metric.inputs) == 1:
        bounds = _finite(COLUMNS[metric.inputs[0]].bounds, k)
        units = unit_means(statistics)
        if bounds is not None and not bounded.is_enough(units):
            return _of_mean(units, bounds, whole=COLUMNS[metric.inputs[0]].whole, level=level, seed=seed)
        return _percentile(samples, level, len(units))
    counts = [count for statistic in statistics for count in component_units(statistic)]
    clusters = len(np.unique(np.concatenate([statistic.clusters for statistic in statistics])))
    low, high, method = _percentile(samples, level, clusters)
    if high > low and min(counts or [clusters]) >= bounded.ENOUGH_UNITS:
        return low, high, method
    return _around(metric, value, counts or [clusters], len(statistics), k, level)


def _percentile(samples: Floats, level: float, units: int) -> Interval:
    low, high = bootstrap.interval(samples, level=level)
    return low, high, f"percentile bootstrap, {len(samples)} resamples of {units:,} clusters"


def unit_means(statistics: Sequence[Statistic]) -> Floats:
    """Return the mean of each cluster over its items and variants; clusters without a value are left out."""
    clusters: Integers = np.concatenate([statistic.clusters for statistic in statistics])
    values: NDArray[Any] = np.concatenate([np.asarray(s.arrays[0], dtype=np.float64) for s in statistics])
    counted = ~np.isnan(values)
    counts = np.bincount(clusters[counted])
    sums = np.bincount(clusters[counted], values[counted])
    inside = counts > 0
    return np.asarray(sums[inside] / counts[inside], dtype=np.float64)


def _of_mean(units: Floats, bounds: tuple[float, float], *, whole: bool, level: float, seed: int) -> Interval:
    if whole and bounds == (0, 1) and bool(np.isin(units, (0.0, 1.0)).all()):
        return *bounded.clopper_pearson(int(units.sum()), len(units), level=level), bounded.EXACT
    return *bounded.mean_interval(units, bounds, level=level, seed=seed), bounded.BETTING


def _around(metric: Metric, value: float, counts: Sequence[int], variants: int, k: int, level: float) -> Interval:
    """Return the value plus or minus Hoeffding's bound on the means behind it, within the metric's bounds."""
    bounds = _finite(metric.bounds, k)
    if bounds is None:
        return np.nan, np.nan, "no interval: too few units, and the metric has no bounds"
    widths = [b[1] - b[0] for name in metric.inputs if (b := _finite(COLUMNS[name].bounds, k)) is not None]
    # Variants are averaged, so each adds its share of the error.
    radius = bounded.hoeffding_radius(counts, max(widths, default=1.0), level=level) / variants
    return max(bounds[0], value - radius), min(bounds[1], value + radius), bounded.HOEFFDING


def _finite(bounds: tuple[float, float] | None, k: int) -> tuple[float, float] | None:
    """Return the bounds with the number of candidates for the perplexity's missing end; None where there are none."""
    if bounds is None or not np.isfinite(bounds[0]):
        return None
    if np.isfinite(bounds[1]):
        return bounds
    return (bounds[0], float(k)) if bounds[0] == 1 else None


def resampled_mean(samples: Mapping[str, Floats]) -> Floats:
    """Return the resampled values averaged over the variants."""
    return np.asarray(np.mean(list(samples.values()), axis=0), dtype=np.float64)
