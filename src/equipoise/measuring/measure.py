"""Outcomes in, Measurements out: every metric, for every group, with an interval over counterfactual sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics import Metric
from ..metrics.columns import COLUMNS as COLUMNS
from ..metrics.columns import HIDDEN_GROUPS
from ..metrics.sides import side_columns, with_predictions
from ..records import (
    ABSENT,
    Booleans,
    EquipoiseError,
    Estimate,
    Example,
    Integers,
    Measurement,
    Outcomes,
    UndefinedMetric,
    group_label,
)
from ..stats import bootstrap
from ..uncertainty import PERPLEXITY, Estimator
from .items import Columns, item_columns, set_members


@dataclass(frozen=True)
class Plan:
    """What to measure, and how."""

    metrics: Sequence[Metric]
    estimators: Sequence[Estimator] = (PERPLEXITY,)
    by: Sequence[str] | None = None
    disparity: str = "range"
    resamples: int = 2000
    level: float = 0.95
    seed: int = 0


@dataclass(frozen=True)
class Labels:
    """What a measurement is about, as `measurements.csv` names it."""

    model: str
    dataset: str
    task: str

    def __str__(self) -> str:
        return f"{self.dataset} · {self.task}"


def derived_columns(outcomes: Outcomes, plan: Plan) -> Columns:
    """Return what `outcomes.parquet` holds beside the probabilities, for every estimator of the plan."""
    derived: Columns = {}
    for estimator in plan.estimators:
        columns = item_columns(outcomes, estimator, disparity=plan.disparity)
        suffix = _suffix(estimator)
        if not derived:
            derived |= {name: columns[name] for name in ("correct", "perplexity", "mass")}
        derived |= {name + suffix: columns[name] for name in ("certainty", "desirability")}
    if (outcomes.group("sides") != "").any():
        derived |= {name: column for name, column in side_columns(outcomes).items() if name != "prefers"}
    return derived


def pair_columns(outcomes: Outcomes, plan: Plan) -> Columns:
    """Return what `pairs.parquet` holds: D and certainty of each side of every counterfactual set, and its U."""
    members = set_members(outcomes)
    first = members[:, 0] if len(members) else np.empty(0, dtype=np.int64)
    table: Columns = {"pair_id": outcomes.pair_id[first], "variant": outcomes.variant[first]}
    for name in ("type", "occupation", "other"):
        table[name] = outcomes.group(name)[first]
    gender = outcomes.group("gender")
    sides = sorted(set(gender[members[members != ABSENT]].tolist()) - {""})
    for estimator in plan.estimators:
        columns = item_columns(outcomes, estimator, disparity=plan.disparity)
        for short, name in (("d", "desirability"), ("c", "certainty")):
            for side in sides:
                here = (members != ABSENT) & (gender[members] == side)
                rows = members[np.arange(len(members)), here.argmax(axis=1)]
                table[f"{short}_{side}{_suffix(estimator)}"] = np.where(here.any(axis=1), columns[name][rows], np.nan)
        for name in ("u", "u_eq3", "u_signed"):
            table[name + _suffix(estimator)] = columns[name][first]
    return table


def _suffix(estimator: Estimator) -> str:
    """Return what an estimator adds to a name: nothing for perplexity, the default."""
    return "" if estimator is PERPLEXITY else f"_{estimator.name.replace('-', '_')}"


@dataclass(frozen=True)
class _Cell:
    """A group of items that some metrics are taken over; `rows` are listed apart for every variant (seed)."""

    parts: Mapping[str, str]
    rows: Mapping[str, Integers]
    over: frozenset[str]
    mixed: bool
    key: str = ""


@dataclass(frozen=True)
class _Job:
    """A metric with the columns of one estimator."""

    metric: Metric
    name: str
    arrays: tuple[NDArray[Any], ...]
    keep: Booleans
    key: str = ""

    def rows(self, rows: Integers) -> Integers:
        return rows[self.keep[rows]]

    def value(self, rows: Integers, weights: NDArray[Any] | None = None) -> Any:
        """Return the metric of some rows, or of many resamples of them when given their weights."""
        arrays = [array[rows] for array in self.arrays]
        if weights is None:
            return float(self.metric.function(*arrays))
        return bootstrap.resampled(self.metric.function, arrays, weights)

    def units(self, rows: Integers) -> int:
        """Return how many items, or sets, the value is taken over."""
        counts = np.ones(len(rows), dtype=bool)
        for name, array in zip(self.metric.inputs, self.arrays, strict=True):
            if self.metric.over == "pairs" and not name.startswith("u"):
                continue
            if array.dtype.kind == "f" and array.ndim == 1:
                counts &= ~np.isnan(array[rows])
            elif name in ("stereotype", "gender", "predicted_side", "group"):
                counts &= array[rows] != ""
        return int(counts.sum())


def measure(outcomes: Outcomes, plan: Plan, labels: Labels) -> tuple[list[Measurement], list[str]]:
    """Return every metric of the plan for every group, and a sentence for each that is undefined."""
    outcomes = with_predictions(outcomes)
    jobs = list(_jobs(outcomes, plan))
    points, notes = _points(jobs, list(_cells(outcomes, plan)))
    samples: list[dict[str, list[Any]]] = [{variant: [] for variant in point.values} for point in points]
    clusters = bootstrap.cluster_numbers(outcomes.pair_id)
    rng = np.random.default_rng(plan.seed)
    for weights in bootstrap.weight_chunks(clusters, resamples=plan.resamples, rng=rng):
        held: tuple[Any, Any] = (None, None)
        for point, drawn in zip(points, samples, strict=True):
            for variant, rows in point.rows.items():
                if not point.job.metric.resampled:
                    drawn[variant].append(np.full(weights.shape[1], np.nan))
                    continue
                # Points of one cell follow each other: the slice of the weights is copied once for all its metrics.
                if held[0] is None or len(held[0]) != len(rows) or not np.array_equal(held[0], rows):
                    held = (rows, weights[rows])
                drawn[variant].append(point.job.value(rows, held[1]))
    measurements: list[Measurement] = []
    for point, drawn in zip(points, samples, strict=True):
        measurements += _measurements(point, {v: np.concatenate(chunks) for v, chunks in drawn.items()}, plan, labels)
    return measurements, notes


@dataclass(frozen=True)
class _Point:
    """A metric of a cell that has a value: by variant, with the rows it was taken over."""

    job: _Job
    cell: _Cell
    rows: Mapping[str, Integers]
    values: Mapping[str, float]


def _jobs(outcomes: Outcomes, plan: Plan) -> Iterator[_Job]:
    sided = outcomes.group("sides") != ""
    keep = {
        "any": np.ones(len(outcomes), dtype=bool),
        "label": outcomes.labelled & ~sided,
        "answerable": outcomes.answerable & ~sided,
        "unanswerable": ~outcomes.answerable & ~sided,
        "sided": sided,
        "judged": sided & outcomes.labelled,
        "marked": outcomes.labelled & (outcomes.marked is not None),
        "reduced": np.full(len(outcomes), bool(outcomes.reductions)),
    }
    columns = {e.name: item_columns(outcomes, e, disparity=plan.disparity) for e in plan.estimators}
    for metric in plan.metrics:
        if not keep[metric.needs].any():
            continue
        if metric.over == "grouping":
            for key in _keys(outcomes, plan):
                own = {**columns[plan.estimators[0].name], "group": outcomes.groups[key]}
                yield _Job(metric, metric.name, tuple(own[name] for name in metric.inputs), keep[metric.needs], key)
            continue
        # A sentence pair holds its contrast within itself: what compares sets or kinds of items says nothing of it.
        kept = keep[metric.needs]
        if metric.over in ("pairs", "contrast") and metric.needs != "judged":
            kept = kept & ~sided
        for estimator in plan.estimators if metric.estimated else plan.estimators[:1]:
            unknown = [name for name in metric.inputs if name not in columns[estimator.name]]
            if unknown:
                raise EquipoiseError(f"metric {metric.name} reads {unknown[0]!r}; there are: {', '.join(COLUMNS)}")
            name = metric.name + (_suffix(estimator) if metric.estimated else "")
            arrays = tuple(columns[estimator.name][column] for column in metric.inputs)
            yield _Job(metric, name, arrays, kept)


def _keys(outcomes: Outcomes, plan: Plan) -> list[str]:
    """Return the groups to break down by."""
    keys = [key for key in outcomes.groups if key not in HIDDEN_GROUPS] if plan.by is None else list(plan.by)
    _refuse_unknown(keys, list(outcomes.groups))
    return keys


def check_groups(examples: Iterable[Example], plan: Plan) -> None:
    """Refuse a breakdown by a group that no example has: before the model is asked, not after."""
    # What was predicted is a group too, once the model has been asked.
    keys = [key for key in plan.by or () if not key.startswith("predicted_")]
    _refuse_unknown(keys, sorted({name for example in examples for name in example.groups}) if keys else [])


def _refuse_unknown(keys: Iterable[str], known: Sequence[str]) -> None:
    for key in keys:
        if key not in known:
            raise EquipoiseError(f"no item has a group {key!r}; there are: {', '.join(known)}")


def _cells(outcomes: Outcomes, plan: Plan) -> Iterator[_Cell]:
    """Yield the whole, each type, and each group of either."""
    everything = np.ones(len(outcomes), dtype=bool)
    keys = _keys(outcomes, plan)
    kinds = outcomes.group("type")
    bases: list[tuple[dict[str, str], Booleans]] = [({}, everything)] + [
        ({"type": kind}, kinds == kind) for kind in sorted(set(kinds.tolist()) - {""})
    ]
    for parts, base in bases:
        yield _cell(outcomes, parts, base, ("items", "pairs", "contrast"))
        for key in keys:
            column = outcomes.groups[key]
            constant = _constant_within_sets(outcomes, column)
            for value in sorted(set(column[base].tolist()) - {""}):
                inside = base & (column == value)
                named = {**parts, key: value}
                yield _cell(outcomes, named, inside, ("items", "pairs") if constant else ("items",))
                if key == "occupation":
                    # Rates of both classes need the sentences in which the occupation is the other one, too.
                    inside = inside | (base & (outcomes.group("other") == value))
                if constant and not key.startswith("predicted_"):
                    yield _cell(outcomes, named, inside, ("contrast",))
    for key in keys if "grouping" in {metric.over for metric in plan.metrics} else ():
        if not key.startswith("predicted_") and len(set(outcomes.groups[key].tolist()) - {""}) > 1:
            cell = _cell(outcomes, {"by": key}, outcomes.groups[key] != "", ("grouping",))
            yield replace(cell, key=key)


def _cell(outcomes: Outcomes, parts: Mapping[str, str], inside: Booleans, over: Iterable[str]) -> _Cell:
    variants = sorted(set(outcomes.variant[inside].tolist()))
    rows = {variant: np.flatnonzero(inside & (outcomes.variant == variant)) for variant in variants}
    mixed = len(set(outcomes.answerable[inside].tolist())) > 1
    return _Cell(parts, rows, frozenset(over), mixed)


def _constant_within_sets(outcomes: Outcomes, column: NDArray[Any]) -> bool:
    members = set_members(outcomes)
    first = column[members[:, 0]]
    return all(
        bool(np.all((members[:, i] == ABSENT) | (column[members[:, i]] == first))) for i in range(members.shape[1])
    )


def _points(jobs: Sequence[_Job], cells: Sequence[_Cell]) -> tuple[list[_Point], list[str]]:
    """Return the metrics that have a value, cell by cell, and a sentence for each metric that has none somewhere."""
    points: list[_Point] = []
    undefined: dict[str, dict[str, str]] = {}
    typed = any("type" in cell.parts for cell in cells)
    for cell in cells:
        for job in jobs:
            if job.metric.over not in cell.over or job.key != cell.key:
                continue
            if cell.mixed and not job.metric.pools:
                # Types are there to keep the two apart; where they do not, or there are none, somebody has to know.
                if set(cell.parts) == ({"type"} if typed else set()):
                    reason = "answerable and unanswerable items are never pooled; give them types of their own"
                    undefined.setdefault(job.name, {})[group_label(cell.parts)] = reason
                continue
            rows = {variant: job.rows(rows) for variant, rows in cell.rows.items()}
            if not all(len(chosen) for chosen in rows.values()):
                continue
            try:
                values = {variant: job.value(chosen) for variant, chosen in rows.items()}
            except UndefinedMetric as reason:
                undefined.setdefault(job.name, {})[group_label(cell.parts)] = str(reason)
                continue
            points.append(_Point(job, cell, rows, values))
    return points, [_undefined_note(name, groups) for name, groups in undefined.items()]


def _undefined_note(metric: str, groups: Mapping[str, str]) -> str:
    label, reason = next(iter(groups.items()))
    others = len(groups) - 1
    more = f" and {others} more group{'s' if others > 1 else ''}" if others else ""
    return f"{metric} is undefined for {label}{more} ({reason})"


def _measurements(
    point: _Point, drawn: Mapping[str, NDArray[Any]], plan: Plan, labels: Labels
) -> Iterator[Measurement]:
    """Yield the metric averaged over the variants and, where there are several, that of each."""
    method = f"percentile bootstrap, {plan.resamples} resamples of counterfactual sets"

    def row(parts: Mapping[str, str], value: float, samples: NDArray[Any], rows: Integers) -> Measurement:
        low, high = bootstrap.interval(samples, level=plan.level)
        estimate = Estimate(value, low, high, plan.level, point.job.units(rows), method)
        metric = point.job.metric
        return Measurement(
            point.job.name, labels.model, labels.dataset, labels.task, group_label(parts), estimate, metric.better
        )

    mean_value = float(np.mean(list(point.values.values())))
    yield row(point.cell.parts, mean_value, np.mean(list(drawn.values()), axis=0), next(iter(point.rows.values())))
    if len(point.values) > 1:
        for variant, value in point.values.items():
            key, _, name = variant.partition("=")
            yield row({**point.cell.parts, key: name}, value, drawn[variant], point.rows[variant])
