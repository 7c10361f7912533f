"""A metric's interval: by the bootstrap where there is enough evidence, else by a method that is valid at any n."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics import Metric
from ..metrics.columns import COLUMNS, Column
from ..metrics.groups import mean
from ..records import Estimate, Floats, Integers
from ..stats import bootstrap, bounded, jackknife, maximum, means
from ..stats.paired import Contest, Trial, paired_differences
from ..stats.planning import Seen
from ..stats.power import DISCRETENESS
from ..stats.resampling import Statistic
from .stopping import Sample

TOO_FEW = f"no interval: fewer than {bounded.ENOUGH_UNITS} clusters, and the metric has no bounds"
NO_SPREAD = "no interval: all resamples are equal"
MOST_LEFT_OUT = 2000
"""Clusters that are left out one by one at most, where a group has few of many: time grows with the square."""


@dataclass(frozen=True)
class Evidence:
    """What the interval of a value is made of: its metric, its rows by variant, and the number of candidates.

    `k` is the bound of the perplexity, which has none of its own. `sample` and `kind` say how base sentences of the
    type were drawn, where an audit stopped early.
    """

    metric: Metric
    statistics: Sequence[Statistic]
    value: float
    k: int
    level: float
    seed: int = 0
    sample: Sample = field(default_factory=Sample)
    kind: str = ""
    differences: Sequence[Floats] = ()
    """The signed differences behind the value, by variant, where they are known."""
    known: means.KnownTables = field(default_factory=means.KnownTables)

    @cached_property
    def units(self) -> Floats:
        """The values of the clusters: of a mean of one column, or the differences of a metric that is paired."""
        if self.metric.interval == "paired":
            return paired_units(self.statistics[0])
        sums, counts = self._sums
        return sums / counts

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        """The sum and the number of the values of each cluster that has any."""
        return _unit_sums(self.statistics)

    @cached_property
    def averaged(self) -> list[list[Floats]]:
        """The values of the clusters under each mean, by variant; [] where the metric is not made of means."""
        return [means.units(recorded) for recorded in self._tables]

    @cached_property
    def _tables(self) -> list[list[Floats]]:
        """The sums and counts of each mean by cluster, by variant; [] where the metric is not made of means."""
        return [self.known.of(statistic) for statistic in self._signed]

    @property
    def _signed(self) -> list[Statistic]:
        """The statistics of the differences behind the metric, which sum what its own do; its own where it has none."""
        norm = self.metric.norm
        return [replace(s, function=norm.differences) if norm else s for s in self.statistics]

    @property
    def recorded(self) -> list[list[Floats]]:
        """What is summed by cluster, by variant, as far as it is known; [] where it is not."""
        return [[] for _ in self.statistics] if self._is_of_units else self._tables

    @property
    def _is_of_units(self) -> bool:
        """Whether it is a mean of the values of clusters."""
        return is_plain_mean(self.metric) or self.metric.interval == "paired"

    @cached_property
    def clusters(self) -> int:
        """The number of clusters."""
        return int(np.count_nonzero(np.bincount(_joined([s.clusters for s in self.statistics]))))

    @property
    def fewest(self) -> int:
        """The number of clusters under the mean that has the fewest."""
        counts = [int(np.count_nonzero(count)) for recorded in self._tables for _, count in recorded]
        return min(counts) if counts else self.clusters

    @cached_property
    def bounds(self) -> tuple[float, float] | None:
        """The smallest and the largest value, None where it has none; of a mean those of its column."""
        return _finite(self._column.bounds if is_plain_mean(self.metric) else self.metric.bounds, self.k)

    @property
    def _column(self) -> Column:
        return COLUMNS[self.metric.inputs[0]]

    @cached_property
    def needs_resamples(self) -> bool:
        """Whether there is enough evidence for a bootstrap."""
        if not self.metric.resampled:
            return False
        if not self._is_of_units:
            return self.fewest >= bounded.ENOUGH_UNITS
        if self.bounds is None or (self.metric.interval == "paired" and self._column.continuous):
            return len(self.units) >= bounded.ENOUGH_UNITS
        return bool(len(self.units)) and bounded.is_enough(self.units, self.bounds[1] - self.bounds[0])

    def estimate(self, samples: Floats | None) -> Estimate:
        """Return the value with its interval. None has zero width: its ends are NaN where nothing can be said.

        `samples` are the resampled values averaged over the variants, those of the signed differences (a row for each)
        where the metric has any. They are not looked at, and may be None, where none are needed.
        """
        if not self.metric.resampled:
            return self._alone("no interval")
        samples = samples if self.needs_resamples else None
        if self._is_of_units:
            estimate = self._of_units(samples)
        elif self.metric.interval in ("simultaneous", "deviations"):
            estimate = self._of_means(samples)
        else:
            estimate = self._of_any(samples)
        if not estimate.has_interval or bounded.has_width(*estimate.ends, width_of(self.metric, self.k)):
            return estimate
        return self._alone(NO_SPREAD)

    def _alone(self, method: str) -> Estimate:
        return Estimate.alone(self.value, level=self.level, n=self.clusters, method=method)

    def _of_units(self, samples: Floats | None) -> Estimate:
        """Return the interval of a mean of units."""
        if samples is not None:
            estimate = bootstrap.percentile(self.value, samples, level=self.level, units=len(self.units))
            if self.bounds is None or bounded.has_width(*estimate.ends, self.bounds[1] - self.bounds[0]):
                return estimate
        if self.bounds is None or not len(self.units):
            return replace(self._alone(TOO_FEW), n=len(self.units))
        paired = self.metric.interval == "paired"
        whole, counts = self._column.whole and not paired, None if paired else self._sums[1] / len(self.statistics)
        estimate = bounded.mean_interval(
            self.units, self.bounds, level=self.level, seed=self.seed, whole=whole, counts=counts
        )
        # Clusters may differ in their number of items, so the mean of all items may lie outside by a little.
        low, high = min(estimate.low, self.value), max(estimate.high, self.value)
        return replace(estimate, value=self.value, low=low, high=high)

    def _of_any(self, samples: Floats | None) -> Estimate:
        if samples is not None:
            if self.metric.norm is None:
                estimate = bootstrap.percentile(self.value, samples, level=self.level, units=self.clusters)
            else:
                estimate = self._of_differences(self._sizes(samples))
            if bounded.has_width(*estimate.ends, width_of(self.metric, self.k)):
                return estimate
        return self._of_few(samples)

    def _sizes(self, samples: Floats) -> Floats:
        """Return how far each resample is from the value, or from the signed differences behind it."""
        norm = self.metric.norm
        if norm is None:
            return np.abs(samples - self.value)
        observed = self.differences or [statistic.value for statistic in self._signed]
        return np.asarray(norm.join(samples - np.mean(observed, axis=0)[:, None]), dtype=np.float64)

    def _of_differences(self, sizes: Floats) -> Estimate:
        """Return the interval of an absolute metric from the deviations of the signed differences behind it.

        For `ENOUGH_UNITS` and more.
        | |a| - |b| | <= |a - b| for every norm, so this covers although noise makes |a| larger.
        """
        units = self.clusters
        # A resample of n units varies less than new data. Right and wrong answers come in steps, which asks for more
        # yet where units are few: with a third of them as degrees of freedom it covers (benchmarks/coverage.py).
        counted = units / DISCRETENESS if units < bootstrap.FEW_UNITS else units
        wider = bootstrap.t_factor(self.level, counted - 1) * np.sqrt(units / (units - 1))
        radius = wider * maximum.radius(sizes, level=self.level)
        if np.isnan(radius):
            return self._alone(bootstrap.UNDEFINED)
        return self._around(radius, f"bootstrap of deviations, {len(sizes)} resamples of {units:,} clusters")

    def _around(self, radius: float, method: str, n: int | None = None) -> Estimate:
        n = self.clusters if n is None else n
        return Estimate.around(self.value, radius, self.metric.bounds, level=self.level, n=n, method=method)

    def _of_means(self, samples: Floats | None) -> Estimate:
        """Return the interval of a contrast of means, and the p-value of its hypothesis if it has one.

        It comes from the deviations of the resampled means, or from Hoeffding's bound for all means at once.
        """
        norm = self.metric.norm
        n = self.clusters if norm else self.fewest
        count = max(1, len(self.averaged[0]))
        # A norm joins differences of two means each; without one the metric is the sum or difference of all its means.
        terms = 2 if norm else max(2, count)
        low, high = self._column.bounds or (0.0, 1.0)
        width, level, shrink = high - low, self.level, 1.0
        largest = self.metric.interval == "simultaneous"
        if largest:
            level, shrink = self.sample.level(self.level), self.sample.shrink(self.kind, n)
        sizes = np.zeros(0) if samples is None else self._sizes(samples)
        radius = maximum.radius(sizes, level=level, shrink=shrink, method="higher" if largest else "linear")
        if samples is not None and np.isnan(radius):
            estimate = replace(self._alone(bootstrap.UNDEFINED), n=n)
        elif bounded.has_width(0.0, radius, width):
            estimate = self._around(radius, maximum.METHOD if largest else "bootstrap of deviations", n)
        else:
            off = bounded.simultaneous_radius(self.fewest, count, width, level=level)
            estimate = self._around(terms * off, bounded.HOEFFDING, n)
        if not self.metric.null:
            return estimate
        if estimate.method == bounded.HOEFFDING:
            apart = self.value / (terms * width)
            p = min(1.0, 2 * count * float(np.exp(-2 * max(self.fewest, 1) * apart**2)))
        else:
            p = maximum.p_value(self.value, sizes, shrink=shrink)
        return replace(estimate, p=min(1.0, self.sample.errors * p))

    def _of_few(self, samples: Floats | None) -> Estimate:
        """Return an interval that holds for few units: from its means where it is made of means, else Hoeffding's."""
        bounds = self.bounds
        if bounds is None:
            is_equal = samples is not None and self.clusters >= bounded.ENOUGH_UNITS and np.ptp(samples) == 0
            return self._alone(NO_SPREAD if is_equal else TOO_FEW)
        ends = self._left_out(bounds) if jackknife.FEWEST <= self.fewest < bounded.ENOUGH_UNITS else None
        if ends is not None:
            low, high = (min(max(end, bounds[0]), bounds[1]) for end in ends)
            return Estimate(
                self.value, min(low, self.value), max(high, self.value), self.level, self.clusters, jackknife.METHOD
            )
        # Variants ask the same sentences again: each has the whole error, so one that covers all is as wide as any.
        level = 1 - (1 - self.level) / len(self.statistics)
        joint = [
            means.joint_interval(statistic, units, self._width, level=level, seed=self.seed)
            for statistic, units in zip(self.statistics, self.averaged, strict=True)
        ]
        known = [estimate for estimate in joint if estimate is not None]
        if len(known) < len(joint):
            return self._around(
                bounded.hoeffding_radius([self.clusters], bounds[1] - bounds[0], level=self.level), bounded.HOEFFDING
            )
        low = max(bounds[0], float(np.mean([estimate.low for estimate in known])))
        high = min(bounds[1], float(np.mean([estimate.high for estimate in known])))
        return Estimate(self.value, low, high, self.level, self.clusters, bounded.JOINT)

    def _left_out(self, bounds: tuple[float, float]) -> tuple[float, float] | None:
        """Return the ends of the jackknife of a metric that is made of means; None where it is not, or undefined."""
        if not all(self.averaged) or self.clusters > MOST_LEFT_OUT:
            return None
        norm = self.metric.norm
        if self._column.signed and norm is None:
            return jackknife.signed_interval(self.statistics, level=self.level)
        item = max(map(means.item_size, self._tables))
        values = np.atleast_1d(np.mean([statistic.value for statistic in self._signed], axis=0))
        left_out = np.atleast_2d(jackknife.left_out_values(self._signed))
        if np.isnan(left_out).any():
            return None
        scale = bounds if norm is None else (-self._width, self._width)
        # Several differences have an interval each, at a level that holds for all at once.
        level = 1 - (1 - self.level) / len(values)
        intervals = [
            jackknife.scale_interval(float(value), others, scale, item=item, level=level)
            for value, others in zip(values, left_out, strict=True)
        ]
        return intervals[0] if norm is None else norm.ends(intervals)

    @property
    def _width(self) -> float:
        """The width of what is averaged."""
        read = [_finite(COLUMNS[name].bounds, self.k) for name in self.metric.inputs]
        return max((ends[1] - ends[0] for ends in read if ends is not None), default=1.0)


