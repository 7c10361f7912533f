"""Two models on the same items in, contests out: every metric that both have, measured as an audit measures it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from ..records import Outcomes, group_label
from ..stats.paired import Contest, Difference
from .evidence import is_plain_mean, unit_differences, width_of
from .identity_statistics import identity_statistics
from .items import Items
from .leeway.widening import Leeway, Name, leeways
from .measure import Plan, measured_items, measured_points
from .part import point_values

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
    explained = low <= 0 <= high and difference.excludes_zero
    p, method = 1.0 if explained else difference.p, f"{difference.method}, {WIDENED}"
    return replace(difference, low=low, high=high, p=p, method=method)
