"""`equipoise suite` and `study paper`: what is handed on, what is told while cells run, and how they end."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from noted import noted, said
from test_console import Terminal

from equipoise.cli import suite as command
from equipoise.suites.cells import Cell
from equipoise.suites.execution import Choices
from equipoise.suites.status import DONE, FAILED, RUNNING, WAITING, State, Status
from equipoise.suites.suite_file import Budget, Gates, Model, Suite
from equipoise.verdict.gate import Check

RUN, PLAN = "equipoise.suites.execution.run_suite", "equipoise.suites.execution.plan"
AGAIN = "the same command tries them again\n"
WRITE = "equipoise.suites.results.write_results"


def cells(folder: Path, **changes: Any) -> list[Cell]:
    models = [Model(name, name) for name in "ab"]
    return [Cell(model, "builtin", "mcq", {}, folder / model.name, **{"prompts": 1200, **changes}) for model in models]


def status(folder: Path, *states: str, **changes: Any) -> Status:
    made = Status(cells(folder, **changes), folder / "status.json")
    made.states = dict(zip(made.states, [State(state, asked=1200, note="note") for state in states], strict=True))
    return made


def check(outcome: str, passed: bool = False) -> Check:
    return Check("ucerf >= 0.9", "w", "low", 0.5, ">=", 0.9, outcome, passed=passed)


def results(*checks: Any) -> Any:
    failed = [one for one in checks if one.outcome == "FAILED"]
    left = [one for one in checks if one.outcome == "undecided"]
    listed = [("a / builtin / mcq", one) for one in checks]
    return SimpleNamespace(site="site", measurements="all.parquet", checks=listed, failed=failed, undecided=left)


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Suite:
    """Return the suite that every file gives."""
    budget, gates = Budget(hours=1.0), Gates(require=["ucerf >= 0.9"])
    made = Suite(tmp_path / "s.toml", tmp_path, "Title", [], [], [], budget=budget, gates=gates)
    monkeypatch.setattr("equipoise.suites.suite_file.read_suite", lambda path: made)
    return made


def test_every_option_of_a_suite_is_handed_on(given: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = status(tmp_path, DONE, DONE)
    planned, ran = noted(monkeypatch, PLAN, done), noted(monkeypatch, RUN, hide=("show",))
    wrote = noted(monkeypatch, WRITE, results())
    words = ("--only", "a", "--only", "b / mcq", "--jobs", "3", "--cluster", "auto", "--workers", "2")
    out, err = said("suite", "s.toml", *words, "--worker-cores", "4")
    choices = Choices(("a", "b / mcq"), 3, {"cluster": "auto", "workers": 2, "worker_cores": 4})
    assert planned == [((given, choices), {})] and ran == [((given, choices), {"status": done})]
    assert wrote == [((given, done), {})] and err == ""
    assert out.splitlines()[-2:] == ["2 done", "open site/index.html; all numbers are in all.parquet"]
    assert out.splitlines()[:2] == [
        "cell               state  prompts  time",
        "a / builtin / mcq  done   1,200          note",
    ]
    assert said("suite", "s.toml", "--quiet") == ("", "")
    assert planned[1][0][1] == Choices((), 1, {})


@pytest.mark.parametrize(
    ("states", "made", "code", "err"),
    [
        ((DONE, DONE), results(check("passed", True)), 0, ""),
        ((DONE, DONE), None, 0, ""),
        (
            (DONE, FAILED),
            results(check("FAILED")),
            2,
            "1 cells failed, 0 are left; the same command tries them again\n",
        ),
        ((WAITING, WAITING), None, 2, f"0 cells failed, 2 are left; {AGAIN}"),
        ((DONE, DONE), results(check("FAILED"), check("undecided")), 1, "1 of 2 requirements failed\n"),
        ((DONE, DONE), results(check("passed", True), check("undecided")), 3, "1 of 2 requirements are undecided\n"),
    ],
)
def test_a_suite_ends_with_what_came_out(
    given: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, states: Any, made: Any, code: int, err: str
) -> None:
    noted(monkeypatch, PLAN, status(tmp_path, *states))
    noted(monkeypatch, RUN)
    noted(monkeypatch, WRITE, made)
    out, told = said("suite", "s.toml", code=code)
    assert told == err
    has_rows = made is not None and bool(made.checks)
    assert ("required" in out) == has_rows and ("ucerf >= 0.9" in out) == has_rows
    assert ("all numbers are in" in out) == (made is not None)


def test_requirements_that_cannot_be_read_are_refused_before_anything_runs(
    given: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = noted(monkeypatch, "equipoise.suites.results.check_gates", ValueError("first of all"))
    planned = noted(monkeypatch, PLAN)
    said("suite", "s.toml", code=1)
    assert checked == [((given.gates,), {})] and planned == []


@pytest.mark.parametrize(("seconds", "jobs", "is_short"), [(1800.0, 1, False), (1801.0, 1, True), (1801.0, 2, False)])
def test_a_rehearsal_tells_prompts_space_and_a_budget_that_is_too_short(
    given: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, jobs: int, is_short: bool
) -> None:
    asked = noted(monkeypatch, "equipoise.suites.cells.cells", cells(tmp_path, seconds=seconds))
    planned, ran = noted(monkeypatch, PLAN), noted(monkeypatch, RUN)
    out, _ = said("suite", "s.toml", "--dry-run", "--only", "a", "--jobs", jobs)
    size = sum(cell.size for cell in cells(tmp_path)) / 1e6
    told = [line for line in out.splitlines() if not line.startswith(("cell", "a /", "b /"))]
    line = Status(cells(tmp_path, seconds=seconds), tmp_path / "none").line()
    note = "note: the budget of 1 h is shorter; the same command goes on after it"
    assert told == [f"2,400 prompts, {size:,.0f} MB on disk; {line}", *[note] * is_short]
    assert asked == [((given,), {"only": ("a",)})] and ran == []
    assert planned == [((given, Choices(("a",), jobs, {})), {})]


def test_a_rehearsal_of_cells_that_cannot_run_ends_with_a_code(
    given: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted(monkeypatch, "equipoise.suites.cells.cells", cells(tmp_path, problem="no such data"))
    planned = noted(monkeypatch, PLAN)
    out, err = said("suite", "s.toml", "--dry-run", code=2)
    assert err == "2 cells cannot run\n" and out.count("no such data") == 2 and planned == []


def test_a_log_has_a_line_for_each_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with command._status_table(quiet=False) as show:
        for states in ((WAITING, WAITING), (RUNNING, WAITING), (RUNNING, WAITING), (DONE, FAILED), (DONE, WAITING)):
            show(status(tmp_path, *states))
    lines = capsys.readouterr().err.splitlines()
    a, b = "a / builtin / mcq", "b / builtin / mcq"
    assert [line.partition(" (")[0] for line in lines] == [
        f"{a}: running",
        f"{a}: done: note",
        f"{b}: FAILED: note".replace("FAILED", FAILED),
        f"{b}: waiting: note",
    ]
    assert lines[1].endswith(f"({status(tmp_path, DONE, FAILED).line()})")


def test_a_status_that_is_known_from_the_start_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show = command._status_lines()
    show(status(tmp_path, DONE, WAITING))
    assert capsys.readouterr().err.startswith("a / builtin / mcq: done: note (")
    with command._status_table(quiet=True) as quietly:
        quietly(status(tmp_path, DONE, DONE))
    assert capsys.readouterr() == ("", "")


def test_a_terminal_has_a_table_that_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "100")
    with command._status_table(quiet=False) as show:
        show(status(tmp_path, RUNNING, WAITING))
        assert "a / builtin / mcq" in terminal.getvalue() and "1 running, 1 waiting" in terminal.getvalue()


PAPER = ("study", "paper", "ucerf")


def test_every_option_of_a_paper_is_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done, suite = status(tmp_path, DONE, DONE), Suite(tmp_path / "s", tmp_path, "", [], [], [])
    written = noted(monkeypatch, "equipoise.papers.experiments.write_suite", suite)
    planned = noted(monkeypatch, PLAN, done)
    noted(monkeypatch, RUN)
    noted(monkeypatch, WRITE, None)
    noted(monkeypatch, "equipoise.papers.tables.finished_parts", "parts")
    tables = noted(monkeypatch, "equipoise.papers.tables.write_tables", ["a", "b"])
    words = ("--model", "m", "--model", "n", "--out", tmp_path, "--only", "m", "--jobs", "2", "--limit", "5", "--chat")
    out, _ = said(*PAPER, *words)
    assert written == [(("ucerf", ["m", "n"], tmp_path), {"limit": 5, "chat": True})]
    assert planned == [((suite, Choices(("m",), 2)), {})]
    from equipoise.papers.experiments import PAPERS

    assert tables == [((PAPERS["ucerf"], "parts", tmp_path / "tables"), {})]
    assert out.splitlines()[0] == f"2 files with the paper's tables in {tmp_path}/tables/"
    assert said(*PAPER, "--quiet") == ("", "")
    assert written[1] == (("ucerf", [], Path("runs/paper-ucerf")), {}) and planned[1] == ((suite, Choices()), {})


def test_the_tables_of_a_paper_are_made_of_runs_without_a_model(
    planted_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = noted(monkeypatch, "equipoise.papers.tables.write_tables", ["a"])
    monkeypatch.setattr("equipoise.papers.tables.parts_of", lambda runs: [run.path for run in runs])
    out, _ = said(*PAPER, "--run", planted_run, "--run", planted_run, "--out", tmp_path)
    assert tables[0][0][1:] == ([planted_run] * 2, tmp_path / "tables")
    assert out == f"1 files with the paper's tables in {tmp_path}/tables/\n"
