"""What all commands share: one clear sentence for every mistake, and a progress bar for whatever takes long."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer

from ..records import EquipoiseError

FAILED = 2
"""Exit code of whatever could not be done: bad input, a full disk, an interruption."""


@contextmanager
def clear_errors() -> Iterator[None]:
    """Turn every mistake a user can mend into one sentence and exit code 2, without a traceback."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    except EquipoiseError as error:
        fail(str(error))
    except KeyboardInterrupt:
        fail("interrupted; every finished batch is kept, and the same command continues from there")
    except BrokenPipeError:
        # The reader (head, less) has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            fail(f"the disk is full{_at(error)}; every finished batch is kept: make room and run the command again")
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG):
            fail(f"{error.strerror}{_at(error)}")
        raise
    except MemoryError:
        fail("there is not enough memory for this; try a smaller model, --limit or fewer --data at once")


def fail(sentence: str) -> NoReturn:
    """Say what is wrong on standard error, and end with exit code 2."""
    typer.echo(f"equipoise: {' '.join(sentence.split())}", err=True)
    raise typer.Exit(FAILED)


def _at(error: OSError) -> str:
    return f": {error.filename}" if error.filename else ""


def _interrupt(number: int, frame: Any) -> NoReturn:
    raise KeyboardInterrupt


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Give a function that shows how much of what is done, with rate and time left, on standard error."""
    if quiet:
        yield lambda what, done, total: None
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

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    bars: dict[str, Any] = {}
    with Progress(*columns, console=console, transient=not console.is_terminal) as progress:

        def show(what: str, done: int, total: int) -> None:
            if what not in bars:
                # What a resumed run already has is not part of its speed.
                bars[what] = (progress.add_task(what, total=total, completed=done, rate=""), done)
            bar, before = bars[what]
            elapsed = progress.tasks[progress.task_ids.index(bar)].elapsed or 0.0
            rate = f"{(done - before) / elapsed:.1f}/s" if elapsed > 0.5 and done > before else ""
            progress.update(bar, completed=done, total=total, rate=rate)

        yield show


def print_out(renderable: Any) -> None:
    """Print a table or text on standard output, as wide as it needs when that is no terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=140, soft_wrap=False)
    console.print(renderable)
