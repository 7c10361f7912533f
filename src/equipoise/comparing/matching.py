"""The items that several runs have in common: the same sentences, row by row, or a sentence and its neutral form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..catalog import names
from ..datasets.gendered import CONTROL_NAME
from ..datasets.neutral import family, row_name
from ..measuring.items import Items
from ..measuring.measure import Plan, measured_items
from ..measuring.part import measure_items
from ..metrics import METRICS
from ..metrics.plugged import estimator_row
from ..records import ABSENT, Booleans, DatasetError, EquipoiseError, Integers, Outcomes, Strings
from ..runs.measurements import Measurements, kind_title, ordered_kinds
from ..runs.run import Part, Run, all_parts
from ..runs.tables import selected, texts_of
from ..stats.bootstrap import cluster_numbers, joint_numbers
from ..uncertainty import ESTIMATORS, PERPLEXITY, Estimator
from .values import items_of, parts_of

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
    for run in runs:
        _read(run, [part for part in run.parts if part.has_items])
    for dataset, task in all_parts(list(runs)):
        having = parts_of(runs, dataset, task)
        if len(having) < len(runs):
            if intersect or dataset == CONTROL_NAME:
                continue
            missing = next(run for run in runs if run not in [part.run for part in having])
            raise EquipoiseError(
                f"{missing.path} has no {dataset} · {task}, which another run has; intersect compares what all have",
                "intersect",
            )
        shared = _shared(having)
        differ = any(len(places) != shared.common.sum() for places in shared.places)
        if differ and (asked := _other_pronouns([part.run for part in having])):
            raise EquipoiseError(
                f"the runs were asked with different pronouns ({asked}), so no counterfactual set is the same and"
                " nothing can be compared; audit them again with the same ones"
            )
        if differ and not intersect:
            raise EquipoiseError(
                f"the runs were asked different items of {dataset} · {task} ({shared.common.sum():,} of up to"
                f" {shared.most:,} are the same sentences with the same options); intersect compares those alone",
                "intersect",
            )
        try:
            wanted = _chosen(having[0], where) if where else shared.common
        except DatasetError as fault:
            faults.append(fault)
            continue
        if (matched := _in_whole_sets(having, shared, shared.common & wanted)) is not None:
            matches.append(matched)
    if faults and not matches:
        raise faults[0]
    if not matches:
        raise EquipoiseError(NOTHING_SHARED)
    return matches


def matched_parts(parts: Sequence[Part]) -> Match:
    """Return the items that these parts of one dataset and task have in common, in whole sets."""
    for part in parts:
        _read(part.run, [part])
    shared = _shared(parts)
    matched = _in_whole_sets(parts, shared, shared.common)
    if matched is None:
        raise EquipoiseError(NOTHING_SHARED)
    return matched


def _read(run: Run, parts: Sequence[Part]) -> None:
    """Read the outcomes of parts of a run, which hold them from now on; what they are made of is let go."""
    held = [part.outcomes for part in parts]
    del held
    run.let_go("outcomes.parquet")


@dataclass(frozen=True)
class _Shared:
    """Where the items of each part are among those of the first one, or ABSENT, and which of these all parts have."""

    places: Sequence[Integers]
    common: Booleans

    @property
    def most(self) -> int:
        """The number of items of the part that has most of them."""
        return max(map(len, self.places))


def _shared(parts: Sequence[Part]) -> _Shared:
    """Return the items that the parts share: the same id, variant, text, candidates, right answer and set."""
    first, *others = parts
    places = [np.arange(len(first.outcomes))]
    for part in others:
        part.share(first)
        places.append(_places(first, part))
        part.run.let_go("examples.parquet")
    first.run.let_go("examples.parquet")
    common = [np.isin(places[0], place) for place in places]
    return _Shared(places, np.logical_and.reduce(common))


def _places(first: Part, part: Part) -> Integers:
    """Return the place of each item of a part among the items of the first one, ABSENT where it is not the same."""
    known, asked = first.outcomes, part.outcomes
    if np.array_equal(known.example_id, asked.example_id) and np.array_equal(known.variant, asked.variant):
        places = np.arange(len(known))
    else:
        names = [np.concatenate([known.example_id, asked.example_id]), np.concatenate([known.variant, asked.variant])]
        numbers = joint_numbers(*map(cluster_numbers, names))
        by_number = np.full(len(numbers), ABSENT)
        by_number[numbers[: len(known)][::-1]] = np.arange(len(known))[::-1]
        places = by_number[numbers[len(known) :]]
    rows = np.flatnonzero(places != ABSENT)
    places[rows[~_are_same(first, places[rows], part, rows)]] = ABSENT
    return places


def _are_same(first: Part, rows: Integers, part: Part, others: Integers) -> Booleans:
    """Return whether these items of the first part have the text, candidates, answer and set of those of another."""
    import pyarrow.compute as pc

    # The texts of a sentence and its neutral form differ by design.
    names = ("gold", "set_id") if part.run.only else ("gold", "set_id", "text", "candidates")
    (known, places), (table, others_places) = first.asked(*names), part.asked(*names)
    same = np.ones(len(rows), dtype=bool)
    for name in names:
        columns = [
            _comparable(several[name]).take(place[items])
            for several, place, items in ((known, places, rows), (table, others_places, others))
        ]
        same &= pc.equal(*columns).to_numpy()
    return same


def _comparable(column: Any) -> Any:
    """Return a column of examples in a form whose values can be compared: texts, or numbers without gaps."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    if kinds.is_integer(column.type):
        return column.fill_null(ABSENT)
    if kinds.is_list(column.type) or kinds.is_large_list(column.type):
        return pc.binary_join(column.cast(pa.list_(pa.string())), "|")
    return column.cast("string")


