"""Published values beside those of runs: marked as published, without interval or n, and never ranked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..records import parse_group
from ..records.showing import Column, Row, Section, Table
from ..runs.measurements import Measurements, kind_title, ordered_kinds

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

    @property
    def kind(self) -> str:
        """The type of the items that it is of."""
        return parse_group(self.group).get("type", "")

    @property
    def what(self) -> str:
        """The metric and group in words, within a type."""
        return ", ".join([self.metric, *(value for key, value in parse_group(self.group).items() if key != "type")])


@dataclass(frozen=True)
class Measured:
    """What a run measured on one dataset as one task."""

    name: str
    dataset: str
    task: str
    measured: Measurements


def published(measured: Sequence[Measured], values: Sequence[PublishedValue]) -> Section | None:
    """Return the printed numbers beside the runs' own; None where they have nothing in common."""
    sources = ", ".join(dict.fromkeys(value.source for value in values))
    intro = (
        f"Printed in {sources}: other models, other code and sometimes another version of the sentences. Published"
        " values have no interval and no n here; they are not ranked or tested. A dash means that the paper has no"
        " value."
    )
    tables = list(beside_published(measured, values))
    return Section("Published values", tables, "published", "Published", intro) if tables else None


def beside_published(measured: Sequence[Measured], values: Sequence[PublishedValue]) -> Iterator[Table]:
    """Yield a table for every dataset, task and type that the runs and the published values share."""
    for dataset, task in dict.fromkeys((run.dataset, run.task) for run in measured):
        runs = [run for run in measured if (run.dataset, run.task) == (dataset, task)]
        # Marked sentences are named after their base, too: winoidentity-winobias.
        fitting = [v for v in values if dataset in (v.dataset, f"{v.dataset}-winobias") and v.task == task]
        for kind in ordered_kinds({value.kind for value in fitting}) if fitting else ():
            chosen = [value for value in fitting if value.kind == kind]
            models = list(dict.fromkeys(value.model for value in chosen))
            columns = [Column("metric", words=True, code=True), *(Column(run.name) for run in runs)]
            columns += [Column(f"published: {model}") for model in models]
            rows = list(_rows(runs, models, chosen))
            notes = [f"{DOUBTFUL} {doubt}" for doubt in dict.fromkeys(value.doubt for value in chosen if value.doubt)]
            about = {"dataset": dataset, "task": task, "type": kind}
            if rows:
                yield Table(f"{dataset} · {task}, {kind_title(kind)}", columns, rows, "published", about, notes)


def _rows(runs: Sequence[Measured], models: Sequence[str], values: Sequence[PublishedValue]) -> Iterator[Row]:
    """Yield a row for each metric and group that a run has, too."""
    printed = {(value.metric, value.group, value.model): value for value in reversed(values)}
    for what, metric, group in dict.fromkeys((value.what, value.metric, value.group) for value in values):
        measured = [run.measured.at(metric, group) for run in runs]
        if any(row is not None for row in measured):
            known = [printed.get((metric, group, model)) for model in models]
            yield Row((what, *measured, *(None if value is None else value.shown for value in known)))
