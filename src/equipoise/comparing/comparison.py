"""Several runs on the same sentences: paired differences, and where the models differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from ..catalog import find
from ..datasets.conditions import conditions
from ..measuring.comparing import Compared, comparison_leeways, contests, widened_difference
from ..measuring.estimators import is_usable
from ..measuring.leeway.widening import Leeway
from ..measuring.measure import Plan
from ..metrics import METRICS, Metric
from ..metrics.naming import estimator_of, metric_named, suffix
from ..options import check_fields, checked
from ..progress import Progress, shown
from ..records import EquipoiseError, Estimate, Measurement, parse_group
from ..runs.measurements import kind_title
from ..runs.run import Part, Run
from ..stats.paired import CORRECTIONS, Contest, Trial, is_detected, paired_differences
from .matching import Match, match, matched_parts, opened, shared_estimators

TESTED = tuple(metric.name for metric in METRICS.values() if metric.leading)
"""The metrics whose differences are tested by default, where the runs have them."""


@dataclass(frozen=True)
class Choices:
    """What may be chosen about a comparison; `where` are conditions on the items, as an audit takes them.

    `data` names datasets of the runs that have the same rows, such as genderlex and genderlex-someone: they are then
    compared with each other. `alone` allows a single run: to be seen beside published values. `metrics` may name an
    estimator (ucerf_renyi). `permutations` are the exchanges behind each p-value; by default they follow from the
    number of tests (stats/paired.py).
    """

    intersect: bool = False
    data: Sequence[str] = ()
    alone: bool = False
    where: Sequence[str] = ()
    metrics: Sequence[str] = TESTED
    correction: str = "holm"
    resamples: int = 2000
    permutations: int | None = None
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        find(self.correction, CORRECTIONS, kind="correction")
        self.rows()
        conditions(self.where)
        if not 0 < self.level < 1:
            raise EquipoiseError(f"level must lie between 0 and 1, not {self.level}")
        for name in ("resamples", "permutations"):
            chosen = getattr(self, name)
            if chosen is not None and chosen < 1:
                raise EquipoiseError(f"{name} must be at least 1, not {getattr(self, name)}")

    def rows(self) -> list[Metric]:
        """Return the metrics to test; an unknown one is an error."""
        return list(dict.fromkeys(metric_named(name) for name in self.metrics))


@dataclass(frozen=True)
class Tested:
    """The value of one run or dataset minus that of another: `row` is the difference as a measurement.

    Its corrected p-value counts all tests of the comparison. `contest` is what was tested, where that was paired.
    """

    row: Measurement
    first: str
    second: str
    contest: Contest | None = field(default=None, compare=False, repr=False)

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
        if not self.detected or self.row.better == "neither":
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
    def trial(self) -> Trial:
        """How the differences were tested."""
        return trial_of(self.choices, len(self.tests))

    @property
    def least_p(self) -> float:
        """The smallest corrected p-value that any test could have had: Holm's multiplies it by the number of tests."""
        most = max((len(np.unique(matched.items[0].clusters)) for matched in self.matches), default=1)
        return self.trial.least_p(most) * (len(self.tests) if self.choices.correction == "holm" else 1)

    @property
    def names(self) -> list[str]:
        """The runs' names, each once."""
        return [run.name for run in self.runs]

    def __repr__(self) -> str:
        detected = sum(test.detected for test in self.tests)
        return f"<Comparison of {', '.join(self.names)}: {detected} of {len(self.tests)} differences are detected>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a sentence for each pair of runs, and the tested differences."""
        return str(find("comparison", {}, kind="view")(self))


@checked
def compare(
    paths: Sequence[Run | str | Path],
    choices: Choices | None = None,
    *,
    progress: Progress | bool | None = None,
    **chosen: Any,
) -> Comparison:
    """Return the comparison of several runs or their folders; runs on different items are refused unless intersected.

    `chosen` are fields of `Choices`: `compare([run, other], metrics=["ucerf"], intersect=True)`.
    """
    check_fields(chosen, Choices)
    choices = replace(choices or Choices(), **chosen)
    runs = opened(paths, choices.data)
    if len(runs) < 2 and not choices.alone:
        raise EquipoiseError("a comparison needs at least two runs, or two datasets of one run")
    matches = match(runs, intersect=choices.intersect, where=choices.where)
    tests = corrected(list(_differences(runs, matches, choices, shown(progress))), choices.correction)
    overlaps = [overlap for matched in matches for overlap in _overlaps(runs, matched)]
    return Comparison(runs, matches, tests, overlaps, choices)


