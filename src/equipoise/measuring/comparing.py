"""Two models on the same items in, contests out: every metric that both have, measured as an audit measures it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..metrics.columns import ATTRIBUTE, AUGMENTATION
from ..records import Estimate, Outcomes, group_label
from ..stats.paired import Contest
from .evidence import is_plain_mean, unit_differences, unit_sizes, width_of
from .identities import marked_points
from .items import Items
from .leeway.widening import Leeway, Name, leeways
from .markers import NONE
from .measure import Plan, measured_items, measured_points
from .points import Point

WIDENED = "widened for limits or sampled answers"
"""What the method of a difference says, where a model's probabilities are not known exactly."""


class Compared(NamedTuple):
    """A metric and group that both models have a value of."""

    metric: str
    group: str
    contest: Contest


def contests(first: Items, second: Items, plan: Plan) -> Iterator[Compared]:
    """Yield a contest for every metric and group of the plan that both have; the items must be the same, row by row."""
    points = [_points(items, plan) for items in (first, second)]
    for (metric, group), point in points[0].items():
        other = points[1].get((metric, group))
        if other is not None and set(point.rows) == set(other.rows) and point.job.metric.resampled:
            statistics = (point.statistics(compared=True), other.statistics(compared=True))
            chosen_metric, k = point.job.metric, first.outcomes.k
            units = unit_differences(*statistics) if is_plain_mean(chosen_metric) else None
            sizes = None if units is None else unit_sizes(statistics[0])
            yield Compared(metric, group, Contest(*statistics, point.n, width_of(chosen_metric, k), units, sizes))


def _points(items: Items, plan: Plan) -> dict[Name, Point]:
    """Return what is compared: every metric and group, and those of identities by augmentation and attribute."""
    points, _ = measured_points(items, plan)
    if items.is_marked:
        identities = [metric for metric in plan.metrics if metric.unit == "identity"]
        marked = marked_points(items, plan, identities, (AUGMENTATION, ATTRIBUTE))
        points += sorted((point for point in marked if point.parts["augmentation"] != NONE), key=_place)
    return {(p.job.name, group_label(p.parts)): p for p in points if p.possible is None}


def _place(point: Point) -> tuple[str, ...]:
    return tuple(point.parts.get(name, "") for name in ("type", "augmentation", "attribute"))


def comparison_leeways(items: Items, plan: Plan) -> dict[Name, Leeway]:
    """Return how far each compared value of a model may move; nothing where its probabilities are exact."""

    def measured(outcomes: Outcomes) -> dict[Name, float]:
        return {name: point.value for name, point in _points(measured_items(outcomes, plan), plan).items()}

    return leeways(items.outcomes, plan, measured)


def widened_difference(difference: Estimate, leeway: Leeway, width: float) -> Estimate:
    """Return the difference with its leeway in its interval; p is 1 where the values may be equal for it."""
    if leeway == Leeway() or not difference.has_interval:
        return difference
    low = min(difference.low, max(-width, difference.low + leeway.down))
    high = max(difference.high, min(width, difference.high + leeway.up))
    return difference.widened(low, high, WIDENED)
