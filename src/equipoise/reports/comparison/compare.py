"""Several runs on the same sentences: ranks by each metric, paired differences, and where the models differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ...catalog import find
from ...datasets.selection import conditions
from ...measuring.comparing import contests
from ...measuring.items import Items
from ...measuring.measure import Plan, measure, measured_items
from ...metrics import METRICS, Metric
from ...progress import Progress, shown
from ...records import ABSENT, EquipoiseError, Integers, Outcomes, parse_group
from ...runs.measurements import Measurements, kind_title, ordered_kinds
from ...runs.run import Run, all_parts
from ...runs.selection import selected_ids
from ...stats.paired import CORRECTIONS, Difference, Trial, paired_differences

SHOWN = (*(metric.name for metric in METRICS.values() if metric.leading), "perplexity")
"""The metrics of the leaderboard."""

TESTED = tuple(metric.name for metric in METRICS.values() if metric.leading)
"""The metrics whose differences are tested by default, where the runs have them."""

DETECTED = 0.05
"""A corrected p under this is called a difference."""


@dataclass(frozen=True)
class Choices:
    """What may be chosen about a comparison; `where` are conditions on the items, as an audit takes them."""

    intersect: bool = False
    where: Sequence[str] = ()
    metrics: Sequence[str] = TESTED
    correction: str = "holm"
    resamples: int = 2000
    permutations: int = 5000
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        find(self.correction, CORRECTIONS, kind="correction")
        self.rows()
        conditions(self.where)
        for name in ("resamples", "permutations"):
            if getattr(self, name) < 1:
                raise EquipoiseError(f"{name} must be at least 1, not {getattr(self, name)}")

    def rows(self) -> list[Metric]:
        """Return the metrics to test; an unknown one is an error."""
        return [find(name, METRICS, kind="metric") for name in self.metrics]


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


@dataclass(frozen=True)
class Tested:
    """The difference of two runs in one metric, with its p-value corrected for the number of comparisons.

    `group` is its group as `measurements.csv` names it, `kind` the same in words.
    """

    part: str
    group: str
    kind: str
    metric: str
    first: str
    second: str
    difference: Difference
    corrected: float

    @property
    def runs(self) -> str:
        """The runs, as the page heads them."""
        return f"{self.first} − {self.second}"

    @property
    def data(self) -> str:
        """The dataset, task and type."""
        return f"{self.part}, {self.kind}"

    @property
    def detected(self) -> bool:
        """Whether the difference holds after correction."""
        return self.corrected < DETECTED


@dataclass(frozen=True)
class Overlap:
    """Where two runs differ: whom they answer right, and in which sets their answer changes."""

    part: str
    kind: str
    first: str
    second: str
    right: tuple[int, int, int, int]
    flips: tuple[int, int, int]
    sets: int

    @property
    def runs(self) -> str:
        """The runs, as the page heads them."""
        return f"{self.first} and {self.second}"

    @property
    def data(self) -> str:
        """The dataset, task and type."""
        return f"{self.part}, {self.kind}"

    @property
    def expected(self) -> float:
        """The pairs both would answer differently if the models' flips had nothing to do with each other."""
        return self.flips[0] * self.flips[1] / self.sets if self.sets else 0.0

    @property
    def jaccard(self) -> float | None:
        """The share of pairs that both answer differently among those that one does; None where none does."""
        union = self.flips[0] + self.flips[1] - self.flips[2]
        return self.flips[2] / union if union else None