def paired_tests(parts: Sequence[Part], choices: Choices) -> list[Tested]:
    """Return the difference of every two parts of one dataset and task in every metric, p not corrected."""
    runs = [part.run for part in parts]
    return list(_differences(runs, [matched_parts(parts)], choices, shown(None)))


def corrected(tests: Sequence[Tested], correction: str) -> list[Tested]:
    """Return the tests with their p-values corrected together; one without a p-value does not count."""
    p = np.array([test.difference.p for test in tests])
    values = np.full(len(p), np.nan)
    values[~np.isnan(p)] = CORRECTIONS[correction](p[~np.isnan(p)])
    return [test.corrected(value) for test, value in zip(tests, values.tolist(), strict=True)]


def trial_of(choices: Choices, tests: int) -> Trial:
    """Return how the differences of a comparison with this many tests are tested."""
    return Trial(choices.resamples, choices.permutations, choices.level, choices.seed, tests)


def _plan(runs: Sequence[Run], matches: Sequence[Match], choices: Choices) -> tuple[Plan, set[str]]:
    """Return what is measured, and the names of the metrics that are tested among it."""
    shared = shared_estimators(runs)
    named = {name: estimator_of(name) for name in choices.metrics}
    further = [estimator for estimator in dict.fromkeys(named.values()) if estimator and estimator not in shared]
    items = [several for matched in matches for several in matched.items]
    for estimator in further:
        if not all(is_usable(estimator, several) for several in items):
            raise EquipoiseError(f"the runs lack what the estimator {estimator.name} needs, so it cannot be compared")
    plain = [metric_named(name) for name, estimator in named.items() if estimator is None]
    tested = {name for name, estimator in named.items() if estimator}
    tested |= {row.name + (suffix(estimator.name) if row.estimated else "") for row in plain for estimator in shared}
    return Plan(choices.rows(), [*shared, *further], by=()), tested


def _differences(runs: Sequence[Run], matches: Sequence[Match], choices: Choices, say: Progress) -> Iterator[Tested]:
    """Yield the difference of every two runs in every metric, with the p-value of its own test."""
    plan, tested = _plan(runs, matches, choices)
    several: list[tuple[Match, tuple[int, int], list[Compared]]] = []
    for matched, (a, b) in product(matches, combinations(range(len(runs)), 2)):
        every = contests(matched.items[a], matched.items[b], plan)
        # Within a type where there are types, else over everything.
        shown = [c for c in every if c.metric in tested and parse_group(c.group).get("type", "") in matched.kinds]
        several.append((matched, (a, b), shown))
    trial = trial_of(choices, sum(len(compared) for _, _, compared in several))
    reach = {id(matched): [comparison_leeways(items, plan) for items in matched.items] for matched in matches}
    for number, (matched, (a, b), compared) in enumerate(several):
        names = runs[a].name, runs[b].name
        say("comparing", number, len(several))
        clusters = matched.items[a].cluster_count
        results = paired_differences([c.contest for c in compared], clusters=clusters, trial=trial)
        for contest, plain in zip(compared, results, strict=True):
            leeway, other = (reach[id(matched)][run].get((contest.metric, contest.group), Leeway()) for run in (a, b))
            difference = widened_difference(plain, leeway.minus(other), contest.contest.width)
            about = (" − ".join(names), matched.dataset, matched.task, contest.group)
            better = metric_named(contest.metric).better
            yield Tested(Measurement(contest.metric, *about, difference, better), *names, contest.contest)
    say("comparing", len(several), len(several))


def _overlaps(runs: Sequence[Run], matched: Match) -> Iterator[Overlap]:
    members = matched.items[0].members
    for kind in matched.kinds:
        rows = matched.rows(kind)
        labelled = rows[matched.outcomes[0].labelled[rows]]
        sets = np.isin(members[:, 0], rows)
        right = [outcomes.predicted[labelled] == outcomes.gold[labelled] for outcomes in matched.outcomes]
        flips = [items.flips["flipped"][sets] == 1 for items in matched.items]
        for a, b in combinations(range(len(runs)), 2):
            counts = [int(both.sum()) for both in (right[a] & right[b], right[a] & ~right[b], ~right[a] & right[b])]
            table = (counts[0], counts[1], counts[2], len(labelled) - sum(counts))
            flipped = (int(flips[a].sum()), int(flips[b].sum()), int((flips[a] & flips[b]).sum()))
            yield Overlap(matched.title(kind), runs[a].name, runs[b].name, table, flipped, int(sets.sum()))
