"""What all commands print with: nothing moves the cursor, progress is told in a bar or in lines, tables are plain."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any, Self

import pytest

from equipoise.cli import console
from equipoise.cli.console import listing, plain_table, print_out, progress_bar, tell


def test_a_line_is_told_without_what_moves_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    tell("a\x1b[31m")
    tell("b", err=True)
    assert capsys.readouterr() == ("a\N{REPLACEMENT CHARACTER}[31m\n", "b\n")


def test_quiet_tells_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now = iter(range(0, 10**6, 100))
    monkeypatch.setattr(console.time, "monotonic", lambda: next(now))
    with progress_bar(quiet=True) as show:
        show("scoring", 1, 9)
        show("scoring", 2, 9)
    assert capsys.readouterr() == ("", "")


def test_a_log_is_told_now_and_then_what_is_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    with progress_bar(quiet=False) as show:
        for later, what, done, total in (
            (0, "scoring", 1000, 5000),  # the first of a resumed run
            (9.9, "scoring", 1500, 5000),  # too early
            (0.1, "scoring", 2000, 5000),  # after ten seconds: 1000 in 10 s
            (9.9, "scoring", 2500, 5000),
            (10, "scoring", 3000, 5000),
            (11, "measuring", 0, 1),  # nothing is done yet
            (1, "measuring", 1, 1),
            (0, "m\x1b[2J", 0, 1),
            (11, "m\x1b[2J", 1, 1),
        ):
            now[0] += later
            show(what, done, total)
    out, err = capsys.readouterr()
    assert out == "" and err.splitlines() == [
        "scoring: 2,000 of 5,000, 100.0/s, 30 s left",
        "scoring: 3,000 of 5,000, 66.9/s, 30 s left",
        "measuring: done",
        "m\N{REPLACEMENT CHARACTER}[2J: done",
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Bars:
    """Stands for rich's progress bars: notes what it is told."""

    def __init__(self, *columns: Any, console: Any) -> None:
        self.columns, self.console = columns, console
        self.task_ids: list[int] = []
        self.tasks: list[Any] = []
        self.told: list[Any] = []
        made.append(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def add_task(self, what: str, **fields: Any) -> int:
        self.task_ids.append(7 + len(self.task_ids))
        self.tasks.append(SimpleNamespace(elapsed=None))
        self.told.append((what, fields))
        return self.task_ids[-1]

    def update(self, bar: int, **fields: Any) -> None:
        self.told.append((bar, fields))


made: list[Bars] = []


def test_a_terminal_has_a_bar_for_each_work_with_its_own_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rich.progress.Progress", Bars)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress_bar(quiet=False) as show:
        bars = made[-1]
        show("scoring", 10, 100)
        show("measuring", 0, 2)
        bars.tasks[0].elapsed, bars.tasks[1].elapsed = 0.75, 0.5
        show("scoring", 30, 100)
        show("measuring", 1, 2)
        bars.tasks[1].elapsed = 2.0
        show("measuring", 0, 3)
    assert bars.console.stderr and bars.told == [
        ("scoring", {"total": 100, "completed": 10, "rate": ""}),
        (7, {"completed": 10, "total": 100, "rate": ""}),
        ("measuring", {"total": 2, "completed": 0, "rate": ""}),
        (8, {"completed": 0, "total": 2, "rate": ""}),
        (7, {"completed": 30, "total": 100, "rate": "26.7/s"}),
        (8, {"completed": 1, "total": 2, "rate": ""}),
        (8, {"completed": 0, "total": 3, "rate": ""}),
    ]


def test_a_bar_says_what_is_done_as_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "100")
    with progress_bar(quiet=False) as show:
        show("[bold]mine[/bold]", 1, 2)
        show("[bold]mine[/bold]", 2, 2)
    shown = terminal.getvalue()
    assert "[bold]mine[/bold]" in shown and "2/2" in shown and "left" in shown


ROWS = [("ucerf", "how alike " * 8), ("[bold]x", "\x1b[2J")]


def test_a_file_has_lines_as_long_as_they_are_without_blanks_at_their_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    print_out(plain_table(("metric", "what it is"), ROWS))
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "metric   what it is",
        f"ucerf    {ROWS[0][1]}".rstrip(),
        "[bold]x  \N{REPLACEMENT CHARACTER}[2J",
    ]
    monkeypatch.setenv("COLUMNS", "30")
    print_out(plain_table(("metric", "what it is"), ROWS))
    folded = capsys.readouterr().out.splitlines()
    assert len(folded) > 3 and all(len(line) <= 30 and line == line.rstrip() for line in folded)


def test_a_terminal_is_printed_to_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", "30")
    print_out("12 words")
    assert terminal.getvalue() == "12 words\n", "numbers are not coloured"


def test_a_listing_is_a_table_of_words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    print_out(listing(("metric", "n"), [("a", "1"), ("bbb", "22")]))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [["metric", "n"], ["a", "1"], ["bbb", "22"]]
    assert lines[1].index("1") == lines[2].index("22"), "words are set to the left"
