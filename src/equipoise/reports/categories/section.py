"""The section of a page by category: of one run, or of several that are compared."""

from __future__ import annotations

from collections.abc import Sequence

from ...runs.run import Run
from ..page.rendering import Section, render
from .views import CategoryTable, run_table


def categories(run: Run) -> Section | None:
    """Return UCerF, accuracy, flips and bias scores by category; None for data without categories."""
    tables = [table for part in run.parts if (table := run_table(part)) is not None]
    return category_section(tables, first=run.name, level=run.level)


def category_section(tables: Sequence[CategoryTable], *, first: str, level: float) -> Section | None:
    """Return the section with these tables; `first` is what the first column names."""
    if not tables:
        return None
    return Section("categories", "By category", render("categories.html", tables=tables, first=first, level=level))
