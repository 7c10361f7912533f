"""Items in, Measurements out: every metric, for every group, with an interval from resampling clusters.

A metric is taken over the items of a cell. What it sums is added up by cluster first (stats/resampling.py), so that a
resample is a product of small matrices, whatever the number of items.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import cores
from ..metrics import Metric
from ..metrics.columns import COLUMNS
from ..metrics.naming import suffix
from ..metrics.sides import with_predictions
from ..options import PlanOptions
from ..records import (
    EquipoiseError,
    Estimate,
    Floats,
    Measurement,
    Outcomes,
    RunKey,
    UndefinedMetric,
    group_label,
)
from ..stats import bootstrap
from ..stats.means import KnownTables
from ..stats.paired import corrected
from ..stats.resampling import Chunks, Precision, Statistic, evaluate
from ..uncertainty import PERPLEXITY, Estimator
from .cells import Cell, cells, group_keys, with_intersections
from .evidence import Evidence
from .items import Items
from .points import Job, Named, Point, Population, Rows, mean_of, named_values
from .stopping import Sample
from .undefined import possible_estimate, undefined_notes

BLOCK = 500
"""How many points are estimated together. It does not depend on the number of cores: sums round as their block does."""

SMALL_BLOCK = 50
"""How many values are computed together; those of the first groups are of all items."""

MIXED = "answerable and unanswerable items are never pooled; give each kind its own type"


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


class Measured(NamedTuple):
    """An estimate of a metric for a group, by the name that `measurements.csv` has for it."""

    metric: Metric
    name: str
    parts: Mapping[str, str]
    estimate: Estimate

    def of(self, key: RunKey) -> Measurement:
        """Return the measurement of a run."""
        return Measurement.of(self.name, key, group_label(self.parts), self.estimate, self.metric.better)


def measured_items(outcomes: Outcomes, plan: Plan) -> Items:
    """Return the outcomes as metrics read them: with the sides predicted, and each column computed once."""
    return Items(with_intersections(with_predictions(outcomes), plan.by), plan.disparity)


def measure(items: Items, plan: Plan, key: RunKey) -> tuple[list[Measurement], list[str]]:
    """Return every metric of the plan for every group, and a sentence for each that is undefined somewhere."""
    points, notes = measured_points(items, plan)
    return [row.of(key) for row in estimates(points, items, plan)], notes


def estimates(points: Sequence[Point], items: Items, plan: Plan, sample: Sample | None = None) -> list[Measured]:
    """Return the estimates of the points: over the variants and, where there are several, of each."""
    (rows,) = all_estimates([(points, sample)], items, plan)
    return rows


def all_estimates(
    parts: Sequence[tuple[Sequence[Point], Sample | None]], items: Items, plan: Plan
) -> list[list[Measured]]:
    """Return the estimates of several lists of points, each with how it was sampled, shared out together."""
    k = items.outcomes.k
    blocks = [
        (points[start : start + BLOCK], sample or Sample())
        for points, sample in parts
        for start in range(0, len(points), BLOCK)
    ]
    drawn = _weights([point for points, _ in parts for point in points], plan) if len(blocks) > 1 else {}
    several = cores.shared_out(lambda block: _block_estimates(block[0], k, plan, block[1], drawn), blocks)
    estimates_in_order = iter([estimate for block in several for estimate in block])
    measured = []
    for points, _ in parts:
        named = [(point.job, value.parts) for point in points for value in named_values(point)]
        rows = [Measured(job.metric, job.name, parts, next(estimates_in_order)) for job, parts in named]
        measured.append(with_families(rows))
    return measured


def _block_estimates(
    points: Sequence[Point], k: int, plan: Plan, sample: Sample, drawn: Mapping[int, Chunks]
) -> list[Estimate]:
    """Return the estimate of each named value of some points."""
    named, known = [list(named_values(point)) for point in points], KnownTables()
    both = zip(points, named, strict=True)
    evidence = [list(_evidence(point, names, k, plan, sample, known)) for point, names in both]
    # The first evidence of a point is of all its variants.
    needy = [
        (point, several[0].recorded)
        for point, several in zip(points, evidence, strict=True)
        if any(e.needs_resamples for e in several)
    ]
    samples = dict(zip((id(point) for point, _ in needy), _samples(needy, plan, drawn), strict=True))
    estimated = []
    for point, values, several in zip(points, named, evidence, strict=True):
        for number, (_, value, variants, rows) in enumerate(values):
            estimate = point.possible or Estimate.alone(value, level=plan.level, n=0, method="value alone")
            if several:
                resampled = samples.get(id(point))
                estimate = several[number].estimate(None if resampled is None else mean_of(resampled[variants]))
            if not point.job.marked:  # of marked sentences the evidence has counted the base sentences
                estimate = replace(estimate, n=point.job.units(rows))
            estimated.append(estimate)
    return estimated


def _evidence(
    point: Point, named: Sequence[Named], k: int, plan: Plan, sample: Sample, known: KnownTables
) -> Iterator[Evidence]:
    """Yield the evidence of each named value of a point; nothing where no interval is made of it."""
    if point.possible or not plan.intervals:
        return
    statistics, differences = point.statistics(), list(point.differences.values())
    kind = point.parts.get("type", "")
    for _, value, variants, _ in named:
        drawn = plan.level, plan.seed, sample, kind
        yield Evidence(point.job.metric, statistics[variants], value, k, *drawn, differences[variants], known)


def with_families(rows: Sequence[Measured]) -> list[Measured]:
    """Return the rows, with p-values corrected over all of a metric that agree in the parts of its family (Holm)."""
    families: dict[tuple[str, ...], list[int]] = {}
    for number, row in enumerate(rows):
        if not math.isnan(row.estimate.p):
            family = (row.name, *(row.parts.get(part, "") for part in row.metric.family))
            families.setdefault(family, []).append(number)
    finished = list(rows)
    for numbers in families.values():
        for number, estimate in zip(numbers, corrected([rows[n].estimate for n in numbers]), strict=True):
            finished[number] = rows[number]._replace(estimate=estimate)
    return finished


def measured_points(items: Items, plan: Plan) -> tuple[list[Point], list[str]]:
    """Return the metrics that have a value, cell by cell, and a sentence for each metric that has none somewhere."""
    wanted: list[Point] = []
    chosen_jobs, groups = list(jobs(items, plan)), list(cells(items, plan.by))
    typed = any("type" in cell.parts for cell in groups)
    for cell in groups:
        chosen_rows: dict[int, dict[str, Rows]] = {}
        for job in chosen_jobs:
            if job.metric.unit not in cell.units or job.key != cell.key:
                continue
            if "imbalance" in job.metric.inputs and "occupation" in cell.parts:
                continue  # one occupation has no trend over occupations
            if cell.mixed and not job.metric.mixes_answerable:
                # Types keep the two apart. Where they do not, or there are none, the user has to know.
                if set(cell.parts) == ({"type"} if typed else set()):
                    wanted.append(Point(job, cell.parts, {}))
                continue
            # Most metrics apply to the same items: their rows are held once.
            if id(job.applies) not in chosen_rows:
                chosen_rows[id(job.applies)] = _applicable(cell, job)
            if rows := chosen_rows[id(job.applies)]:
                wanted.append(Point(job, cell.parts, rows))
    points: list[Point] = []
    undefined: dict[str, dict[str, str]] = {}
    for point, reason in with_values(wanted, plan):
        if reason:
            undefined.setdefault(point.job.name, {})[group_label(point.parts)] = reason
        else:
            points.append(point)
    return points, list(undefined_notes(undefined))


def with_values(points: Sequence[Point], plan: Plan) -> list[tuple[Point, str]]:
    """Return the points with their values, and why those that stay without have none."""
    unknown = [point for point in points if not point.values]
    # A few values are sooner computed than handed out.
    size = SMALL_BLOCK if len(unknown) > BLOCK else BLOCK
    blocks = [unknown[start : start + size] for start in range(0, len(unknown), size)]
    results = cores.shared_out(lambda block: _block_values(block, plan), blocks)
    computed = iter([result for block in results for result in block])
    valued = []
    for point in points:
        facts, reason = ({}, "") if point.values else next(computed)
        valued.append((replace(point, **facts), reason))
    return valued


def _block_values(points: Sequence[Point], plan: Plan) -> list[tuple[dict[str, Any], str]]:
    """Return what is known of each point: its values, or what its value can be; and why it has none."""
    known: dict[tuple[int, ...], Any] = {}
    return [_values(point, plan, known) for point in points]


def _values(point: Point, plan: Plan, known: dict[tuple[int, ...], Any]) -> tuple[dict[str, Any], str]:
    """Return the values of a point and the differences behind them, or what its value can be, or why there is none.

    `known` are the values of statistics: several metrics are made of the same differences.
    """
    if not point.rows:  # those that it would be of must not be pooled
        return {}, MIXED
    job, norm = point.job, point.job.metric.norm
    signed = dict(zip(point.rows, point.statistics(signed=True), strict=True))
    try:
        for statistic in signed.values():
            if statistic.identity not in known:
                known[statistic.identity] = statistic.value
            if norm is None and np.isnan(known[statistic.identity]):
                raise UndefinedMetric("its function gave NaN")
    except UndefinedMetric as reason:
        possible = possible_estimate(job.metric, job.arrays, point.rows, job.population.numbers, plan.level)
        return ({}, str(reason)) if possible is None else ({"values": {"": possible.value}, "possible": possible}, "")
    observed = {variant: known[statistic.identity] for variant, statistic in signed.items()}
    if norm is None:
        return {"values": {variant: float(value) for variant, value in observed.items()}}, ""
    values = {variant: float(norm.join(several)) for variant, several in observed.items()}
    return {"values": values, "differences": observed}, ""


def _applicable(cell: Cell, job: Job) -> dict[str, Rows]:
    """Return the cell's rows that the metric applies to, by variant; nothing where a variant has none."""
    chosen: dict[str, Rows] = {}
    for variant, rows in cell.rows.items():
        applies = job.applies[rows]
        rows = rows if applies.all() else rows[applies]
        if not len(rows):
            return {}
        beside = int(rows[-1] - rows[0]) + 1 == len(rows)  # rows are in order
        chosen[variant] = slice(int(rows[0]), int(rows[-1]) + 1) if beside else rows
    return chosen


