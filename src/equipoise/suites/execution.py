"""Runs the cells of a suite: a process for each model, several at once if asked for; a failure stays in its cell."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Queue
from typing import Any

from filelock import FileLock, Timeout

from ..files import nearest
from ..progress import Progress
from ..records import EquipoiseError
from ..runs.folder import RunFolder
from .cells import Cell, by_model, cells
from .status import DONE, FAILED, NAME, RUNNING, SKIPPED, WAITING, State, Status, asked_prompts
from .suite_file import Suite, SuiteError

Show = Callable[[Status], None]
"""Called whenever the status has changed."""

HEADROOM = 1.2
"""How much of the estimated disk space must be free."""


@dataclass(frozen=True)
class Choices:
    """How a suite is run: which cells, how many models at once, and settings that win over the file's."""

    only: Sequence[str] = ()
    jobs: int = 1
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise EquipoiseError(f"jobs must be at least 1, not {self.jobs}")


def plan(suite: Suite, choices: Choices, *, progress: Progress | None = None) -> Status:
    """Return the status of a suite whose cells are all checked; SuiteError names every cell that cannot run."""
    suite = replace(suite, settings={**suite.settings, **choices.settings})
    checked = cells(suite, only=choices.only, progress=progress)
    faults = [f"{cell.name}: {cell.problem}" for cell in checked if cell.problem]
    if faults:
        more = f" (and {len(faults) - 1} more cells; --dry-run lists them)" if len(faults) > 1 else ""
        raise SuiteError(f"{suite.path}: {faults[0]}{more}")
    local = any(cell.settings.get("cluster") == "auto" for cell in checked) and not os.environ.get("RAY_ADDRESS")
    if local and choices.jobs > 1:
        text = "several jobs would each start a cluster; start one (`ray start --head`) and give its address as cluster"
        raise SuiteError(f"{suite.path}: {text}")
    status = Status(checked, suite.out / NAME)
    _check_budget(suite, status)
    return status


def _check_budget(suite: Suite, status: Status) -> None:
    """Refuse a suite that asks or writes more than its budget allows, or more than the disk has room for."""
    waiting = status.of(WAITING)
    prompts = sum(cell.prompts for cell in status.of(WAITING, DONE))
    if suite.budget.prompts is not None and prompts > suite.budget.prompts:
        raise SuiteError(f"{suite.path}: the cells ask {prompts:,} prompts, the budget is {suite.budget.prompts:,}")
    size = sum(cell.size for cell in status.of(WAITING, DONE))
    if suite.budget.disk_gb is not None and size > suite.budget.disk_gb * 1e9:
        raise SuiteError(f"{suite.path}: the cells take {size / 1e9:.2f} GB, the budget is {suite.budget.disk_gb:g} GB")
    needed, free = HEADROOM * sum(cell.size for cell in waiting), shutil.disk_usage(nearest(suite.out)).free
    if needed > free:
        text = f"the cells need {needed / 1e9:.2f} GB of disk space, {free / 1e9:.2f} GB are free at {suite.out}"
        raise SuiteError(f"{suite.path}: {text}")


def run_suite(suite: Suite, choices: Choices, *, show: Show, status: Status | None = None) -> Status:
    """Return the status after all cells have run that the budget had time for; finished cells are left as they are."""
    status = status or plan(suite, choices)
    suite.out.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(suite.out / ".suite.lock", timeout=0):
            status.write()
            show(status)
            Execution(suite, choices, status, show).run()
    except Timeout:
        raise SuiteError(f"another command is running this suite into {suite.out}; wait for it to end") from None
    return status


