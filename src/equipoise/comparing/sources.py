"""What results of many runs depend on: model, data, task, wording, estimator or chance; nothing is scored again.

Every cell is a value of one model on one dataset and task, in one wording, by one estimator. Base sentences are
resampled, the same ones for all cells of a dataset: intervals are about other sentences, and about these models.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ..measuring.estimators import ALIKE, Resamples, correlation_of, interval_of
from ..measuring.measure import Plan, measured_items, measured_points
from ..measuring.points import Point
from ..metrics import METRICS, Metric, calibration
from ..progress import Progress, shown
from ..records import EquipoiseError, Estimate, Floats, UndefinedMetric, grouped
from ..runs.run import Part
from ..stats.attribution import REST, attribution
from ..stats.bootstrap import weight_chunks
from ..stats.concordance import TIE, column_kendall
from ..stats.resampling import Statistic, evaluate
from ..uncertainty import ESTIMATORS, PERPLEXITY, Estimator
from .estimators import estimate_columns, frames_of

CALIBRATION = Metric(
    "answer_ece",
    calibration.ece,
    ("correct", "stated"),
    "lower",
    "ECE of the answer",
    "mean |how often the answer is right - its stated probability|",
    (0, 1),
    applies_to="answerable",
)
ORDERED = (METRICS["ucerf"], METRICS["ucerf_signed"], METRICS["flip_rate"], METRICS["eo_sum"], CALIBRATION)
"""The metrics whose orders of models are compared."""
FACTORS = ("model", "dataset", "task", "estimator", "wording")
CROSS = " × "
OTHER = "other combinations"
"""What no model, condition or pair of a model and a condition explains."""
ENOUGH_MODELS = 3


@dataclass(frozen=True, eq=False)
class Cell:
    """A metric of one model on one dataset, task and type, in one wording and by one estimator, and its resamples.

    `sums` adds the values of sets up by base sentence, for metrics that are means over sets.
    """

    model: str
    dataset: str
    task: str
    kind: str
    wording: str
    metric: Metric
    estimator: str
    value: float
    samples: Floats
    sums: Floats
    sentences: int

    @property
    def condition(self) -> tuple[str, ...]:
        """How the model was asked and judged."""
        return (self.dataset, self.task, self.wording, self.estimator)


@dataclass(frozen=True)
class Variation:
    """What the variation of UCerF over all cells of a type is due to, in shares of all of it.

    `order` is Kendall's tau of two conditions about the order of the models, the mean over every two of them.
    """

    kind: str
    metric: Metric
    levels: Mapping[str, int]
    shares: Mapping[str, Estimate]
    deviation: float
    order: Estimate | None
    conditions: int


@dataclass(frozen=True)
class Agreement:
    """Kendall's tau of two metrics about the order of the models, the mean over datasets and tasks."""

    kind: str
    first: Metric
    second: Metric
    tau: Estimate
    conditions: int


@dataclass(frozen=True)
class Carried:
    """The difference of two models in UCerF, and the fewest base sentences without which it would turn round."""

    kind: str
    dataset: str
    task: str
    first: str
    second: str
    difference: Estimate
    fewest: int


@dataclass(frozen=True)
class Sources:
    """All that runs say about what their results depend on."""

    variations: Sequence[Variation]
    agreements: Sequence[Agreement]
    carried: Sequence[Carried]


def sources(parts: Sequence[Part], plan: Resamples, *, progress: Progress | None = None) -> Sources:
    """Return what the results of these parts depend on; each model may have a dataset and task once."""
    several = list(cells(parts, plan, progress))
    usual = [cell for cell in several if cell.estimator in ("", PERPLEXITY.name)]
    measures = [cell for cell in several if cell.metric.name == _measure(cell.kind, several)]
    kinds = list(dict.fromkeys(cell.kind for cell in measures))
    variations = [row for kind in kinds if (row := _variation([c for c in measures if c.kind == kind], plan))]
    chosen = [cell for cell in measures if cell.estimator == PERPLEXITY.name]
    if not variations:
        raise EquipoiseError("the runs have no two values of UCerF that differ in model, data, task or wording")
    return Sources(variations, list(_agreements(usual, plan)), list(_carried(chosen, plan)))


