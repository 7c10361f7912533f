"""The progress of a suite: a state for every cell, kept in `status.json`, and the time that is left."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..files import write_file
from ..records import RunError
from ..runs.folder import RunFolder
from .cells import Cell

WAITING, RUNNING, DONE, FAILED, SKIPPED = "waiting", "running", "done", "failed", "left out"
NAME = "status.json"


@dataclass(frozen=True)
class State:
    """The state of a cell: `asked` prompts are scored, in `seconds`; `note` says why it failed, or what it does."""

    state: str
    asked: int = 0
    seconds: float = 0.0
    note: str = ""


class Status:
    """The states of all cells of a suite; every change is written to the disk."""

    def __init__(self, cells: Sequence[Cell], path: Path) -> None:
        self.cells = list(cells)
        self.path = path
        earlier = _read(path)
        self._speeds: dict[str, float] = dict(earlier.get("speeds", {}))
        self.states = {cell.name: _first_state(cell, earlier.get("cells", {}).get(cell.name)) for cell in cells}

    def set(self, cell: Cell, state: State) -> None:
        """Change the state of a cell."""
        self.states[cell.name] = state
        if state.state == DONE and state.seconds > 0:
            self._speeds[_speed_key(cell)] = cell.prompts / state.seconds
        self.write()

    def write(self) -> None:
        """Write the states to the disk."""
        content = {"cells": {name: asdict(state) for name, state in self.states.items()}, "speeds": self._speeds}
        write_file(self.path, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace"))

    def update(self, cell: Cell, *, asked: int, note: str) -> None:
        """Take note of a running cell's progress, which is not worth writing to the disk."""
        self.states[cell.name] = replace(self.states[cell.name], asked=asked, note=note)

    def of(self, *states: str) -> list[Cell]:
        """Return the cells in one of these states."""
        return [cell for cell in self.cells if self.states[cell.name].state in states]

    def speed(self, cell: Cell) -> float | None:
        """Return the prompts of the cell's task that its model answers in a second, None where that is not known.

        Another task tells the speed where nothing else does, but a task that writes texts tells nothing of others.
        """
        known = self._speeds.get(_speed_key(cell))
        if known or cell.seconds is not None or _writes(cell.task):
            return known
        others = [other for other in self.of(DONE) if other.model == cell.model and not _writes(other.task)]
        speeds = (self._speeds.get(_speed_key(other)) for other in others)
        return next((speed for speed in speeds if speed), None)

    def seconds_left(self, cells: Sequence[Cell] | None = None) -> tuple[float, int]:
        """Return the seconds that cells need, and for how many cells they are not known.

        A model that has finished a cell has a speed. Before that the forecast counts, where there is one.
        """
        seconds, unknown = 0.0, 0
        for cell in self.of(WAITING, RUNNING) if cells is None else cells:
            speed = self.speed(cell)
            left = max(0, cell.prompts - self.states[cell.name].asked)
            if speed:
                seconds += left / speed
            elif cell.seconds is not None:
                seconds += cell.seconds * left / max(1, cell.prompts)
            else:
                unknown += 1
        return seconds, unknown

    def rows(self) -> Iterator[tuple[str, str, str, str, str]]:
        """Yield a line for each cell: name, state, prompts, time, and what there is to say."""
        for cell in self.cells:
            state = self.states[cell.name]
            part = state.state in (RUNNING, DONE) and state.asked != cell.prompts
            prompts = f"{state.asked:,} of {cell.prompts:,}" if part else f"{cell.prompts:,}"
            seconds = duration(state.seconds) if state.seconds else ""
            yield cell.name, state.state, prompts if cell.prompts else "", seconds, state.note

    def line(self) -> str:
        """Return the whole suite in a line: how many cells are in which state, and the time left."""
        names = (DONE, RUNNING, WAITING, FAILED, SKIPPED)
        counts = [f"{len(self.of(name))} {name}" for name in names if self.of(name)]
        seconds, unknown = self.seconds_left()
        if seconds or unknown:
            more = f" and {unknown} cells of unknown time" if unknown else ""
            counts.append(
                f"about {duration(seconds)} left{more}" if seconds else f"time left unknown for {unknown} cells"
            )
        return ", ".join(counts)


def _first_state(cell: Cell, earlier: Any) -> State:
    """Return the state of a cell when a command starts: finished folders count, whatever was written about them."""
    if cell.skipped:
        return State(SKIPPED, note=cell.skipped)
    if cell.problem:
        return State(FAILED, note=cell.problem)
    try:
        folder = RunFolder(cell.folder)
        if folder.manifest().finished is not None:
            seconds = earlier.get("seconds", 0.0) if isinstance(earlier, dict) else 0.0
            return State(DONE, asked=asked_prompts(cell, folder), seconds=float(seconds))
    except RunError:
        pass
    return State(WAITING)


def asked_prompts(cell: Cell, folder: RunFolder) -> int:
    """Return the prompts that a finished cell asked, by its run folder: less than all where it stopped early."""
    manifest = folder.manifest()
    if "looks.csv" not in manifest.files:
        return cell.prompts
    looks = folder.frame("looks.csv", manifest)
    return int(looks.groupby(["dataset", "task"])["prompts"].max().sum())


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _speed_key(cell: Cell) -> str:
    return f"{cell.model.name} / {cell.task}"


def _writes(task: str) -> bool:
    """Return whether a task lets the model write before it answers: a text takes as long as dozens of prompts."""
    return "-cot" in task or task.startswith("open")


def duration(seconds: float) -> str:
    """Return a time in words: `40 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