class Execution:
    """The cells that wait, shared out to workers; each worker has one model."""

    def __init__(self, suite: Suite, choices: Choices, status: Status, show: Show) -> None:
        self._suite, self._choices, self._status, self._show = suite, choices, status, show
        self._events: Queue[tuple[int, dict[str, Any]]] = Queue()
        self._groups = list(by_model(status.of(WAITING)))
        self._places: dict[int, _Place] = {}
        hours = suite.budget.hours
        self._deadline = None if hours is None else time.monotonic() + 3600 * hours

    def run(self) -> None:
        """Run everything; when this is interrupted, no process is left behind."""
        try:
            for number in range(self._choices.jobs):
                self._fill(number)
            while self._places:
                number, event = self._events.get()
                if number in self._places:
                    self._take(number, event)
        finally:
            for place in self._places.values():
                place.kill()
            for cell in self._status.of(RUNNING):
                self._status.set(cell, State(WAITING))

    def _fill(self, number: int) -> None:
        """Give a place to the next model, if there is one and time for it."""
        if self._groups and not self._is_late():
            place = _Place(number, self._groups.pop(0), self._suite.out)
            self._places[number] = place
            threading.Thread(target=self._read, args=(place,), daemon=True).start()

    def _read(self, place: _Place) -> None:
        assert place.process.stdout is not None
        for text in place.process.stdout:
            with suppress(ValueError):
                self._events.put((place.number, json.loads(text)))
        self._events.put((place.number, {"event": "ended", "code": place.process.wait()}))

    def _take(self, number: int, event: dict[str, Any]) -> None:
        place, kind = self._places[number], event["event"]
        if kind == "progress":
            self._progress(place, event)
        elif kind == "ended":
            self._ended(place, event["code"])
        else:
            if place.running is not None:
                cell, place.running = place.running, None
                self._status.set(cell, _final_state(cell, event))
            self._next(place)
        self._show(self._status)

    def _progress(self, place: _Place, event: dict[str, Any]) -> None:
        if place.running is not None:
            scoring = event["total"] > 1 and event["what"] != "measuring"
            asked = event["done"] if scoring else self._status.states[place.running.name].asked
            self._status.update(place.running, asked=asked, note=event["what"])

    def _next(self, place: _Place) -> None:
        """Send a worker its next cell, or let it go."""
        if place.cells and not self._is_late():
            place.running = place.cells.pop(0)
            self._status.set(place.running, State(RUNNING))
            command = ["equipoise", "suite", str(self._suite.path), "--only", place.running.name]
            place.send(place.running, command)
        else:
            place.close()

    def _ended(self, place: _Place, code: int) -> None:
        """A worker is gone: with a cell, that cell failed, and a new worker goes on with the others of its model."""
        if place.running is not None or (place.cells and not self._is_late()):
            cell, place.running = place.running or place.cells.pop(0), None
            name = f"signal {signal.Signals(-code).name}" if code < 0 else f"code {code}"
            self._status.set(cell, _failed(f"its process ended with {name}; see {place.log}"))
        del self._places[place.number]
        if place.cells:
            self._groups.insert(0, place.cells)
        self._fill(place.number)

    def _is_late(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline


def _final_state(cell: Cell, event: Mapping[str, Any]) -> State:
    """Return the state of a cell when its worker says how it ended."""
    if event["event"] == "done":
        return State(DONE, asked_prompts(cell, RunFolder(cell.folder)), event["seconds"])
    return State(SKIPPED, note=event["reason"]) if event["event"] == "left out" else _failed(event["reason"])


def _failed(reason: str) -> State:
    return State(FAILED, note=" ".join(reason.split()))


class _Place:
    """A worker's process, the cells it is to run, and the one it is running."""

    def __init__(self, number: int, several: list[Cell], out: Path) -> None:
        self.number, self.cells = number, list(several)
        self.running: Cell | None = None
        self.log = out / "logs" / f"{several[0].folder.name}.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "equipoise.suites.worker", str(out / f".worker-{number}.lock")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def send(self, cell: Cell, command: Sequence[str]) -> None:
        """Let the worker run a cell."""
        request = {"model": cell.model.spec, "data": [cell.data], "task": [cell.task], "folder": str(cell.folder)}
        self._write(json.dumps({**request, "settings": dict(cell.settings), "command": list(command)}) + "\n")

    def _write(self, text: str) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended; the reader of its output says so
            self.process.stdin.write(text)
            self.process.stdin.flush()

    def close(self) -> None:
        """Let the worker end: nothing more will come."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()

    def kill(self) -> None:
        """End the worker now."""
        self.process.kill()
        self.process.wait()