def seen_units(metric: Metric, statistics: Sequence[Statistic], k: int, level: float) -> Seen | None:
    """Return the units behind the interval of a mean; None where it has no bounds."""
    column = COLUMNS[metric.inputs[0]]
    bounds = _finite(column.bounds, k)
    return None if bounds is None else Seen(unit_means(statistics), bounds, level, column.whole)


def is_plain_mean(metric: Metric) -> bool:
    """Return whether a metric is the mean of one column."""
    return metric.function is mean and len(metric.inputs) == 1


def is_additive(metric: Metric) -> bool:
    """Return whether the items of a sentence and group may be added up first: the metric is made of means."""
    return metric.additive or is_plain_mean(metric)


def width_of(metric: Metric, k: int) -> float:
    """Return the width of all possible values of a metric; infinite where it has no bounds."""
    bounds = _finite(metric.bounds, k)
    return np.inf if bounds is None else bounds[1] - bounds[0]


def unit_means(statistics: Sequence[Statistic]) -> Floats:
    """Return the mean of each cluster over its items and variants; clusters without a value are left out."""
    sums, counts = _unit_sums(statistics)
    return sums / counts


def unit_sizes(statistics: Sequence[Statistic]) -> Floats:
    """Return the number of items behind each of `unit_means`, in one variant."""
    return _unit_sums(statistics)[1] / len(statistics)


