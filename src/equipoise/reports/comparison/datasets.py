"""One model on two datasets with different sentences: how much each metric moves, and how the runs' ranks do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...datasets.neutral import family
from ...records import EquipoiseError, Estimate, Measurement
from ...runs.measurements import Measurements, kind_title
from ...runs.run import Run
from ...stats.independent import independent_difference
from ...stats.paired import CORRECTIONS
from ..page.html import page
from ..page.rendering import Section, render
from .compare import DETECTED, TESTED
from .matching import named_apart, places

Values = tuple[Measurement, Measurement]


@dataclass(frozen=True)
class Moved:
    """A run's metric on two datasets, as one task and type: the difference, corrected for all that are shown.

    `ranks` are the run's places among the runs on each dataset; None without a direction or with a single run.
    """

    run: str
    task: str
    kind: str
    metric: str
    values: Values
    difference: Estimate
    corrected: float
    ranks: tuple[int, int] | None

    @property
    def detected(self) -> bool:
        """Whether test and interval both show a difference: the test after correction."""
        return self.corrected < DETECTED and self.difference.excludes_zero

    @property
    def shift(self) -> str:
        """The ranks in words."""
        if self.ranks is None:
            return ""
        return f"{self.ranks[0]} → {self.ranks[1]}" if self.ranks[0] != self.ranks[1] else f"{self.ranks[0]}, as before"


def are_apart(data: Sequence[str]) -> bool:
    """Return whether two datasets have different sentences, so that their rows cannot be matched."""
    return len(data) == 2 and len({family(name) for name in data}) == 2


def between_datasets(
    paths: Sequence[str], data: Sequence[str], *, metrics: Sequence[str] = (), correction: str = "holm"
) -> list[Moved]:
    """Return how each metric of each run differs between two datasets, for every task and type that both have."""
    several = _series([Run(path) for path in paths], data)
    compared = [(name, *where) for name, parts in several.items() for where in _values(parts, data, metrics or TESTED)]
    if not compared:
        raise EquipoiseError(f"{data[0]} and {data[1]} have no task, type and metric in common")
    differences = [independent_difference(first.estimate, second.estimate) for *_, (first, second) in compared]
    tested = [n for n, difference in enumerate(differences) if not math.isnan(difference.p)]
    corrected = dict(zip(tested, CORRECTIONS[correction](np.array([differences[n].p for n in tested])), strict=True))
    moved = []
    for n, (name, task, kind, values) in enumerate(compared):
        rivals = [v for _, t, k, v in compared if (t, k, v[0].metric) == (task, kind, values[0].metric)]
        places = _ranks(values, rivals)
        p = float(corrected.get(n, math.nan))
        moved.append(Moved(name, task, kind, values[0].metric, values, differences[n], p, places))
    return moved


def _series(runs: Sequence[Run], data: Sequence[str]) -> dict[str, dict[tuple[str, str], Measurements]]:
    """Return the measurements of each model by dataset and task: of a run with both datasets, or of a run for each."""
    whole = [run for run in runs if set(data) <= set(run.manifest.datasets)]
    several = {run.name: [run] for run in named_apart(whole)}
    for run in runs:
        if run not in whole:
            several.setdefault(run.manifest.model, []).append(run)
    for name, joined in several.items():
        known = [dataset for run in joined for dataset in run.manifest.datasets]
        missing = [dataset for dataset in data if dataset not in known]
        if missing:
            places = ", ".join(str(run.path) for run in joined)
            raise EquipoiseError(f"{name} has no dataset {missing[0]!r} in {places}; there are {', '.join(known)}")
    return {
        name: {(part.dataset, part.task): part.measured for run in joined for part in run.parts}
        for name, joined in several.items()
    }


def _values(
    parts: Mapping[tuple[str, str], Measurements], data: Sequence[str], metrics: Sequence[str]
) -> Iterator[tuple[str, str, Values]]:
    for task in dict.fromkeys(task for _, task in parts):
        first, second = (parts.get((name, task), Measurements([])) for name in data)
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


def sentences(moved: Sequence[Moved], data: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each difference that holds, then how many do."""
    for row in moved:
        if row.detected:
            first, second = row.values
            yield (
                f"{row.run}, {row.task}, {kind_title(row.kind)}: {row.metric} is {first.value:.3f} on {data[0]}"
                f" (n = {first.n:,}) and {second.value:.3f} on {data[1]} (n = {second.n:,}), a difference of"
                f" {row.difference.value:+.3f} [{row.difference.low:+.3f}, {row.difference.high:+.3f}]."
            )
    count = sum(row.detected for row in moved)
    yield f"{count} of {len(moved)} differences between the datasets hold after correction."


def datasets_page(moved: Sequence[Moved], data: Sequence[str]) -> str:
    """Return the page of two datasets."""
    title = f"{data[0]} and {data[1]}"
    names = ", ".join(dict.fromkeys(row.run for row in moved))
    header = render("header.html", kicker="Datasets", title=title, facts=[("Runs", names)])
    body = render("datasets.html", moved=moved, data=data, sentences=list(sentences(moved, data)))
    return page(f"Datasets: {title}", header, [Section("differences", "Differences between the datasets", body)])
