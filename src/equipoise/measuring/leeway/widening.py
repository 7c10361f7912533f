"""How far measurements may move because probabilities are not known exactly, and intervals that hold it.

Limits: the metric is taken on outcomes at the ends of what the limits allow; the interval is moved out by the largest
change to either side. Sampled answers: half of them show the bias of all of them, and for metrics that ask which answer
is the most probable, every answer that the counts do not rule out is tried (docs/decisions/intervals.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from ...metrics import Metric
from ...metrics.columns import COLUMNS
from ...metrics.naming import suffix
from ...metrics.sides import is_predicted
from ...records import Estimate, Limits, Measurement, Outcomes, group_label, parse_group
from ..cells import CROSS, group_keys
from ..items import Items
from ..measure import Plan, measured_items
from .alternatives import bounded_alternatives, missed, pooled, sampled_alternatives, shared, thinned
from .fillings import fillings

Name = tuple[str, str]
"""The name of a metric, and its group as `measurements.csv` names it."""

Values = Mapping[Name, float]
Measured = Callable[[Outcomes], Values]

LIMITS, SAMPLES = "widened for limits", "widened for sampled answers"
"""What the method of a widened interval says."""

TOO_FEW_ANSWERS = "no interval: too few sampled answers a question, and the metric has no bounds"
FEWEST_SAMPLES = 2
"""With fewer answers to a question nothing is known about their error."""


def name_of(metric: str, parts: Mapping[str, str]) -> Name:
    """Return the name of a measurement; the worst of several groups has one, whichever group that is."""
    if "worst_of" in parts:
        parts = {key: "" if CROSS in key or key == "worst_of" else value for key, value in parts.items()}
    return metric, group_label(parts)


class Leeway(NamedTuple):
    """How far a value may move down (0 or less) and up (0 or more)."""

    down: float = 0.0
    up: float = 0.0

    def plus(self, other: Leeway) -> Leeway:
        """Return the leeway of both together."""
        return Leeway(self.down + other.down, self.up + other.up)

    def minus(self, other: Leeway) -> Leeway:
        """Return the leeway of the difference of two values."""
        return Leeway(self.down - other.up, self.up - other.down)


EVERYTHING = Leeway(-math.inf, math.inf)


def leeways(outcomes: Outcomes, plan: Plan, measured: Measured) -> dict[Name, Leeway]:
    """Return how far each value may move; nothing where all probabilities are exact.

    `measured` returns the values of outcomes by metric and group.
    """
    limits = outcomes.limits
    if limits is None:
        return {}
    values, items = measured(outcomes), measured_items(outcomes, plan)
    reach = dict.fromkeys(values, Leeway())
    if limits.low is not None:
        possible = fillings(bounded_alternatives(outcomes, limits), items, _keys(items, plan))
        spread = _spread(values, map(measured, chain(possible, shared(outcomes, limits, items.members))))
        reach = {name: reach[name].plus(leeway) for name, leeway in spread.items()}
    if limits.counts is not None:
        sampled = _of_samples(outcomes, items, plan, measured, values)
        reach = {name: reach[name].plus(leeway) for name, leeway in sampled.items()}
    return reach


def _keys(items: Items, plan: Plan) -> list[str]:
    return [key for key in group_keys(items.outcomes, plan.by) if not is_predicted(key)]


def _spread(values: Values, possible: Iterable[Values]) -> dict[Name, Leeway]:
    """Return how far the possible values are from those of the run."""
    reach = dict.fromkeys(values, Leeway())
    for others in possible:
        for name, value in values.items():
            moved = others.get(name, math.nan) - value
            if not math.isnan(moved):
                reach[name] = Leeway(min(reach[name].down, moved), max(reach[name].up, moved))
    return reach


def _of_samples(outcomes: Outcomes, items: Items, plan: Plan, measured: Measured, values: Values) -> dict[Name, Leeway]:
    limits = outcomes.limits
    assert limits is not None and limits.counts is not None
    if limits.samples < FEWEST_SAMPLES:
        return dict.fromkeys(values, EVERYTHING)
    bias = _bias(values, [measured(half) for half in thinned(outcomes, limits, seed=plan.seed)], limits.samples)
    metrics = metrics_by_name(plan)
    doubtful = _spread(values, map(measured, _other_answers(outcomes, limits, items, _keys(items, plan))))
    # A set is wrong where one of its items is: twice the share, as most sets are pairs.
    share = 2 * missed(limits, outcomes.k)
    reach = {}
    for name in values:
        reach[name] = bias[name]
        metric = metrics.get(name[0])
        if metric is None or any(COLUMNS[column].answer for column in metric.inputs if column in COLUMNS):
            beyond = share * (metric.bounds[1] - metric.bounds[0]) if metric else 0.0
            beyond = beyond if math.isfinite(beyond) else 0.0
            reach[name] = reach[name].plus(doubtful[name]).plus(Leeway(-beyond, beyond))
    return reach


def _other_answers(outcomes: Outcomes, limits: Limits, items: Items, keys: list[str]) -> Iterator[Outcomes]:
    """Yield outcomes with other answers that the counts do not rule out, and with sets that may be alike."""
    yield from fillings(sampled_alternatives(outcomes, limits), items, keys)
    alike, chosen = pooled(outcomes, limits, items.members)
    if chosen.any():
        yield alike


def _bias(values: Values, halves: list[Values], samples: int) -> dict[Name, Leeway]:
    """Return how far values may be from those of endlessly many answers, from what half of the answers give.

    The bias of a smooth metric falls with 1/n; that of a difference without sign, where there is none, with 1/sqrt(n).
    """
    ratio = samples / (samples // 2)
    reach = {}
    for name, value in values.items():
        known = [half[name] for half in halves if not math.isnan(half.get(name, math.nan))]
        moved = value - float(np.mean(known)) if known else 0.0
        shifts = (moved / (ratio - 1), moved / (math.sqrt(ratio) - 1))
        reach[name] = Leeway(min(0.0, *shifts), max(0.0, *shifts))
    return reach


def metrics_by_name(plan: Plan) -> dict[str, Metric]:
    """Return the metrics of the plan by the names of their measurements, those of all estimators included."""
    return {
        metric.name + (suffix(estimator.name) if metric.estimated else ""): metric
        for metric in plan.metrics
        for estimator in plan.estimators
    }


def widened(
    rows: Iterable[Measurement], reach: Mapping[Name, Leeway], limits: Limits | None, metrics: Mapping[str, Metric]
) -> list[Measurement]:
    """Return the measurements with intervals that hold their leeway; a p-value that it explains is 1."""
    if limits is None:
        return list(rows)
    reason = LIMITS if limits.counts is None else SAMPLES
    return [_widened(row, reach, reason, metrics.get(row.metric)) for row in rows]


def _widened(row: Measurement, reach: Mapping[Name, Leeway], reason: str, metric: Metric | None) -> Measurement:
    leeway = reach.get(name_of(row.metric, row.parts), Leeway())
    estimate = row.estimate
    if not estimate.has_interval or leeway == Leeway():
        return row
    lowest, highest = metric.bounds if metric else (-math.inf, math.inf)
    # An interval's end may be beyond the bounds by rounding: it stays where it is.
    low = min(estimate.low, max(lowest, estimate.low + leeway.down))
    high = max(estimate.high, min(highest, estimate.high + leeway.up))
    if (low, high) == (estimate.low, estimate.high):
        return row
    if not math.isfinite(low) or not math.isfinite(high):
        alone = Estimate.alone(estimate.value, level=estimate.level, n=estimate.n, method=TOO_FEW_ANSWERS)
        return replace(row, estimate=alone)
    return replace(row, estimate=estimate.widened(low, high, reason))


def leeway_sentences(
    before: Sequence[Measurement], after: Sequence[Measurement], limits: Limits | None, metrics: Mapping[str, Metric]
) -> Iterator[str]:
    """Yield a sentence on what is not known exactly, and by how much the interval of a leading metric grew at most."""
    if limits is None:
        return
    if limits.low is not None:
        some = f"{limits.within:,} of {len(limits.low):,} items"
        known = f"{some} have a candidate whose probability is known within limits only"
        remedy = "a server that returns more tokens narrows them"
    elif limits.counts is not None:
        known = f"probabilities are estimated from {limits.samples:,} sampled answers a question"
        remedy = "more samples narrow them"
    else:
        return
    leading = [
        (first, second)
        for first, second in zip(before, after, strict=True)
        if first.metric in metrics and metrics[first.metric].leading and set(parse_group(first.group)) <= {"type"}
        if second.high - second.low > first.high - first.low
    ]
    if not leading:
        yield f"{known}; no interval of a leading metric is wider for it"
        return
    first, second = max(leading, key=lambda pair: (pair[1].high - pair[1].low) - (pair[0].high - pair[0].low))
    where = "" if first.group == "all" else f" ({first.group})"
    yield (
        f"{known}, so intervals are wider; {first.metric}{where} changes most, from "
        f"[{first.low:.3f}, {first.high:.3f}] to [{second.low:.3f}, {second.high:.3f}]; {remedy}"
    )
