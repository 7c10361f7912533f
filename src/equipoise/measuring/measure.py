"""Outcomes in, Measurements out: every metric, for every group, with an interval from resampling clusters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..metrics import Metric
from ..metrics.columns import COLUMNS
from ..metrics.sides import with_predictions
from ..options import PlanOptions
from ..records import (
    Booleans,
    EquipoiseError,
    Estimate,
    Floats,
    Integers,
    Measurement,
    Outcomes,
    RunKey,
    UndefinedMetric,
    group_label,
    parse_group,
)
from ..stats import bootstrap
from ..stats.resampling import Statistic, evaluate
from ..uncertainty import PERPLEXITY, Estimator
from .cells import Cell, cells, group_keys, with_intersections
from .evidence import Evidence, interval
from .items import Items, suffix
from .possible import METHOD as POSSIBLE
from .possible import Possible, possible_value


@dataclass(frozen=True)
class Plan(PlanOptions):
    """What to measure, and how; without `intervals` only the values count."""

    metrics: Sequence[Metric]
    estimators: Sequence[Estimator] = (PERPLEXITY,)
    intervals: bool = True

    @property
    def permutations(self) -> int:
        """How often a test exchanges items."""
        return 5000 if self.intervals else 1


@dataclass(frozen=True)
class Job:
    """A metric with the columns of one estimator, and the items it applies to."""

    metric: Metric
    name: str
    arrays: tuple[NDArray[Any], ...]
    applies: Booleans
    key: str = ""

    def units(self, rows: Integers) -> int:
        """Return the number of items, or of sets, that the value is taken over."""
        counts = np.ones(len(rows), dtype=bool)
        columns = [COLUMNS[name] for name in self.metric.inputs]
        over_sets = self.metric.unit == "sets" and any(column.of_sets for column in columns)
        for column, array in zip(columns, self.arrays, strict=True):
            # FP multiplies a mean over items by one over sets: its n is the number of sets.
            if over_sets and not column.of_sets:
                continue
            if column.names:
                counts &= array[rows] != ""
            elif array.dtype.kind == "f" and array.ndim == 1:
                counts &= ~np.isnan(array[rows])
        return int(counts.sum())


@dataclass(frozen=True)
class Point:
    """A metric of a cell that has a value: by variant, with the rows it was taken over."""

    job: Job
    cell: Cell
    rows: Mapping[str, Integers]
    values: Mapping[str, float]
    possible: Possible | None = None
    """What it can be, where a subset that it needs is empty."""

    @property
    def value(self) -> float:
        """The mean over the variants."""
        return float(np.mean(list(self.values.values())))

    @property
    def n(self) -> int:
        """The number of units: those of one variant, since each variant asks the same items again."""
        return self.job.units(next(iter(self.rows.values())))

    def statistics(self, clusters: Integers, *, signed: bool = False) -> list[Statistic]:
        """Return the metric as a statistic of each variant; `signed`: the differences behind it, if it has any."""
        metric = self.job.metric
        function = metric.differences.function if signed and metric.differences else metric.function
        return [Statistic(function, self.job.arrays, clusters, rows) for rows in self.rows.values()]


class Named(NamedTuple):
    """A value of a point, with its group, its place among the variants, and its rows."""

    parts: Mapping[str, str]
    value: float
    variants: slice
    rows: Integers


def measure(items: Items, plan: Plan, key: RunKey) -> tuple[list[Measurement], list[str]]:
    """Return every metric of the plan for every group, and a sentence for each that is undefined somewhere."""
    points, notes = measured_points(items, plan)
    resampled = [point for point in points if point.job.metric.resampled and point.possible is None]
    samples = dict(zip(map(id, resampled), _samples(resampled, items, plan), strict=True))
    measurements: list[Measurement] = []
    for point in points:
        measurements += _measurements(point, samples.get(id(point)), items, plan, key)
    return measurements, notes


def measured_items(outcomes: Outcomes, plan: Plan) -> Items:
    """Return the outcomes as metrics read them: with the sides predicted, and each column computed once."""
    return Items(with_intersections(with_predictions(outcomes), plan.by), plan.disparity)


def measured_points(items: Items, plan: Plan) -> tuple[list[Point], list[str]]:
    """Return the metrics that have a value, cell by cell, and a sentence for each metric that has none somewhere."""
    points: list[Point] = []
    undefined: dict[str, dict[str, str]] = {}
    chosen_jobs, groups = list(jobs(items, plan)), list(cells(items, plan.by))
    typed = any("type" in cell.parts for cell in groups)
    for cell in groups:
        chosen_rows: dict[int, dict[str, Integers]] = {}
        for job in chosen_jobs:
            if job.metric.unit not in cell.units or job.key != cell.key:
                continue
            if "imbalance" in job.metric.inputs and "occupation" in cell.parts:
                continue  # one occupation has no trend over occupations
            if cell.mixed and not job.metric.mixes_answerable:
                # Types keep the two apart. Where they do not, or there are none, the user has to know.
                if set(cell.parts) == ({"type"} if typed else set()):
                    reason = "answerable and unanswerable items are never pooled; give each kind its own type"
                    undefined.setdefault(job.name, {})[group_label(cell.parts)] = reason
                continue
            # Most metrics apply to the same items: their rows are held once.
            rows = chosen_rows.get(id(job.applies)) or _applicable(cell, job)
            chosen_rows[id(job.applies)] = rows
            if not all(len(chosen) for chosen in rows.values()):
                continue
            try:
                values = {variant: _value(job, chosen) for variant, chosen in rows.items()}
            except UndefinedMetric as reason:
                possible = possible_value(job.metric, job.arrays, rows, items.clusters, plan.level)
                if possible is not None:
                    points.append(Point(job, cell, rows, {"": possible.value}, possible))
                    continue
                undefined.setdefault(job.name, {})[group_label(cell.parts)] = str(reason)
                continue
            points.append(Point(job, cell, rows, values))
    return points, list(_undefined_notes(undefined))


def _applicable(cell: Cell, job: Job) -> dict[str, Integers]:
    """Return the cell's rows that the metric applies to, by variant."""
    applies = {variant: job.applies[rows] for variant, rows in cell.rows.items()}
    return {variant: rows if applies[variant].all() else rows[applies[variant]] for variant, rows in cell.rows.items()}


