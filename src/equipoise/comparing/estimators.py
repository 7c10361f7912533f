"""Runs in, studies of their uncertainty estimators out, by dataset, task and type; nothing is scored again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from ..measuring.conformal import coverage, is_calibratable
from ..measuring.estimators import FLIPS, PairOrder, Resamples, Standing, Study, set_values, study, usable_estimators
from ..measuring.human_labels import LabelStudy, is_labelled_by_people, label_study
from ..measuring.items import Items
from ..metrics import METRICS, Metric
from ..metrics.naming import suffix
from ..metrics.plugged import estimator_row
from ..progress import Progress, shown
from ..records import EquipoiseError, Estimate, RunKey, UndefinedMetric
from ..runs.measurements import kind_title
from ..runs.run import Part, Run
from ..stats.bounded import ENOUGH_UNITS
from ..stats.conformal import LEVEL
from ..uncertainty import Estimator
from .matching import Match, match, named_apart

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


@dataclass(frozen=True)
class EstimatorStudies:
    """All that runs say about estimators: by sets, by people's labels, and how often conformal sets are right."""

    parts: Sequence[PartStudy]
    labelled: Sequence[tuple[RunKey, LabelStudy]]
    covered: Sequence[tuple[RunKey, Estimate]]


def estimator_studies(
    runs: Sequence[Run],
    plan: Resamples,
    *,
    estimators: Sequence[str] = (),
    intersect: bool = False,
    progress: Progress | None = None,
) -> EstimatorStudies:
    """Return the studies of several runs on the same sentences, or of one run; of these estimators, or all usable.

    Runs without a part that has enough sets or labels are an error.
    """
    chosen = [estimator_row(name) for name in estimators]
    opened = named_apart(runs)
    parts = [part for run in opened for part in run.parts]
    labelled = [(part.key, labels) for part in parts if (labels := _label_study(part, chosen, plan))]
    wanted, studies = list(measures(match(opened, intersect=intersect))), []
    plan = replace(plan, parts=max(1, len(wanted)))
    for number, (matched, kind, metric) in enumerate(wanted):
        shown(progress)("comparing estimators", number, len(wanted))
        studied = _studied(opened, matched, kind, metric, chosen, plan)
        if studied is not None:
            studies.append(PartStudy(matched.dataset, matched.task, kind, metric, studied))
    shown(progress)("comparing estimators", len(wanted), len(wanted))
    if not studies and not labelled:
        raise EquipoiseError(
            f"estimators are compared over at least {ENOUGH_UNITS} counterfactual sets, which no part of the runs has"
        )
    # A comparison of other estimators says nothing of conformal sets.
    calibrated = (
        [p for p in parts if is_calibratable(p.outcomes)] if not estimators or "conformal" in estimators else []
    )
    covered = [(part.key, coverage(part.outcomes, level=plan.level)) for part in calibrated]
    return EstimatorStudies(studies, labelled, covered)


def measures(matches: Iterable[Match]) -> Iterator[tuple[Match, str, Metric]]:
    """Yield UCerF of every type, and its signed variant where no item has a right answer; a mix of both has neither."""
    for matched in matches:
        for kind in matched.kinds:
            answerable = matched.outcomes[0].answerable[matched.rows(kind)]
            if answerable.all() or not answerable.any():
                names = [name for name in MEASURES if name == "ucerf" or not answerable.any()]
                yield from ((matched, kind, METRICS[name]) for name in names)


def items_of(runs: Sequence[Run], matched: Match) -> dict[str, Items]:
    """Return the items of each run by its name."""
    return dict(zip([run.name for run in runs], matched.items, strict=True))


def _studied(
    runs: Sequence[Run], matched: Match, kind: str, metric: Metric, chosen: Sequence[Estimator], plan: Resamples
) -> Study | None:
    """Return the study by a metric and some estimators, None where there are too few sets for an interval."""
    items = items_of(runs, matched)
    try:
        estimators = chosen or usable_estimators(list(items.values()))
        values = set_values(items, matched.rows(kind), metric.inputs[0], estimators)
    except UndefinedMetric:
        return None
    if len(np.unique(values.clusters)) < ENOUGH_UNITS:
        return None
    # Estimators that give the same values are named together; the first of them has the measurement.
    names = {name: metric.name + suffix(name.split(", ")[0]) for name in values.estimators}
    return study(values, plan, known_of(runs, matched, kind, {**names, FLIPS: "flip_rate"}))


def known_of(
    runs: Sequence[Run], matched: Match, kind: str, names: Mapping[str, str]
) -> dict[tuple[str, str], Estimate]:
    """Return what the runs have measured on the items of a type, by run and the key of each metric's name."""
    rows = {
        (run.name, key): measured.get(name, type=kind)
        for run, measured in zip(runs, matched.measured, strict=True)
        for key, name in names.items()
    }
    return {key: row.estimate for key, row in rows.items() if row is not None}


