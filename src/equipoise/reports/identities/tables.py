"""Disparities between identities as tables in a terminal; what is over 0.20 is marked, as in the WinoIdentity paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pandas as pd
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...runs.measurements import KINDS
from ...runs.run import identity_frame
from ..terminal.tables import NOTHING, FirstThatFits, empty_table, literal, texts
from .changes import in_words
from .views import (
    HEADINGS,
    LARGE,
    MEASURES,
    OVERALL,
    WAYS,
    disparities,
    extremes,
    has_markers,
    kinds_of,
    overall,
    ways_of,
)


def identity_summary(measurements: pd.DataFrame) -> RenderableType | None:
    """Return what a run found about identities, None if it asked about none."""
    frame = identity_frame(measurements)
    if not has_markers(frame):
        return None
    parts: list[RenderableType] = []
    for (model, dataset, task), rows in frame.groupby(["model", "dataset", "task"], sort=False):
        parts += [Text(literal(f"identities: {model} on {dataset} · {task}"), style="bold")]
        for kind in kinds_of(rows):
            parts += [*_kind(kind, rows[rows["type"] == kind]), Text()]
    return Group(*parts)


def _kind(kind: str, rows: pd.DataFrame) -> Iterator[RenderableType]:
    yield Text(literal(KINDS.get(kind, kind)), style="bold")
    yield from (Text(literal(sentence)) for sentence in in_words(rows))
    yield _layouts(partial(_overall, rows), OVERALL)
    yield Text()
    for way in ways_of(rows):
        part_rows = rows[rows["augmentation"] == way]
        yield Text(f"confidence disparity, {WAYS[way]}: largest - smallest mean of gender x marker; * over {LARGE:.2f}")
        yield _layouts(partial(_disparities, part_rows), MEASURES)
        yield from _extremes(part_rows)


def _layouts(make: Callable[[Sequence[str]], Table], names: Sequence[str]) -> RenderableType:
    """Return the numbers side by side, or two, or one at a time, as wide as the terminal is."""
    halves = [names[start : start + 2] for start in range(0, len(names), 2)]
    return FirstThatFits([[make(names)], [make(some) for some in halves], [make([name]) for name in names]])


def _overall(rows: pd.DataFrame, names: Sequence[str]) -> Table:
    """Return confidence and accuracy without and with markers."""
    table = empty_table("", *(HEADINGS[name] for name in names))
    for title, measured in overall(rows):
        table.add_row(*texts([title, *(_cell(measured.get(name)) for name in names)]))
    return table


def _disparities(rows: pd.DataFrame, names: Sequence[str]) -> Table:
    table = empty_table("attribute", *(HEADINGS[name] for name in names), "p (Holm)")
    for disparity in disparities(rows):
        # The p-value is beside the disparity that is shown first.
        p = disparity.p.get(names[0])
        cells = [_cell(disparity.cells.get(name), mark=True) for name in names]
        table.add_row(*texts([disparity.attribute, *cells, NOTHING if p is None else f"{p:.4f}"]))
    return table


def _extremes(rows: pd.DataFrame) -> Iterator[RenderableType]:
    """Yield the identities the model is least and most confident of."""
    ordered = extremes(rows)
    if len(ordered) > 5:
        yield Text(literal(f"least confident of: {', '.join(ordered[:3])}; most: {', '.join(ordered[::-1][:3])}"))
    yield Text()


def _cell(row: Any, *, mark: bool = False) -> str:
    if row is None:
        return NOTHING
    large = "*" if mark and row.value > LARGE else " "
    return f"{row.value:.3f}{large}[{row.low:.3f}, {row.high:.3f}]"
