"""A comparison as tables in a terminal: a sentence and the detected differences for every two runs and type."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..terminal.tables import empty_table, literal, texts
from .compare import TESTED, Comparison, Tested
from .verdicts import pair_verdicts


def comparison_summary(comparison: Comparison) -> RenderableType:
    """Return what the tests show, run against run: sentences, and the differences that are detected or asked for."""
    asked = tuple(comparison.choices.metrics) != TESTED
    blocks: list[RenderableType] = []
    for verdict in pair_verdicts(comparison):
        tests = [test for test in comparison.tests if (test.runs, test.data) == (verdict.runs, verdict.data)]
        shown = [test for test in tests if asked or test.detected]
        blocks += [Text(literal(f"{verdict.runs} on {verdict.data}"), style="bold"), Text(literal(verdict.sentence))]
        blocks += [_differences(shown), Text()] if shown else [Text()]
    return Group(*blocks)


def _differences(tests: Sequence[Tested]) -> Table:
    table = empty_table("metric", "difference", "n", "p, corrected")
    for test in tests:
        row = test.difference
        interval = f" [{row.low:+.3f}, {row.high:+.3f}]" if isfinite(row.low) and isfinite(row.high) else ""
        values = f"{row.value:+.3f}{interval}"
        table.add_row(*texts([test.metric, values, f"{row.n:,}", f"{test.corrected:.4f}"]))
    return table
