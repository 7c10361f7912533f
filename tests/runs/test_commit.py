"""A commit switches a run folder from one state to the next: after a crash at any step it holds the old or the new."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.records import RunError, RunManifest
from equipoise.runs import RunFolder

OLD = RunManifest("m", {}, {}, {}, {}, {}, "equipoise audit m", "2026-01-01T00:00:00+00:00", "then", ["old"])
NEW = replace(OLD, notes=["new"])
TABLES = ("measurements.csv", "pairs.parquet", "outcomes.parquet")


class Killed(BaseException):
    """The process ends here."""


def contents(state: str) -> dict[str, str]:
    return {name: f"{state} {name}" for name in TABLES}


def state_of(folder: RunFolder) -> str:
    """Return which state a reader sees; that all tables are of the state the manifest names is part of the contract."""
    (state,) = folder.manifest().notes
    assert {name: folder.content(name).decode() for name in TABLES} == contents(state)
    return state


def kill_at(monkeypatch: pytest.MonkeyPatch, step: int) -> Callable[[], int]:
    """End the process at the given call of os.replace or os.fsync, before it or after it; return a counter of calls."""
    calls = 0

    def guarded(name: str) -> Callable[..., None]:
        original = getattr(os, name)

        def call(*arguments: object) -> None:
            nonlocal calls
            calls += 1
            if calls == 2 * step + 1:
                raise Killed
            original(*arguments)
            calls += 1
            if calls == 2 * step + 2:
                raise Killed

        return call

    for name in ("replace", "fsync"):
        monkeypatch.setattr(os, name, guarded(name))
    return lambda: calls // 2


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk: a process that ends loses nothing that it wrote."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "run")
    with made.held():
        made.commit(contents("old"), OLD)
    return made


def commit(folder: RunFolder, tables: Mapping[str, str], manifest: RunManifest) -> None:
    with folder.held():
        folder.commit(tables, manifest)


def steps_of_a_commit(folder: RunFolder) -> int:
    with pytest.MonkeyPatch.context() as patch:
        count = kill_at(patch, 10**6)
        commit(folder, contents("old"), OLD)
    return count()


def interrupted(folder: RunFolder, step: int, state: str, manifest: RunManifest) -> None:
    with pytest.MonkeyPatch.context() as patch:
        kill_at(patch, step)
        with pytest.raises(Killed):
            commit(folder, contents(state), manifest)


def test_a_commit_killed_at_any_step_leaves_the_old_or_the_new_run(folder: RunFolder) -> None:
    steps = steps_of_a_commit(folder)
    # Three tables and the manifest are written, synced and renamed, and the folder synced; then three are moved.
    assert steps == 4 * 3 + 3 + 1
    states = []
    for step in range(steps):
        interrupted(folder, step, "new", NEW)
        states.append(state_of(folder))
        commit(folder, contents("old"), OLD)
        assert state_of(folder) == "old"
    assert states == sorted(states, reverse=True), "once the new run counts, it stays"
    assert set(states) == {"old", "new"}


def test_a_second_crash_does_not_lose_what_the_first_left(folder: RunFolder) -> None:
    steps = steps_of_a_commit(folder)
    for first in range(steps):
        for second in range(0, steps, 3):
            interrupted(folder, first, "new", NEW)
            before = state_of(folder)
            interrupted(folder, second, "third", replace(NEW, notes=["third"]))
            assert state_of(folder) in (before, "third")
            commit(folder, contents("old"), OLD)


def test_the_next_command_clears_up_after_a_crash(folder: RunFolder) -> None:
    for step in range(steps_of_a_commit(folder)):
        interrupted(folder, step, "new", NEW)
        state = state_of(folder)
        # What a process that no longer runs was writing; its number is beyond those of the system.
        (folder.path / ".pairs.parquet.99999999.part").write_text("half a")
        with folder.held():
            pass
        assert {file.name for file in folder.path.iterdir()} - {".run.lock"} == {"manifest.json", *TABLES}
        assert {name: (folder.path / name).read_text() for name in TABLES} == contents(state)


def test_adding_a_file_keeps_the_others_and_replaces_it_in_one_step(folder: RunFolder) -> None:
    folder.add({"calibration.csv": "first"})
    with pytest.MonkeyPatch.context() as patch:
        kill_at(patch, 0)
        with pytest.raises(Killed):
            folder.add({"calibration.csv": "second"})
    assert (folder.content("calibration.csv"), state_of(folder)) == (b"first", "old")
    folder.add({"calibration.csv": "second"})
    assert (folder.content("calibration.csv"), state_of(folder)) == (b"second", "old")


def test_a_file_of_a_commit_that_never_counted_is_not_read(folder: RunFolder) -> None:
    (folder.path / ".measurements.csv.next").write_text("new measurements.csv")
    (folder.path / "measurements.csv").unlink()
    with pytest.raises(RunError, match=r"measurements\.csv is damaged \(it is not the file that the run wrote\)"):
        folder.content("measurements.csv")


@pytest.mark.parametrize("name", TABLES)
def test_any_changed_byte_is_refused(folder: RunFolder, name: str) -> None:
    path = folder.path / name
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(RunError, match="is damaged"):
            folder.content(name)
    for other in (whole[:-1], whole + b"\n", b""):
        path.write_bytes(other)
        with pytest.raises(RunError, match="is damaged"):
            folder.frame(name)
