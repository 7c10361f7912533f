"""Metrics of identities as statistics of items: what comparisons test, and how an added metric is measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..metrics import Metric
from ..records import Estimate, Floats, Integers, Measurement, RunKey, UndefinedMetric, group_label
from ..stats.bootstrap import weight_chunks
from ..stats.resampling import Statistic, evaluate
from .evidence import Evidence, interval
from .identities import BY_SENTENCES
from .items import Items
from .measure import Plan
from .sentence_table import NONE, answered_items, contrast_shares


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
    columns = _identity_columns(items, plan)
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


def _identity_columns(items: Items, plan: Plan) -> dict[str, Floats]:
    outcomes = items.outcomes
    gender, marker = outcomes.group("gender"), outcomes.group("marker")
    subgroup = np.array([f"{g}, {m}" if m else "" for g, m in zip(gender, marker, strict=True)], dtype=object)
    confidence = items.shared["confidence"]
    nothing = np.full(len(outcomes), np.nan)
    return {
        **items.columns(plan.estimators[0]),
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


def measure_added(items: Items, plan: Plan, key: RunKey) -> list[Measurement]:
    """Return the metrics of identities that `measure_identities` does not know: those of plug-ins, and new rows."""
    added = {m.name: m for m in plan.metrics if m.unit == "identity" and m.inputs and m.name not in BY_SENTENCES}
    statistics = list(identity_statistics(items, replace(plan, metrics=list(added.values()))))
    if not statistics:
        return []
    chunks = weight_chunks(int(items.clusters.max()) + 1, resamples=plan.resamples, seed=plan.seed)
    samples = evaluate([row.statistic for row in statistics], chunks)
    measurements = []
    for row, drawn in zip(statistics, samples, strict=True):
        metric, value = added[row.metric], float(row.statistic.function(*row.statistic.arrays))
        evidence = Evidence(metric, [row.statistic], drawn, value)
        ends = (np.nan, np.nan, "no interval")
        if metric.resampled:
            ends = interval(evidence, items.outcomes.k, plan.level, plan.seed)
        estimate = Estimate(value, ends[0], ends[1], plan.level, row.n, ends[2])
        measurements.append(Measurement.of(row.metric, key, row.group, estimate, metric.better))
    return measurements