@dataclass(frozen=True)
class Comparison:
    """Several runs, matched and compared."""

    runs: Sequence[Run]
    matches: Sequence[Match]
    tests: Sequence[Tested]
    overlaps: Sequence[Overlap]
    choices: Choices = field(default_factory=Choices)

    @property
    def names(self) -> list[str]:
        """The runs' names, each once."""
        return [run.name for run in self.runs]

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a sentence for each pair of runs, and the tested differences."""
        return str(find("comparison", {}, kind="view")(self))


def compare(
    paths: Sequence[Any],
    choices: Choices | None = None,
    *,
    progress: Progress | bool | None = None,
    **chosen: Any,
) -> Comparison:
    """Return the comparison of several runs or their folders; runs on different items are refused unless intersected.

    `chosen` are fields of `Choices`: `compare([run, other], metrics=["ucerf"], intersect=True)`.
    """
    choices = replace(choices or Choices(), **chosen)
    if len(paths) < 2:
        raise EquipoiseError("a comparison needs at least two runs")
    runs = named_apart([Run(path.path if isinstance(path, Run) else path) for path in paths])
    matches = match(runs, intersect=choices.intersect, where=choices.where)
    tests = list(_tests(runs, matches, choices, shown(progress)))
    overlaps = [overlap for matched in matches for overlap in _overlaps(runs, matched)]
    return Comparison(runs, matches, tests, overlaps, choices)


def named_apart(runs: Sequence[Run]) -> list[Run]:
    """Return the runs, named apart: by the folder's name, or its path, where two runs are of one model."""
    if len({run.path.resolve() for run in runs}) < len(runs):
        raise EquipoiseError("the same run is named twice; a comparison needs different ones")
    for name_of in (lambda run: run.path.resolve().name, lambda run: str(run.path)):
        count = Counter(run.name for run in runs)
        for run in runs:
            if count[run.name] > 1:
                run.name = f"{run.manifest.model} ({name_of(run)})"
    return list(runs)


def match(runs: Sequence[Run], *, intersect: bool, where: Sequence[str] = ()) -> list[Match]:
    """Return the items that all runs have, dataset by dataset and task by task; refuses what they do not share.

    With `where` they are the whole sets of which all items meet one of the conditions.
    """
    matches = []
    for dataset, task in all_parts(list(runs)):
        having = [part for run in runs for part in run.parts if (part.dataset, part.task) == (dataset, task)]
        if len(having) < len(runs):
            if intersect:
                continue
            missing = next(run for run in runs if run not in [part.run for part in having])
            raise EquipoiseError(
                f"{missing.path} has no {dataset} · {task}, which another run has; --intersect compares what all have"
            )
        tables = [part.items.assign(key=_keys(part.run, part.items)) for part in having]
        common = set(tables[0]["key"]).intersection(*(table["key"] for table in tables[1:]))
        most = max(len(table) for table in tables)
        if any(len(table) != len(common) for table in tables) and not intersect:
            raise EquipoiseError(
                f"the runs were asked different items of {dataset} · {task} ({len(common):,} of up to {most:,} are the"
                " same sentences with the same options); --intersect compares those alone"
            )
        if where:
            common &= _chosen_keys(having[0].run, tables[0], where)
        whole = _whole_sets(tables, common)
        if whole:
            matches.append(
                _matched(dataset, task, having, [t[t["key"].isin(whole)] for t in tables], most - len(whole))
            )
    if not matches:
        raise EquipoiseError("the runs have no item in common, so there is nothing to compare")
    return matches


def _keys(run: Run, items: pd.DataFrame) -> pd.Series:
    """Return what makes two items the same: the id, the text, the candidates, the right answer and the option order."""
    asked = run.examples[run.examples["dataset"] == items["dataset"].iloc[0]].drop_duplicates("id")
    candidates = asked["candidates"].map("|".join)
    gold = asked["gold"].fillna(ABSENT).astype(str)  # a missing number would make the whole text missing
    content = asked["text"] + "\0" + candidates + "\0" + gold + "\0" + asked["set_id"]
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
    items, measured = [], []
    for part, table in zip(parts, rows, strict=True):
        outcomes = part.run.folder.outcomes_of(table, part.run.groups)
        plan = Plan([METRICS[name] for name in SHOWN], by=())
        items.append(measured_items(outcomes, plan))
        if len(table) == len(part.items):
            measured.append(part.measured)
        else:  # the run's own measurements are of more items than these
            measurements, _ = measure(items[-1], plan, part.key)
            measured.append(Measurements(measurements))
    return Match(dataset, task, items, measured, dropped)