def _measure(kind: str, several: Sequence[Cell]) -> str:
    """Return the metric of a type: the signed UCerF where no answer is right, because it sees the answers."""
    signed = any(cell.kind == kind and cell.metric.name == "ucerf_signed" for cell in several)
    return "ucerf_signed" if signed else "ucerf"


def cells(parts: Sequence[Part], plan: Resamples, progress: Progress | None = None) -> Iterator[Cell]:
    """Yield every cell of these parts; base sentences of a dataset are resampled together."""
    datasets: dict[str, list[Part]] = {}
    for part in parts:
        several = datasets.setdefault(part.dataset, [])
        if any((other.run.name, other.task) == (part.run.name, part.task) for other in several):
            raise EquipoiseError(f"two runs are of {part.run.name} on {part}; name only one of them")
        several.append(part)
    for number, several in enumerate(datasets.values()):
        shown(progress)("resampling", number, len(datasets))
        yield from _cells_of_dataset(several, plan, seed=plan.seed + number)
    shown(progress)("resampling", len(datasets), len(datasets))


def _cells_of_dataset(parts: Sequence[Part], plan: Resamples, *, seed: int) -> Iterator[Cell]:
    units: dict[str, int] = {}
    pending: list[tuple[Part, Point, str, list[Statistic]]] = []
    for part in parts:
        numbers = np.array([units.setdefault(name, len(units)) for name in part.outcomes.cluster_id.tolist()])
        for point in _points(part):
            by_wording: dict[str, list[Statistic]] = {}
            for variant, rows in point.rows.items():
                chosen = Statistic(point.job.metric.function, point.job.arrays, numbers, rows)
                by_wording.setdefault(_wording(variant), []).append(chosen)
            pending += [(part, point, wording, several) for wording, several in by_wording.items()]
    statistics = [statistic for *_, several in pending for statistic in several]
    drawn = iter(evaluate(statistics, weight_chunks(len(units), resamples=plan.resamples, seed=seed), np.float64))
    for part, point, wording, several in pending:
        samples = np.mean([next(drawn) for _ in several], axis=0)
        value = float(np.mean([float(statistic.value) for statistic in several]))
        sums = np.mean([_sums(statistic, len(units)) for statistic in several], axis=0)
        estimator = point.job.name[len(point.job.metric.name) + 1 :].replace("_", "-")
        estimator = estimator or (PERPLEXITY.name if point.job.metric.estimated else "")
        about = (part.run.name, part.dataset, part.task, point.parts.get("type", ""), wording)
        yield Cell(*about, point.job.metric, estimator, value, samples, sums, len(np.unique(several[0].clusters)))


def _points(part: Part) -> Iterator[Point]:
    """Yield the metrics of whole types."""
    estimators: list[Estimator] = [row for row in ESTIMATORS.values() if not row.over and not row.reduction]
    plan = Plan(list(ORDERED), estimators, by=())
    items = measured_items(part.outcomes, plan)
    points, _ = measured_points(items, plan)
    typed = any("type" in point.parts for point in points)
    for point in points:
        answerable = items.outcomes.answerable[next(iter(point.rows.values()))]
        is_signed = point.job.metric.name == "ucerf_signed"
        is_whole = set(point.parts) == ({"type"} if typed else set()) and point.possible is None
        if is_whole and not (is_signed and answerable.any()):
            yield point


def _wording(variant: str) -> str:
    return next((part.partition("=")[2] for part in variant.split(",") if part.startswith("wording=")), "")


def _sums(statistic: Statistic, units: int) -> Floats:
    """Return the first column, added up by base sentence; zeros for other than numbers."""
    column = statistic.arrays[0]
    if column.ndim != 1 or column.dtype.kind != "f":
        return np.zeros(units)
    return np.bincount(statistic.clusters, np.nan_to_num(column), units).astype(np.float64)