def _weights(points: Sequence[Point], plan: Plan) -> dict[int, Chunks]:
    """Return the weights of the clusters of all points, by their number, drawn once where they fit into memory."""
    if not plan.intervals:
        return {}
    counts = {point.job.population.clusters for point in points}
    return {
        count: bootstrap.held(bootstrap.weight_chunks(count, resamples=plan.resamples, seed=plan.seed))
        for count in counts
    }


def _samples(
    points: Sequence[tuple[Point, list[list[Floats]]]], plan: Plan, drawn: Mapping[int, Chunks]
) -> list[list[Floats]]:
    """Return the resampled values of each point, by variant.

    With a point comes what it sums by cluster, as far as that is known. `drawn` are weights that are known already.
    """
    # The same number of clusters is resampled in the same way.
    alike: dict[tuple[int, Precision], list[int]] = {}
    for number, (point, _) in enumerate(points):
        alike.setdefault((point.job.population.clusters, point.job.population.precision), []).append(number)
    samples: list[list[Floats]] = [[] for _ in points]
    for (clusters, precision), numbers in alike.items():
        chunks = drawn.get(clusters) or bootstrap.weight_chunks(clusters, resamples=plan.resamples, seed=plan.seed)
        statistics = [statistic for number in numbers for statistic in _signed(*points[number])]
        values = iter(evaluate(statistics, chunks, precision))
        for number in numbers:
            samples[number] = [next(values) for _ in points[number][0].rows]
    return samples


