"""Kills a command at a step of its writing, in this process.

A kill is an error at a step (fsync, rename, unlink, truncate) after which no further step reaches the disk.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

STEPS = ("fsync", "replace", "rename", "unlink", "truncate")


class Killed(BaseException):
    """The process ends here."""


@contextmanager
def killed_at(step: int | None) -> Iterator[list[str]]:
    """Let the process end before that step of writing; give the list of the steps that were reached."""
    reached: list[str] = []

    def guarded(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            reached.append(name)
            if step is not None and len(reached) > step:
                raise Killed
            # A process that ends loses nothing that it wrote: there is no need to wait for the disk.
            return None if name == "fsync" else original(*arguments, **named)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in STEPS:
            patch.setattr(os, name, guarded(name, getattr(os, name)))
        yield reached


def killed_everywhere(
    folder: Path, command: Callable[[], Any], state: Callable[[Path], Any], scratch: Path, *, most: int = 1000
) -> tuple[int, set[Any]]:
    """Kill a command at its steps, each time on a fresh copy of the folder; return how many steps, and the states.

    After every fourth kill the command runs again, undisturbed: it must end as if it had not been killed. With more
    steps than `most`, that many are taken, spread evenly.
    """
    saved = scratch / "saved"
    if folder.exists():
        shutil.copytree(folder, saved)
    with killed_at(None) as steps:
        command()
    after, seen = state(folder), set()
    chosen = sorted({number * (len(steps) - 1) // (most - 1) for number in range(most)}) if len(steps) > most else None
    for count, step in enumerate(chosen or range(len(steps))):
        shutil.rmtree(folder)
        if saved.exists():
            shutil.copytree(saved, folder)
        with killed_at(step), pytest.raises(Killed):
            command()
        seen.add(state(folder))
        if count % 4 == 0:
            command()
            assert state(folder) == after, f"killed at step {step}, {steps[step]}"
            left = [file.name for file in folder.rglob("*") if file.name.endswith((".next", ".part"))]
            assert not left, f"killed at step {step}, {steps[step]}"
    return len(steps), seen
