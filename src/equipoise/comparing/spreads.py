"""The values of D, certainty and U that runs or datasets have, and true positives beside their certainty."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..records import Estimate, Floats
from ..runs.measurements import kind_title
from ..runs.run import Part, Run, all_parts, column, main_estimator
from ..stats.bounded import BERNSTEIN, BETTING, MANY_UNITS, mean_interval


@dataclass(frozen=True)
class Spread:
    """The values of D, certainty or U of several runs or datasets, on the same scale."""

    title: str
    about: Mapping[str, str]
    series: Mapping[str, Floats]

    @property
    def quantity(self) -> str:
        """D of sentences with a right answer, the certainty of those without, or U of sets."""
        return self.about["quantity"]

    @property
    def edges(self) -> Floats:
        """The ends of the bins."""
        return np.linspace(-1.0, 1.0, 41) if self.quantity == "D" else np.linspace(0.0, 1.0, 21)

    def shares(self) -> list[Floats]:
        """Return the share of each series in each bin: groups of different sizes can be compared."""
        edges = self.edges
        counted = [np.histogram(np.clip(values, edges[0], 1.0), edges)[0] for values in self.series.values()]
        return [counts / max(len(values), 1) for counts, values in zip(counted, self.series.values(), strict=True)]


def run_spreads(runs: Sequence[Run]) -> Iterator[Spread]:
    """Yield the spreads of each dataset and task, a series for each run that has it."""
    for dataset, task in all_parts(runs):
        parts = {part.run.name: part for part in parts_of(runs, dataset, task)}
        yield from _spreads(f"{dataset} · {task}", {"dataset": dataset, "task": task}, parts)


def dataset_spreads(runs: Sequence[Run]) -> Iterator[Spread]:
    """Yield the spreads of each run and task that was asked on several datasets, a series for each dataset."""
    for run in runs:
        for task in dict.fromkeys(part.task for part in run.parts):
            parts = {part.dataset: part for part in run.parts if part.task == task}
            yield from _spreads(f"{run.name} · {task}", {"run": run.name, "task": task}, parts)


def parts_of(runs: Sequence[Run], dataset: str, task: str) -> list[Part]:
    """Return the part of each run that is of a dataset and task."""
    return [part for run in runs for part in run.parts if (part.dataset, part.task) == (dataset, task)]


def _spreads(title: str, about: Mapping[str, str], parts: Mapping[str, Part]) -> Iterator[Spread]:
    for kind in dict.fromkeys(kind for part in parts.values() for kind in part.kinds):
        for quantity in ("D", "certainty", "U"):
            values = {name: _values(part, kind, quantity) for name, part in parts.items()}
            series = {name: known for name, known in values.items() if len(known)}
            if len(series) > 1:
                yield Spread(f"{title}, {kind_title(kind)}", {"quantity": quantity, **about, "type": kind}, series)


def _values(part: Part, kind: str, quantity: str) -> Floats:
    if bool((part.outcomes.sides != "").any()) or kind not in part.kinds:
        return np.empty(0)
    if quantity == "U":
        table = part.of_kind(part.pairs, kind)
        values = column(table, main_estimator(table, "u"))
    else:
        table = part.of_kind(part.items, kind)
        table = table[table["answerable"].astype(bool) == (quantity == "D")]
        values = column(table, main_estimator(table, "desirability" if quantity == "D" else "certainty"))
    return values[~np.isnan(values)]


@dataclass(frozen=True)
class Rates:
    """The share of right answers and mean desirability, scaled to 0..1, with or against the stereotype."""

    group: str
    right: Estimate
    desirability: Estimate


def rates(part: Part) -> Iterator[Rates]:
    """Yield TPR and TPD with and against the stereotype: positive is the occupation stereotyped as male, as in EO."""
    items = part.items[part.items["answerable"].astype(bool)]
    desirability = main_estimator(items, "desirability")
    if not {"stereotype", "gender", desirability} <= set(items):
        return
    for side, gender, words in (("pro", "male", "with the stereotype"), ("anti", "female", "against the stereotype")):
        rows = items[(items["stereotype"] == side) & (items["gender"] == gender) & items["correct"].notna()]
        if len(rows):
            values = (rows["correct"], (rows[desirability] + 1) / 2)
            yield Rates(words, *(_mean(rows, several, part.run.level) for several in values))


def _mean(rows: pd.DataFrame, values: pd.Series, level: float) -> Estimate:
    units = np.asarray(values.astype(float).groupby(rows["cluster_id"].to_numpy()).mean(), dtype=np.float64)
    low, high = mean_interval(units, (0.0, 1.0), level=level)
    method = BETTING if len(units) <= MANY_UNITS else BERNSTEIN
    return Estimate(float(units.mean()), low, high, level, len(rows), method)