def _signed(point: Point, recorded: Sequence[Sequence[Floats]]) -> list[Statistic]:
    """Return the statistics of the differences behind a point, which sum what its own do."""
    several = zip(point.statistics(signed=True), recorded, strict=True)
    return [replace(statistic, recorded=tables) for statistic, tables in several]


def jobs(items: Items, plan: Plan) -> Iterator[Job]:
    """Yield the metrics of the plan that apply to some item, with the columns of each estimator."""
    pairs = items.outcomes.sides != ""
    keys = group_keys(items.outcomes, plan.by)
    population = Population(items.clusters, items.cluster_count)
    for metric in plan.metrics:
        applies = items.applicable[metric.applies_to]
        if not applies.any() or metric.unit in ("identity", "pair"):
            continue
        unknown = [name for name in metric.inputs if name not in COLUMNS]
        if unknown:
            raise EquipoiseError(f"metric {metric.name} reads {unknown[0]!r}; known columns: {', '.join(COLUMNS)}")
        # A sentence pair holds its contrast within itself: what compares sets or kinds of items does not apply to it.
        if metric.unit in ("sets", "contrast") and "pairs" not in metric.applies_to and pairs.any():
            applies = applies & ~pairs
        grouped = metric.unit == "grouping"
        estimators = plan.estimators if metric.estimated else plan.estimators[:1]
        for key, estimator in product(keys if grouped else ("",), estimators):
            columns = items.columns(estimator)
            groups = {"group": items.outcomes.groups[key]} if grouped else {}
            arrays = tuple(groups[name] if name in groups else columns[name] for name in metric.inputs)
            name = metric.name + (suffix(estimator.name) if metric.estimated else "")
            # Questions without genders have no gap, those without a stereotype no flips toward it: no note is needed.
            sets = metric.unit == "sets" and len(items.members) > 0
            needed = arrays if metric.unit == "contrast" else arrays[: int(sets)]
            if not any(_is_blank(array) for array in needed):
                yield Job(metric, name, arrays, population, applies, key)


def _is_blank(array: NDArray[Any]) -> bool:
    """Return whether a column applies to no item at all: no name, or no number."""
    if array.dtype.kind == "f":
        return bool(np.isnan(array).all())
    return array.dtype.kind in "OU" and not (array != "").any()
