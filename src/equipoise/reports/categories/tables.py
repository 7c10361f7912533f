"""Categories as tables in a terminal: the layout of the paper's Table 8 where it fits, else a category a row."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...records import Measurement
from ...runs.measurements import ARROWS, span
from ...runs.run import Run
from ..terminal.tables import NOTHING, FirstThatFits, empty_table, literal, texts
from .views import CategoryRow, CategoryTable, run_table


def category_summary(run: Run) -> RenderableType | None:
    """Return the metrics by category of each dataset and task that has categories; None where none has."""
    blocks: list[RenderableType] = []
    for part in run.parts:
        table = run_table(part)
        if table is not None:
            blocks.append(Text(literal(f"{run.name} by category on {part}"), style="bold"))
            blocks += [FirstThatFits([[_as_in_the_paper(table)], _turned(table)]), Text()]
    return Group(*blocks) if blocks else None


def _as_in_the_paper(table: CategoryTable) -> Table:
    """Return a row for each metric, with a row of n under those that share it, and a column for each category."""
    shown = empty_table("metric (↑ ↓: better)", *table.categories)
    for number, row in enumerate(table.rows):
        shown.add_row(*texts([_heading(row), *map(_value, row.cells)]))
        following = table.rows[number + 1 : number + 2]
        if not following or _counts(following[0]) != _counts(row):
            shown.add_row(*texts(["  n", *_counts(row)]), style="dim")
    return shown


def _turned(table: CategoryTable) -> list[Table]:
    """Return a table for each metric with a row for each category."""
    tables = []
    for row in table.rows:
        shown = empty_table(_heading(row), "", "n")
        for name, cell, n in zip(table.categories, row.cells, _counts(row), strict=True):
            shown.add_row(*texts([f"  {name}", _value(cell), n]))
        tables.append(shown)
    return tables


def _heading(row: CategoryRow) -> str:
    return f"{row.label} {ARROWS[row.better]}".strip()


def _value(cell: Measurement | None) -> str:
    return NOTHING if cell is None else span(cell)


def _counts(row: CategoryRow) -> Sequence[str]:
    return ["" if cell is None else f"{cell.n:,}" for cell in row.cells]
