"""The items that several runs have in common: the same sentences, row by row, or a sentence and its neutral form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..datasets.gendered import CONTROL_NAME
from ..datasets.neutral import family, row_name
from ..measuring.items import Items
from ..measuring.measure import Plan, measured_items
from ..measuring.part import measure_items
from ..metrics import METRICS
from ..records import ABSENT, Booleans, DatasetError, EquipoiseError, Integers, Outcomes
from ..runs.measurements import Measurements, kind_title, ordered_kinds
from ..runs.run import Part, Run, all_parts
from ..runs.tables import selected_ids
from ..uncertainty import ESTIMATORS, PERPLEXITY, Estimator

SHOWN = (*(metric.name for metric in METRICS.values() if metric.leading), "perplexity")
"""The metrics of the leaderboard."""


@dataclass(frozen=True)
class Match:
    """One dataset and task as all runs were asked it: the same items, row by row."""

    dataset: str
    task: str
    items: Sequence[Items]
    measured: Sequence[Measurements]
    dropped: int

    def __str__(self) -> str:
        return f"{self.dataset} · {self.task}"

    def title(self, kind: str) -> str:
        """Return the dataset, the task and a type of items in words."""
        return f"{self}, {kind_title(kind)}"

    def about(self, kind: str) -> dict[str, str]:
        """Return what a chart or table of a type is about."""
        return {"dataset": self.dataset, "task": self.task, "type": kind}

    @property
    def kinds(self) -> list[str]:
        """The types of the items, resolvable first; [""] where they have none."""
        return ordered_kinds(set(self.outcomes[0].group("type").tolist()))

    @property
    def outcomes(self) -> list[Outcomes]:
        """What each run made of the items."""
        return [items.outcomes for items in self.items]

    def rows(self, kind: str) -> Integers:
        """Return the rows of a type."""
        first = self.outcomes[0]
        return np.flatnonzero(first.group("type") == kind) if kind else np.arange(len(first))

    def answerable(self, kind: str) -> Booleans:
        """Return which items of a type have a right answer."""
        return self.outcomes[0].answerable[self.rows(kind)]

    def ranks(self, metric: str, kind: str) -> list[int | None]:
        """Return each run's rank by a metric, 1 the best; equal values share a rank; None without value or direction.

        Perplexity has a direction where no answer is right: a model that hesitates is better (UCerF paper, Table 4).
        """
        rows = [row for measured in self.measured if (row := measured.get(metric, type=kind)) is not None]
        better = rows[0].better if rows else "neither"
        if metric == "perplexity" and not self.answerable(kind).any():
            better = "higher"
        if better == "neither" or len(rows) < len(self.measured):
            return [None] * len(self.measured)
        return [*places([row.value for row in rows], better)]


def places(values: Sequence[float], better: str) -> list[int]:
    """Return the rank of each value, 1 the best; equal values share a rank."""
    sign = -1.0 if better == "higher" else 1.0
    return [1 + sum(sign * other < sign * value for other in values) for value in values]


class RowRun(Run):
    """A run on one of its datasets, under the name that the dataset shares with its neutral forms.

    Rows are named without the dataset: "genderlex-00017" and "genderlex-someone-00017" are both row 00017.
    """

    def __init__(self, path: str | Path, dataset: str) -> None:
        super().__init__(path)
        if dataset not in self.manifest.datasets:
            known = ", ".join(self.manifest.datasets)
            raise EquipoiseError(f"the run in {path} has no dataset {dataset!r}; it has {known}")
        self.only = dataset
        self._named: dict[str, Any] = {}

    def frame(self, name: str) -> pd.DataFrame:
        """Return a table of the run's folder with the rows of its dataset."""
        frame = super().frame(name)
        if not name.endswith(".csv"):
            return frame
        return frame[frame["dataset"] == self.only].assign(dataset=family(self.only))

    def table(self, name: str, columns: tuple[str, ...] = ()) -> Any:
        """Return a Parquet table of the run's folder, or these columns of it, with the rows of its dataset."""
        if name not in self._named:
            table = super().table(name)
            table = table.filter(np.array(table["dataset"]) == self.only)
            texts = {"dataset": [family(self.only)] * len(table)}
            for column in ("id", "example_id", "set_id"):
                if column in table.column_names:
                    texts[column] = [row_name(id, self.only) for id in table[column].to_pylist()]
            for column, values in texts.items():
                table = table.set_column(table.column_names.index(column), column, [values])
            self._named[name] = table
        return self._named[name].select(columns) if columns else self._named[name]


