"""What all commands print with: tables, lists, and a progress bar for whatever takes long."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from .. import cores
from ..progress import silent
from ..records.scripts import printable

NOTE_EVERY = 10.0
"""Seconds between two lines of progress where there is no terminal to draw a bar on."""


BUSY = 1.5
"""How many programs for each core make a machine busy, before we begin."""


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Give a function that shows how much of what is done, with rate and time left, on standard error."""
    if quiet:
        yield silent
        return
    if not sys.stderr.isatty():
        yield _progress_lines()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    bars: dict[str, Any] = {}
    with Progress(*columns, console=Console(stderr=True)) as progress:
        if cores.load() > BUSY * cores.there():
            others = f"(load {cores.load():.1f} on {cores.there()} cores)"
            progress.console.print(f"Other programs use the cores {others}: this takes longer.", highlight=False)

        def show(what: str, done: int, total: int) -> None:
            if what not in bars:
                # What a resumed run already has is not part of its speed.
                bars[what] = (progress.add_task(printable(what), total=total, completed=done, rate=""), done)
            bar, before = bars[what]
            elapsed = progress.tasks[progress.task_ids.index(bar)].elapsed or 0.0
            rate = f"{(done - before) / elapsed:.1f}/s" if elapsed > 0.5 and done > before else ""
            progress.update(bar, completed=done, total=total, rate=rate)

        yield show


def _progress_lines() -> Callable[[str, int, int], None]:
    """Return a function that prints a line of progress now and then: for logs, where a bar would be noise."""
    began: dict[str, tuple[float, int]] = {}
    last = time.monotonic()

    def show(what: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        start, before = began.setdefault(what, (now, done))
        if now - last < NOTE_EVERY or done == before:
            return
        last, rate = now, (done - before) / (now - start)
        far = f"{done:,} of {total:,}, {rate:.1f}/s, {(total - done) / rate:.0f} s left" if total > 1 else "done"
        tell(f"{what}: {far}", err=True)

    return show


def tell(text: str, *, err: bool = False) -> None:
    """Print a line, with a mark in place of what could move the cursor or colour the terminal."""
    typer.echo(printable(text), err=err)


def print_out(renderable: Any) -> None:
    """Print a table or text on standard output; outside of a terminal as wide as needed (or as COLUMNS says)."""
    from rich.console import Console

    from ..media import terminal

    console = Console(highlight=False)
    if console.is_terminal:
        console.print(renderable)
    else:
        typer.echo(terminal.text_of(renderable, width=None if "COLUMNS" in os.environ else 10_000))


def listing(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Any:
    """Return a table of words; where it is wider than the terminal, a list with a heading for each row."""
    from ..media import terminal
    from ..records.showing import Column, Row, Table

    return terminal.draw(Table("", [Column(name, words=True) for name in header], [Row(row) for row in rows]))


def plain_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Any:
    """Return a table of words, which are printed as they are."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table