def _value(job: Job, rows: Integers) -> float:
    return float(job.metric.function(*(array[rows] for array in job.arrays)))


def _samples(points: Sequence[Point], items: Items, plan: Plan) -> list[dict[str, Floats]]:
    """Return the resampled values of each point, by variant."""
    if not points:
        return []
    chunks = bootstrap.weight_chunks(int(items.clusters.max()) + 1, resamples=plan.resamples, seed=plan.seed)
    statistics = [statistic for point in points for statistic in point.statistics(items.clusters, signed=True)]
    values = iter(evaluate(statistics, chunks))
    return [{variant: next(values) for variant in point.rows} for point in points]


def jobs(items: Items, plan: Plan) -> Iterator[Job]:
    """Yield the metrics of the plan that apply to some item, with the columns of each estimator."""
    pairs = items.outcomes.sides != ""
    keys = group_keys(items.outcomes, plan.by)
    for metric in plan.metrics:
        applies = items.applicable[metric.applies_to]
        if metric.unit in ("identity", "pair") or not applies.any():
            continue
        unknown = [name for name in metric.inputs if name not in COLUMNS]
        if unknown:
            raise EquipoiseError(f"metric {metric.name} reads {unknown[0]!r}; known columns: {', '.join(COLUMNS)}")
        if metric.unit == "grouping":
            for key in keys:
                for estimator in plan.estimators if metric.estimated else plan.estimators[:1]:
                    columns = {**items.columns(estimator), "group": items.outcomes.groups[key]}
                    arrays = tuple(columns[name] for name in metric.inputs)
                    name = metric.name + (suffix(estimator) if metric.estimated else "")
                    yield Job(metric, name, arrays, applies, key)
            continue
        # A sentence pair holds its contrast within itself: what compares sets or kinds of items does not apply to it.
        if metric.unit in ("sets", "contrast") and "pairs" not in metric.applies_to:
            applies = applies & ~pairs if pairs.any() else applies
        for estimator in plan.estimators if metric.estimated else plan.estimators[:1]:
            name = metric.name + (suffix(estimator) if metric.estimated else "")
            columns = items.columns(estimator)
            arrays = tuple(columns[column] for column in metric.inputs)
            # Questions without genders have no gap between them: that is expected, so no note is needed.
            if metric.unit != "contrast" or not any(_is_blank(array) for array in arrays):
                yield Job(metric, name, arrays, applies)


