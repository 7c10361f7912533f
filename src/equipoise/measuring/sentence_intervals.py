"""Intervals over base sentences: a bootstrap where there is enough evidence, else one that is valid at any number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..metrics import METRICS
from ..records import Estimate, Floats, Integers
from ..stats import bootstrap, bounded
from .evidence import of_mean
from .sentence_table import Resampling

TOO_OFTEN_UNDEFINED = "no interval: undefined in most resamples"
METHOD = "percentile bootstrap, {resamples} resamples of base sentences"

CONFIDENCES = ("confidence", "confidence_pair", "confidence_marked")
"""Continuous values: sentences differ in them, so a bootstrap needs enough sentences, but not many on either side."""


@dataclass(frozen=True)
class Means:
    """Means of one metric by group: sums and counts by base sentence and group, and the weights of the resamples."""

    metric: str
    total: Floats
    count: Floats
    weights: Floats

    @cached_property
    def means(self) -> Floats:
        """The mean of each group; NaN where it has no item."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.total.sum(axis=0) / self.count.sum(axis=0), dtype=np.float64)

    @cached_property
    def resampled(self) -> Floats:
        """The mean of each group in every resample, (resamples, groups); NaN where it has no item."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((self.weights.T @ self.total) / (self.weights.T @ self.count), dtype=np.float64)

    @cached_property
    def sentences(self) -> Integers:
        """The number of base sentences of each group."""
        return np.asarray((self.count > 0).sum(axis=0), dtype=np.int64)

    def values(self, group: int) -> Floats:
        """Return the mean of each base sentence in a group; NaN where it has no item."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.total[:, group] / self.count[:, group], dtype=np.float64)


def mean_estimates(means: Means, plan: Resampling) -> list[Estimate]:
    """Return the mean of each group with its interval."""
    if not plan.intervals:
        return [_value(float(value), plan) for value in means.means]
    values = [means.values(group) for group in range(len(means.means))]
    # Groups of few sentences need no resamples, which are most of the work.
    trusted = [group for group, sentences in enumerate(values) if _is_enough(means.metric, sentences)]
    ends: dict[int, tuple[float, float]] = {}
    if trusted:
        units = means.sentences[trusted].tolist()
        intervals = bootstrap.intervals(means.resampled[:, trusted], level=plan.level, units=units)
        ends = dict(zip(trusted, intervals, strict=True))
    return [
        _estimate(means.metric, float(value), values[group], ends.get(group), plan)
        for group, value in enumerate(means.means)
    ]


def drop_estimate(means: Means, base: int, group: int, plan: Resampling) -> Estimate:
    """Return how much lower the mean of a group is than that of the unmarked sentences, sentence by sentence."""
    if not plan.intervals:
        return _value(float(means.means[base] - means.means[group]), plan)
    fewest = int(means.sentences[[base, group]].min())
    value = float(means.means[base] - means.means[group])
    values = means.values(base) - means.values(group)
    metric = f"{means.metric}_drop"
    is_continuous = means.metric in CONFIDENCES and fewest >= bounded.ENOUGH_UNITS
    is_enough = _is_enough(metric, values)
    if not is_continuous and not is_enough:
        return _estimate(metric, value, values, None, plan)
    ends = bootstrap.interval(means.resampled[:, base] - means.resampled[:, group], level=plan.level, units=fewest)
    if is_continuous and bounded.has_width(*ends, _width(metric)):
        # The same rule as for `confidence_change`: one quantity has one interval.
        return Estimate(value, *ends, plan.level, fewest, METHOD.format(resamples=plan.resamples))
    return _estimate(metric, value, values, ends if is_enough else None, plan)


def _value(value: float, plan: Resampling) -> Estimate:
    return Estimate(value, np.nan, np.nan, plan.level, 0, "value alone")


def _width(metric: str) -> float:
    low, high = METRICS[metric].bounds
    return high - low


def _is_enough(metric: str, values: Floats) -> bool:
    """Return whether a bootstrap of the mean of these base sentences can be trusted."""
    units = values[~np.isnan(values)]
    return bool(len(units)) and bounded.is_enough(units, _width(metric))


def _estimate(
    metric: str, value: float, values: Floats, ends: tuple[float, float] | None, plan: Resampling
) -> Estimate:
    """Return a mean of base sentences with its percentile interval, or one from its bounds where there is none."""
    units = values[~np.isnan(values)]
    method = METHOD.format(resamples=plan.resamples)
    if ends is not None:
        return Estimate(value, ends[0], ends[1], plan.level, len(units), method)
    if not len(units):
        return Estimate(value, np.nan, np.nan, plan.level, 0, method)
    whole = metric == "accuracy"
    first, last, method = of_mean(units, METRICS[metric].bounds, whole=whole, level=plan.level, seed=plan.seed)
    # Sentences may differ in their number of items, so the mean of all items may lie outside by a little.
    return Estimate(value, min(first, value), max(last, value), plan.level, len(units), method)


@dataclass(frozen=True)
class Contrast:
    """What differences between means of a variable are made of: the sentences of each mean, and `terms` of them each.

    `level` is that of the statement about all differences at once; `stated` is the one that the estimate shows.
    """

    metric: str
    variable: str
    sentences: Integers
    level: float
    stated: float
    terms: int = 2

    @property
    def width(self) -> float:
        """The width of all possible values of the variable."""
        low, high = METRICS[self.variable].bounds
        return high - low

    def is_enough(self, radius: float) -> bool:
        """Return whether a bootstrapped radius can be trusted."""
        return self.fewest >= bounded.ENOUGH_UNITS and bounded.has_width(0.0, radius, self.width)

    @property
    def fewest(self) -> int:
        """The number of base sentences of the mean that has the fewest."""
        return max(int(self.sentences.min()), 1)

    def estimate(self, value: float, radius: float, n: int, method: str) -> Estimate:
        """Return the estimate of a difference: with the bootstrapped radius, or Hoeffding's where evidence is little.

        A radius of NaN says that there is no interval.
        """
        if np.isnan(radius):
            return Estimate(value, np.nan, np.nan, self.stated, n, TOO_OFTEN_UNDEFINED)
        if not self.is_enough(radius):
            off = bounded.simultaneous_radius(self.fewest, len(self.sentences), self.width, level=self.level)
            radius, method = self.terms * off, bounded.HOEFFDING
        low, high = METRICS[self.metric].bounds
        return Estimate(value, max(low, value - radius), min(high, value + radius), self.stated, n, method)

    def p_value(self, largest: float, radius: float, p: float) -> float:
        """Return the bootstrapped p-value of the largest difference, or Hoeffding's where evidence is little."""
        if np.isnan(radius) or self.is_enough(radius):
            return p
        off = largest / (self.terms * self.width)
        return min(1.0, 2 * len(self.sentences) * float(np.exp(-2 * self.fewest * off**2)))