def _tests(runs: Sequence[Run], matches: Sequence[Match], choices: Choices, say: Progress) -> Iterator[Tested]:
    """Yield every tested difference; all p-values of the comparison are corrected together."""
    differences: list[tuple[str, str, str, str, str, str, Difference]] = []
    pairs = list(combinations(range(len(runs)), 2))
    plan = Plan(choices.rows(), by=())
    trial = Trial(choices.resamples, choices.permutations, choices.level, choices.seed)
    for number, (matched, (a, b)) in enumerate([(m, pair) for m in matches for pair in pairs]):
        say("comparing", number, len(matches) * len(pairs))
        first, second = matched.items[a], matched.items[b]
        compared = [c for c in contests(first, second, plan) if _is_shown(c.group, matched.kinds)]
        clusters = int(first.clusters.max()) + 1
        results = paired_differences([c.contest for c in compared], clusters=clusters, trial=trial)
        for contest, difference in zip(compared, results, strict=True):
            where = (str(matched), contest.group, group_title(contest.group))
            differences.append((*where, contest.metric, runs[a].name, runs[b].name, difference))
    say("comparing", len(matches) * len(pairs), len(matches) * len(pairs))
    if differences:
        corrected = CORRECTIONS[choices.correction](np.array([row[-1].p for row in differences]))
        for row, p in zip(differences, corrected, strict=True):
            yield Tested(*row, float(p))


def _is_shown(group: str, kinds: Sequence[str]) -> bool:
    """Return whether a group is tested: within a type where there are types, else over everything."""
    return parse_group(group).get("type", "") in kinds


def group_title(group: str) -> str:
    """Return a group's name in words: its type, then its other parts."""
    parts = parse_group(group)
    kind = kind_title(parts.pop("type", ""))
    return ", ".join([kind, *(f"{key} {value}" for key, value in parts.items())])


def _overlaps(runs: Sequence[Run], matched: Match) -> Iterator[Overlap]:
    members = matched.items[0].members
    for kind in matched.kinds:
        rows = matched.rows(kind)
        labelled = rows[matched.outcomes[0].labelled[rows]]
        inside = np.zeros(len(matched.outcomes[0]), dtype=bool)
        inside[rows] = True
        sets = members[inside[members[:, 0]]] if len(members) else members
        right = [outcomes.predicted[labelled] == outcomes.gold[labelled] for outcomes in matched.outcomes]
        flips = [_flipped(outcomes, sets) for outcomes in matched.outcomes]
        for a, b in combinations(range(len(runs)), 2):
            counts = [int(both.sum()) for both in (right[a] & right[b], right[a] & ~right[b], ~right[a] & right[b])]
            table = (counts[0], counts[1], counts[2], len(labelled) - sum(counts))
            flipped = (int(flips[a].sum()), int(flips[b].sum()), int((flips[a] & flips[b]).sum()))
            yield Overlap(str(matched), kind_title(kind), runs[a].name, runs[b].name, table, flipped, len(sets))


def _flipped(outcomes: Outcomes, sets: Integers) -> Any:
    """Return the sets in which the choice changes with the group word."""
    if not len(sets):
        return np.zeros(0, dtype=bool)
    chosen = outcomes.predicted[sets]
    return np.any((sets != ABSENT) & (chosen != chosen[:, :1]), axis=1)


def ranks(matched: Match, metric: str, kind: str) -> list[int | None]:
    """Return each run's rank by a metric, 1 the best; equal values share a rank; None without a value or direction."""
    rows = [row for measured in matched.measured if (row := measured.get(metric, type=kind)) is not None]
    if len(rows) < len(matched.measured) or rows[0].better == "neither":
        return [None] * len(matched.measured)
    sign = -1.0 if rows[0].better == "higher" else 1.0
    values = [sign * row.value for row in rows]
    return [1 + sum(other < value for other in values) for value in values]
