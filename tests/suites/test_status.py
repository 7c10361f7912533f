"""The time that a suite has left goes by the speed of the same task; texts tell nothing of prompts."""

from __future__ import annotations

from pathlib import Path

from equipoise.suites.cells import Cell
from equipoise.suites.status import DONE, State, Status, duration
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
