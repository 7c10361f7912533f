"""Pairs of groups as tables in a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...metrics import METRICS
from ...runs.measurements import ARROWS, interval, span
from ...runs.run import Run
from ..terminal.tables import NOTHING, FirstThatFits, empty_table, literal, texts
from .views import Difference, PairTable, pair_tables


def pair_summary(run: Run) -> RenderableType | None:
    """Return every pair of groups by name, by dataset, task and type; None where all sets have two groups."""
    blocks: list[RenderableType] = []
    for part in run.parts:
        for table in pair_tables(part):
            blocks += [Text(literal(f"every pair of groups on {table.title}"), style="bold")]
            blocks += [FirstThatFits([[_table(table, sets=True, apart=True)], _parts(table)]), Text()]
    return Group(*blocks) if blocks else None


def _parts(table: PairTable) -> list[Table]:
    """Return the metrics of sets and the differences as two tables."""
    kinds = [(True, False)] * bool(table.metrics) + [(False, True)] * bool(table.differences)
    return [_table(table, sets=sets, apart=apart) for sets, apart in kinds]


def _table(table: PairTable, *, sets: bool, apart: bool) -> Table:
    metrics = [f"{name} {ARROWS[METRICS[name].better]}" for name in table.metrics] if sets else []
    differences = [heading for name in table.differences for heading in (name, "p, Holm")] if apart else []
    shown = empty_table("pair", "n", *metrics, *differences)
    for row in table.rows:
        cells = [NOTHING if cell is None else span(cell) for cell in row.cells] if sets else []
        more = [text for difference in row.differences for text in _difference(difference)] if apart else []
        shown.add_row(*texts([row.name, f"{row.n:,}", *cells, *more]))
    return shown


def _difference(difference: Difference | None) -> tuple[str, str]:
    if difference is None:
        return NOTHING, ""
    return f"{difference.value.value:+.3f} {interval(difference.value)}", f"{difference.value.estimate.p_corrected:.4f}"
