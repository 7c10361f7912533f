"""The worst of the groups of groups (`gender*occupation`): one group for each combination.

The worst of many groups looks bad by chance alone. Its interval holds for all groups at once: with R the quantile of
the largest deviation of any group, the true worst value lies within R of the one seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..records import Estimate, Floats, Integers, UndefinedMetric
from ..stats.bootstrap import weight_chunks
from ..stats.bounded import has_width, hoeffding_radius
from ..stats.maximum import absolute_radius
from ..stats.resampling import Statistic, evaluate
from .cells import CROSS, by_type, by_value, of_type
from .items import Items
from .measure import Measured, Plan, jobs
from .points import Job

FEWEST = 5
"""The fewest clusters of a group that can be called the worst."""

NO_BOUNDS = "no interval: some group has equal resamples or none, and the metric has no bounds"


@dataclass(frozen=True)
class _Group:
    """A combination, a metric of its rows, and the value of that."""

    name: str
    statistic: Statistic
    value: float

    @property
    def clusters(self) -> int:
        return len(np.unique(self.statistic.clusters))


def worst_groups(items: Items, plan: Plan) -> Iterator[Measured]:
    """Yield the worst combination of every metric with a direction, for each type."""
    crossed = [name for name in plan.by or () if CROSS in name]
    metrics = [m for m in plan.metrics if m.unit == "items" and m.resampled and m.better != "neither"]
    if not crossed or not metrics:
        return
    kinds = by_type(items)
    for name in crossed:
        for job in jobs(items, replace(plan, metrics=metrics, by=())):
            for kind, rows in kinds:
                groups = list(_groups(items, job, name, rows))
                if len(groups) > 1:
                    worst, estimate = _worst(job, groups, items.cluster_count, plan)
                    parts = {name: worst, **of_type(kind), "worst_of": str(len(groups))}
                    yield Measured(job.metric, job.name, parts, estimate)


def _groups(items: Items, job: Job, name: str, rows: Integers) -> Iterator[_Group]:
    applicable = rows[job.applies[rows]]
    for value, chosen in by_value(items.outcomes.groups[name], applicable, items.group_numbers(name)[0]):
        statistic = Statistic(job.metric.function, job.arrays, items.clusters, chosen)
        try:
            group = _Group(value, statistic, float(statistic.value))
        except UndefinedMetric:
            continue
        if group.clusters >= FEWEST:
            yield group


def _worst(job: Job, groups: Sequence[_Group], clusters: int, plan: Plan) -> tuple[str, Estimate]:
    """Return the worst group's name, and its value with an interval."""
    metric, values = job.metric, np.array([group.value for group in groups])
    worst = groups[int(values.argmin() if metric.better == "higher" else values.argmax())]
    assert worst.statistic.rows is not None
    n = job.units(worst.statistic.rows)
    if not plan.intervals:
        return worst.name, Estimate.alone(worst.value, level=plan.level, n=n, method="value alone")
    chunks = weight_chunks(clusters, resamples=plan.resamples, seed=plan.seed)
    resampled = np.stack(evaluate([group.statistic for group in groups], chunks), axis=1)
    radius = absolute_radius(values, resampled, level=plan.level)
    radius = max(radius, _of_constant(groups, resampled, metric.bounds, plan.level))
    if not np.isfinite(radius):
        return worst.name, Estimate.alone(worst.value, level=plan.level, n=n, method=NO_BOUNDS)
    method = f"simultaneous bootstrap over {len(groups)} groups of at least {FEWEST} clusters"
    return worst.name, Estimate.around(worst.value, radius, metric.bounds, level=plan.level, n=n, method=method)


def _of_constant(groups: Sequence[_Group], resampled: Floats, bounds: tuple[float, float], level: float) -> float:
    """Return a radius for groups whose resamples are all equal, which say nothing about their error; 0 without any."""
    low, high = bounds
    ends = zip(np.nanmin(resampled, axis=0), np.nanmax(resampled, axis=0), strict=True)
    constant = [group for group, drawn in zip(groups, ends, strict=True) if not has_width(*drawn, high - low)]
    # Bonferroni: every group has its share of the error.
    level_of_each = 1 - (1 - level) / len(groups)
    sizes = [group.clusters for group in constant]
    return hoeffding_radius([min(sizes)], high - low, level=level_of_each) if sizes else 0.0
