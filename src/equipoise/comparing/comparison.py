"""Several runs on the same sentences: paired differences, and where the models differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Any

import numpy as np

from ..catalog import find
from ..datasets.conditions import conditions
from ..measuring.comparing import comparison_leeways, contests, widened_difference
from ..measuring.leeway.widening import Leeway
from ..measuring.measure import Plan
from ..metrics import METRICS, Metric
from ..progress import Progress, shown
from ..records import ABSENT, Booleans, EquipoiseError, Estimate, Integers, Measurement, Outcomes, parse_group
from ..runs.measurements import kind_title, metric_named
from ..runs.run import Run
from ..stats.paired import CORRECTIONS, Trial, is_detected, paired_differences
from .matching import Match, match, opened, shared_estimators

TESTED = tuple(metric.name for metric in METRICS.values() if metric.leading)
"""The metrics whose differences are tested by default, where the runs have them."""


@dataclass(frozen=True)
class Choices:
    """What may be chosen about a comparison; `where` are conditions on the items, as an audit takes them.

    `data` names datasets of the runs that have the same rows, such as genderlex and genderlex-someone: they are then
    compared with each other. `alone` allows a single run: to be seen beside published values.
    """

    intersect: bool = False
    data: Sequence[str] = ()
    alone: bool = False
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
class Tested:
    """The value of one run or dataset minus that of another: `row` is the difference as a measurement.

    Its corrected p-value counts all tests of the comparison.
    """

    row: Measurement
    first: str
    second: str

    @property
    def difference(self) -> Estimate:
        """The difference with its interval and n."""
        return self.row.estimate

    def corrected(self, p: float) -> Tested:
        """Return the same difference with its corrected p-value."""
        return replace(self, row=replace(self.row, estimate=replace(self.difference, p_corrected=p)))

    @property
    def part(self) -> str:
        """The dataset and task."""
        return f"{self.row.dataset} · {self.row.task}"

    @property
    def kind(self) -> str:
        """The group in words: its type, then its other parts."""
        parts = parse_group(self.row.group)
        kind = kind_title(parts.pop("type", ""))
        return ", ".join([kind, *(f"{key} {value}" for key, value in parts.items())])

    @property
    def data(self) -> str:
        """The dataset, task and group in words."""
        return f"{self.part}, {self.kind}"

    @property
    def detected(self) -> bool:
        """Whether test and interval both show a difference: the test after correction."""
        return is_detected(self.difference)

    @property
    def better(self) -> str:
        """The name of the better one, "" where no difference is detected or the metric has no direction."""
        if not self.detected or self.row.better == "neither" or not self.row.value:
            return ""
        return self.first if (self.row.value > 0) == (self.row.better == "higher") else self.second


@dataclass(frozen=True)
class Overlap:
    """Where two runs differ: whom they answer right, and in which sets their answer changes."""

    data: str
    first: str
    second: str
    right: tuple[int, int, int, int]
    flips: tuple[int, int, int]
    sets: int

    @property
    def expected(self) -> float:
        """The sets in which both would change their answer if the models had nothing to do with each other."""
        return self.flips[0] * self.flips[1] / self.sets if self.sets else 0.0

    @property
    def jaccard(self) -> float | None:
        """The share of sets that change in both among those that change in either; None where none does."""
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
    runs = opened(paths, choices.data)
    if len(runs) < 2 and not choices.alone:
        raise EquipoiseError("a comparison needs at least two runs, or two datasets of one run")
    matches = match(runs, intersect=choices.intersect, where=choices.where)
    tests = corrected(list(_differences(runs, matches, choices, shown(progress))), choices.correction)
    overlaps = [overlap for matched in matches for overlap in _overlaps(runs, matched)]
    return Comparison(runs, matches, tests, overlaps, choices)


def corrected(tests: Sequence[Tested], correction: str) -> list[Tested]:
    """Return the tests with their p-values corrected together; one without a p-value does not count."""
    p = np.array([test.difference.p for test in tests])
    values = np.full(len(p), np.nan)
    values[~np.isnan(p)] = CORRECTIONS[correction](p[~np.isnan(p)])
    return [test.corrected(value) for test, value in zip(tests, values.tolist(), strict=True)]


def _differences(runs: Sequence[Run], matches: Sequence[Match], choices: Choices, say: Progress) -> Iterator[Tested]:
    """Yield the difference of every two runs in every metric, with the p-value of its own test."""
    pairs = list(combinations(range(len(runs)), 2))
    plan = Plan(choices.rows(), shared_estimators(runs), by=())
    trial = Trial(choices.resamples, choices.permutations, choices.level, choices.seed)
    reach = [[comparison_leeways(items, plan) for items in matched.items] for matched in matches]
    for number, (place, (a, b)) in enumerate(product(range(len(matches)), pairs)):
        matched, names = matches[place], (runs[a].name, runs[b].name)
        say("comparing", number, len(matches) * len(pairs))
        compared = [c for c in contests(matched.items[a], matched.items[b], plan) if _is_shown(c.group, matched.kinds)]
        clusters = int(matched.items[a].clusters.max()) + 1
        results = paired_differences([c.contest for c in compared], clusters=clusters, trial=trial)
        for contest, plain in zip(compared, results, strict=True):
            leeway, other = (reach[place][run].get((contest.metric, contest.group), Leeway()) for run in (a, b))
            difference = widened_difference(plain, leeway.minus(other), contest.contest.width)
            about = (" − ".join(names), matched.dataset, matched.task, contest.group)
            better = metric_named(contest.metric).better
            yield Tested(Measurement(contest.metric, *about, difference, better), *names)
    say("comparing", len(matches) * len(pairs), len(matches) * len(pairs))


def _is_shown(group: str, kinds: Sequence[str]) -> bool:
    """Return whether a group is tested: within a type where there are types, else over everything."""
    return parse_group(group).get("type", "") in kinds


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
            yield Overlap(matched.title(kind), runs[a].name, runs[b].name, table, flipped, len(sets))


def _flipped(outcomes: Outcomes, sets: Integers) -> Booleans:
    """Return the sets in which the choice changes with the group word."""
    if not len(sets):
        return np.zeros(0, dtype=bool)
    chosen = outcomes.predicted[sets]
    return np.asarray(np.any((sets != ABSENT) & (chosen != chosen[:, :1]), axis=1), dtype=bool)
