"""What a suite leaves: its gates are answered, and the command ends with their answer."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.metrics.requirement import FAILED, UNDECIDED
from equipoise.records import EquipoiseError
from equipoise.report import write_run_page, write_site
from equipoise.runs import Run
from equipoise.runs.manifest import read_manifest, write_manifest
from equipoise.suites import results
from equipoise.suites.cells import Cell
from equipoise.suites.results import Results, check_gates, write_results
from equipoise.suites.status import State, Status
from equipoise.suites.suite_file import Gates, Model, Suite, SuiteError, read_suite
from equipoise.verdict.gate import NOT_USABLE, junit
from equipoise.verdict.summary import VERDICTS

Write = Callable[..., Path]


BASIS = 'models = ["planted"]\ndata = ["builtin"]\ntask = ["next-word"]\n'


@pytest.mark.slow
def test_the_command_line(suite_file: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()

    def run(text: str, *options: str) -> Any:
        return runner.invoke(app, ["suite", str(suite_file(text)), *options])

    require = '[settings]\n[gate]\nrequire = ["ucerf[type=type2] >= 0.01", "flip_rate[type=type1] <= -1"]\n'
    dry = run(BASIS + require, "--dry-run")
    assert (
        dry.exit_code == 0
        and "12 prompts" in dry.output
        and "about 5 s left" in dry.output
        and not (tmp_path / "suite" / "cells").exists()
    )
    assert run('models = ["planted"]\ndata = ["builtin"]\ntask = ["no-task"]\n', "--dry-run").exit_code == 2
    ended = run(BASIS + require)
    assert ended.exit_code == 1, ended.output
    assert "1 done" in ended.output and "2 of 2 requirements failed" in ended.output, "six sets are not usable"
    assert (tmp_path / "suite" / "gates.xml").is_file()
    command = Run(next((tmp_path / "suite" / "cells").iterdir())).manifest.command
    assert command.startswith("equipoise suite") and "planted / builtin / next-word" in command
    unknown = run(BASIS + '[settings]\n[gate]\nrequire = ["of_nobody >= 1"]\n')
    assert isinstance(unknown.exception, SuiteError) and "matches nothing in the 1 finished cells" in str(
        unknown.exception
    )


def checks(*outcomes: tuple[str, bool]) -> list[tuple[str, Any]]:
    return [
        (f"cell {n}", SimpleNamespace(outcome=outcome, passed=passed)) for n, (outcome, passed) in enumerate(outcomes)
    ]


def test_what_failed_and_what_is_undecided_is_told_apart() -> None:
    told = checks((FAILED, False), (NOT_USABLE, False), (UNDECIDED, False), (UNDECIDED, True), ("passed", True))
    made = Results(Path("a"), Path("b"), told)
    assert made.failed == [check for _, check in told[:2]] and made.undecided == [told[2][1]]


def test_a_requirement_that_cannot_be_read_is_refused() -> None:
    check_gates(Gates(("ucerf >= 0.5",)))
    with pytest.raises(EquipoiseError):
        check_gates(Gates(("ucerf >= 0.5", "ucerf")))


@pytest.fixture
def done(suite_file: Write, planted_run: Path, mild_run: Path) -> tuple[Suite, Status]:
    """Return a suite whose two cells are done."""
    suite = replace(read_suite(suite_file(BASIS)), title="Mine", metric="flip_rate")
    cells = [
        Cell(Model(name, name), "builtin", "x", {}, run) for name, run in (("strong", planted_run), ("mild", mild_run))
    ]
    return suite, Status(cells, suite.out / "status.json")


def test_a_suite_leaves_a_leaderboard_a_table_and_the_answers_of_its_gates(
    done: tuple[Suite, Status], monkeypatch: pytest.MonkeyPatch
) -> None:
    suite, status = done
    sites: list[Any] = []

    def once(*given: Any, **named: Any) -> Any:
        sites.append(sites[0] if sites else write_site(*given, **named))
        return sites[0]

    monkeypatch.setattr("equipoise.suites.results.write_site", once)
    plain = write_results(suite, status)
    assert plain is not None and plain.checks == [] and plain.site == suite.out / "leaderboard"
    assert plain.measurements == suite.out / "measurements.parquet" and not (suite.out / "gates.csv").exists()
    assert len(pd.read_parquet(plain.measurements)) == sum(len(Run(cell.folder).measurements) for cell in status.cells)
    index = (plain.site / "index.html").read_text()
    assert "Mine" in index and "flip" in index.lower()
    gated = replace(suite, gates=Gates(("flip_rate[type=type2] <= 0.9", "flip_rate[type=type1] <= 0.001"), "pass"))
    made = write_results(gated, status)
    assert made is not None and [cell for cell, _ in made.checks] == ["strong / builtin / x", "mild / builtin / x"] * 2
    rows = pd.read_csv(suite.out / "gates.csv")
    assert list(rows.columns) == ["cell", "required", "of", "outcome"]
    assert rows["cell"].tolist() == [cell for cell, _ in made.checks]
    assert rows["outcome"].tolist() == [check.outcome for _, check in made.checks]
    assert rows["required"].tolist() == [check.requirement for _, check in made.checks]
    assert rows["of"].tolist() == [check.where for _, check in made.checks]
    assert (suite.out / "gates.xml").read_bytes() == junit([check for _, check in made.checks], str(suite.path))
    assert len(made.failed) >= 2 and made.undecided == []
    nothing = replace(suite, gates=Gates(("ucerf[type=type9] >= 0",)))
    with pytest.raises(SuiteError) as error:
        write_results(nothing, status)
    assert str(error.value) == f"{suite.path}: 'ucerf[type=type9] >= 0' matches nothing in the 2 finished cells"


def test_a_cell_whose_suite_was_killed_before_its_page_gets_it(
    done: tuple[Suite, Status], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite, status = done
    folders = [Path(shutil.copytree(cell.folder, tmp_path / "cells" / str(n))) for n, cell in enumerate(status.cells)]
    whole = write_run_page(Run(folders[0])).read_bytes(), write_run_page(Run(folders[1])).read_bytes()
    manifest = read_manifest(folders[0])
    files = {name: digest for name, digest in manifest.files.items() if name not in ("report.html", VERDICTS)}
    write_manifest(folders[0], replace(manifest, files=files))  # killed before the page counted
    (folders[0] / "report.html").unlink()
    (folders[0] / f".{VERDICTS}.next").write_bytes(b"half")
    (folders[1] / "report.html").rename(folders[1] / ".report.html.next")  # and before it was in its place
    cells = [replace(cell, folder=folder) for cell, folder in zip(status.cells, folders, strict=True)]
    monkeypatch.setattr(
        results, "write_site", lambda *_, **__: SimpleNamespace(submissions=SimpleNamespace(entries=[]))
    )
    monkeypatch.setattr(results, "write_measurements", lambda entries, path: path)
    write_results(suite, Status(cells, suite.out / "status.json"))
    assert tuple((folder / "report.html").read_bytes() for folder in folders) == whole
    assert not [file for folder in folders for file in folder.glob(".*.next")]


def test_a_suite_without_a_finished_cell_leaves_nothing(done: tuple[Suite, Status]) -> None:
    suite, status = done
    for cell in status.cells:
        status.set(cell, State("waiting"))
    assert write_results(suite, status) is None and not (suite.out / "leaderboard").exists()


def test_a_cell_without_the_metric_is_passed_over_and_the_rule_of_the_suite_is_kept(
    done: tuple[Suite, Status], monkeypatch: pytest.MonkeyPatch
) -> None:
    suite, status = done
    given: list[tuple[str, dict[str, Any]]] = []

    def gate(run: Run, text: str, **rules: Any) -> list[Any]:
        given.append((text, rules))
        if len(given) == 1:
            raise EquipoiseError("it has no such metric")
        return [f"check of {text}"]

    monkeypatch.setattr(results, "gate", gate)
    checks = results._gate(replace(suite, gates=Gates(("a >= 1", "b >= 1"), "pass")), status)
    strong, mild = "strong / builtin / x", "mild / builtin / x"
    assert checks == [(mild, "check of a >= 1"), (strong, "check of b >= 1"), (mild, "check of b >= 1")]
    assert given == [(text, {"undecided": "pass"}) for text in ("a >= 1", "a >= 1", "b >= 1", "b >= 1")]
