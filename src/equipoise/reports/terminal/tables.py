"""Measurements as tables in a terminal. Every name is printed as it is: none is ever read as markup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.measure import Measurement as Width
from rich.table import Table
from rich.text import Text

from ...records import Measurement, group_label
from ...runs.measurements import ARROWS, KINDS, Measurements, metric_of, metric_place, span
from ...runs.run import Run
from ..behaviour.verdicts import verdicts

SHORT_KINDS = {"type2": "type 2", "type1": "type 1"}
NOTHING = "–"
SHOWN_EXTREMES = 5
SHOWN_GROUPS = 2 * SHOWN_EXTREMES
"""A group with more values than this is told by its extremes, not in a table."""


def run_summary(run: Run) -> RenderableType:
    """Return what a run shows: for every dataset and task a verdict, its metrics by type, and its groups."""
    blocks: list[RenderableType] = []
    for part in run.parts:
        measured = part.measured
        title = Text(literal(f"{run.name} on {part}"), style="bold")
        sentences = [Text(literal(sentence.striptags())) for sentence in verdicts(measured, measured.kinds, run.name)]
        blocks += [Text(), title, *sentences, Text(), _metric_tables(measured), Text()]
        blocks += _group_tables(measured)
    return Group(*blocks)


def literal(text: str) -> str:
    """Return the text on one line, with a mark in place of what could move the cursor or colour the terminal."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


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


def _metric_tables(measured: Measurements) -> RenderableType:
    """Return the metrics by type: side by side with their meaning, without it, or type by type."""
    kinds = measured.kinds
    return FirstThatFits(
        [
            [_metric_table(measured, kinds, meaning=True)],
            [_metric_table(measured, kinds, meaning=False)],
            [_metric_table(measured, [kind], meaning=False) for kind in kinds],
        ]
    )


def _metric_table(measured: Measurements, kinds: Sequence[str], *, meaning: bool) -> Table:
    headings = [KINDS.get(kind, kind or "all") for kind in kinds]
    table = empty_table("metric" if meaning else "metric (↑ ↓: better)", *headings)
    if meaning:
        table.add_column("better", justify="center")
        table.add_column("what it is", style="dim")
    groups = [group_label({"type": kind} if kind else {}) for kind in kinds]
    for name in sorted(measured.metrics, key=metric_place):
        rows = [measured.at(name, group) for group in groups]
        arrow = next((ARROWS[row.better] for row in rows if row is not None), None)
        if arrow is None:
            continue
        values = [NOTHING if row is None else _cell(measured, row) for row in rows]
        metric = metric_of(name)
        summary = metric.summary if metric else ""
        table.add_row(*texts([name, *values, arrow, summary] if meaning else [f"{name} {arrow}".strip(), *values]))
    return table


def _cell(measured: Measurements, row: Measurement) -> str:
    """Return the value with its interval and, where there are several seeds, its spread over them."""
    spread = measured.spread(row.metric, row.group)
    return span(row) if spread is None else f"{span(row)} ±{spread:.3f}"


def _group_tables(found: Measurements) -> Iterator[RenderableType]:
    """Yield accuracy, certainty and desirability of each group, and the extremes of those with many values."""
    extremes: list[RenderableType] = []
    for kind in found.kinds:
        shown: list[tuple[str, Mapping[str, str]]] = []
        for key in found.keys:
            labels = found.values_of(key, kind)
            if len(labels) > SHOWN_GROUPS:
                extremes += _extremes(found, key, kind, labels)
            elif labels:
                shown.append((key, labels))
        yield from _group_table(found, kind, shown)
    yield from extremes


def _group_table(
    found: Measurements, kind: str, shown: Sequence[tuple[str, Mapping[str, str]]]
) -> Iterator[RenderableType]:
    """Yield the table of a type's groups, if any of the metrics shown was taken of them."""
    every = [label for _, labels in shown for label in labels.values()]
    metrics: list[str] = []
    for base in ("accuracy", "certainty", "desirability"):
        taken = [metric for metric in found.metrics if any(found.at(metric, label) is not None for label in every)]
        variants = [name for name in taken if (metric := metric_of(name)) is not None and metric.name == base]
        metrics += variants[:1]
    if not metrics:
        return

    def table(columns: Sequence[str]) -> Table:
        table = empty_table(SHORT_KINDS.get(kind, kind), *columns)
        for key, labels in shown:
            table.add_row(*texts([key]))
            for value, label in labels.items():
                rows = [found.at(metric, label) for metric in columns]
                table.add_row(*texts([f"  {value}", *(NOTHING if row is None else span(row) for row in rows)]))
        return table

    yield FirstThatFits([[table(metrics)], [table([metric]) for metric in metrics]])
    yield Text()


def _extremes(found: Measurements, key: str, kind: str, labels: Mapping[str, str]) -> Iterator[RenderableType]:
    """Yield the groups whose pairs are treated least and most alike."""
    rows = {value: found.at("ucerf", label) for value, label in labels.items()}
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
