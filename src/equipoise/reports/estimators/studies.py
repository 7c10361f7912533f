"""Runs in, studies of their estimators out, by dataset, task and type; nothing is scored again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...catalog import find
from ...measuring.estimators import PairOrder, Resamples, Standing, Study, set_values, study, usable_estimators
from ...metrics import METRICS, Metric
from ...progress import Progress, shown
from ...records import EquipoiseError, Estimate, UndefinedMetric
from ...runs.measurements import kind_title
from ...runs.run import Run
from ...stats.bounded import ENOUGH_UNITS
from ...uncertainty import ESTIMATORS, Estimator
from ..comparison.matching import Match, match, named_apart

MEASURES = ("ucerf", "ucerf_signed")
"""The metrics that are taken with each estimator; the signed one of unanswerable items alone."""


@dataclass(frozen=True)
class PartStudy:
    """The study of one dataset, task and type by one metric."""

    dataset: str
    task: str
    kind: str
    metric: Metric
    study: Study

    @property
    def title(self) -> str:
        """What the study is about, in words."""
        return f"{self.metric.label} on {self.dataset} · {self.task}, {kind_title(self.kind)}"

    @property
    def names(self) -> dict[str, str]:
        """What each row of a file says the study is about."""
        return {"dataset": self.dataset, "task": self.task, "type": self.kind, "metric": self.metric.name}

    def sorted(self, estimator: str) -> list[Standing]:
        """Return the runs' standings under an estimator, the highest UCerF first."""
        standings = [standing for standing in self.study.standings if standing.estimator == estimator]
        return sorted(standings, key=lambda standing: -standing.ucerf.value)


def estimator_studies(
    runs: Sequence[Path],
    plan: Resamples | None = None,
    *,
    estimators: Sequence[str] | None = None,
    intersect: bool = False,
    progress: Progress | None = None,
    needed: bool = True,
) -> list[PartStudy]:
    """Return the studies of several runs on the same sentences, or of one run; of these estimators, or all usable.

    Where no part of the runs has enough sets, that is an error, or with `needed` False an empty list.
    """
    plan, say = plan or Resamples(), shown(progress)
    chosen = [find(name, ESTIMATORS, kind="estimator") for name in estimators or ()]
    opened = named_apart([Run(path) for path in runs])
    wanted = [
        (matched, kind, metric)
        for matched in match(opened, intersect=intersect)
        for kind in matched.kinds
        for metric in measured_by(matched, kind)
    ]
    studies = []
    for number, (matched, kind, metric) in enumerate(wanted):
        say("comparing estimators", number, len(wanted))
        studied = _studied(opened, matched, kind, (metric, chosen), plan)
        if studied is not None:
            studies.append(PartStudy(matched.dataset, matched.task, kind, metric, studied))
    say("comparing estimators", len(wanted), len(wanted))
    if not studies and needed:
        raise EquipoiseError(
            f"estimators are compared over at least {ENOUGH_UNITS} counterfactual sets, which no part of the runs has"
        )
    return studies


def measured_by(matched: Match, kind: str) -> Iterator[Metric]:
    """Yield UCerF, and its signed variant where no item has a right answer; a mix of both kinds has neither."""
    answerable = matched.outcomes[0].answerable[matched.rows(kind)]
    if answerable.all() or not answerable.any():
        yield from (METRICS[name] for name in MEASURES if name == "ucerf" or not answerable.any())


def _studied(
    runs: Sequence[Run], matched: Match, kind: str, by: tuple[Metric, Sequence[Estimator]], plan: Resamples
) -> Study | None:
    """Return the study by a metric and some estimators, None where there are too few sets for an interval."""
    metric, chosen = by
    items = dict(zip([run.name for run in runs], matched.items, strict=True))
    try:
        estimators = chosen or usable_estimators(matched.items)
        values = set_values(items, matched.rows(kind), metric.inputs[0], estimators)
    except UndefinedMetric:
        return None
    return study(values, plan) if len(np.unique(values.clusters)) >= ENOUGH_UNITS else None


def tables(studies: Sequence[PartStudy]) -> dict[str, pd.DataFrame]:
    """Return the tables by file name: UCerF by estimator, agreement, orders of pairs, and sets that change sides."""
    rows = {
        "estimators": _standing_rows,
        "agreement": _agreement_rows,
        "orders": _order_rows,
        "sides": _side_rows,
    }
    made = {name: pd.DataFrame(chain.from_iterable(map(function, studies))) for name, function in rows.items()}
    return {name: frame for name, frame in made.items() if len(frame)}


def _standing_rows(part: PartStudy) -> Iterator[dict[str, Any]]:
    for standing in part.study.standings:
        yield {**part.names, "model": standing.run, "estimator": standing.estimator, **standing_columns(standing)}
    for run, flips in zip(part.study.values.runs, part.study.flips, strict=True):
        yield {**part.names, "metric": "flip_rate", "model": run, "estimator": "", **estimate_columns(flips)}


def _agreement_rows(part: PartStudy) -> Iterator[dict[str, Any]]:
    for row in part.study.agreements:
        named = {**part.names, "over": row.over, "model": row.run, "first": row.first, "second": row.second}
        for statistic in ("kendall", "spearman"):
            yield {**named, "statistic": statistic, **estimate_columns(getattr(row, statistic))}


def _order_rows(part: PartStudy) -> Iterator[dict[str, Any]]:
    for order in part.study.orders:
        yield {**part.names, **order_columns(order), "sets_that_change_sides": len(order.sides), "sets": order.sets}


def _side_rows(part: PartStudy) -> Iterator[dict[str, Any]]:
    for order in part.study.orders:
        for set_id in order.sides:
            yield {
                **part.names,
                "change": "which model",
                "first": order.first,
                "second": order.second,
                "set_id": set_id,
            }
    for run, crossing in zip(part.study.values.runs, part.study.crossing, strict=True):
        for set_id in crossing:
            yield {**part.names, "change": "lowest quarter", "first": run, "second": "", "set_id": set_id}


def standing_columns(standing: Standing) -> dict[str, Any]:
    """Return a run's UCerF and rank as the columns of a file."""
    ranks = {"rank_best": standing.rank.best, "rank_worst": standing.rank.worst}
    return {**estimate_columns(standing.ucerf), **ranks}


def order_columns(order: PairOrder) -> dict[str, Any]:
    """Return the order of two runs, and what settles it, as the columns of a file."""
    settled = {"higher_first": order.for_first, "higher_second": order.for_second, "not_settled": order.open}
    words = {name: "; ".join(names) for name, names in settled.items()}
    return {"first": order.first, "second": order.second, "verdict": order.verdict, **words}


def estimate_columns(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate as the columns of a file."""
    ends = {"low": estimate.low, "high": estimate.high, "level": estimate.level}
    return {"value": estimate.value, **ends, "n": estimate.n, "method": estimate.method}