def _label_study(part: Part, chosen: Sequence[Estimator], plan: Resamples) -> LabelStudy | None:
    """Return which estimator agrees best with people, None where they have labelled too little."""
    items = Items(part.outcomes)
    if not is_labelled_by_people(items) or len(set(part.outcomes.cluster_id.tolist())) < ENOUGH_UNITS:
        return None
    try:
        return label_study(items, chosen or usable_estimators([items]), plan)
    except UndefinedMetric:
        return None


def frames(studies: EstimatorStudies) -> dict[str, pd.DataFrame]:
    """Return the tables by file name: UCerF by estimator, agreement, orders, changed sides, labels and coverage."""
    rows = {"estimators": _standing_rows, "agreement": _agreement_rows, "orders": _order_rows, "sides": _side_rows}
    made = frames_of(rows, studies.parts)
    made |= frames_of({"human": _label_rows}, studies.labelled)
    return made | frames_of({"conformal": _coverage_rows}, studies.covered)


def frames_of(rows: Mapping[str, Callable[[Any], Iterable[dict[str, Any]]]], parts: Sequence[Any]) -> dict[str, Any]:
    """Return the table of each name that has rows, from all parts."""
    made = {name: pd.DataFrame(chain.from_iterable(map(function, parts))) for name, function in rows.items()}
    return {name: frame for name, frame in made.items() if len(frame)}


def _standing_rows(part: PartStudy) -> Iterator[dict[str, Any]]:
    for standing in part.study.standings:
        yield {**part.names, "model": standing.run, "estimator": standing.estimator, **standing_columns(standing)}
    for run, flips in zip(part.study.values.runs, part.study.flips, strict=True):
        yield {**part.names, "metric": "flip_rate", "model": run, "estimator": "", **estimate_columns(flips)}


def standing_columns(standing: Standing) -> dict[str, Any]:
    """Return a run's UCerF and rank as the columns of a file."""
    return {**estimate_columns(standing.ucerf), "rank_best": standing.rank.best, "rank_worst": standing.rank.worst}


def estimate_columns(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate as the columns of a file."""
    return {name: getattr(estimate, name) for name in ("value", "low", "high", "level", "n", "method")}


def _agreement_rows(part: PartStudy) -> Iterator[dict[str, Any]]:
    for row in part.study.agreements:
        named = {**part.names, "over": row.over, "model": row.run, "first": row.first, "second": row.second}
        yield from (
            {**named, "statistic": name, **estimate_columns(getattr(row, name))} for name in ("kendall", "spearman")
        )


def _order_rows(part: PartStudy) -> Iterator[dict[str, Any]]:
    for order in part.study.orders:
        changed = {"sets_that_change_sides": len(order.sides), "sets": order.sets}
        yield {**part.names, **order_columns(order), **changed}


def order_columns(order: PairOrder) -> dict[str, Any]:
    """Return the order of two runs, and what settles it, as the columns of a file."""
    settled = {"higher_first": order.for_first, "higher_second": order.for_second, "not_settled": order.open}
    words = {name: "; ".join(names) for name, names in settled.items()}
    return {"first": order.first, "second": order.second, "verdict": order.verdict, **words}


def _side_rows(part: PartStudy) -> Iterator[dict[str, Any]]:
    sides = [("which model", order.first, order.second, order.sides) for order in part.study.orders]
    crossing = zip(part.study.values.runs, part.study.crossing, strict=True)
    for change, first, second, ids in [*sides, *(("lowest quarter", run, "", ids) for run, ids in crossing)]:
        named = {**part.names, "change": change, "first": first, "second": second}
        yield from ({**named, "set_id": set_id} for set_id in ids)


def _label_rows(labelled: tuple[RunKey, LabelStudy]) -> Iterator[dict[str, Any]]:
    key, studied = labelled
    named = {"dataset": key.dataset, "task": key.task, "model": key.model}
    yield {**named, "estimator": "", "statistic": "agreement", **estimate_columns(studied.agreement)}
    for row in studied.rows:
        for statistic in ("auroc", "calibration_error", "overconfidence", "ahead"):
            estimate = getattr(row, statistic)
            if estimate is not None:
                yield {**named, "estimator": row.estimator, "statistic": statistic, **estimate_columns(estimate)}


def _coverage_rows(covered: tuple[RunKey, Estimate]) -> Iterator[dict[str, Any]]:
    key, estimate = covered
    yield {"dataset": key.dataset, "task": key.task, "model": key.model, "claimed": LEVEL, **estimate_columns(estimate)}