def _unit_sums(statistics: Sequence[Statistic]) -> tuple[Floats, Floats]:
    """Return the sum and the number of the values of each cluster that has any."""
    clusters: Integers = _joined([statistic.clusters for statistic in statistics])
    values: Floats = _joined([np.asarray(s.arrays[0], dtype=np.float64) for s in statistics])
    parts = [shares for statistic in statistics if (shares := statistic.row_shares) is not None]
    shares = _joined(parts) if parts else None
    counted = ~np.isnan(values)
    if not counted.all():
        clusters, values, shares = clusters[counted], values[counted], None if shares is None else shares[counted]
    counts = np.bincount(clusters, shares).astype(np.float64)
    sums = np.bincount(clusters, values if shares is None else values * shares).astype(np.float64)
    inside = counts > 0
    return sums[inside], counts[inside]


def _joined(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return one column after the other; a single one as it is."""
    return columns[0] if len(columns) == 1 else np.concatenate(columns)


def paired_units(statistic: Statistic) -> Floats:
    """Return the mean of the unmarked less that of the marked items of each cluster that has both.

    The statistic reads a number and `marked`.
    """
    values, marked = statistic.arrays
    clusters, shares = statistic.clusters, statistic.row_shares
    shares = np.ones(len(values)) if shares is None else shares
    size = int(clusters.max()) + 1
    sides = []
    for inside in (marked == 0, marked == 1):
        total = np.bincount(clusters[inside], values[inside] * shares[inside], size)
        with np.errstate(invalid="ignore", divide="ignore"):
            sides.append(total / np.bincount(clusters[inside], shares[inside], size))
    apart = sides[0] - sides[1]
    return np.asarray(apart[~np.isnan(apart)], dtype=np.float64)


def unit_differences(first: Sequence[Statistic], second: Sequence[Statistic]) -> Floats | None:
    """Return first - second of each cluster; None where they do not have values for the same number of clusters."""
    sides = unit_means(first), unit_means(second)
    return sides[0] - sides[1] if len(sides[0]) == len(sides[1]) else None


def mean_contest(first: Floats, second: Floats, clusters: Integers, width: float) -> Contest:
    """Return the contest of two columns of the same rows by their means; `width` is that of all possible values."""
    left, right = ([Statistic(mean, [column], clusters)] for column in (first, second))
    return Contest(left, right, len(first), width, unit_differences(left, right), unit_sizes(left))


def paired_means(
    pairs: Sequence[tuple[Floats, Floats, Integers]], width: float, clusters: int, trial: Trial
) -> list[Estimate]:
    """Return the mean of first - second of each pair of columns, with the p-value of its test.

    A pair holds both columns and the numbers of their clusters; `width` is that of all possible values. The test
    exchanges the columns within clusters.
    """
    contests = [mean_contest(*pair, width) for pair in pairs]
    return paired_differences(contests, clusters=clusters, trial=trial)


def _finite(bounds: tuple[float, float] | None, k: int) -> tuple[float, float] | None:
    """Return the bounds with the number of candidates for the perplexity's missing end; None where there are none."""
    if bounds is None or not np.isfinite(bounds[0]):
        return None
    if np.isfinite(bounds[1]):
        return bounds
    return (bounds[0], float(k)) if bounds[0] == 1 else None
