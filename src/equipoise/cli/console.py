"""What all commands share: one clear sentence for every mistake, and a progress bar for whatever takes long."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import typer

from ..records import EquipoiseError
from .memory import NO_MEMORY, end_in_a_sentence, is_out_of_memory

FAILED = 2
"""Exit code of whatever could not be done: bad input, a full disk, an interruption."""

SENTENCE = 600
"""Characters of an error at most: a cell of ten megabytes is not worth printing."""

NOTE_EVERY = 10.0
"""Seconds between two lines of progress where there is no terminal to draw a bar on."""

EXTRAS = {
    "matplotlib": "figures",
    "sentence_transformers": "embeddings",
    "zipfile_zstd": "inspect",
    "ray": "ray",
    **dict.fromkeys(("peft", "trl"), "train"),
    **dict.fromkeys(("mlflow", "wandb", "tensorboardX"), "trackers"),
    **dict.fromkeys(
        ("alembic", "fastapi", "psycopg", "python_multipart", "multipart", "sqlalchemy", "uvicorn"),
        "builder",
    ),
}
"""Modules that come with an extra -> the extra."""

UsageError: Any = typer.BadParameter.__mro__[2]
"""What every wrong way to call a command is; taken from here because typer brings a click of its own."""


ARGUMENTS = (
    *("trust_remote_code", "allow_pickle", "merge_adapter", "worker_cores"),
    *("token_aggregate", "answer_space", "reasoning_tokens"),
)
"""Arguments of the library that are options of `audit`; only those that are not words of a sentence."""

_ARGUMENT = re.compile(rf"(?<![\w.'\"/-])(?:{'|'.join(ARGUMENTS)})(?![\w.'\"/-])")


class _Interrupted(BaseException):
    """SIGINT or SIGTERM; not KeyboardInterrupt, which typer turns into an exit without a word."""


@contextmanager
def clear_errors() -> Iterator[None]:
    """Turn every mistake that a user can fix into one sentence and exit code 2, without a traceback."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    end_in_a_sentence(FAILED)
    try:
        yield
        # Here, because a reader that went away is found out only now.
        sys.stdout.flush()
    except EquipoiseError as error:
        fail(with_options(str(error)))
    except UsageError as error:
        fail(_usage(error))
    except (_Interrupted, KeyboardInterrupt):
        fail("interrupted; finished work is saved, and the same command continues from there")
    except BrokenPipeError:
        _leave_quietly()
    except SystemExit as ended:
        # typer ends with 1 where the reader of the output has left.
        if not isinstance(ended.__context__, BrokenPipeError):
            raise
        _leave_quietly()
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        fail(f"this needs the package {package}: pip install 'equipoise[{EXTRAS[package]}]'")
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            fail(f"the disk is full{_at(error)}; finished work is saved: free some space and run the command again")
        fail(NO_MEMORY if is_out_of_memory(error) else f"{error.strerror or error}{_at(error)}")
    except (MemoryError, ImportError, RuntimeError, SystemError) as error:
        if not is_out_of_memory(error):
            raise
        fail(NO_MEMORY)


def with_options(sentence: str) -> str:
    """Return an error of the library in the words of the command line: `--allow-pickle` for `allow_pickle`."""
    return _ARGUMENT.sub(lambda match: "--" + match[0].replace("_", "-"), sentence)


def fail(sentence: str) -> NoReturn:
    """Say what is wrong on standard error, in one line, and end with exit code 2."""
    line = " ".join(sentence.split())
    if len(line) > SENTENCE:
        line = f"{line[: SENTENCE // 2]} … {line[-SENTENCE // 2 :]}"
    typer.echo(f"equipoise: {printable(line)}", err=True)
    sys.exit(FAILED)


def printable(text: str) -> str:
    """Return the text with a mark in place of what could move the cursor or colour the terminal."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def _leave_quietly() -> NoReturn:
    """End well: the reader of the output (head, less) has seen enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def _usage(error: Any) -> str:
    where = f" (see {error.ctx.command_path} --help)" if getattr(error, "ctx", None) else ""
    return str(error.format_message()).replace("Value error, ", "").rstrip(".") + where


def _at(error: OSError) -> str:
    return f": {error.filename}" if error.filename else ""


def _interrupt(number: int, frame: Any) -> NoReturn:
    raise _Interrupted


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Give a function that shows how much of what is done, with rate and time left, on standard error."""
    if quiet:
        yield lambda what, done, total: None
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

        def show(what: str, done: int, total: int) -> None:
            if what not in bars:
                # What a resumed run already has is not part of its speed.
                bars[what] = (progress.add_task(what, total=total, completed=done, rate=""), done)
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
        typer.echo(f"{what}: {far}", err=True)

    return show


def print_out(renderable: Any) -> None:
    """Print a table or text on standard output; outside of a terminal as wide as needed (or as COLUMNS says)."""
    from rich.console import Console

    console = Console(highlight=False)
    if console.is_terminal:
        console.print(renderable)
        return
    if "COLUMNS" not in os.environ:
        console = Console(highlight=False, width=10_000)
    with console.capture() as captured:
        console.print(renderable)
    # Tables fill their last column with blanks, which a file does not need.
    typer.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


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