def _is_blank(array: NDArray[Any]) -> bool:
    """Return whether a column applies to no item at all: no name, or no number."""
    if array.dtype.kind == "f":
        return bool(np.isnan(array).all())
    return array.dtype.kind in "OU" and not (array != "").any()


def _undefined_notes(undefined: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield a sentence for each metric that is undefined for some group, and one for all that miss occupations."""
    missing: dict[int, list[str]] = {}
    for metric, groups in undefined.items():
        occupations = {parse_group(label).get("occupation", "") for label in groups} - {""}
        others = {label: reason for label, reason in groups.items() if "occupation" not in parse_group(label)}
        if occupations:
            missing.setdefault(len(occupations), []).append(metric)
        if others:
            label, reason = next(iter(others.items()))
            more = f" and {len(others) - 1} more group{'s' if len(others) > 2 else ''}" if len(others) > 1 else ""
            yield f"{metric} is undefined for {label}{more} ({reason})"
    if missing:
        counts = [
            f"{', '.join(metrics)} ({count} occupation{'s' if count != 1 else ''})"
            for count, metrics in missing.items()
        ]
        why = "some occupations have no value of these metrics, because items to compare are missing"
        yield f"{why}: {'; '.join(counts)}"


def _measurements(
    point: Point, samples: Mapping[str, Floats] | None, items: Items, plan: Plan, key: RunKey
) -> Iterator[Measurement]:
    """Yield the metric averaged over the variants and, where there are several, that of each, with intervals."""
    metric = point.job.metric
    statistics = point.statistics(items.clusters) if samples else []

    def row(named: Named) -> Measurement:
        parts, value, chosen, rows = named
        ends = (np.nan, np.nan, "no interval")
        if point.possible:
            ends = (point.possible.low, point.possible.high, POSSIBLE)
        elif samples:
            drawn = np.mean(list(samples.values())[chosen], axis=0)
            ends = interval(Evidence(metric, statistics[chosen], drawn, value), items.outcomes.k, plan.level, plan.seed)
        estimate = Estimate(value, ends[0], ends[1], plan.level, point.job.units(rows), ends[2])
        return Measurement.of(point.job.name, key, group_label(parts), estimate, metric.better)

    yield from map(row, named_values(point))


def named_values(point: Point) -> Iterator[Named]:
    """Yield the value over the variants and, where there are several, that of each."""
    yield Named(point.cell.parts, point.value, slice(None), next(iter(point.rows.values())))
    # Ten wordings of forty occupations would be thousands of rows that nobody reads, each with an interval.
    worded = any("wording=" in variant for variant in point.values)
    if len(point.values) > 1 and not (worded and set(point.cell.parts) - {"type"}):
        for number, (variant, value) in enumerate(point.values.items()):
            parts = dict(part.split("=", 1) for part in variant.split(","))
            chosen = slice(number, number + 1)
            yield Named({**point.cell.parts, **parts}, value, chosen, point.rows[variant])
