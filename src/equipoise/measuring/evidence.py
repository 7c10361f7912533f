"""A metric's interval: by the bootstrap where there is enough evidence, else by a method that is valid at any n."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics import Metric
from ..metrics.columns import COLUMNS
from ..metrics.groups import mean
from ..metrics.metric import Differences
from ..records import Floats, Integers
from ..stats import bootstrap, bounded, means
from ..stats.resampling import Statistic

Interval = tuple[float, float, str]
"""The ends, and the method that made them."""

TOO_FEW = f"no interval: fewer than {bounded.ENOUGH_UNITS} clusters, and the metric has no bounds"
DISCRETENESS = 3
"""Units for each degree of freedom of an absolute gap of few units."""
NO_SPREAD = "no interval: all resamples are equal"


@dataclass(frozen=True)
class Evidence:
    """A metric, its rows by variant, its resampled values averaged over the variants, and its value.

    `samples` of a metric with `differences` are those of the signed differences, one row each.
    """

    metric: Metric
    statistics: Sequence[Statistic]
    samples: Floats
    value: float


def interval(evidence: Evidence, k: int, level: float, seed: int = 0) -> Interval:
    """Return the interval of a metric. None has zero width: its ends are NaN where nothing can be said.

    `k` is the number of candidates: the bound of the perplexity, which has none of its own.
    """
    metric = evidence.metric
    if is_plain_mean(metric):
        low, high, method = _interval_of_mean(evidence, k, level, seed)
    else:
        low, high, method = _interval_of_any(evidence, k, level, seed)
    if np.isnan(low) or bounded.has_width(low, high, width_of(metric, k)):
        return low, high, method
    return np.nan, np.nan, NO_SPREAD


def is_plain_mean(metric: Metric) -> bool:
    """Return whether a metric is the mean of one column."""
    return metric.function is mean and len(metric.inputs) == 1


def width_of(metric: Metric, k: int) -> float:
    """Return the width of all possible values of a metric; infinite where it has no bounds."""
    bounds = _finite(metric.bounds, k)
    return np.inf if bounds is None else bounds[1] - bounds[0]


def _interval_of_mean(evidence: Evidence, k: int, level: float, seed: int) -> Interval:
    column = COLUMNS[evidence.metric.inputs[0]]
    bounds, units = _finite(column.bounds, k), unit_means(evidence.statistics)
    if bounds is None:
        if len(units) < bounded.ENOUGH_UNITS:
            return np.nan, np.nan, TOO_FEW
        return _percentile(evidence.samples, level, len(units))
    if bounded.is_enough(units, bounds[1] - bounds[0]):
        return _percentile(evidence.samples, level, len(units))
    return of_mean(units, bounds, whole=column.whole, level=level, seed=seed)


def _interval_of_any(evidence: Evidence, k: int, level: float, seed: int) -> Interval:
    metric, statistics, samples = evidence.metric, evidence.statistics, evidence.samples
    clusters = int(np.count_nonzero(np.bincount(np.concatenate([s.clusters for s in statistics]))))
    averaged = [means.units(statistic) for statistic in statistics]
    if min((len(values) for units in averaged for values in units), default=clusters) >= bounded.ENOUGH_UNITS:
        if metric.differences is None:
            low, high, method = _percentile(samples, level, clusters)
        else:
            low, high, method = _deviations(evidence, metric.differences, level, clusters)
        if bounded.has_width(low, high, width_of(metric, k)):
            return low, high, method
    return _of_few(evidence, averaged, clusters, k, level, seed)


def _deviations(evidence: Evidence, differences: Differences, level: float, units: int) -> Interval:
    """Return the interval of an absolute metric from the deviations of the signed differences behind it.

    For `ENOUGH_UNITS` and more.
    | |a| - |b| | <= |a - b| for every norm, so this covers although noise makes |a| larger.
    """
    observed = np.mean([differences.function(*statistic.arrays) for statistic in evidence.statistics], axis=0)
    apart = differences.join(evidence.samples - np.asarray(observed)[:, None])
    defined = apart[~np.isnan(apart)]
    if len(defined) < len(apart) / 2 or not len(defined):
        return np.nan, np.nan, "no interval"
    # A resample of n units varies less than new data. Right and wrong answers come in steps, which asks for more yet
    # where units are few: with a third of them as degrees of freedom it covers (benchmarks/coverage.py).
    counted = units / DISCRETENESS if units < bootstrap.FEW_UNITS else units
    wider = bootstrap.t_factor(level, counted - 1) * np.sqrt(units / (units - 1))
    radius = wider * float(np.quantile(defined, level, method="higher"))
    method = f"bootstrap of deviations, {len(apart)} resamples of {units:,} clusters"
    low, high = evidence.metric.bounds
    return max(low, evidence.value - radius), min(high, evidence.value + radius), method


def _percentile(samples: Floats, level: float, units: int) -> Interval:
    low, high = bootstrap.interval(samples, level=level, units=units)
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


def unit_differences(first: Sequence[Statistic], second: Sequence[Statistic]) -> Floats | None:
    """Return first - second of each cluster; None where they do not have values for the same number of clusters."""
    sides = unit_means(first), unit_means(second)
    return sides[0] - sides[1] if len(sides[0]) == len(sides[1]) else None


def of_mean(
    units: Floats, bounds: tuple[float, float], *, whole: bool = False, level: float, seed: int = 0
) -> Interval:
    """Return an interval of the mean of bounded units that is valid at any number of them."""
    if whole and bounds == (0, 1) and bool(np.isin(units, (0.0, 1.0)).all()):
        return *bounded.clopper_pearson(int(units.sum()), len(units), level=level), bounded.EXACT
    method = bounded.BERNSTEIN if len(units) > bounded.MANY_UNITS else bounded.BETTING
    return *bounded.mean_interval(units, bounds, level=level, seed=seed), method


def _of_few(
    evidence: Evidence, averaged: Sequence[Sequence[Floats]], clusters: int, k: int, level: float, seed: int
) -> Interval:
    """Return an interval that holds for few units: from its means where it is made of means, else Hoeffding's."""
    metric, statistics = evidence.metric, evidence.statistics
    bounds = _finite(metric.bounds, k)
    if bounds is None:
        is_equal = clusters >= bounded.ENOUGH_UNITS and np.ptp(evidence.samples) == 0
        return np.nan, np.nan, NO_SPREAD if is_equal else TOO_FEW
    widths = [b[1] - b[0] for name in metric.inputs if (b := _finite(COLUMNS[name].bounds, k)) is not None]
    width = max(widths, default=1.0)
    # Variants ask the same sentences again: each has the whole error, so one that covers all is as wide as any.
    level_of_each = 1 - (1 - level) / len(statistics)
    joint = [
        means.joint_interval(statistic, width, level=level_of_each, seed=seed, averaged=units)
        for statistic, units in zip(statistics, averaged, strict=True)
    ]
    if all(ends is not None for ends in joint):
        low, high = np.mean([ends for ends in joint if ends is not None], axis=0)
        return max(bounds[0], float(low)), min(bounds[1], float(high)), bounded.JOINT
    radius = bounded.hoeffding_radius([clusters], bounds[1] - bounds[0], level=level)
    return max(bounds[0], evidence.value - radius), min(bounds[1], evidence.value + radius), bounded.HOEFFDING


def _finite(bounds: tuple[float, float] | None, k: int) -> tuple[float, float] | None:
    """Return the bounds with the number of candidates for the perplexity's missing end; None where there are none."""
    if bounds is None or not np.isfinite(bounds[0]):
        return None
    if np.isfinite(bounds[1]):
        return bounds
    return (bounds[0], float(k)) if bounds[0] == 1 else None
