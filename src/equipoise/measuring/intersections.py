"""Groups of groups (`gender*occupation`): one group for each combination, and the worst of them.

The worst of many groups looks bad by chance alone. Its interval holds for all groups at once: with R the quantile of
the largest deviation of any group, the true worst value lies within R of the one seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..metrics import Metric
from ..records import Estimate, Floats, Integers, Measurement, RunKey, UndefinedMetric, group_label
from ..stats.bootstrap import weight_chunks
from ..stats.bounded import has_width, hoeffding_radius
from ..stats.maximum import absolute_radius
from ..stats.resampling import Statistic, evaluate
from .cells import CROSS, by_value
from .group_pairs import measure_group_pairs
from .items import Items
from .measure import Job, Plan, jobs

FEWEST = 5
"""The fewest clusters of a group that can be called the worst."""


@dataclass(frozen=True)
class _Group:
    """A combination, its rows that a metric applies to, and its value."""

    name: str
    rows: Integers
    value: float


def measure_combinations(items: Items, plan: Plan, key: RunKey) -> list[Measurement]:
    """Return what is measured of several groups together: every pair of them by name, and the worst combination."""
    return [*measure_group_pairs(items, plan, key), *_worst_groups(items, plan, key)]


def _worst_groups(items: Items, plan: Plan, key: RunKey) -> Iterator[Measurement]:
    crossed = [name for name in plan.by or () if CROSS in name]
    metrics = [m for m in plan.metrics if m.unit == "items" and m.resampled and m.better != "neither"]
    if not crossed or not metrics:
        return
    outcomes = items.outcomes
    kinds = by_value(outcomes.group("type")) or [("", np.arange(len(outcomes)))]
    for name in crossed:
        for job in jobs(items, replace(plan, metrics=metrics, by=())):
            for kind, rows in kinds:
                groups = list(_groups(items, job, name, rows))
                if len(groups) > 1:
                    yield _worst(items, job, groups, {name: "", **({"type": kind} if kind else {})}, plan, key)


def _groups(items: Items, job: Job, name: str, rows: Integers) -> Iterator[_Group]:
    applicable = rows[job.applies[rows]]
    for value, chosen in by_value(items.outcomes.groups[name], applicable):
        if len(np.unique(items.clusters[chosen])) < FEWEST:
            continue
        try:
            yield _Group(value, chosen, float(job.metric.function(*(array[chosen] for array in job.arrays))))
        except UndefinedMetric:
            continue


def _worst(
    items: Items, job: Job, groups: Sequence[_Group], parts: dict[str, str], plan: Plan, key: RunKey
) -> Measurement:
    metric, values = job.metric, np.array([group.value for group in groups])
    resampled = _resampled(items, job, groups, plan)
    worst = groups[int(values.argmin() if metric.better == "higher" else values.argmax())]
    radius = max(
        absolute_radius(values, resampled, level=plan.level), _of_constant(items, groups, resampled, job, plan)
    )
    low, high = _within(metric, worst.value, radius) if np.isfinite(radius) else (np.nan, np.nan)
    named = {name: value or worst.name for name, value in parts.items()}
    method = f"simultaneous bootstrap over {len(groups)} groups of at least {FEWEST} clusters"
    if np.isnan(low):
        method = "no interval: some group has equal resamples or none, and the metric has no bounds"
    estimate = Estimate(worst.value, low, high, plan.level, job.units(worst.rows), method)
    return Measurement.of(job.name, key, group_label({**named, "worst_of": str(len(groups))}), estimate, metric.better)


def _of_constant(items: Items, groups: Sequence[_Group], resampled: Floats, job: Job, plan: Plan) -> float:
    """Return a radius for groups whose resamples are all equal, which say nothing about their error; 0 without any."""
    low, high = job.metric.bounds
    ends = zip(np.nanmin(resampled, axis=0), np.nanmax(resampled, axis=0), strict=True)
    constant = [group for group, drawn in zip(groups, ends, strict=True) if not has_width(*drawn, high - low)]
    sizes = [len(np.unique(items.clusters[group.rows])) for group in constant]
    # Bonferroni: every group has its share of the error.
    level = 1 - (1 - plan.level) / len(groups)
    return hoeffding_radius([min(sizes)], high - low, level=level) if sizes else 0.0


def _resampled(items: Items, job: Job, groups: Sequence[_Group], plan: Plan) -> Floats:
    """Return the values of every group (columns) in every resample (rows)."""
    chunks = weight_chunks(int(items.clusters.max()) + 1, resamples=plan.resamples, seed=plan.seed)
    statistics = [Statistic(job.metric.function, job.arrays, items.clusters, group.rows) for group in groups]
    return np.stack(evaluate(statistics, chunks), axis=1)


def _within(metric: Metric, value: float, radius: float) -> tuple[float, float]:
    low, high = metric.bounds
    return max(low, value - radius), min(high, value + radius)
