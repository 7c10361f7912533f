"""Tables as plain text: what a terminal, a paper, a notebook and Markdown lay out, each in its own way."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..records import Estimate, Measurement
from ..records.showing import Cell, Column, Content, Row, Table

NOTHING = "–"
ARROWS = {"higher": "↑", "lower": "↓", "neither": ""}


class StrongText(str):
    """A text in bold, where a medium has it."""


@dataclass(frozen=True)
class PlainColumn:
    """A column of texts: those that are `words` are set to the left, and `spare` ones may be left out.

    A `shared` one is the n of all values of a row.
    """

    title: str
    words: bool = False
    spare: bool = False
    shared: bool = False


@dataclass(frozen=True)
class PlainTable:
    """A table of texts; a row of one text is a heading of the rows that follow."""

    title: str
    columns: Sequence[PlainColumn]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    name: str = ""

    def picked(self, places: Sequence[int]) -> PlainTable:
        """Return the table with some of its columns."""
        rows = [row if len(row) == 1 < len(self.columns) else [row[place] for place in places] for row in self.rows]
        return PlainTable(self.title, [self.columns[place] for place in places], rows, self.notes, self.name)


def plain(table: Table, *, every: bool = True) -> PlainTable:
    """Return the table as texts: every value with its n, in a column for each or in one where all are the same.

    Without `every`, the rows that a reader would have to unfold are left out.
    """
    rows = table.rows if every or table.shown is None else table.rows[: table.shown]
    counted, shared = _counted(table), shares_counts(table)
    columns: list[PlainColumn] = []
    for place, column in enumerate(table.columns):
        columns.append(PlainColumn(heading(column), column.words, column.spare))
        if place in counted and (not shared or place == counted[-1]):
            columns.append(PlainColumn("n", shared=shared))
    texts = [list(_texts(row, table.columns, counted, shared=shared)) for row in rows]
    return PlainTable(table.title, columns, texts, table.notes, table.name)


def shares_counts(table: Table) -> bool:
    """Return whether the values of every row have the same n, so that it is said once."""
    return len(_counted(table)) > 1 and all(len(set(counts_of(row))) < 2 for row in table.rows)


def _counted(table: Table) -> list[int]:
    """Return the columns that have values with an n."""
    rows = [row for row in table.rows if not row.heading]
    return [place for place in range(len(table.columns)) if any(estimate_of(row.cells[place]) for row in rows)]


def heading(column: Column) -> str:
    """Return the title of a column, with an arrow where one direction is better."""
    return f"{column.title} {ARROWS[column.better]}".strip()


def words(content: Content, form: str = ".3f") -> str:
    """Return the text of a cell; numbers are written in that form."""
    match content:
        case Cell(content=inner, before=before, after=after):
            return f"{before} {words(inner, form)} {after}".strip()
        case Measurement() | Estimate():
            return format(content, form)
        case None:
            return NOTHING
        case bool() | str():
            return str(content)
        case int():
            return f"{content:,}"
    return NOTHING if math.isnan(content) else format(content, form)


def estimate_of(content: Content) -> Estimate | None:
    """Return the value with its interval that a cell holds, None where it holds something else."""
    if isinstance(content, Cell):
        return estimate_of(content.content)
    if isinstance(content, Measurement):
        return content.estimate
    return content if isinstance(content, Estimate) else None


def counts_of(row: Row) -> list[int]:
    """Return n of every value of a row."""
    return [] if row.heading else [estimate.n for cell in row.cells if (estimate := estimate_of(cell))]


def _texts(row: Row, columns: Sequence[Column], counted: Sequence[int], *, shared: bool) -> Iterator[str]:
    if row.heading:
        yield words(row.cells[0])
        return
    for place, (cell, column) in enumerate(zip(row.cells, columns, strict=True)):
        better = f" {ARROWS[row.better]}" if place == 0 and row.better != "neither" else ""
        text = words(cell, column.written) + better
        yield StrongText(text) if isinstance(cell, Cell) and cell.strong else text
        if place in counted and (not shared or place == counted[-1]):
            counts = counts_of(row) if shared else [e.n] if (e := estimate_of(cell)) else []
            yield f"{counts[0]:,}" if counts else ""
