"""How far a run that is still going has come: a small file in its folder, for those who watch."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from ..files import is_running, read_plain, write_file
from ..progress import Progress

NAME = ".progress.json"
EVERY = 1.0
"""Seconds between two notes; a run that is over before the first leaves none."""

MOST_BYTES = 2**16
SILENT = 300.0
"""Seconds without a note after which a run on another machine is taken for stopped."""


@dataclass(frozen=True)
class Going:
    """What a run does now, how much of it is done, and of how much."""

    what: str
    done: int
    total: int
    process: int
    machine: str
    at: float

    def is_alive(self) -> bool:
        """Return whether the run still goes: its process is there or, on another machine, it was heard of lately."""
        if self.machine == socket.gethostname():
            return is_running(self.process)
        return time.time() - self.at < SILENT


class ProgressNotes:
    """What the work of a run reports to: it is passed on, and noted in the run's folder now and then."""

    def __init__(self, folder: Path, report: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder, self._report, self._clock = folder, report, clock
        self._last = clock()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Pass it on, and note it where the last note is old."""
        self._report(what, done, total)
        if self._clock() - self._last >= EVERY:
            self._last = self._clock()
            going = Going(what, done, total, os.getpid(), socket.gethostname(), time.time())
            with suppress(OSError):  # who watches must not stop who works
                write_file(self._folder / NAME, json.dumps(asdict(going)).encode())


def read_progress(folder: Path) -> Going | None:
    """Return how far the run in a folder has come; None where it does not say."""
    try:
        content = json.loads(read_plain(folder, NAME, most=MOST_BYTES))
        what, machine = str(content["what"])[:300], str(content["machine"])
        done, total, process = (int(content[name]) for name in ("done", "total", "process"))
        return Going(what, max(done, 0), max(total, 1), process, machine, float(content["at"]))
    except (OSError, ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return None


def forget_progress(folder: Path) -> None:
    """Remove the note of a run that is over."""
    (folder / NAME).unlink(missing_ok=True)
