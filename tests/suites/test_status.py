"""The time that a suite has left goes by the speed of the same task; texts tell nothing of prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from equipoise.suites.cells import Cell
from equipoise.suites.status import DONE, FAILED, RUNNING, SKIPPED, WAITING, State, Status, asked_prompts, duration
from equipoise.suites.suite_file import Model


def test_a_slow_task_does_not_slow_the_forecast_of_others(tmp_path: Path) -> None:
    model = Model("m", "m")

    def cell(data: str, task: str, seconds: float | None = None) -> Cell:
        return Cell(model, data, task, {}, tmp_path / f"{data}-{task}", prompts=100, seconds=seconds)

    reasoned, known = cell("a", "next-word-cot"), cell("a", "mcq", seconds=7.0)
    cells = [reasoned, known, cell("b", "mcq"), cell("b", "next-word"), cell("b", "next-word-cot")]
    status = Status(cells, tmp_path / "status.json")
    assert status.seconds_left() == (7.0, 4)
    status.set(reasoned, State(DONE, asked=100, seconds=1000.0))
    # The forecast stays; the second reasoned cell takes as long as the first; nothing is known of the two others.
    assert status.seconds_left() == (7.0 + 1000.0, 2)
    status.set(known, State(DONE, asked=100, seconds=10.0))
    assert status.seconds_left() == (10.0 + 10.0 + 1000.0, 0)
    again = Status(cells, tmp_path / "status.json")
    assert again.speed(cells[2]) == 10.0


def test_times_in_words() -> None:
    assert [duration(seconds) for seconds in (40, 720, 12_600)] == ["40 s", "12 min", "3.5 h"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (89.4, "89 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h"), (36_000, "10.0 h")],
)
def test_a_time_in_words_changes_its_unit(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def make(folder: Path, *cells: Cell) -> Status:
    return Status(cells, folder / "status.json")


def cell(name: str, **more: Any) -> Cell:
    return Cell(Model("m", "m"), "data", name, {}, Path("missing") / name, **{"prompts": 2000, **more})


def test_states_are_written_counted_and_told(tmp_path: Path) -> None:
    several = [cell(name) for name in "abcd"] + [
        cell("e", skipped="no", problem="odd"),
        cell("f", problem="bad", prompts=0),
    ]
    status = make(tmp_path, *several)
    a, b, c, d, e, f = several
    assert [status.states[one.name].state for one in several] == ["waiting"] * 4 + ["left out", "failed"]
    assert (status.states[e.name].note, status.states[f.name].note) == ("no", "bad")
    assert status.line() == "4 waiting, 1 failed, 1 left out, time left unknown for 4 cells"
    status.set(a, State(DONE, asked=2000, seconds=100.0))
    status.set(b, State(RUNNING))
    status.update(b, asked=1500, note="mcq")
    status.set(c, State(DONE, asked=500, seconds=0.0))
    assert list(status.rows()) == [
        ("m / data / a", "done", "2,000", "2 min", ""),
        ("m / data / b", "running", "1,500 of 2,000", "", "mcq"),
        ("m / data / c", "done", "500 of 2,000", "", ""),
        ("m / data / d", "waiting", "2,000", "", ""),
        ("m / data / e", "left out", "2,000", "", "no"),
        ("m / data / f", "failed", "", "", "bad"),
    ]
    # a answered 20 prompts a second; b has 500 left, d all.
    assert status.seconds_left() == (25.0 + 100.0, 0) and status.seconds_left([d]) == (100.0, 0)
    assert status.line() == "2 done, 1 running, 1 waiting, 1 failed, 1 left out, about 2 min left"
    kept = json.loads((tmp_path / "status.json").read_text())
    assert kept["speeds"] == {"m / a": 20.0} and kept["cells"]["m / data / c"]["asked"] == 500
    status.update(b, asked=1500, note="ü")
    status.write()
    text = (tmp_path / "status.json").read_text()
    kept = json.loads(text)
    assert text == json.dumps(kept, indent=2, ensure_ascii=False) + "\n"
    assert [one.task for one in status.of(DONE, RUNNING)] == ["a", "b", "c"]


def test_a_forecast_counts_where_no_speed_is_known_and_texts_tell_nothing(tmp_path: Path) -> None:
    rough, none = cell("a", seconds=50.0), cell("open", prompts=10)
    status = make(tmp_path, rough, none)
    status.update(rough, asked=500, note="")
    assert status.seconds_left() == (50.0 * 1500 / 2000, 1)
    assert status.line() == "2 waiting, about 38 s left and 1 cells of unknown time"
    status.set(none, State(DONE, asked=10, seconds=1000.0))
    assert status.speed(rough) is None and status.speed(none) == 0.01
    assert status.speed(cell("b")) is None and status.speed(cell("open-cot")) is None
    other = Cell(Model("n", "n"), "data", "b", {}, tmp_path)
    status.set(rough, State(DONE, asked=2000, seconds=10.0))
    assert status.speed(cell("b")) == 200.0 and status.speed(other) is None and status.speed(cell("x-cot")) is None
    status.update(rough, asked=99999, note="")
    assert status.seconds_left([rough]) == (0.0, 0)


@pytest.mark.parametrize("content", ["", "[1]", "{", '{"cells": {}}'])
def test_a_status_that_cannot_be_read_begins_anew(tmp_path: Path, content: str) -> None:
    (tmp_path / "status.json").write_text(content)
    assert make(tmp_path, cell("a")).line() == "1 waiting, time left unknown for 1 cells"


def test_a_finished_folder_counts_whatever_was_written(tmp_path: Path, planted_run: Path) -> None:
    folder = planted_run
    done = Cell(Model("m", "m"), "data", "a", {}, folder, prompts=7)
    assert make(tmp_path, done).states[done.name] == State(DONE, asked=7, seconds=0.0)
    before = {"cells": {done.name: {"state": "failed", "seconds": 12.5}}}
    (tmp_path / "status.json").write_text(json.dumps(before))
    assert make(tmp_path, done).states[done.name] == State(DONE, asked=7, seconds=12.5)
    (tmp_path / "status.json").write_text(json.dumps({"cells": {done.name: 3}}))
    assert make(tmp_path, done).states[done.name].seconds == 0.0


def test_a_cell_that_stopped_early_asked_what_its_looks_say(tmp_path: Path) -> None:
    looks = pd.DataFrame({"dataset": ["d", "d", "e"], "task": ["t", "t", "t"], "prompts": [10, 30, 5]})

    class Folder:
        files: tuple[str, ...] = ("looks.csv",)

        def manifest(self) -> Any:
            return self

        def frame(self, name: str, manifest: Any) -> pd.DataFrame:
            assert (name, manifest) == ("looks.csv", self)
            return looks

    folder: Any = Folder()
    assert asked_prompts(cell("a"), folder) == 35
    folder.files = ()
    assert asked_prompts(cell("a"), folder) == 2000


def test_a_cell_that_shall_not_run_is_skipped_whatever_else_is_wrong(tmp_path: Path, planted_run: Path) -> None:
    def first(**facts: str) -> State:
        one = Cell(Model("m", "m"), "data", "a", {}, planted_run, prompts=7, **facts)
        return make(tmp_path, one).states[one.name]

    assert first(skipped="too dear", problem="no model") == State(SKIPPED, note="too dear")
    assert first(problem="no model") == State(FAILED, note="no model")
    one = Cell(Model("m", "m"), "data", "b", {}, tmp_path / "none", prompts=7)
    assert make(tmp_path, one).states[one.name] == State(WAITING)


def test_a_speed_that_was_measured_counts_before_a_forecast(tmp_path: Path) -> None:
    first, second = (
        Cell(Model("m", "m"), data, "mcq", {}, tmp_path / data, prompts=100, seconds=7.0) for data in ("a", "b")
    )
    status = make(tmp_path, first, second)
    assert status.seconds_left() == (14.0, 0)
    status.set(first, State(DONE, asked=100, seconds=50.0))
    assert status.seconds_left() == (50.0, 0)
