"""Post-hoc calibration of a run: maps fitted on one half of the sentences, tested on the other, over many splits.

Rows that a left-to-right model cannot tell apart fall into the same half. A run folder keeps the maps
(`calibration_maps.json`), and what they did to the other half (`calibration.csv`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from ..catalog import find
from ..metrics import calibration
from ..metrics.posthoc import METHODS, CalibrationMap
from ..metrics.sides import predicted_group, side_columns, with_predictions
from ..progress import Progress
from ..records import Booleans, EquipoiseError, Floats, Integers, Outcomes, RunError, Strings, UndefinedMetric
from ..stats.bootstrap import cluster_numbers

POOLED = "pooled"
COLUMNS = (
    "dataset",
    "task",
    "method",
    "maps",
    "group",
    "metric",
    "before",
    "after",
    "low",
    "high",
    "floor",
    "n",
    "splits",
)


@dataclass(frozen=True)
class Splits:
    """What may be chosen: the methods, how many splits from which seed on, and the group that gets maps of its own."""

    methods: Sequence[str] = tuple(METHODS)
    splits: int = 100
    seed: int = 0
    by: str = ""

    def __post_init__(self) -> None:
        for method in self.methods:
            find(method, METHODS, kind="calibration method")
        if self.splits < 1 or self.seed < 0:
            raise EquipoiseError(f"splits must be at least 1 and the seed 0 or more, not {self.splits} and {self.seed}")


@dataclass(frozen=True)
class Recalibrated:
    """The before/after table, the maps, sentences of warning, and the first split to look at."""

    table: pd.DataFrame
    maps: Sequence[Mapping[str, Any]]
    warnings: tuple[str, ...]
    samples: Mapping[tuple[str, str], pd.DataFrame]


@dataclass
class _Judged:
    """The labelled sentence pairs of one dataset and task, and what is being found about them."""

    y: Floats
    p: Floats
    groups: Strings
    clusters: Integers
    values: dict[tuple[str, str, str, str], list[tuple[float, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    floors: dict[tuple[str, str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    sizes: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    @property
    def names(self) -> list[str]:
        return sorted(set(self.groups.tolist()) - {""})

    def rows(self, name: str) -> Booleans:
        return np.ones(len(self.y), dtype=bool) if name == "all" else self.groups == name

    def half(self, seed: int) -> Booleans:
        """Return which items are fitted on: those of half of the clusters."""
        order = np.random.default_rng(seed).permutation(int(self.clusters.max()) + 1)
        return np.isin(self.clusters, order[: len(order) // 2])


def recalibrate(
    parts: Iterable[tuple[str, str, Outcomes]], plan: Splits | None = None, *, progress: Progress | None = None
) -> Recalibrated:
    """Return what calibration maps do to each dataset and task of a run."""
    plan = plan or Splits()
    rows: list[dict[str, Any]] = []
    maps: list[dict[str, Any]] = []
    warnings: list[str] = []
    samples: dict[tuple[str, str], pd.DataFrame] = {}
    for dataset, task, outcomes in parts:
        labelled = _judged(outcomes, plan.by)
        if labelled is None:
            continue
        judged, key = labelled
        for number in range(plan.splits):
            with threadpool_limits(1):  # of so few numbers, more threads would only wait for each other
                split_maps = list(_one_split(judged, plan, plan.seed + number))
            maps += [{"dataset": dataset, "task": task, **fitted} for fitted in split_maps]
            if progress:
                progress(f"{dataset} · {task}", number + 1, plan.splits)
        maps += [{"dataset": dataset, "task": task, **fitted} for fitted in _maps_of_all(judged, plan)]
        rows += [{"dataset": dataset, "task": task, **row} for row in _table(judged, key)]
        warnings += [f"{dataset} · {task}: {sentence}" for sentence in _at_the_floor(judged, key, plan)]
        samples[dataset, task] = _sample(judged, plan)
    if not rows:
        raise RunError("the run has no sentence pairs with a human label, so there is nothing to calibrate")
    return Recalibrated(pd.DataFrame(rows, columns=list(COLUMNS)), maps, tuple(warnings), samples)


def _judged(outcomes: Outcomes, by: str) -> tuple[_Judged, str] | None:
    """Return the labelled pairs and the group they are split by, None if there are none."""
    outcomes = with_predictions(outcomes)
    columns = side_columns(outcomes)
    rows = ~(np.isnan(columns["y"]) | np.isnan(columns["p"]))
    if not rows.any():
        return None
    key = by or predicted_group(outcomes)
    if key not in outcomes.groups:
        raise EquipoiseError(f"no item has a group {key!r}; known groups: {', '.join(outcomes.groups)}")
    clusters = cluster_numbers(outcomes.cluster_id[rows])
    if clusters.max() < 1:
        raise RunError("calibration needs at least two sentences, one to fit on and one to test on")
    return _Judged(columns["y"][rows], columns["p"][rows], outcomes.groups[key][rows], clusters), key


def _one_split(judged: _Judged, plan: Splits, seed: int) -> Iterator[dict[str, Any]]:
    """Fit on one half, test on the other, keep what was found; yield the maps."""
    fit = judged.half(seed)
    y, p, groups = judged.y[~fit], judged.p[~fit], judged.groups[~fit]
    for name in ("all", *judged.names):
        rows = judged.rows(name) & ~fit
        if rows.any():
            judged.sizes[name].append(int(rows.sum()))
    for method in plan.methods:
        try:
            pooled = METHODS[method](judged.y[fit], judged.p[fit])
        except UndefinedMetric as error:
            raise RunError(f"split {seed}: {error}; there is nothing to calibrate") from None
        yield {"method": method, "maps": POOLED, "group": "all", "split": seed, "parameters": pooled.parameters}
        _keep(judged, (method, POOLED), (y, p, pooled.apply(p), groups))
        maps = dict(_own_maps(judged, method, fit))
        if maps:
            after = p.copy()
            for name, fitted in maps.items():
                after[groups == name] = fitted.apply(p[groups == name])
                yield {"method": method, "maps": "own", "group": name, "split": seed, "parameters": fitted.parameters}
            _keep(judged, (method, "own"), (y, p, after, groups))


def _own_maps(judged: _Judged, method: str, fit: Booleans) -> Iterator[tuple[str, CalibrationMap]]:
    """Yield a map for each group that has both labels; a group without keeps its probabilities."""
    for name in judged.names:
        rows = judged.rows(name) & fit
        try:
            yield name, METHODS[method](judged.y[rows], judged.p[rows])
        except UndefinedMetric:
            continue


def _keep(judged: _Judged, how: tuple[str, str], tested: tuple[Floats, Floats, Floats, Strings]) -> None:
    """Keep the metrics before and after of the half tested on: of all, of each group, and over the groups."""
    y, before, after, groups = tested
    for name in ("all", *judged.names):
        rows = np.ones(len(y), dtype=bool) if name == "all" else groups == name
        if not rows.any():
            continue
        # Chance depends on the probabilities: what is left after a map is judged by those that the map made.
        judged.floors[(*how, name)].append(calibration.noise_floor(after[rows]))
        for metric, function in (("ece", calibration.ece), ("brier", calibration.brier)):
            pair = (float(function(y[rows], before[rows])), float(function(y[rows], after[rows])))
            judged.values[(*how, name, metric)].append(pair)
    for metric, over in (("group_ece", calibration.group_ece), ("group_ece_gap", calibration.group_ece_gap)):
        try:
            pair = (float(over(y, before, groups)), float(over(y, after, groups)))
        except UndefinedMetric:
            continue
        judged.values[(*how, "all", metric)].append(pair)


def _maps_of_all(judged: _Judged, plan: Splits) -> Iterator[dict[str, Any]]:
    """Yield the maps fitted on everything: the ones to use on new sentences; `split` is null."""
    everything = np.ones(len(judged.y), dtype=bool)
    for method in plan.methods:
        pooled = METHODS[method](judged.y, judged.p)
        yield {"method": method, "maps": POOLED, "group": "all", "split": None, "parameters": pooled.parameters}
        for name, fitted in _own_maps(judged, method, everything):
            yield {"method": method, "maps": "own", "group": name, "split": None, "parameters": fitted.parameters}


def _table(judged: _Judged, key: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of the before/after table: means over the splits, and the middle 95% of what came after."""
    for (method, maps, name, metric), pairs in judged.values.items():
        before, after = np.array(pairs).T
        low, high = np.quantile(after, [0.025, 0.975])
        yield {
            "method": method,
            "maps": maps if maps == POOLED else f"by {key}",
            "group": name if name == "all" else f"{key}={name}",
            "metric": metric,
            "before": before.mean(),
            "after": after.mean(),
            "low": low,
            "high": high,
            "floor": np.mean(judged.floors[method, maps, name]) if metric == "ece" else np.nan,
            "n": round(np.mean(judged.sizes[name])),
            "splits": len(pairs),
        }


