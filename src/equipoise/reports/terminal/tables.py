"""Measurements as tables in a terminal. Every name is printed as it is: none is ever read as markup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.measure import Measurement as Width
from rich.table import Table
from rich.text import Text

from ...records import group_label, parse_group
from ...runs.measurements import ARROWS, KINDS, Measurements, span
from ..behaviour.verdicts import verdicts

SHORT_KINDS = {"type2": "type 2", "type1": "type 1"}
NOTHING = "–"
SHOWN_EXTREMES = 5
SHOWN_GROUPS = 2 * SHOWN_EXTREMES
"""A group with more values than this is told by its extremes, not in a table."""


def run_summary(measurements: pd.DataFrame, says: Mapping[str, str]) -> RenderableType:
    """Return what a run found: for every dataset and task a verdict, its metrics by type, and its groups."""
    parts: list[RenderableType] = []
    for (model, dataset, task), rows in measurements.groupby(["model", "dataset", "task"], sort=False):
        found = _Findings(rows)
        title = Text(literal(f"{model} on {dataset} · {task}"), style="bold")
        said = [Text(literal(one.striptags())) for one in verdicts(Measurements(rows), found.kinds or [""], str(model))]
        parts += [Text(), title, *said, Text(), _metric_tables(found, says), Text()]
        parts += _group_tables(found)
    return Group(*parts)


def literal(text: str) -> str:
    """Return the text on one line, with a mark in place of what could move the cursor or colour the terminal."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


