"""The section of a run's page on pairs of groups."""

from __future__ import annotations

from ...metrics import METRICS
from ...runs.run import Run
from ..page.rendering import Section, render
from .views import pair_tables


def pairs(run: Run) -> Section | None:
    """Return every pair of groups by name; None where all sets have two groups."""
    tables = [table for part in run.parts for table in pair_tables(part)]
    if not tables:
        return None
    body = render("pairs.html", tables=tables, metrics=METRICS, level=run.level)
    return Section("pairs", "Every pair of groups", body)