def opened(paths: Sequence[Any], data: Sequence[str] = ()) -> list[Run]:
    """Return the runs to compare, named apart: the folders', or, of each, the datasets named in `data`.

    Runs on a dataset and on its neutral form ("genderlex", "genderlex-someone") are matched by their rows.
    """
    runs = [Run(path.path if isinstance(path, Run) else path) for path in paths]
    if data:
        return named_apart([RowRun(run.path, name) for run in runs for name in data])
    datasets = [list(run.manifest.datasets) for run in runs]
    alone = all(len(names) == 1 for names in datasets)
    names = {name for several in datasets for name in several}
    if alone and len(names) > 1 and len({family(name) for name in names}) == 1:
        return named_apart([RowRun(run.path, several[0]) for run, several in zip(runs, datasets, strict=True)])
    return named_apart(runs)


def named_apart(runs: Sequence[Run]) -> list[Run]:
    """Return the runs, named apart: by the folder's name, or its path, where two runs are of one model."""
    if len({(run.path.resolve(), run.only) for run in runs}) < len(runs):
        raise EquipoiseError("the same run is named twice; a comparison needs different ones")
    models = {id(run): run.name for run in runs}
    for run in runs:
        if run.only:
            run.name = f"{models[id(run)]} ({run.only})"
    for name_of in (lambda run: run.path.resolve().name, lambda run: str(run.path)):
        count = Counter(run.name for run in runs)
        for run in runs:
            if count[run.name] > 1:
                run.name = f"{models[id(run)]} ({name_of(run)})"
    return list(runs)


NOTHING_SHARED = "the runs have no item in common, so there is nothing to compare"


def match(runs: Sequence[Run], *, intersect: bool, where: Sequence[str] = ()) -> list[Match]:
    """Return the items that all runs have, dataset by dataset and task by task; refuses what they do not share.

    With `where` they are the whole sets of which all items meet one of the conditions; a dataset without any is left
    out where another has some. The control that a default audit asks is compared only where all runs have it.
    """
    matches, faults = [], []
    for dataset, task in all_parts(list(runs)):
        having = [part for run in runs for part in run.parts if (part.dataset, part.task) == (dataset, task)]
        if len(having) < len(runs):
            if intersect or dataset == CONTROL_NAME:
                continue
            missing = next(run for run in runs if run not in [part.run for part in having])
            raise EquipoiseError(
                f"{missing.path} has no {dataset} · {task}, which another run has; --intersect compares what all have"
            )
        tables, common = _shared(having)
        most = max(len(table) for table in tables)
        differ = any(len(table) != len(common) for table in tables)
        if differ and (asked := _other_pronouns([part.run for part in having])):
            raise EquipoiseError(
                f"the runs were asked with different pronouns ({asked}), so no counterfactual set is the same and"
                " nothing can be compared; audit them with the same --pronouns"
            )
        if differ and not intersect:
            raise EquipoiseError(
                f"the runs were asked different items of {dataset} · {task} ({len(common):,} of up to {most:,} are the"
                " same sentences with the same options); --intersect compares those alone"
            )
        try:
            common &= _chosen_keys(having[0].run, tables[0], where) if where else common
        except DatasetError as fault:
            faults.append(fault)
            continue
        if (matched := _in_whole_sets(having, tables, common)) is not None:
            matches.append(matched)
    if faults and not matches:
        raise faults[0]
    if not matches:
        raise EquipoiseError(NOTHING_SHARED)
    return matches


def matched_parts(parts: Sequence[Part]) -> Match:
    """Return the items that these parts of one dataset and task have in common, in whole sets."""
    matched = _in_whole_sets(parts, *_shared(parts))
    if matched is None:
        raise EquipoiseError(NOTHING_SHARED)
    return matched


def _shared(parts: Sequence[Part]) -> tuple[list[pd.DataFrame], set[str]]:
    """Return the items of each part with their rows and keys, and the keys that all of them have."""
    named = [part.items[["dataset", "example_id", "set_id", "variant", "cluster_id"]] for part in parts]
    tables = [
        items.assign(row=np.arange(len(items)), key=_keys(part.run, items))
        for part, items in zip(parts, named, strict=True)
    ]
    return tables, set(tables[0]["key"]).intersection(*(table["key"] for table in tables[1:]))


def _in_whole_sets(parts: Sequence[Part], tables: Sequence[pd.DataFrame], common: set[str]) -> Match | None:
    """Return the match of these items in whole sets; None where there is no whole set."""
    whole = _whole_sets(tables, common)
    if not whole:
        return None
    kept = [table[table["key"].isin(whole)] for table in tables]
    return _matched(parts[0].dataset, parts[0].task, parts, kept, max(map(len, tables)) - len(whole))


