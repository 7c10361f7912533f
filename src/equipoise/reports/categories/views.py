"""Tables by category: a row for each model or metric, a column for each category, as the UCerF paper's Table 8."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...records import Measurement
from ...runs.measurements import Measurements, metric_named
from ...runs.run import Part

KEY = "category"
"""The group that the columns are."""

PAPER = ("Gender", "Disability", "Race", "Appearance", "Religion", "Age", "SES", "Orientation")
"""The categories of Table 8, in its order; other categories follow them."""

ROWS = (
    ("ucerf", ""),
    ("ucerf", "ambiguous"),
    ("ucerf", "disambiguated"),
    ("flip_rate", "ambiguous"),
    ("flip_rate", "disambiguated"),
    ("accuracy", "ambiguous"),
    ("accuracy", "disambiguated"),
    ("bbq_bias_ambiguous", ""),
    ("bbq_bias_ambiguous_unscaled", ""),
    ("bbq_bias_disambiguated", ""),
)
"""Metric and type of each row of a run's table, where the run has it; "" is all types together."""


@dataclass(frozen=True)
class CategoryRow:
    """A metric of one run by category: `label` names it, `title` in words; `cells` are parallel to the categories."""

    label: str
    title: str
    metric: str
    cells: Sequence[Measurement | None]

    @property
    def better(self) -> str:
        """Which direction is better."""
        return metric_named(self.metric).better


@dataclass(frozen=True)
class CategoryTable:
    """Rows by category; `absent` are the categories of the paper's table that the data do not have."""

    title: str
    categories: Sequence[str]
    rows: Sequence[CategoryRow]

    @property
    def absent(self) -> list[str]:
        """The categories of the paper's table that the data do not have."""
        return [name for name in PAPER if name not in self.categories]


def categories_of(measured: Measurements) -> list[str]:
    """Return the categories that were measured, in the order of the paper's table."""
    names = {parts[KEY] for parts in measured.groups.values() if set(parts) == {KEY}}
    return [name for name in PAPER if name in names] + sorted(names - set(PAPER))


def run_table(part: Part) -> CategoryTable | None:
    """Return the metrics of a run on one dataset and task by category; None where there are no categories."""
    measured = part.measured
    names = categories_of(measured)
    named = [((metric, kind), (_label(metric, kind), _title(metric, kind))) for metric, kind in ROWS]
    rows = [row for what, words in named if (row := _row(words, measured, names, what))]
    return CategoryTable(str(part), names, rows) if len(names) > 1 and rows else None


def model_tables(title: str, runs: Mapping[str, Measurements]) -> Iterator[CategoryTable]:
    """Yield a table for each metric with a row for each run, by the runs' names; nothing without categories."""
    measured = list(runs.values())
    names = categories_of(measured[0])
    if len(names) < 2 or any(categories_of(other) != names for other in measured):
        return
    for metric, kind in ROWS:
        rows = [row for run, part in runs.items() if (row := _row((run, run), part, names, (metric, kind)))]
        if len(rows) == len(runs):
            yield CategoryTable(f"{title}: {_title(metric, kind)}", names, rows)


def _row(
    words: tuple[str, str], measured: Measurements, names: Sequence[str], what: tuple[str, str]
) -> CategoryRow | None:
    metric, kind = what
    cells = [measured.get(metric, category=name, type=kind) for name in names]
    return CategoryRow(*words, metric, cells) if any(cell is not None for cell in cells) else None


def _label(metric: str, kind: str) -> str:
    return f"{metric}, {kind}" if kind else metric


def _title(metric: str, kind: str) -> str:
    return _label(metric_named(metric).label, kind)
