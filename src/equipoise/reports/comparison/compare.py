"""Several runs on the same sentences: ranks by each metric, paired differences, and where the models differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ...catalog import find
from ...measuring.items import item_columns, set_members
from ...measuring.measure import Labels, Plan, measure
from ...metrics import METRICS, Metric
from ...records import ABSENT, EquipoiseError, Integers, Outcomes, UndefinedMetric
from ...runs.folder import measurements_frame, outcomes_from_frame
from ...runs.measurements import Measurements, kind_title
from ...runs.run import Run, all_parts
from ...stats.paired import CORRECTIONS, Contest, Difference, paired_differences
from ...uncertainty import PERPLEXITY

SHOWN = (
    "ucerf",
    "ucerf_signed",
    "fp",
    "accuracy",
    "eo_sum",
    "desirability",
    "desirability_gap",
    "perplexity",
)
"""The metrics of the leaderboard."""

TESTED = ("ucerf", "ucerf_signed", "fp", "accuracy", "eo_sum", "desirability", "desirability_gap")
"""The metrics whose differences are tested by default."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Choices:
    """What may be chosen about a comparison."""

    intersect: bool = False
    metrics: Sequence[str] = TESTED
    correction: str = "holm"
    resamples: int = 2000
    permutations: int = 5000
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        find(self.correction, CORRECTIONS, kind="correction")
        for name in self.metrics:
            find(name, METRICS, kind="metric")
        for name in ("resamples", "permutations"):
            if getattr(self, name) < 1:
                raise EquipoiseError(f"{name} must be at least 1, not {getattr(self, name)}")


@dataclass(frozen=True)
class Match:
    """One dataset and task as all runs were asked it: the same items, row by row."""

    dataset: str
    task: str
    outcomes: Sequence[Outcomes]
    measured: Sequence[Measurements]
    dropped: int

    def __str__(self) -> str:
        return f"{self.dataset} · {self.task}"

    @property
    def kinds(self) -> list[str]:
        """The types of the items, resolvable first; [""] where they have none."""
        here = set(self.outcomes[0].group("type").tolist()) - {""}
        return [kind for kind in ("type2", "type1") if kind in here] + sorted(here - {"type1", "type2"}) or [""]

    def rows(self, kind: str) -> Integers:
        """Return the rows of a type."""
        first = self.outcomes[0]
        return np.flatnonzero(first.group("type") == kind) if kind else np.arange(len(first))


@dataclass(frozen=True)
class Tested:
    """The difference of two runs in one metric, with its p-value corrected for the number of comparisons."""

    part: str
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


@dataclass(frozen=True)
class Overlap:
    """Where two runs differ: whom they answer right, and which pairs they answer differently for the two pronouns."""

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


def compare(paths: Sequence[Any], choices: Choices | None = None, *, progress: Progress | None = None) -> Comparison:
    """Return the comparison of the runs in these folders; runs on different items are refused unless intersected."""
    choices = choices or Choices()
    if len(paths) < 2:
        raise EquipoiseError("a comparison needs at least two runs")
    runs = named_apart([Run(path) for path in paths])
    matches = match(runs, intersect=choices.intersect)
    tests = list(_tests(runs, matches, choices, progress or (lambda what, done, total: None)))
    overlaps = [one for matched in matches for one in _overlaps(runs, matched)]
    return Comparison(runs, matches, tests, overlaps, choices)


def named_apart(runs: Sequence[Run]) -> list[Run]:
    """Return the runs, named apart: by the folder's name, or its path, where a model stands twice."""
    if len({run.path.resolve() for run in runs}) < len(runs):
        raise EquipoiseError("the same run is named twice; a comparison needs different ones")
    for told in (lambda run: run.path.resolve().name, lambda run: str(run.path)):
        count = Counter(run.name for run in runs)
        for run in runs:
            if count[run.name] > 1:
                run.name = f"{run.manifest.model} ({told(run)})"
    return list(runs)


def match(runs: Sequence[Run], *, intersect: bool) -> list[Match]:
    """Return the items that all runs have, dataset by dataset and task by task; refuses what they do not share."""
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
    content = asked["text"] + "\0" + candidates + "\0" + gold + "\0" + asked["pair_id"]
    known = pd.Series(content.to_numpy(), index=asked["id"].to_numpy())
    same: pd.Series = items["example_id"] + "\0" + items["variant"].fillna("") + "\0"
    same += known.reindex(items["example_id"]).to_numpy()
    return same


