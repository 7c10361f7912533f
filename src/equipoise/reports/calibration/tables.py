"""Calibration as tables in a terminal: by group, by bin, before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...runs.measurements import span
from ...runs.run import Run
from ..terminal.tables import NOTHING, SHOWN_GROUPS, FirstThatFits, empty_table, literal, texts
from .views import BY_GROUP, HEADINGS, GroupRow, group_rows, in_words, is_calibrated


def calibration_summary(run: Run) -> RenderableType | None:
    """Return the calibration of each group beside its noise floor; None where no dataset and task has any."""
    blocks: list[RenderableType] = []
    for part in run.parts:
        if is_calibrated(part.measured):
            blocks.append(Text(literal(f"calibration of {run.name} on {part}"), style="bold"))
            blocks += [Text(sentence) for sentence in in_words(part.measured)]
            blocks += [Text(), _by_group(list(group_rows(part.measured))), Text()]
    return Group(*blocks) if blocks else None


def _by_group(rows: Sequence[GroupRow]) -> RenderableType:
    """Return the metrics side by side or, in a narrow terminal, two or one at a time."""
    widths = (len(BY_GROUP), 2, 1)
    layouts = [[BY_GROUP[at : at + width] for at in range(0, len(BY_GROUP), width)] for width in widths]
    return FirstThatFits([[_group_table(rows, metrics) for metrics in layout] for layout in layouts])


def _group_table(rows: Sequence[GroupRow], metrics: Sequence[str]) -> Table:
    table = empty_table("group", "n", *(HEADINGS.get(metric, metric) for metric in metrics))
    for row in rows:
        values = dict(zip(BY_GROUP, row.cells, strict=True))
        cells = [
            NOTHING if cell is None else f"{cell.value:.3f}" if metric == "ece_floor" else span(cell)
            for metric, cell in ((metric, values[metric]) for metric in metrics)
        ]
        table.add_row(*texts([row.group, str(row.n), *cells]))
    return table


def bins_table(table: pd.DataFrame, title: str) -> RenderableType:
    """Return the bins of a reliability diagram: how probable, how often so, of how many."""
    shown = empty_table("group", "P from", "to", "items", "mean P", "share", "95% interval")
    for row in table.itertuples():
        cells = [str(row.group), f"{row.start:.1f}", f"{row.end:.1f}", str(row.items), f"{row.confidence:.3f}"]
        shown.add_row(*texts([*cells, f"{row.rate:.3f}", f"[{row.low:.3f}, {row.high:.3f}]"]))
    return Group(Text(), Text(literal(title), style="bold"), shown)


def before_after_table(table: pd.DataFrame) -> RenderableType:
    """Return the ECE of the tested halves before and after: a row for each method and map, a column for each group.

    Beside each ECE is the one that chance alone would show, with the probabilities that the map made.
    """
    parts: list[RenderableType] = []
    for (dataset, task), part in table[table["metric"] == "ece"].groupby(["dataset", "task"], sort=False):
        groups = list(dict.fromkeys(part["group"]))[: SHOWN_GROUPS + 1]
        first = {group: part[part["group"] == group].iloc[0] for group in groups}
        tables = [[_maps_table(part, first)], [_maps_table(part, {group: row}) for group, row in first.items()]]
        splits = int(part["splits"].max())
        title = f"ECE of the tested half on {dataset} · {task}, mean over {splits} splits [the middle 95% of them]"
        parts += [Text(), Text(literal(title), style="bold"), FirstThatFits(tables)]
    return Group(*parts, Text())


def _maps_table(part: pd.DataFrame, first: Mapping[str, pd.Series]) -> Table:
    """Return the groups side by side; `first` has a row of each group."""
    shown = empty_table("maps", "method", *(f"{group} (n = {row['n']})" for group, row in first.items()))
    shown.add_row(*texts(["", "before", *(f"{row['before']:.3f}" for row in first.values())]))
    for (maps, method), rows in part.groupby(["maps", "method"], sort=False):
        cells = {
            row.group: f"{row.after:.3f} [{row.low:.3f}, {row.high:.3f}], by chance {row.floor:.3f}"
            for row in rows.itertuples()
        }
        shown.add_row(*texts([str(maps), str(method), *(cells.get(group, "–") for group in first)]))
    return shown
