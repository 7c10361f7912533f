"""Runs on several datasets: do they give the runs the same order, and how much does each metric move?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from ..datasets.neutral import family
from ..measuring.cells import of_type
from ..records import EquipoiseError, Measurement, group_label
from ..runs.measurements import Measurements
from ..runs.run import Part, Run
from ..stats.independent import independent_difference
from .comparison import TESTED, Comparison, Tested, corrected
from .matching import named_apart, places

FOLLOWED = ("ucerf", "ucerf_signed", "flip_rate")
"""The metrics whose order of runs is followed from dataset to dataset."""

SAME, OPPOSITE, UNSETTLED = "same order", "opposite order", "not settled"

Values = tuple[Measurement, Measurement]


@dataclass(frozen=True)
class Order:
    """Two runs by one metric on two datasets, asked as the same task: which run is better on each?"""

    first: Tested
    second: Tested

    @property
    def verdict(self) -> str:
        """Whether the better run is the same; not settled where a difference is not detected on both."""
        better = [test.better for test in (self.first, self.second)]
        if not all(better):
            return UNSETTLED
        return SAME if better[0] == better[1] else OPPOSITE


def orders(comparison: Comparison) -> list[Order]:
    """Return every two tests of the same runs, metric and task on different datasets, both answerable or neither."""
    kinds = {
        matched.title(kind): bool(matched.answerable(kind).all())
        for matched in comparison.matches
        for kind in matched.kinds
    }
    tests = [test for test in comparison.tests if test.row.metric in FOLLOWED and test.data in kinds]
    return [
        Order(test, other)
        for test, other in combinations(tests, 2)
        if _what(test) == _what(other)
        and kinds[test.data] == kinds[other.data]
        and test.row.dataset != other.row.dataset
    ]


def _what(test: Tested) -> tuple[str, str, str]:
    return test.row.metric, test.row.model, test.row.task


@dataclass(frozen=True)
class Moved:
    """A run's metric on two datasets, as one task and type: `test` is the first minus the second.

    `ranks` are the run's places among the runs on each dataset; None without a direction or with a single run.
    """

    test: Tested
    kind: str
    values: Values
    ranks: tuple[int, int] | None

    @property
    def shift(self) -> str:
        """The ranks in words."""
        if self.ranks is None:
            return ""
        first, second = self.ranks
        return f"{first}, as before" if first == second else f"{first} → {second}"


def are_apart(data: Sequence[str]) -> bool:
    """Return whether two datasets have different sentences, so that their rows cannot be matched."""
    return len(data) == 2 and len({family(name) for name in data}) == 2


def between_datasets(
    runs: Sequence[Run], data: Sequence[str], *, metrics: Sequence[str] = (), correction: str = "holm"
) -> list[Moved]:
    """Return how each metric of each run differs between two datasets, for every task and type that both have."""
    several = by_dataset(runs, data)
    compared = [
        (name, *values) for name, parts in several.items() for values in _values(parts, data, metrics or TESTED)
    ]
    if not compared:
        raise EquipoiseError(f"{data[0]} and {data[1]} have no task, type and metric in common")
    tests = corrected([_difference(name, task, kind, values) for name, task, kind, values in compared], correction)
    rivals: dict[tuple[str, str, str], list[Values]] = {}
    for _, task, kind, values in compared:
        rivals.setdefault((task, kind, values[0].metric), []).append(values)
    return [
        Moved(test, kind, values, _ranks(values, rivals[task, kind, values[0].metric]))
        for test, (_, task, kind, values) in zip(tests, compared, strict=True)
    ]


def _difference(name: str, task: str, kind: str, values: Values) -> Tested:
    first, second = values
    difference = independent_difference(first.estimate, second.estimate)
    about = (name, f"{first.dataset} − {second.dataset}", task, group_label(of_type(kind)))
    return Tested(Measurement(first.metric, *about, difference, first.better), first.dataset, second.dataset)


def by_dataset(runs: Sequence[Run], data: Sequence[str]) -> dict[str, dict[tuple[str, str], Part]]:
    """Return the parts of each model by dataset and task: of a run with both datasets, or of a run for each."""
    whole = [run for run in runs if set(data) <= set(run.manifest.datasets)]
    several = {run.name: [run] for run in named_apart(whole)}
    for run in runs:
        if run not in whole:
            several.setdefault(run.manifest.model, []).append(run)
    for name, joined in several.items():
        known = [dataset for run in joined for dataset in run.manifest.datasets]
        missing = [dataset for dataset in data if dataset not in known]
        if missing:
            folders = ", ".join(str(run.path) for run in joined)
            raise EquipoiseError(f"{name} has no dataset {missing[0]!r} in {folders}; there are {', '.join(known)}")
    return {
        name: {(part.dataset, part.task): part for run in joined for part in run.parts}
        for name, joined in several.items()
    }


def _values(
    parts: Mapping[tuple[str, str], Part], data: Sequence[str], metrics: Sequence[str]
) -> Iterator[tuple[str, str, Values]]:
    for task in dict.fromkeys(task for _, task in parts):
        first, second = (parts[name, task].measured if (name, task) in parts else Measurements([]) for name in data)
        for kind in dict.fromkeys((*first.kinds, *second.kinds)):
            for metric in metrics:
                values = first.get(metric, type=kind), second.get(metric, type=kind)
                if values[0] is not None and values[1] is not None:
                    yield task, kind, (values[0], values[1])


def _ranks(values: Values, rivals: Sequence[Values]) -> tuple[int, int] | None:
    if len(rivals) < 2 or values[0].better == "neither":
        return None
    first, second = (places([rival[side].value for rival in rivals], values[0].better) for side in (0, 1))
    place = rivals.index(values)
    return first[place], second[place]