def _whole_sets(tables: Sequence[pd.DataFrame], common: set[str]) -> set[str]:
    """Return the common items whose counterfactual set is whole in every run: half a pair compares nobody."""
    kept = set(common)
    for table in tables:
        names = table["pair_id"].astype(str) + "\0" + table["variant"].fillna("").astype(str)
        whole = table["key"].isin(common).groupby(names).transform("all")
        kept &= set(table.loc[whole, "key"])
    return kept


def _matched(dataset: str, task: str, parts: Sequence[Any], tables: Sequence[pd.DataFrame], dropped: int) -> Match:
    order = tables[0]["key"]
    rows = [table.set_index("key").loc[order].reset_index(drop=True) for table in tables]
    outcomes = [outcomes_from_frame(table, part.run.groups) for table, part in zip(rows, parts, strict=True)]
    measured = []
    for part, made, table in zip(parts, outcomes, rows, strict=True):
        if len(table) == len(part.items):
            measured.append(part.measured)
        else:  # the run's own measurements are of more items than these
            plan = Plan([METRICS[name] for name in SHOWN], by=())
            found, _ = measure(made, plan, Labels(part.run.name, dataset, task))
            measured.append(Measurements(measurements_frame(found)))
    return Match(dataset, task, outcomes, measured, dropped)


def _tests(runs: Sequence[Run], matches: Sequence[Match], choices: Choices, say: Progress) -> Iterator[Tested]:
    """Yield every tested difference; all p-values of the comparison are corrected together."""
    found: list[tuple[str, str, str, str, str, Difference]] = []
    pairs = list(combinations(range(len(runs)), 2))
    for number, (matched, (a, b)) in enumerate([(m, pair) for m in matches for pair in pairs]):
        say("comparing", number, len(matches) * len(pairs))
        jobs = list(_contests(matched, a, b, choices.metrics))
        differences = paired_differences(
            [contest for *_, contest in jobs],
            clusters=matched.outcomes[a].pair_id,
            rng=np.random.default_rng(choices.seed),
            resamples=choices.resamples,
            permutations=choices.permutations,
            level=choices.level,
        )
        for (kind, metric, _), difference in zip(jobs, differences, strict=True):
            found.append((str(matched), kind_title(kind), metric, runs[a].name, runs[b].name, difference))
    say("comparing", len(matches) * len(pairs), len(matches) * len(pairs))
    if found:
        corrected = CORRECTIONS[choices.correction](np.array([one[-1].p for one in found]))
        for one, p in zip(found, corrected, strict=True):
            yield Tested(*one, float(p))


def _contests(matched: Match, a: int, b: int, names: Sequence[str]) -> Iterator[tuple[str, str, Contest]]:
    """Yield the metrics that both runs have a value of, for each type."""
    columns = [item_columns(matched.outcomes[index], PERPLEXITY) for index in (a, b)]
    outcomes = matched.outcomes[a]
    for kind in matched.kinds:
        for name in names:
            metric = METRICS[name]
            rows = matched.rows(kind)
            rows = rows[_applies(metric, outcomes)[rows]]
            if not len(rows) or (not metric.pools and len(set(outcomes.answerable[rows].tolist())) > 1):
                continue
            first, second = ([column[name][rows] for name in metric.inputs] for column in columns)
            try:
                metric.function(*first), metric.function(*second)
            except UndefinedMetric:
                continue
            yield kind, metric.name, Contest(metric.function, first, second, rows)


def _applies(metric: Metric, outcomes: Outcomes) -> Any:
    every = np.ones(len(outcomes), dtype=bool)
    return {
        "any": every,
        "label": outcomes.labelled,
        "answerable": outcomes.answerable,
        "unanswerable": ~outcomes.answerable,
    }[metric.needs]


def _overlaps(runs: Sequence[Run], matched: Match) -> Iterator[Overlap]:
    members = set_members(matched.outcomes[0])
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
    """Return the sets in which the choice changes with the pronoun."""
    if not len(sets):
        return np.zeros(0, dtype=bool)
    chosen = outcomes.predicted[sets]
    return np.any((sets != ABSENT) & (chosen != chosen[:, :1]), axis=1)


def ranks(matched: Match, metric: str, kind: str) -> list[int | None]:
    """Return each run's rank by a metric, 1 the best; equal values share a rank; None without a value or direction."""
    rows = [measured.get(metric, type=kind) for measured in matched.measured]
    if any(row is None or row.better == "neither" for row in rows):
        return [None] * len(rows)
    sign = -1.0 if rows[0].better == "higher" else 1.0
    values = [sign * float(row.value) for row in rows]
    return [1 + sum(other < value for other in values) for value in values]
