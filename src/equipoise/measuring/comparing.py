"""Two models on the same items in, contests out: every metric that both have, measured as an audit measures it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..metrics import Metric
from ..records import Floats, Integers, Outcomes, UndefinedMetric, group_label
from ..stats.paired import Contest, Difference
from ..stats.resampling import Statistic
from .evidence import is_plain_mean, unit_differences, width_of
from .items import Items
from .leeway.widening import Leeway, Name, leeways
from .measure import Plan, measured_items, measured_points
from .part import point_values
from .sentence_table import NONE, answered_items, contrast_shares

WIDENED = "widened for limits or sampled answers"
"""What the method of a difference says, where a model's probabilities are not known exactly."""


class Compared(NamedTuple):
    """A metric and group that both models have a value of."""

    metric: str
    group: str
    contest: Contest


def contests(first: Items, second: Items, plan: Plan) -> Iterator[Compared]:
    """Yield a contest for every metric and group of the plan that both have; the items must be the same, row by row."""
    clusters = first.clusters
    points = [
        {(p.job.name, group_label(p.cell.parts)): p for p in measured_points(i, plan)[0] if p.possible is None}
        for i in (first, second)
    ]
    for (metric, group), point in points[0].items():
        other = points[1].get((metric, group))
        if other is not None and set(point.rows) == set(other.rows) and point.job.metric.resampled:
            statistics = (point.statistics(clusters), other.statistics(clusters))
            chosen_metric, k = point.job.metric, first.outcomes.k
            units = unit_differences(*statistics) if is_plain_mean(chosen_metric) else None
            yield Compared(metric, group, Contest(*statistics, point.n, width_of(chosen_metric, k), units))
    identities = [{(s.metric, s.group): s for s in identity_statistics(items, plan)} for items in (first, second)]
    metrics = {metric.name: metric for metric in plan.metrics}
    for name, chosen in identities[0].items():
        rival = identities[1].get(name)
        if rival is not None:
            width = width_of(metrics[chosen.metric], first.outcomes.k)
            yield Compared(*name, Contest([chosen.statistic], [rival.statistic], chosen.n, width))


def comparison_leeways(items: Items, plan: Plan) -> dict[Name, Leeway]:
    """Return how far each compared value of a model may move; nothing where its probabilities are exact."""

    def measured(outcomes: Outcomes) -> dict[Name, float]:
        filled = measured_items(outcomes, plan)
        identities = identity_statistics(filled, plan)
        values = {(i.metric, i.group): float(i.statistic.function(*i.statistic.arrays)) for i in identities}
        return {**point_values(filled, plan), **values}

    return leeways(items.outcomes, plan, measured)


def widened_difference(difference: Difference, leeway: Leeway, width: float) -> Difference:
    """Return the difference with its leeway in its interval; p is 1 where the values may be equal for it."""
    if leeway == Leeway() or math.isnan(difference.low):
        return difference
    low = min(difference.low, max(-width, difference.low + leeway.down))
    high = max(difference.high, min(width, difference.high + leeway.up))
    explained = low <= 0 <= high and not difference.low <= 0 <= difference.high
    p, method = 1.0 if explained else difference.p, f"{difference.method}, {WIDENED}"
    return replace(difference, low=low, high=high, p=p, method=method)


class IdentityStatistic(NamedTuple):
    """A metric of identities for one type, augmentation and attribute; `n` is the number of base sentences."""

    metric: str
    group: str
    statistic: Statistic
    n: int


def identity_statistics(items: Items, plan: Plan) -> Iterator[IdentityStatistic]:
    """Yield the drops, disparities and gender gaps of the plan, by type, augmentation and attribute."""
    outcomes = items.outcomes
    usable = outcomes.labelled & (outcomes.group("augmentation") != "")
    metrics = [metric for metric in plan.metrics if metric.unit == "identity" and metric.inputs]
    if not metrics or not usable.any():
        return
    columns = _identity_columns(items)
    kinds, ways, attributes = (outcomes.group(name) for name in ("type", "augmentation", "attribute"))
    for kind in sorted(set(kinds[usable].tolist())):
        rows = np.flatnonzero(usable & (kinds == kind))
        unmarked = rows[ways[rows] == NONE]
        for way in sorted(set(ways[rows].tolist()) - {NONE}):
            marked = rows[ways[rows] == way]
            for attribute in ["", *sorted(set(attributes[marked].tolist()) - {""})]:
                chosen = marked if not attribute else marked[attributes[marked] == attribute]
                parts = {"augmentation": way, "attribute": attribute, "type": kind}
                label = group_label({name: value for name, value in parts.items() if value})
                for metric in metrics:
                    if "marked" in metric.inputs:
                        over = np.concatenate([unmarked, chosen])
                    elif attribute or "privilege" in metric.inputs:
                        over = chosen
                    else:
                        continue
                    yield from _statistic(items, metric, label, over, columns)


def _identity_columns(items: Items) -> dict[str, Floats]:
    outcomes = items.outcomes
    gender, marker = outcomes.group("gender"), outcomes.group("marker")
    subgroup = np.array([f"{g}, {m}" if m else "" for g, m in zip(gender, marker, strict=True)], dtype=object)
    confidence = items.shared["confidence"]
    nothing = np.full(len(outcomes), np.nan)
    return {
        **items.shared,
        "right": np.where(np.isnan(confidence), np.nan, confidence > 0),
        "marked": (outcomes.group("augmentation") != NONE).astype(float),
        "subgroup": subgroup,
        "marker": marker,
        "privilege": outcomes.group("privilege"),
        "answered": nothing if (answered := answered_items(outcomes)) is None else answered,
        "contrast_share": contrast_shares(outcomes),
    }


def _statistic(
    items: Items, metric: Metric, label: str, rows: Integers, columns: dict[str, Floats]
) -> Iterator[IdentityStatistic]:
    rows = rows[items.applicable[metric.applies_to][rows]]
    arrays = [columns[name][rows] for name in metric.inputs]
    try:
        metric.function(*arrays)
    except UndefinedMetric:
        return
    clusters = items.clusters[rows]
    statistic = Statistic(metric.function, arrays, clusters)
    yield IdentityStatistic(metric.name, label, statistic, len(np.unique(clusters)))
