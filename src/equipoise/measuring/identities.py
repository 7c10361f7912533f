"""Metrics of marked sentences: of whom each is taken, and at which levels."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics import METRICS, Metric
from ..metrics.columns import ATTRIBUTE, COLUMNS
from ..records import EquipoiseError, Estimate, group_label
from .evidence import is_additive, is_plain_mean
from .items import Items
from .markers import NONE
from .measure import Plan, estimates, with_values
from .points import Job, Point, Population, Rows
from .sentences import Level, MarkedType, SentenceTable, marked_sentences
from .stopping import Sample


def identity_points(items: Items, plan: Plan) -> list[Point]:
    """Return the metrics of groups of marked sentences that have a value, without those of changes.

    They are those of the table, whatever was asked for, and those that the plan adds.
    """
    every = {metric.name: metric for metric in (*METRICS.values(), *plan.metrics)}
    metrics = [metric for metric in every.values() if metric.levels and metric.interval != "exchanged"]
    return marked_points(items, plan, metrics) if items.is_marked else []


def confidence_disparities(items: Items, plan: Plan, sample: Sample) -> Mapping[str, Estimate]:
    """Return the confidence disparity of every attribute, augmentation and type, by the group's name."""
    points = marked_points(items, plan, [METRICS["confidence_disparity"]], [ATTRIBUTE])
    rows = estimates(points, items, plan, sample)
    return {group_label(row.parts): row.estimate for row in rows if row.parts["augmentation"] != NONE}


def marked_points(items: Items, plan: Plan, metrics: Iterable[Metric], levels: Collection[Level] = ()) -> list[Point]:
    """Return the metrics that have a value for groups of marked sentences, at their levels or those that are named."""
    wanted: list[Point] = []
    for sentences in marked_sentences(items):
        for (level, applies_to, _, additive), several in _alike(items, sentences, metrics).items():
            if not levels or level in levels:
                columns = {name: _column(items, plan, name) for metric in several for name in metric.inputs}
                table = sentences.table(level, columns, items.applicable[applies_to], added_up=additive)
                wanted += _table_points(table, several, sentences.sentences)
    points: dict[tuple[str, str], Point] = {}
    for point, reason in with_values(wanted, plan):
        # What is undefined for a group of marked sentences, such as a gap between genders, is expected.
        if not reason:
            # A group that several levels give, such as the unmarked sentences, counts once.
            points.setdefault((point.job.name, group_label(point.parts)), point)
    return list(points.values())


def _alike(items: Items, sentences: MarkedType, metrics: Iterable[Metric]) -> dict[tuple[Any, ...], list[Metric]]:
    """Return the metrics that one table serves, by level, the items they apply to, and the names that they read."""
    alike: dict[tuple[Any, ...], list[Metric]] = {}
    for metric in metrics:
        applies = items.applicable[metric.applies_to][sentences.rows]
        names = tuple(name for name in metric.inputs if name in COLUMNS and COLUMNS[name].names)
        for level in metric.levels if applies.any() else ():
            key = (level, "all" if applies.all() else metric.applies_to, names, is_additive(metric))
            alike.setdefault(key, []).append(metric)
    return alike


def _table_points(table: SentenceTable, metrics: Sequence[Metric], sentences: int) -> Iterator[Point]:
    """Yield the metrics of the groups of a table; those that are not plain means without their values."""
    population = Population(table.numbers, sentences, table.shares, np.float64, table.clusters)
    every = np.ones(len(table.numbers), dtype=bool)
    for metric in metrics:
        arrays = tuple(table.columns[name] for name in metric.inputs)
        job = Job(metric, metric.name, arrays, population, every, marked=True)
        if is_plain_mean(metric):
            means = table.means(metric.inputs[0])
            for (parts, rows), value in zip(table.groups, means, strict=True):
                if not math.isnan(value):
                    yield Point(job, parts, {"": rows}, {"": value})
            continue
        for parts, rows in table.groups:
            chosen: Rows = rows
            if "marked" in metric.inputs:
                unmarked = table.unmarked.get(parts.get("gender", ""), slice(0, 0))
                chosen = np.concatenate([np.arange(side.start, side.stop) for side in (unmarked, rows)])
            yield Point(job, parts, {"": chosen})


def _column(items: Items, plan: Plan, name: str) -> NDArray[Any]:
    if name not in COLUMNS:
        raise EquipoiseError(f"a metric of identities reads {name!r}; known columns: {', '.join(COLUMNS)}")
    return items.columns(plan.estimators[0])[name]