def _variation(several: Sequence[Cell], plan: Resamples) -> Variation | None:
    """Return what the variation of a type's cells is due to; None where nothing varies."""
    several = _distinct(several)
    names = {factor: np.array([getattr(cell, factor) for cell in several], dtype=str) for factor in FACTORS}
    # A wording belongs to the task that it asks.
    names["wording"] = np.char.add(np.char.add(names["task"], " "), names["wording"])
    levels = {factor: len(np.unique(names[factor])) for factor in FACTORS}
    levels["wording"] -= levels["task"] - 1
    varied = [factor for factor in FACTORS if levels[factor] > 1]
    if not set(varied) - {"estimator"}:
        return None
    mains = {factor: names[factor] for factor in varied if factor != "wording"}
    nested = {"wording": names["wording"]} if "wording" in varied else {}
    crossed = {
        f"model{CROSS}{factor}": np.char.add(np.char.add(names["model"], CROSS), names[factor])
        for factor in varied
        if factor != "model" and "model" in varied
    }
    stages: list[dict[str, Any]] = [stage for stage in (mains, nested, crossed) if stage]
    values, samples = np.array([cell.value for cell in several]), np.array([cell.samples for cell in several])
    try:
        divided = attribution(values, samples, stages)
    except UndefinedMetric:
        return None
    sentences = min(cell.sentences for cell in several)
    shares = {
        OTHER if name == REST else name: _within(value, divided.samples[name], sentences, plan)
        for name, value in divided.values.items()
        # The rest of a table whose every cell a term explains is rounding.
        if name != REST or value > ALIKE or len(varied) > 2
    }
    order, conditions = _order(several, plan)
    return Variation(several[0].kind, several[0].metric, levels, shares, float(values.std()), order, conditions)


def _within(value: float, samples: Floats, sentences: int, plan: Resamples) -> Estimate:
    """Return a share with its interval, which holds the value."""
    estimate = interval_of(value, samples, sentences, plan, sets=sentences)
    low, high = min(estimate.low, value), max(estimate.high, value)
    return Estimate(value, low, high, estimate.level, sentences, estimate.method)


def _distinct(several: Sequence[Cell]) -> list[Cell]:
    """Return the cells without those of estimators that give the same values as an earlier one."""
    kept: list[list[Cell]] = []
    for cells_of_one in grouped(several, lambda cell: cell.estimator).values():
        values = np.array([cell.value for cell in cells_of_one])
        same = (np.abs(values - [cell.value for cell in other]).max() < ALIKE for other in kept)
        if not any(same):
            kept.append(cells_of_one)
    return [cell for cells_of_one in kept for cell in cells_of_one]


def _order(several: Sequence[Cell], plan: Resamples) -> tuple[Estimate | None, int]:
    """Return how alike every two conditions order the models that both have, and the number of conditions."""
    conditions: dict[tuple[str, ...], dict[str, Cell]] = {}
    for cell in several:
        conditions.setdefault(cell.condition, {})[cell.model] = cell
    pairs = [
        (first, second, models)
        for first, second in combinations(conditions.values(), 2)
        if len(models := sorted(first.keys() & second.keys())) >= ENOUGH_MODELS
    ]
    if not pairs:
        return None, len(conditions)
    taus = [_taus([first[m] for m in models], [second[m] for m in models]) for first, second, models in pairs]
    return _mean_tau(taus, several, plan), len(conditions)


def _taus(first: Sequence[Cell], second: Sequence[Cell]) -> tuple[float, Floats]:
    """Return tau of two lists of cells of the same models, better ones first, and of each resample."""
    a, b = (_signed(cells_of_one) for cells_of_one in (first, second))
    taus = column_kendall(a, b)
    return float(taus[0]), taus[1:]


def _signed(several: Sequence[Cell]) -> Floats:
    """Return values and resamples of cells, turned so that higher is better."""
    sign = -1.0 if several[0].metric.better == "lower" else 1.0
    return sign * np.array([[cell.value, *cell.samples] for cell in several])


def _mean_tau(taus: Sequence[tuple[float, Floats]], several: Sequence[Cell], plan: Resamples) -> Estimate | None:
    """Return the mean of several taus, over those that are defined."""
    values = np.array([value for value, _ in taus])
    if np.isnan(values).all():
        return None
    samples = np.array([drawn for _, drawn in taus])
    models = len({cell.model for cell in several})
    sentences = min(cell.sentences for cell in several)
    defined = samples[~np.isnan(values)]
    counts = (~np.isnan(defined)).sum(axis=0)
    means = np.where(counts > 0, np.nansum(defined, axis=0) / np.maximum(counts, 1), np.nan)
    return correlation_of(float(np.nanmean(values)), means, models, plan, sets=sentences)


