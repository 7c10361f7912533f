"""Published values beside those of runs: marked as published, without interval or n, and never ranked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..records import Measurement, parse_group
from ..runs.measurements import Measurements, kind_title, ordered_kinds
from .page.rendering import Section, render

DOUBTFUL = "†"


@dataclass(frozen=True, slots=True)
class PublishedValue:
    """A number that a paper prints: of which model, and as which row of `measurements.csv` a run would have it.

    `doubt` says what does not fit, "" for nothing.
    """

    source: str
    model: str
    dataset: str
    task: str
    group: str
    metric: str
    printed: str
    doubt: str = ""

    @property
    def shown(self) -> str:
        """The number as printed, marked where it is in doubt."""
        return self.printed + (DOUBTFUL if self.doubt else "")


@dataclass(frozen=True)
class Measured:
    """What a run measured on one dataset as one task."""

    name: str
    dataset: str
    task: str
    measured: Measurements


@dataclass(frozen=True)
class BesidePublished:
    """A table of one dataset, task and type: a row a metric and group, a column a run, then a column a model."""

    title: str
    runs: Sequence[str]
    models: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Measurement | None], Sequence[str]]]
    doubts: Sequence[str]


def published_section(measured: Iterable[Measured], values: Sequence[PublishedValue]) -> Section | None:
    """Return the section of a page; None where the published values have nothing in common with the runs."""
    tables = list(beside_published(list(measured), values))
    if not tables:
        return None
    sources = list(dict.fromkeys(value.source for value in values))
    return Section("published", "Published values", render("published.html", tables=tables, sources=sources))


def beside_published(measured: Sequence[Measured], values: Sequence[PublishedValue]) -> Iterator[BesidePublished]:
    """Yield a table for every dataset, task and type that the runs and the published values share."""
    for dataset, task in dict.fromkeys((run.dataset, run.task) for run in measured):
        runs = [run for run in measured if (run.dataset, run.task) == (dataset, task)]
        fitting = [value for value in values if _is_of(value, dataset) and value.task == task]
        kinds = ordered_kinds({parse_group(value.group).get("type", "") for value in fitting})
        for kind in kinds if fitting else ():
            chosen = [value for value in fitting if parse_group(value.group).get("type", "") == kind]
            table = _table(f"{dataset} · {task}, {kind_title(kind)}", runs, chosen)
            if table.rows:
                yield table


def _is_of(value: PublishedValue, dataset: str) -> bool:
    # Marked sentences are named after their base, too: winoidentity-winobias.
    return dataset == value.dataset or dataset == f"{value.dataset}-winobias"


def _table(title: str, runs: Sequence[Measured], values: Sequence[PublishedValue]) -> BesidePublished:
    models = list(dict.fromkeys(value.model for value in values))
    printed = {(value.metric, value.group, value.model): value for value in reversed(values)}
    rows = []
    for metric, group in dict.fromkeys((value.metric, value.group) for value in values):
        measured = [run.measured.at(metric, group) for run in runs]
        if any(row is not None for row in measured):
            known = [printed.get((metric, group, model)) for model in models]
            rows.append((_words(metric, group), measured, ["–" if value is None else value.shown for value in known]))
    doubts = list(dict.fromkeys(value.doubt for value in values if value.doubt))
    return BesidePublished(title, [run.name for run in runs], models, rows, doubts)


def _words(metric: str, group: str) -> str:
    parts = [value for key, value in parse_group(group).items() if key != "type"]
    return ", ".join([metric, *parts])
