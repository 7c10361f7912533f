"""Measurements as tables in a terminal. Every name is printed as it is: none is ever read as markup."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.measure import Measurement as Width
from rich.table import Table
from rich.text import Text

from ...records import Measurement, group_label, parse_group
from ...runs.measurements import ARROWS, KINDS, Measurements, metric_of, metric_place, span
from ...runs.run import Run
from ..headlines import groupings, headlines
from ..summary import Sentence, part_summary
from ..validity import Check

SHORT_KINDS = {"type2": "type 2", "type1": "type 1"}
NOTHING = "–"
SHOWN_GROUPS = 10
"""A group with more values than this has no table here; its values are in measurements.csv and on the page."""


def run_summary(run: Run, *, every: bool = False) -> RenderableType:
    """Return what a run shows: for every dataset and task its sentences, checks, metrics by type, and groups.

    The leading metrics are shown, or with `every` all of them.
    """
    blocks: list[RenderableType] = []
    for part in run.parts:
        summary = part_summary(part)
        title = Text(literal(summary.title), style="bold")
        blocks += [Text(), title, _list(summary.sentences), *_check_line(summary.checks), Text()]
        names = headlines(part)
        shown = [*names.first, *names.rest] if every else names.first
        over_groups, all_over_groups = groupings(part, every=every), groupings(part, every=True)
        hidden = {*names.rest, *(row.metric for row in all_over_groups if row not in over_groups)} - set(shown)
        blocks += [_metric_tables(part.measured, sorted(shown, key=metric_place)), *_folded(run, hidden)]
        blocks += [*_grouping_table(over_groups), Text(), *_group_tables(part.measured)]
    return Group(*blocks)


def _list(sentences: Sequence[Sentence]) -> Table:
    """Return the sentences as a list, each with a dash before it."""
    table = Table.grid(padding=(0, 1))
    for sentence in sentences:
        table.add_row(*texts(["-", sentence.text]))
    return table


def _folded(run: Run, hidden: Collection[str]) -> Iterator[RenderableType]:
    """Yield where the metrics are that the tables leave out."""
    if hidden:
        where = f"`equipoise report {run.path} --all` prints them"
        yield Text(literal(f"{len(hidden)} more metrics are in measurements.csv and on the page; {where}."), "dim")


def _check_line(checks: Sequence[Check]) -> Iterator[RenderableType]:
    """Yield the checks on one line: the values a reader needs before the verdict."""
    if checks:
        yield Text(literal("checks: " + "; ".join(f"{check.name} {check.value}" for check in checks)), style="dim")


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


def _metric_tables(measured: Measurements, names: Sequence[str]) -> RenderableType:
    """Return the metrics by type: side by side with their meaning, without it, or type by type."""
    kinds = measured.kinds
    return FirstThatFits(
        [
            [_metric_table(measured, names, kinds, meaning=True)],
            [_metric_table(measured, names, kinds, meaning=False)],
            [_metric_table(measured, names, [kind], meaning=False) for kind in kinds],
        ]
    )


def _metric_table(measured: Measurements, names: Sequence[str], kinds: Sequence[str], *, meaning: bool) -> Table:
    headings = [heading for kind in kinds for heading in (KINDS.get(kind, kind or "all"), "n")]
    table = empty_table("metric" if meaning else "metric (↑ ↓: better)", *headings)
    if meaning:
        table.add_column("better", justify="center")
        table.add_column("what it is", style="dim")
    groups = [group_label({"type": kind} if kind else {}) for kind in kinds]
    for name in names:
        rows = [measured.at(name, group) for group in groups]
        arrow = next((ARROWS[row.better] for row in rows if row is not None), None)
        if arrow is None:
            continue
        values = [cell for row in rows for cell in _cells(measured, row)]
        metric = metric_of(name)
        summary = metric.summary if metric else ""
        table.add_row(*texts([name, *values, arrow, summary] if meaning else [f"{name} {arrow}".strip(), *values]))
    return table


def _grouping_table(rows: Sequence[Measurement]) -> Iterator[RenderableType]:
    """Yield the table of metrics that compare all groups of a name, if there are any."""
    if rows:
        table = empty_table("metric over groups (↑ ↓: better)", "value", "n", "groups of")
        for row in rows:
            name = f"{row.metric} {ARROWS[row.better]}".strip()
            table.add_row(*texts([name, span(row), f"{row.n:,}", parse_group(row.group)["by"]]))
        yield from (Text(), table)


def _cells(measured: Measurements, row: Measurement | None) -> tuple[str, str]:
    """Return the value with its interval and, where there are several seeds, its spread over them; and n."""
    if row is None:
        return NOTHING, ""
    spread = measured.spread(row.metric, row.group)
    return (span(row) if spread is None else f"{span(row)} ±{spread:.3f}"), f"{row.n:,}"


def _group_tables(measured: Measurements) -> Iterator[RenderableType]:
    """Yield accuracy, certainty and desirability of each group, and a line for those with many values."""
    many: dict[str, int] = {}
    for kind in measured.kinds:
        shown: list[tuple[str, Mapping[str, str]]] = []
        for key in measured.keys:
            labels = measured.values_of(key, kind)
            if len(labels) > SHOWN_GROUPS:
                many[key] = max(many.get(key, 0), len(labels))
            elif labels:
                shown.append((key, labels))
        yield from _group_table(measured, kind, shown)
    for key, count in many.items():
        yield Text(literal(f"{count} values of {key} are in measurements.csv and on the page."))


def _group_table(
    measured: Measurements, kind: str, shown: Sequence[tuple[str, Mapping[str, str]]]
) -> Iterator[RenderableType]:
    """Yield the table of a type's groups, if any of the metrics shown was taken of them."""
    every = [label for _, labels in shown for label in labels.values()]
    metrics: list[str] = []
    for base in ("accuracy", "certainty", "desirability"):
        taken = [
            metric for metric in measured.metrics if any(measured.at(metric, label) is not None for label in every)
        ]
        variants = [name for name in taken if (metric := metric_of(name)) is not None and metric.name == base]
        metrics += variants[:1]
    if not metrics:
        return

    def table(columns: Sequence[str]) -> Table:
        table = empty_table(SHORT_KINDS.get(kind, kind), *columns, "n")
        for key, labels in shown:
            table.add_row(*texts([key]))
            for value, label in labels.items():
                rows = [measured.at(metric, label) for metric in columns]
                cells = [NOTHING if row is None else span(row) for row in rows]
                n = max((row.n for row in rows if row is not None), default=0)
                table.add_row(*texts([f"  {value}", *cells, f"{n:,}"]))
        return table

    yield FirstThatFits([[table(metrics)], [table([metric]) for metric in metrics]])
    yield Text()


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