def _agreements(several: Sequence[Cell], plan: Resamples) -> Iterator[Agreement]:
    """Yield how alike every two metrics order the models, over all datasets and tasks of a type."""
    tables: dict[tuple[str, str, str, str], dict[str, dict[str, Cell]]] = {}
    for cell in several:
        about = (cell.kind, cell.dataset, cell.task, cell.wording)
        tables.setdefault(about, {}).setdefault(cell.metric.name, {})[cell.model] = cell
    for kind in dict.fromkeys(kind for kind, *_ in tables):
        metrics = [m for m in ORDERED if any(m.name in table for about, table in tables.items() if about[0] == kind)]
        for first, second in combinations(metrics, 2):
            taus, used = [], []
            for about, table in tables.items():
                models = sorted(table.get(first.name, {}).keys() & table.get(second.name, {}).keys())
                if about[0] == kind and len(models) >= ENOUGH_MODELS:
                    pair = [[table[metric.name][model] for model in models] for metric in (first, second)]
                    taus.append(_taus(*pair))
                    used += pair[0]
            tau = _mean_tau(taus, used, plan) if taus else None
            if tau is not None:
                yield Agreement(kind, first, second, tau, len(taus))


def _carried(several: Sequence[Cell], plan: Resamples) -> Iterator[Carried]:
    """Yield the difference of every two models over all wordings, and how many base sentences carry it."""
    tables: dict[tuple[str, str, str], dict[str, list[Cell]]] = {}
    for cell in several:
        tables.setdefault((cell.kind, cell.dataset, cell.task), {}).setdefault(cell.model, []).append(cell)
    for about, models in tables.items():
        for first, second in combinations(models, 2):
            pair = models[first], models[second]
            value, samples, sums = (_mean_difference(*pair, name) for name in ("value", "samples", "sums"))
            sentences = pair[0][0].sentences
            apart = interval_of(float(value), samples, sentences, plan, sets=sentences)
            yield Carried(*about, first, second, apart, fewest(sums))


def _mean_difference(first: Sequence[Cell], second: Sequence[Cell], name: str) -> Floats:
    """Return the mean of a field over wordings, of one model less that of another."""
    means = [np.mean([getattr(cell, name) for cell in several], axis=0) for several in (first, second)]
    return np.asarray(means[0] - means[1])


def fewest(sums: Floats) -> int:
    """Return the smallest number of base sentences without which a sum has no sign, or the other one."""
    total = float(sums.sum())
    if abs(total) < TIE:
        return 0
    leading = np.sort(np.sign(total) * sums)[::-1]
    left = abs(total) - np.cumsum(leading)
    return int(np.argmax(left <= TIE)) + 1


def frames(result: Sources) -> dict[str, pd.DataFrame]:
    """Return the tables by file name: shares of the variation, agreement of metrics, and what carries differences."""
    made = frames_of({"variation": _variation_rows}, result.variations)
    made |= frames_of({"agreement": _agreement_rows}, result.agreements)
    return made | frames_of({"carried": _carried_rows}, result.carried)


def _variation_rows(row: Variation) -> Iterator[dict[str, Any]]:
    about = {"type": row.kind, "metric": row.metric.name}
    for name, share in row.shares.items():
        yield {**about, "source": name, "levels": row.levels.get(name, ""), **estimate_columns(share)}
    if row.order is not None:
        yield {**about, "source": "order of models (tau)", "levels": row.conditions, **estimate_columns(row.order)}


def _agreement_rows(row: Agreement) -> Iterator[dict[str, Any]]:
    about = {"type": row.kind, "first": row.first.name, "second": row.second.name, "conditions": row.conditions}
    yield {**about, **estimate_columns(row.tau)}


def _carried_rows(row: Carried) -> Iterator[dict[str, Any]]:
    about = {"type": row.kind, "dataset": row.dataset, "task": row.task, "first": row.first, "second": row.second}
    yield {**about, **estimate_columns(row.difference), "fewest_sentences": row.fewest}
