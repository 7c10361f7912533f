"""How far a run that is still going has come: a small file in its folder, for those who watch."""

from __future__ import annotations

import json
import math
import os
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..files import is_running, read_plain, write_file
from ..progress import Progress
from ..records import FirstResults

NAME = ".progress.json"
EVERY = 1.0
"""Seconds between two notes; a run that is over before the first leaves none."""

SPARING = 100.0
"""How many times as long as it takes to look at first results a run works before it looks again."""

MOST_BYTES = 2**16
MOST_NAMES = 50
SILENT = 300.0
"""Seconds without a note after which a run on another machine is taken for stopped."""


@dataclass(frozen=True)
class Going:
    """What a run does now, how much of it is done, of how much, and what is known so far."""

    what: str
    done: int
    total: int
    process: int
    machine: str
    at: float
    so_far: tuple[FirstResults, ...] = ()

    def is_alive(self) -> bool:
        """Return whether the run still goes: its process is there or, on another machine, it was heard of lately."""
        if self.machine == socket.gethostname():
            return is_running(self.process)
        return time.time() - self.at < SILENT


class ProgressNotes:
    """What the work of a run reports to: it is passed on, and noted in the run's folder now and then.

    `check` raises an error where the folder is not there any more.
    """

    def __init__(
        self,
        folder: Path,
        report: Progress,
        clock: Callable[[], float] = time.monotonic,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._folder, self._report, self._clock, self._check = folder, report, clock, check
        self._last = self._rested = clock()
        self._look: Callable[[], FirstResults | None] = lambda: None
        self._seen: dict[tuple[str, str], FirstResults] = {}

    def watch(self, look: Callable[[], FirstResults | None]) -> None:
        """Take what gives the first results of what is scored from now on; it is asked for them sparingly."""
        self._look = look

    def __call__(self, what: str, done: int, total: int) -> None:
        """Pass it on, and note it where the last note is old."""
        self._report(what, done, total)
        if self._clock() - self._last >= EVERY:
            self._check()
            self._see()
            self._last = self._clock()
            going = Going(what, done, total, os.getpid(), socket.gethostname(), time.time(), (*self._seen.values(),))
            with suppress(OSError):  # who watches must not stop who works
                write_file(self._folder / NAME, _encoded(going))

    def _see(self) -> None:
        """Take the first results of what is being scored, unless the last look was too long for that."""
        start = self._clock()
        if start < self._rested:
            return
        seen = self._look()
        if seen is not None:
            self._seen[seen.dataset, seen.task] = seen
        self._rested = self._clock() + SPARING * (self._clock() - start)


def _encoded(going: Going) -> bytes:
    """Return a note as it is stored: without first results where they are too many to be read."""
    note = asdict(going)
    content = json.dumps(note).encode()
    return content if len(content) <= MOST_BYTES else json.dumps({**note, "so_far": ()}).encode()


def read_progress(folder: Path) -> Going | None:
    """Return how far the run in a folder has come; None where it does not say."""
    try:
        content = json.loads(read_plain(folder, NAME, most=MOST_BYTES))
        what, machine = str(content["what"])[:300], str(content["machine"])
        done, total, process = (int(content[name]) for name in ("done", "total", "process"))
        so_far = tuple(_first_results(row) for row in list(content.get("so_far", ()))[:MOST_NAMES])
        return Going(what, max(done, 0), max(total, 1), process, machine, float(content["at"]), so_far)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        return None


def _first_results(row: Mapping[str, Any]) -> FirstResults:
    """Return first results as they are stored; values that are not numbers are left out."""
    metrics: dict[str, dict[str, tuple[float, int]]] = {}
    for metric, kinds in row["metrics"].items():
        values = {str(kind): (float(value), int(n)) for kind, (value, n) in list(kinds.items())[:MOST_NAMES]}
        metrics[str(metric)] = {kind: (value, n) for kind, (value, n) in values.items() if math.isfinite(value)}
    return FirstResults(str(row["dataset"]), str(row["task"]), int(row["sets"]), int(row["of"]), metrics)


def forget_progress(folder: Path) -> None:
    """Remove the note of a run that is over."""
    (folder / NAME).unlink(missing_ok=True)