def _other_pronouns(runs: Sequence[Run]) -> str:
    """Return the pronouns of each run, where they differ; a set of other pronouns is another set."""
    pronouns = [", ".join(run.manifest.settings.get("pronouns") or ()) for run in runs]
    return "; ".join(dict.fromkeys(pronouns)) if len(set(pronouns)) > 1 and all(pronouns) else ""


def _keys(run: Run, items: pd.DataFrame) -> pd.Series:
    """Return what makes two items the same: the id, the text, the candidates, the right answer and the option order."""
    asked = run.examples[run.examples["dataset"] == items["dataset"].iloc[0]].drop_duplicates("id")
    candidates = asked["candidates"].map("|".join)
    gold = asked["gold"].fillna(ABSENT).astype(str)  # a missing number would make the whole text missing
    content = asked["text"] + "\0" + candidates + "\0" + gold + "\0" + asked["set_id"]
    if run.only:  # the texts differ by design
        content = gold + "\0" + asked["set_id"]
    known = pd.Series(content.to_numpy(), index=asked["id"].to_numpy())
    if not items["example_id"].isin(known.index).all():
        raise EquipoiseError(f"{run.path}: outcomes.parquet names sentences that examples.parquet does not have")
    same: pd.Series = items["example_id"] + "\0" + items["variant"].fillna("") + "\0"
    same += known.reindex(items["example_id"]).to_numpy()
    return same


def _chosen_keys(run: Run, items: pd.DataFrame, where: Sequence[str]) -> set[str]:
    """Return the items of a table that meet one of the conditions."""
    dataset = str(items["dataset"].iloc[0])
    examples = run.examples[run.examples["dataset"] == dataset]
    ids = selected_ids(examples, where, f"{dataset} in {run.path}")
    return set(items["key"][items["example_id"].isin(ids)])


def _whole_sets(tables: Sequence[pd.DataFrame], common: set[str]) -> set[str]:
    """Return the common items whose counterfactual set is whole in every run: half a pair compares nobody."""
    kept = set(common)
    for table in tables:
        names = table["set_id"].astype(str) + "\0" + table["variant"].fillna("").astype(str)
        whole = table["key"].isin(common).groupby(names).transform("all")
        kept &= set(table.loc[whole, "key"])
    return kept


def _matched(dataset: str, task: str, parts: Sequence[Any], tables: Sequence[pd.DataFrame], dropped: int) -> Match:
    order = tables[0]["key"]
    rows = [table.set_index("key").loc[order].reset_index(drop=True) for table in tables]
    joined: dict[str, Any] = {}
    if any(part.run.only for part in parts):
        clusters = joined_clusters([table["cluster_id"] for table in rows])
        joined["cluster_id"] = np.array(clusters, dtype=object)
    plan = Plan([METRICS[name] for name in SHOWN], shared_estimators([part.run for part in parts]), by=())
    items, measured = [], []
    for part, table in zip(parts, rows, strict=True):
        outcomes = part.outcomes.take(table["row"].to_numpy())
        # A group that none of these items has is not one of theirs.
        groups = {name: column for name, column in outcomes.groups.items() if (column != "").any()}
        items.append(measured_items(replace(outcomes, groups=groups, **joined), plan))
        if len(table) == len(part.items):
            measured.append(part.measured)
        else:  # the run's own measurements are of more items than these
            measured.append(Measurements(measure_items(items[-1], plan, part.key)))
    return Match(dataset, task, items, measured, dropped)


def joined_clusters(columns: Sequence[pd.Series]) -> list[str]:
    """Return the clusters of rows that share one in any of the columns: they are resampled together."""
    numbers = np.arange(len(columns[0]))
    while True:
        before = numbers.copy()
        for column in columns:
            numbers = pd.Series(numbers).groupby(column.to_numpy()).transform("min").to_numpy()
        if np.array_equal(before, numbers):
            return [str(number) for number in numbers]


def shared_estimators(runs: Sequence[Run]) -> list[Estimator]:
    """Return the estimators to compare by: perplexity, or, where not all runs have it, what else they all have."""
    settings = [run.manifest.settings.get("estimators", [PERPLEXITY.name]) for run in runs]
    shared = [name for name in settings[0] if all(name in names for names in settings)]
    rows = [ESTIMATORS[name] for name in shared if name in ESTIMATORS]
    plain = [row for row in rows if not row.over]
    return [PERPLEXITY] if PERPLEXITY in plain or not plain else plain
