"""How far a run has come: noted now and then, read by whoever watches, gone when the run is over."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path

import pytest

from equipoise.records import FirstResults
from equipoise.runs.progress_file import EVERY, NAME, SPARING, Going, ProgressNotes, forget_progress, read_progress


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_progress_is_passed_on_always_and_noted_now_and_then(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    clock = Clock()
    notes = ProgressNotes(tmp_path, lambda *what: told.append(what), clock)
    for number in range(1, 6):
        clock.now += 0.4 * EVERY
        notes("winobias · next-word", number, 10)
        going = read_progress(tmp_path)
        # Noted at 1.2 and, at the earliest, one step of time later.
        assert (going.done if going else 0) == (3 if number in (3, 4, 5) else 0)
    assert told == [("winobias · next-word", number, 10) for number in range(1, 6)]
    going = read_progress(tmp_path)
    assert (
        going is not None
        and going.is_alive()
        and (going.process, going.machine)
        == (
            os.getpid(),
            socket.gethostname(),
        )
    )
    forget_progress(tmp_path)
    forget_progress(tmp_path)
    assert read_progress(tmp_path) is None


def test_first_results_are_noted_and_looked_at_sparingly(tmp_path: Path) -> None:
    clock, looks = Clock(), []
    seen = FirstResults("builtin", "next-word", 3, 10, {"flip_rate": {"type1": (0.25, 3)}, "ucerf": {}})

    def look() -> FirstResults | None:
        looks.append(clock.now)
        clock.now += 0.5  # how long it takes
        return seen if len(looks) > 1 else None

    notes = ProgressNotes(tmp_path, lambda *what: None, clock)
    notes.watch(look)
    noted = []
    for _ in range(150):
        clock.now += EVERY
        notes("x", 1, 2)
        going = read_progress(tmp_path)
        assert going is not None
        noted.append(going.so_far)
    assert noted[0] == () and noted[-1] == (seen,)
    assert 2 <= len(looks) <= 4 and all(b - a >= 0.5 * SPARING for a, b in pairwise(looks))
    # Another dataset is beside the first; what says nothing any more takes nothing away.
    clock.now += 1000
    notes.watch(lambda: replace(seen, dataset="winobias"))
    notes("x", 1, 2)
    clock.now += 1000
    notes.watch(lambda: None)
    notes("measuring", 0, 1)
    going = read_progress(tmp_path)
    assert going is not None and [results.dataset for results in going.so_far] == ["builtin", "winobias"]


def test_first_results_that_are_too_many_or_not_numbers_are_left_out(tmp_path: Path) -> None:
    clock = Clock()
    notes = ProgressNotes(tmp_path, lambda *what: None, clock)
    many = {f"type {number} {'x' * 50}": (0.5, 3) for number in range(2000)}
    notes.watch(lambda: FirstResults("builtin", "next-word", 3, 10, {"ucerf": many}))
    clock.now += EVERY
    notes("x", 1, 2)
    going = read_progress(tmp_path)
    assert going is not None and going.done == 1 and going.so_far == ()
    note = {"what": "x", "done": 1, "total": 2, "process": 1, "machine": "m", "at": 1.0}
    rows = [
        {"dataset": "d", "task": "t", "sets": 1, "of": 2, "metrics": {"ucerf": {"a": [float("nan"), 1], "b": [1, 1]}}}
    ]
    (tmp_path / NAME).write_text(json.dumps({**note, "so_far": rows}))
    going = read_progress(tmp_path)
    assert going is not None and going.so_far[0].metrics == {"ucerf": {"b": (1.0, 1)}}


def test_a_run_whose_process_is_gone_has_stopped(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    here = Going("x", 1, 2, os.getpid(), socket.gethostname(), 0.0)
    assert here.is_alive()
    assert not replace(here, process=ended.pid).is_alive()
    elsewhere = replace(here, machine="another machine")
    assert not elsewhere.is_alive(), "nothing was heard of it for years"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[",
        "[]",
        "{}",
        '{"what": "x"}',
        '{"what":"x","done":"a","total":1,"process":1,"machine":"m","at":1}',
        "null",
        '{"what":"x","done":1,"total":1,"process":1,"machine":"m","at":1,"so_far":[[]]}',
        '{"what":"x","done":1,"total":1,"process":1,"machine":"m","at":1,"so_far":[{"dataset":"d","task":"t","sets":1,"of":1,"metrics":{"u":{"a":3}}}]}',
    ],
)
def test_a_damaged_note_says_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / NAME).write_text(content)
    assert read_progress(tmp_path) is None


def test_a_note_that_is_a_link_or_too_large_is_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    whole = {"what": "x", "done": 1, "total": 2, "process": 1, "machine": "m", "at": 1.0}
    outside.write_text(json.dumps(whole))
    (tmp_path / NAME).symlink_to(outside)
    assert read_progress(tmp_path) is None
    (tmp_path / NAME).unlink()
    (tmp_path / NAME).write_text(json.dumps({**whole, "what": "x" * 10**6}))
    assert read_progress(tmp_path) is None


NOTE = {"what": "w" * 400, "done": 3, "total": 9, "process": 7, "machine": "there", "at": 12.5}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, {"done": 3, "total": 9}),
        ({"done": -2}, {"done": 0}),
        ({"total": 0}, {"total": 1}),
        ({"total": -3}, {"total": 1}),
        ({"done": "4"}, {"done": 4}),
        ({"so_far": []}, {"so_far": ()}),
    ],
)
def test_a_note_is_read_within_its_bounds(
    tmp_path: Path, change: dict[str, object], expected: dict[str, object]
) -> None:
    (tmp_path / NAME).write_text(json.dumps({**NOTE, **change}))
    going = read_progress(tmp_path)
    assert going is not None and (going.what, going.machine, going.at, going.process) == ("w" * 300, "there", 12.5, 7)
    assert {name: getattr(going, name) for name in expected} == expected


def test_first_results_are_read_with_at_most_fifty_names(tmp_path: Path) -> None:
    kinds = {f"k{n}": [0.5, n] for n in range(60)}
    results = {"dataset": "d", "task": "t", "sets": 2, "of": 5, "metrics": {"m": kinds, "x": {"a": [None, 1]}}}
    (tmp_path / NAME).write_text(json.dumps({**NOTE, "so_far": [results]}))
    assert read_progress(tmp_path) is None, "a value that is no number spoils the note"
    results["metrics"] = {"m": kinds, "x": {"a": [float("nan"), 1], "b": [1, 2.0]}}
    few = {**results, "metrics": {}}
    (tmp_path / NAME).write_text(json.dumps({**NOTE, "so_far": [results, *[few] * 60]}))
    going = read_progress(tmp_path)
    assert going is not None and len(going.so_far) == 50
    first = going.so_far[0]
    assert (first.dataset, first.task, first.sets, first.of) == ("d", "t", 2, 5)
    assert (
        len(first.metrics["m"]) == 50
        and first.metrics["m"]["k49"] == (0.5, 49)
        and first.metrics["x"] == {"b": (1.0, 2)}
    )


def test_a_run_elsewhere_is_alive_for_five_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.runs.progress_file.time.time", lambda: 1000.0)
    going = Going("w", 1, 2, os.getpid(), "elsewhere", 700.0)
    assert not going.is_alive() and replace(going, at=700.1).is_alive()


def test_a_note_of_the_largest_size_keeps_its_results(tmp_path: Path) -> None:
    clock = Clock()
    for extra, kept in ((0, True), (1, False)):
        notes = ProgressNotes(tmp_path, lambda *what: None, clock)
        clock.now += 2 * EVERY
        bare = len(
            json.dumps(
                asdict(Going("", 1, 2, os.getpid(), socket.gethostname(), 1000.25, (FirstResults("d", "t", 1, 2, {}),)))
            )
        )
        notes.watch(lambda: FirstResults("d", "t", 1, 2, {}))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("equipoise.runs.progress_file.time.time", lambda: 1000.25)
            notes("x" * (2**16 - bare + extra), 1, 2)
        going = read_progress(tmp_path)
        assert going is not None and bool(going.so_far) is kept
        clock.now += 1000
