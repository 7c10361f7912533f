"""How much of a result is the wording of the question: UCerF by wording, its worst case, and variance components."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ..records import ABSENT, Estimate, Floats, Integers, UndefinedMetric
from ..stats.bootstrap import cluster_numbers
from ..stats.components import Component, Table, components
from ..stats.maximum import absolute_radius
from ..stats.paired import is_detected
from ..uncertainty import PERPLEXITY
from .ensembles import wordings_of
from .estimators import Known, Resamples, SetValues, Study, set_estimate, study, tested
from .evidence import mean_contest
from .items import Items

WORST = "simultaneous bootstrap of all wordings, at least as wide as its own interval"
QUANTITIES = {"certainty": "certainty", "desirability": "D"}
"""The columns of items whose variance is divided, with their names in tables."""


@dataclass(frozen=True)
class Robust:
    """A run's UCerF over all wordings: the mean, and that of the wording that treats the groups least alike."""

    run: str
    mean: Estimate
    worst: Estimate
    wording: str


@dataclass(frozen=True)
class Divided:
    """The variance components of one quantity in one run."""

    run: str
    quantity: str
    rows: Sequence[Component]


@dataclass(frozen=True)
class Apart:
    """UCerF of a run in one wording less that in another; its p-value is corrected for all pairs of the study."""

    run: str
    first: str
    second: str
    difference: Estimate

    @property
    def detected(self) -> bool:
        """Whether the two wordings give different values, by the test that comparisons use."""
        return is_detected(self.difference)


@dataclass(frozen=True)
class WordingStudy:
    """What one dataset, task and type says about the wordings; in `study` the wordings take the estimators' place."""

    study: Study
    robust: Sequence[Robust]
    divided: Sequence[Divided]
    apart: Sequence[Apart]


def wording_study(
    runs: Mapping[str, Items], rows: Integers, column: str, plan: Resamples, known: Known | None = None
) -> WordingStudy:
    """Return the study of runs on the same items; `column` is `u` or `u_signed`.

    What is `known` was measured already: by run and wording, the mean over wordings by run and "".
    """
    values = wording_values(runs, rows, column)
    return WordingStudy(
        study(values, plan, known),
        list(_robust(values, plan, known or {})),
        list(_divided(values, runs, rows, plan)),
        list(_apart(values, plan)),
    )


def wording_values(runs: Mapping[str, Items], rows: Integers, column: str) -> SetValues:
    """Return the values of all sets among the rows by run and wording, averaged over option orders."""
    first = next(iter(runs.values()))
    places, wordings = first.firsts_among(rows), wordings_of(first.outcomes)
    places = places[wordings[places] != ""]
    if not len(places):
        raise UndefinedMetric("no counterfactual set was asked in several wordings")
    names = list(dict.fromkeys(wordings[places].tolist()))
    sets = cluster_numbers(first.outcomes.set_id[places])
    cells = cluster_numbers(wordings[places]) * (int(sets.max()) + 1) + sets
    counts = np.bincount(cells)
    firsts = places[np.unique(sets, return_index=True)[1]]

    def table(items: Items, name: str) -> Floats:
        values = items.columns(PERPLEXITY)[name][places]
        return (np.bincount(cells, values) / counts).reshape(len(names), -1)

    return SetValues(
        runs=list(runs),
        estimators=names,
        values=np.array([table(items, column) for items in runs.values()]),
        flipped=np.array([table(items, "flipped").mean(axis=0) for items in runs.values()]),
        set_ids=first.outcomes.set_id[firsts],
        clusters=cluster_numbers(first.outcomes.cluster_id[firsts]),
        groups=first.outcomes.group("occupation")[firsts],
        axis="wording",
    )


def _robust(values: SetValues, plan: Resamples, known: Known) -> Iterator[Robust]:
    weights = values.weights(resamples=plan.resamples, seed=plan.seed)
    for run, by_set, samples in zip(values.runs, values.values, values.means(weights), strict=True):
        by_wording = by_set.mean(axis=1)
        worst = int(by_wording.argmin())
        wording = values.estimators[worst]
        least, mean = (
            known.get((run, name)) or set_estimate("ucerf", by_sets, values, weights, plan)
            for name, by_sets in ((wording, by_set[worst]), ("", by_set.mean(axis=0)))
        )
        # |min of the means - true min| is at most the largest deviation of any wording.
        radius = absolute_radius(by_wording, samples.T, level=plan.level) or 0.0
        around = Estimate.around(least.value, radius, (0.0, 1.0), level=plan.level, n=values.sets, method=WORST)
        lowest = replace(around, low=min(around.low, least.low), high=max(around.high, least.high))
        yield Robust(run, mean, lowest, wording)


def _apart(values: SetValues, plan: Resamples) -> Iterator[Apart]:
    """Yield the difference of every two wordings in each run, tested as two runs are."""
    pairs = [(run, a, b) for run in range(len(values.runs)) for a, b in combinations(range(len(values.estimators)), 2)]
    contests = [mean_contest(values.values[run, a], values.values[run, b], values.clusters, 1.0) for run, a, b in pairs]
    for (run, a, b), difference in zip(pairs, tested(contests, values, plan), strict=True):
        yield Apart(values.runs[run], values.estimators[a], values.estimators[b], difference)


def _divided(values: SetValues, runs: Mapping[str, Items], rows: Integers, plan: Resamples) -> Iterator[Divided]:
    for number, (run, items) in enumerate(runs.items()):
        tables = {name: item_table(items, rows, column) for column, name in QUANTITIES.items()}
        tables["U"] = (_by_cluster(values, number), ("wording", "sentence"))
        for quantity, (table, factors) in tables.items():
            fixed = "group" if "group" in factors else ""
            try:
                parts = components(Table(table, factors, "sentence", fixed), level=plan.level, seed=plan.seed)
            except UndefinedMetric:
                continue
            yield Divided(run, quantity, parts)


def item_table(items: Items, rows: Integers, column: str) -> tuple[Floats, tuple[str, ...]]:
    """Return a column's means by wording, base sentence and group; sentences that miss a combination are left out."""
    outcomes = items.outcomes
    group = outcomes.group("gender") if (outcomes.group("gender") != "").any() else outcomes.group("group")
    wordings = wordings_of(outcomes)
    values = items.columns(PERPLEXITY)[column]
    rows = rows[(wordings[rows] != "") & (group[rows] != "") & ~np.isnan(values[rows])]
    codes = [cluster_numbers(names[rows]) for names in (wordings, outcomes.cluster_id, group)]
    shape = tuple(int(code.max(initial=ABSENT)) + 1 for code in codes)
    cells = np.ravel_multi_index(codes, shape) if len(rows) else np.empty(0, dtype=np.int64)
    counts = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)
    with np.errstate(invalid="ignore"):
        table = np.bincount(cells, values[rows], minlength=counts.size).reshape(shape) / counts
    complete = (counts > 0).all(axis=(0, 2))
    return table[:, complete], ("wording", "sentence", "group")


def _by_cluster(values: SetValues, run: int) -> Floats:
    """Return U by wording and base sentence."""
    counts = np.bincount(values.clusters)
    return np.stack([np.bincount(values.clusters, row) / counts for row in values.values[run]])