def _at_the_floor(judged: _Judged, key: str, plan: Splits) -> Iterator[str]:
    """Yield a sentence for all, or each group, whose half shows no more error than chance would."""
    for name in ("all", *judged.names):
        pairs = judged.values.get((plan.methods[0], POOLED, name, "ece"))
        if not pairs:
            continue
        before = float(np.mean([pair[0] for pair in pairs]))
        rows = judged.rows(name) & ~judged.half(plan.seed)
        chance = calibration.ece_by_chance(judged.p[rows], rng=np.random.default_rng(plan.seed))
        if before <= float(np.quantile(chance, 0.95)):
            label = "all" if name == "all" else f"{key}={name}"
            yield (
                f"half of the data ({int(rows.sum())} items, {label}) "
                f"sits at the noise floor: ECE {before:.3f} before, {float(chance.mean()):.3f} "
                f"by chance alone; what a map does there cannot be told from noise"
            )


def _sample(judged: _Judged, plan: Splits) -> pd.DataFrame:
    """Return the tested half of the first split with the first method's pooled map: what the figure shows."""
    fit = judged.half(plan.seed)
    fitted = METHODS[plan.methods[0]](judged.y[fit], judged.p[fit])
    y, p = judged.y[~fit], judged.p[~fit]
    return pd.DataFrame({"y": y, "before": p, "after": fitted.apply(p), "group": judged.groups[~fit]})
