"""Runs in, studies of their wordings out, by dataset, task and type; nothing is scored again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from ...measuring.ensembles import is_worded
from ...measuring.estimators import Resamples
from ...measuring.wordings import WordingStudy, wording_study
from ...metrics import Metric
from ...records import Estimate, Measurement, UndefinedMetric
from ...runs.measurements import Measurements
from ...runs.run import Run
from ...stats.bounded import ENOUGH_UNITS
from ..comparison.matching import Match, match, named_apart
from ..estimators.studies import PartStudy, estimate_columns, measured_by, order_columns, standing_columns


@dataclass(frozen=True)
class Spread:
    """A metric of one run over the wordings: the lowest and the highest, each with its interval, and the mean."""

    run: str
    metric: str
    mean: Estimate
    lowest: tuple[str, Estimate]
    highest: tuple[str, Estimate]
    deviation: float
    wordings: int


@dataclass(frozen=True)
class WordingPart:
    """The study of one dataset, task and type by one metric, and the spread of all metrics."""

    part: PartStudy
    worded: WordingStudy
    spreads: Sequence[Spread]


def wording_parts(runs: Sequence[Run], plan: Resamples, *, intersect: bool = False) -> list[WordingPart]:
    """Return the studies of all parts that were asked in several wordings; empty where none was."""
    opened = named_apart(list(runs))
    parts = []
    for matched in match(opened, intersect=intersect):
        if not all(is_worded(outcomes) for outcomes in matched.outcomes):
            continue
        for kind in matched.kinds:
            for metric in measured_by(matched, kind):
                studied = _studied(opened, matched, kind, metric, plan)
                if studied is not None:
                    spreads = list(_spreads(opened, matched, kind)) if metric.name == "ucerf" else []
                    part = PartStudy(matched.dataset, matched.task, kind, metric, studied.study)
                    parts.append(WordingPart(part, studied, spreads))
    return parts


def _studied(runs: Sequence[Run], matched: Match, kind: str, metric: Metric, plan: Resamples) -> WordingStudy | None:
    items = dict(zip([run.name for run in runs], matched.items, strict=True))
    try:
        studied = wording_study(items, matched.rows(kind), metric.inputs[0], plan)
    except UndefinedMetric:
        return None
    return studied if len(np.unique(studied.study.values.clusters)) >= ENOUGH_UNITS else None


def _spreads(runs: Sequence[Run], matched: Match, kind: str) -> Iterator[Spread]:
    """Yield the spread of every metric that was measured for each wording."""
    for run, measured in zip(runs, matched.measured, strict=True):
        for metric in measured.metrics:
            rows = _by_wording(measured, metric, kind)
            mean = measured.get(metric, type=kind)
            if len(rows) > 1 and mean is not None:
                values = {wording: float(np.mean([row.value for row in several])) for wording, several in rows.items()}
                lowest, highest = min(values, key=lambda name: values[name]), max(values, key=lambda name: values[name])
                ends = [(name, _joined(rows[name])) for name in (lowest, highest)]
                deviation = float(np.std(list(values.values()), ddof=1))
                yield Spread(run.name, metric, mean.estimate, ends[0], ends[1], deviation, len(values))


def _by_wording(measured: Measurements, metric: str, kind: str) -> dict[str, list[Measurement]]:
    """Return the rows of a metric for each wording; several where option orders were drawn, too."""
    rows: dict[str, list[Measurement]] = {}
    for label in measured.groups_of(metric):
        parts = measured.groups[label]
        if "wording" in parts and parts.get("type", "") == kind and not set(parts) - {"wording", "seed", "type"}:
            row = measured.at(metric, label)
            if row is not None:
                rows.setdefault(parts["wording"], []).append(row)
    return rows


def _joined(rows: Sequence[Measurement]) -> Estimate:
    """Return the mean over option orders, whose interval is at most as wide as the mean of theirs."""
    first = rows[0].estimate
    numbers = [float(np.mean([getattr(row, name) for row in rows])) for name in ("value", "low", "high")]
    return Estimate(numbers[0], numbers[1], numbers[2], first.level, first.n, first.method)


def wording_tables(parts: Sequence[WordingPart]) -> dict[str, pd.DataFrame]:
    """Return the tables by file name: each metric's spread, UCerF by wording, worst cases, components, agreement."""
    rows = {
        "wordings": _spread_rows,
        "wording_ucerf": _ucerf_rows,
        "components": _component_rows,
        "wording_orders": _order_rows,
    }
    made = {name: pd.DataFrame(chain.from_iterable(map(function, parts))) for name, function in rows.items()}
    return {name: frame for name, frame in made.items() if len(frame)}


def _spread_rows(part: WordingPart) -> Iterator[dict[str, Any]]:
    for spread in part.spreads:
        row = {**part.part.names, "metric": spread.metric, "model": spread.run, "wordings": spread.wordings}
        row |= estimate_columns(spread.mean) | {"deviation": spread.deviation}
        for name, (wording, estimate) in (("lowest", spread.lowest), ("highest", spread.highest)):
            row |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
            row[f"{name}_wording"] = wording
        yield row


def _ucerf_rows(part: WordingPart) -> Iterator[dict[str, Any]]:
    for standing in part.part.study.standings:
        named = {**part.part.names, "model": standing.run, "wording": standing.estimator}
        yield {**named, **standing_columns(standing)}
    for row in part.worded.robust:
        for wording, estimate in (("mean of all", row.mean), (f"worst: {row.wording}", row.worst)):
            yield {**part.part.names, "model": row.run, "wording": wording, **estimate_columns(estimate)}


def _component_rows(part: WordingPart) -> Iterator[dict[str, Any]]:
    for divided in part.worded.divided:
        for row in divided.rows:
            named = {**part.part.names, "model": divided.run, "quantity": divided.quantity, "component": row.name}
            share = {"share": row.share.value, "share_low": row.share.low, "share_high": row.share.high}
            yield {**named, **estimate_columns(row.variance), **share}


def _order_rows(part: WordingPart) -> Iterator[dict[str, Any]]:
    for order in part.part.study.orders:
        yield {**part.part.names, **order_columns(order)}