class _Findings:
    """The measurements of one model on one dataset and task, by metric and group."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self._rows: dict[tuple[str, str], Any] = {}
        for row in rows.itertuples():
            self._rows.setdefault((str(row.metric), str(row.group)), row)
        self.metrics = list(dict.fromkeys(metric for metric, _ in self._rows))
        self.groups = {group: parse_group(group) for _, group in self._rows}
        here = {parts["type"] for parts in self.groups.values() if "type" in parts}
        self.kinds = [kind for kind in KINDS if kind in here] + sorted(here - set(KINDS))

    def get(self, metric: str, group: str) -> Any:
        """Return the row of that metric and group, or None."""
        return self._rows.get((metric, group))

    def spread(self, metric: str, group: str) -> float | None:
        """Return the standard deviation over seeds, where there are several."""
        parts = self.groups[group]
        seeds = [parts_of["seed"] for parts_of in self.groups.values() if "seed" in parts_of]
        rows = [self.get(metric, group_label({**parts, "seed": seed})) for seed in dict.fromkeys(seeds)]
        values = [float(row.value) for row in rows if row is not None]
        return float(pd.Series(values).std()) if len(values) > 1 else None

    def cell(self, metric: str, group: str) -> str:
        """Return the value with its interval, and its spread over seeds, as text."""
        row = self.get(metric, group)
        if row is None:
            return NOTHING
        spread = self.spread(metric, group)
        return span(row) if spread is None else f"{span(row)} ±{spread:.3f}"

    def values_of(self, key: str, kind: str) -> list[str]:
        """Return the values of a group within a type, such as the genders."""
        return sorted({p[key] for p in self.groups.values() if set(p) == {key, "type"} and p["type"] == kind})

    @property
    def keys(self) -> list[str]:
        """The groups that the types are broken down by."""
        keys = dict.fromkeys(key for p in self.groups.values() if len(p) == 2 and "type" in p for key in p)
        return [key for key in keys if key not in ("type", "seed")]


@dataclass(frozen=True)
class FirstThatFits:
    """Of several ways to lay the same numbers out, the first that is no wider than the terminal, or else the last."""

    layouts: Sequence[Sequence[Table]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        wide = options.update(width=10_000)
        for layout in self.layouts:
            fits = all(Width.get(console, wide, table).maximum <= options.max_width for table in layout)
            if fits or layout is self.layouts[-1]:
                for number, table in enumerate(layout):
                    if number:
                        yield Text()
                    yield table
                return


def _metric_tables(found: _Findings, says: Mapping[str, str]) -> RenderableType:
    """Return the metrics by type: side by side with their meaning, without it, or type by type."""
    kinds = found.kinds or [""]
    return FirstThatFits(
        [
            [_metric_table(found, kinds, says, meaning=True)],
            [_metric_table(found, kinds, says, meaning=False)],
            [_metric_table(found, [kind], says, meaning=False) for kind in kinds],
        ]
    )


def _metric_table(found: _Findings, kinds: Sequence[str], says: Mapping[str, str], *, meaning: bool) -> Table:
    headings = [KINDS.get(kind, kind or "all") for kind in kinds]
    table = empty_table("metric" if meaning else "metric (↑ ↓: better)", *headings)
    if meaning:
        table.add_column("better", justify="center")
        table.add_column("what it is", style="dim")
    groups = [group_label({"type": kind} if kind else {}) for kind in kinds]
    order = list(says)
    # An estimator's variant (ucerf_renyi) stands, and is explained, with the metric it varies.
    for metric in sorted(found.metrics, key=lambda one: order.index(_base(one, says)) if _base(one, says) else 999):
        better = [ARROWS[row.better] for group in groups if (row := found.get(metric, group)) is not None]
        if better:
            values = [found.cell(metric, group) for group in groups]
            row = [metric, *values, better[0], says.get(_base(metric, says), "")]
            table.add_row(*texts(row if meaning else [f"{metric} {better[0]}".strip(), *values]))
    return table


def _base(metric: str, names: Iterable[str]) -> str:
    """Return the longest of the names that the metric is called after, "" if there is none."""
    return max((name for name in names if f"{metric}_".startswith(f"{name}_")), key=len, default="")


def _group_tables(found: _Findings) -> Iterator[RenderableType]:
    """Yield accuracy, certainty and desirability of each group, and the extremes of those with many values."""
    extremes: list[RenderableType] = []
    for kind in found.kinds:
        shown: list[tuple[str, dict[str, str]]] = []
        for key in found.keys:
            labels = {value: group_label({key: value, "type": kind}) for value in found.values_of(key, kind)}
            if len(labels) > SHOWN_GROUPS:
                extremes += _extremes(found, key, kind, labels)
            elif labels:
                shown.append((key, labels))
        yield from _group_table(found, kind, shown)
    yield from extremes


def _group_table(
    found: _Findings, kind: str, shown: Sequence[tuple[str, Mapping[str, str]]]
) -> Iterator[RenderableType]:
    """Yield the table of a type's groups, if any of the metrics shown was taken of them."""
    every = [label for _, labels in shown for label in labels.values()]
    metrics: list[str] = []
    for base in ("accuracy", "certainty", "desirability"):
        taken = [metric for metric in found.metrics if any(found.get(metric, label) is not None for label in every)]
        variants = [metric for metric in taken if _base(metric, (base, f"{base}_gap")) == base]
        metrics += variants[:1]
    if not metrics:
        return

    def table(columns: Sequence[str]) -> Table:
        table = empty_table(SHORT_KINDS.get(kind, kind), *columns)
        for key, labels in shown:
            table.add_row(*texts([key]))
            for value, label in labels.items():
                rows = [found.get(metric, label) for metric in columns]
                table.add_row(*texts([f"  {value}", *(NOTHING if row is None else span(row) for row in rows)]))
        return table

    yield FirstThatFits([[table(metrics)], [table([metric]) for metric in metrics]])
    yield Text()


def _extremes(found: _Findings, key: str, kind: str, labels: Mapping[str, str]) -> Iterator[RenderableType]:
    """Yield the groups whose pairs are treated least and most alike."""
    rows = {value: found.get("ucerf", label) for value, label in labels.items()}
    ordered = sorted((row.value, value) for value, row in rows.items() if row is not None)
    if not ordered:
        return
    for which, some in (("least", ordered[:SHOWN_EXTREMES]), ("most", ordered[::-1][:SHOWN_EXTREMES])):
        names = ", ".join(f"{value} {ucerf:.3f}" for ucerf, value in some)
        yield Text(literal(f"{which} alike by UCerF ({key}, {SHORT_KINDS.get(kind, kind)}): {names}"))


def empty_table(first: str, *rest: str) -> Table:
    """Return an empty table: names to the left, and numbers to the right, never wrapped or cut."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(Text(literal(first)), overflow="fold")
    for name in rest:
        table.add_column(Text(literal(name)), justify="right", no_wrap=True)
    return table


def texts(cells: Sequence[str]) -> list[Text]:
    """Return the cells of a row as they are, none of them read as markup."""
    return [Text(literal(cell)) for cell in cells]