def _in_whole_sets(parts: Sequence[Part], shared: _Shared, common: Booleans) -> Match | None:
    """Return the match of these items in whole sets; None where there is no whole set."""
    whole = _whole_sets(parts, shared, common)
    if not whole.any():
        return None
    rows = []
    for places in shared.places:
        row = np.full(len(common), ABSENT)
        row[places[places != ABSENT]] = np.flatnonzero(places != ABSENT)
        rows.append(row[whole])
    return _matched(parts, rows, shared.most - int(whole.sum()))


def _other_pronouns(runs: Sequence[Run]) -> str:
    """Return the pronouns of each run, where they differ; a set of other pronouns is another set."""
    pronouns = [", ".join(run.manifest.settings.get("pronouns") or ()) for run in runs]
    return "; ".join(dict.fromkeys(pronouns)) if len(set(pronouns)) > 1 and all(pronouns) else ""


def _chosen(part: Part, where: Sequence[str]) -> Booleans:
    """Return which items of a part meet one of the conditions."""
    asked = part.run.examples_of(part.dataset)
    ids = texts_of(asked["id"])[selected(asked, where, f"{part.dataset} in {part.run.path}")]
    return pd.Index(part.outcomes.example_id).isin(ids)


def _whole_sets(parts: Sequence[Part], shared: _Shared, common: Booleans) -> Booleans:
    """Return which common items have a counterfactual set that is whole in every run: half a pair compares nobody."""
    kept = common.copy()
    for part, places in zip(parts, shared.places, strict=True):
        items = items_of(part)
        sets = joint_numbers(items.sets, items.variants)
        is_common = np.where(places == ABSENT, False, common[places])
        whole = np.bincount(sets, weights=~is_common) == 0
        in_whole = np.zeros(len(common), dtype=bool)
        in_whole[places[whole[sets]]] = True
        kept &= in_whole
    return kept


def _matched(parts: Sequence[Part], rows: Sequence[Integers], dropped: int) -> Match:
    several = [_taken(part.outcomes, row) for part, row in zip(parts, rows, strict=True)]
    joined: dict[str, Any] = {}
    if any(part.run.only for part in parts):
        clusters = joined_clusters([outcomes.cluster_id for outcomes in several])
        joined["cluster_id"] = np.array(clusters, dtype=object)
    plan = Plan([METRICS[name] for name in SHOWN], shared_estimators([part.run for part in parts]), by=())
    items, measured = [], []
    for part, outcomes in zip(parts, several, strict=True):
        # A group that none of these items has is not one of theirs.
        groups = {name: column for name, column in outcomes.groups.items() if (column != "").any()}
        items.append(measured_items(replace(outcomes, groups=groups, **joined), plan))
        if len(outcomes) == len(part.outcomes):
            measured.append(part.measured)
        else:  # the run's own measurements are of more items than these
            measured.append(Measurements(measure_items(items[-1], plan, part.key)))
    return Match(parts[0].dataset, parts[0].task, items, measured, dropped)


def _taken(outcomes: Outcomes, rows: Integers) -> Outcomes:
    """Return these rows of outcomes, which may be all of them."""
    return outcomes if np.array_equal(rows, np.arange(len(outcomes))) else outcomes.take(rows)


def joined_clusters(columns: Sequence[Strings]) -> list[str]:
    """Return the clusters of rows that share one in any of the columns: they are resampled together."""
    numbers = np.arange(len(columns[0]))
    while True:
        before = numbers.copy()
        for column in columns:
            numbers = pd.Series(numbers).groupby(column).transform("min").to_numpy()
        if np.array_equal(before, numbers):
            return [str(number) for number in numbers]


def shared_estimators(runs: Sequence[Run]) -> list[Estimator]:
    """Return the estimators to compare by: perplexity, or, where not all runs have it, what else they all have."""
    settings = [run.manifest.settings.get("estimators", [PERPLEXITY.name]) for run in runs]
    shared = [name for name in settings[0] if all(name in chosen for chosen in settings)]
    known = names(ESTIMATORS, kind="estimator")
    rows: list[Estimator] = [estimator_row(name) for name in shared if name in known]
    plain = [row for row in rows if not row.over]
    return [PERPLEXITY] if PERPLEXITY in plain or not plain else plain
