"""Runs in, studies of the wordings of their questions out, by dataset, task and type; nothing is scored again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..measuring.ensembles import is_worded
from ..measuring.estimators import FLIPS, Resamples
from ..measuring.wordings import WordingStudy, wording_study
from ..records import Estimate, Measurement, UndefinedMetric
from ..runs.measurements import Measurements
from ..runs.run import Run
from ..stats.bounded import ENOUGH_UNITS
from .estimators import (
    PartStudy,
    estimate_columns,
    frames_of,
    items_of,
    known_of,
    measures,
    order_columns,
    standing_columns,
)
from .matching import Match, match, named_apart


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
    opened = named_apart(runs)
    worded = [m for m in match(opened, intersect=intersect) if all(is_worded(outcomes) for outcomes in m.outcomes)]
    parts, wanted = [], list(measures(worded))
    plan = replace(plan, parts=len(wanted))
    for matched, kind, metric in wanted:
        try:
            known = _known(opened, matched, kind, metric.name)
            studied = wording_study(items_of(opened, matched), matched.rows(kind), metric.inputs[0], plan, known)
        except UndefinedMetric:
            continue
        if len(np.unique(studied.study.values.clusters)) >= ENOUGH_UNITS:
            spreads = list(_spreads(opened, matched, kind)) if metric.name == "ucerf" else []
            part = PartStudy(matched.dataset, matched.task, kind, metric, studied.study)
            parts.append(WordingPart(part, studied, spreads))
    return [_with_worst(part, parts) for part in parts]


def _with_worst(part: WordingPart, parts: Sequence[WordingPart]) -> WordingPart:
    """Return the part, whose spreads have the interval of the worst wording that its sentences have."""

    def about(part: WordingPart) -> tuple[str, str, str]:
        return part.part.dataset, part.part.task, part.part.kind

    same = [other for other in parts if about(other) == about(part)]
    worst = {(other.part.metric.name, row.run): row.worst for other in same for row in other.worded.robust}
    lowest = [(s.lowest[0], worst.get((s.metric, s.run), s.lowest[1])) for s in part.spreads]
    return replace(part, spreads=[replace(s, lowest=low) for s, low in zip(part.spreads, lowest, strict=True)])


def _known(runs: Sequence[Run], matched: Match, kind: str, metric: str) -> dict[tuple[str, str], Estimate]:
    """Return what the runs have measured: by wording, and over all of them."""
    known = known_of(runs, matched, kind, {"": metric, FLIPS: "flip_rate"})
    for run, measured in zip(runs, matched.measured, strict=True):
        values = by_wording(measured, metric, kind)
        known |= {(run.name, wording): estimate for wording, estimate in values.items()}
    return known


def _spreads(runs: Sequence[Run], matched: Match, kind: str) -> Iterator[Spread]:
    """Yield the spread of every metric that was measured for each wording."""
    for run, measured in zip(runs, matched.measured, strict=True):
        for metric in measured.metrics:
            values = by_wording(measured, metric, kind)
            mean = measured.get(metric, type=kind)
            if len(values) > 1 and mean is not None:
                lowest, highest = (end(values.items(), key=lambda pair: pair[1].value) for end in (min, max))
                deviation = float(np.std([estimate.value for estimate in values.values()], ddof=1))
                yield Spread(run.name, metric, mean.estimate, lowest, highest, deviation, len(values))


def by_wording(measured: Measurements, metric: str, kind: str) -> dict[str, Estimate]:
    """Return a metric of each wording, over all option orders; {} where it was not measured by wording."""
    rows: dict[str, list[Measurement]] = {}
    for row in (row for row in measured if row.metric == metric):
        parts = measured.groups[row.group]
        is_whole = parts.get("type", "") == kind and not set(parts) - {"wording", "seed", "type"}
        if "wording" in parts and is_whole:
            rows.setdefault(parts["wording"], []).append(row)
    return {wording: _joined(several) for wording, several in rows.items()}


def _joined(rows: Sequence[Measurement]) -> Estimate:
    """Return the mean over option orders, whose interval is at most as wide as the mean of theirs."""
    first = rows[0].estimate
    numbers = [float(np.mean([getattr(row, name) for row in rows])) for name in ("value", "low", "high")]
    return Estimate(numbers[0], numbers[1], numbers[2], first.level, first.n, first.method)


def frames(parts: Sequence[WordingPart]) -> dict[str, pd.DataFrame]:
    """Return the tables by file name: each metric's spread, UCerF by wording, its differences, components, orders."""
    rows = {"wordings": _spread_rows, "wording_ucerf": _ucerf_rows, "components": _component_rows}
    rows |= {"wording_differences": _apart_rows, "wording_orders": _order_rows}
    return frames_of(rows, parts)


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


def _apart_rows(part: WordingPart) -> Iterator[dict[str, Any]]:
    for apart in part.worded.apart:
        named = {**part.part.names, "model": apart.run, "wording": apart.first, "than": apart.second}
        p_values = {"p": apart.difference.p, "p_corrected": apart.difference.p_corrected}
        yield {**named, **estimate_columns(apart.difference), **p_values, "detected": apart.detected}


def _component_rows(part: WordingPart) -> Iterator[dict[str, Any]]:
    for divided in part.worded.divided:
        for row in divided.rows:
            named = {**part.part.names, "model": divided.run, "quantity": divided.quantity, "component": row.name}
            share = {"share": row.share.value, "share_low": row.share.low, "share_high": row.share.high}
            yield {**named, **estimate_columns(row.variance), **share}


def _order_rows(part: WordingPart) -> Iterator[dict[str, Any]]:
    yield from ({**part.part.names, **order_columns(order)} for order in part.part.study.orders)
