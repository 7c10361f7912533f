"""What a command makes of a finished run: what is printed, written and logged, and how a gate ends."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from noted import noted

from equipoise.cli import results
from equipoise.cli.results import check_trackers, end_gate, keep_files, keep_study, log_run, show_run, write_page
from equipoise.files import sha256
from equipoise.records.showing import Axis, Chart, Dot, Finding, Panel, Section
from equipoise.runs.folder import RunFolder
from equipoise.runs.manifest import read_manifest, write_manifest
from equipoise.runs.run import Run
from equipoise.verdict.summary import legend, run_json


@pytest.fixture
def folder(planted_run: Path, tmp_path: Path) -> Path:
    """Return a copy of a run without a page, to write into."""
    made = Path(shutil.copytree(planted_run, tmp_path / "run"))
    (made / "report.html").unlink(missing_ok=True)
    return made


def with_notes(folder: Path, *notes: str) -> Run:
    write_manifest(folder, replace(read_manifest(folder), notes=notes))
    return Run(folder)


def shown(capsys: pytest.CaptureFixture[str], run: Run, **choices: Any) -> list[str]:
    show_run(run, **{"quiet": False, "as_json": False, **choices})
    return capsys.readouterr().out.splitlines()


def test_a_run_is_shown_with_its_notes_and_where_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = with_notes(folder, "one\x1b", "two")
    lines = shown(capsys, run)
    assert lines[0] == "" and lines[-5:-1] == ["note: one\N{REPLACEMENT CHARACTER}", "note: two", "", legend(run)]
    assert lines[-1] == f"Everything is in {folder}/"
    assert shown(capsys, run, quiet=True) == [] and shown(capsys, run, quiet=True, as_json=True) != []
    show_run(run, quiet=False, as_json=True)
    assert capsys.readouterr().out == run_json(run) + "\n"


def test_a_name_of_a_dataset_does_not_move_the_cursor(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = read_manifest(folder)
    (facts,) = manifest.datasets.values()
    write_manifest(folder, replace(manifest, datasets={"b\x1b]0;uiltin\u202e": {**facts, "population": 7}}))
    text = "\n".join(shown(capsys, Run(folder)))
    write_manifest(folder, manifest)
    assert "The sentences of b\N{REPLACEMENT CHARACTER}]0;uiltin\N{REPLACEMENT CHARACTER} were drawn" in text
    assert "\x1b" not in text


def test_without_notes_there_is_no_gap(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = with_notes(folder)
    assert shown(capsys, run)[-2:] == [legend(run), f"Everything is in {folder}/"]
    written = shown(capsys, run, elsewhere=Path("to-mail.html"))
    assert written[-2:] == [f"Everything is in {folder}/", "To look at it, open to-mail.html in a browser."]
    before = shown(capsys, with_notes(folder, "one"))
    assert len(before) == len(shown(capsys, with_notes(folder))) + 2


@pytest.mark.parametrize("count", [6, 7, 8])
def test_of_many_notes_the_first_are_shown_and_the_others_counted(
    folder: Path, capsys: pytest.CaptureFixture[str], count: int
) -> None:
    run = with_notes(folder, *(f"number {number}" for number in range(count)))
    notes = [line for line in shown(capsys, run) if line.startswith("note: ")]
    more = [f"note: {count - 6} more notes are in {folder}/manifest.json"] * (count > 6)
    assert notes == [*(f"note: number {number}" for number in range(6)), *more]
    assert len([line for line in shown(capsys, run, every=True) if line.startswith("note: number")]) == count


def test_notes_on_what_is_undefined_are_shown_with_all_the_rest(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("equipoise.measuring.undefined.is_on_undefined", lambda note: note == "undefined")
    asked: list[Any] = []
    monkeypatch.setattr("equipoise.report.run_text", lambda run, all_rows: (asked.append(all_rows), "the run")[1])
    run = with_notes(folder, "undefined", "plain")
    assert [line for line in shown(capsys, run) if line.startswith("note")] == ["note: plain"]
    assert [line for line in shown(capsys, run, every=True) if line.startswith("note")] == [
        "note: undefined",
        "note: plain",
    ]
    assert asked == [False, True]


def test_a_page_is_pointed_at_where_the_run_has_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pointer = "To look at it, open report.html there in a browser."
    assert pointer not in shown(capsys, Run(folder))
    RunFolder(folder).add({"report.html": b"<html>"})
    assert shown(capsys, Run(folder))[-2:] == [f"Everything is in {folder}/", pointer]
    (folder / "report.html").unlink()
    assert pointer not in shown(capsys, Run(folder))


def test_a_page_is_written_unless_none_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    written = noted(monkeypatch, "equipoise.report.write_run_page")
    run: Any = "run"
    write_page(run, no_html=True)
    write_page(run, no_html=False)
    write_page(run, no_html=False, out=Path("x.html"), sentences=False)
    assert written == [
        (("run",), {"out": None, "sentences": True}),
        (("run",), {"out": Path("x.html"), "sentences": False}),
    ]


def test_every_tracker_is_checked_and_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    checked = noted(monkeypatch, "equipoise.exports.trackers.check_tracker")
    logged = noted(monkeypatch, "equipoise.exports.trackers.log_run", "there")
    run: Any = "run"
    check_trackers(())
    log_run(run, (), quiet=False)
    check_trackers(("mlflow", "wandb"))
    log_run(run, ("mlflow", "wandb"), quiet=False)
    assert checked == [(("mlflow",), {}), (("wandb",), {})]
    assert logged == [(("run", "mlflow"), {}), (("run", "wandb"), {})]
    assert capsys.readouterr().out == "logged to mlflow: there\nlogged to wandb: there\n"
    log_run(run, ("wandb",), quiet=True)
    assert capsys.readouterr().out == ""


def test_files_are_kept_in_the_run_or_elsewhere(folder: Path, tmp_path: Path) -> None:
    contents, manifest = {"a.csv": b"1", "b.csv": b"2"}, read_manifest(folder)
    inside = keep_files(contents, folder, None, "tables", made_from=manifest)
    assert inside == [folder / "tables" / "a.csv", folder / "tables" / "b.csv"]
    assert [file.read_bytes() for file in inside] == [b"1", b"2"]
    assert read_manifest(folder).files["tables/a.csv"] == sha256(b"1")
    outside = keep_files(contents, folder, tmp_path / "out", "tables", made_from=manifest)
    assert outside == [tmp_path / "out" / "a.csv", tmp_path / "out" / "b.csv"]
    assert [file.read_bytes() for file in outside] == [b"1", b"2"]


def test_a_study_is_kept_with_its_figures_and_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chart = Chart("It", [Panel([Dot(0.1, 0.2)], Axis("x"), Axis("y"))], topic="scale")
    sections = [Section("Found", [Finding("It differs."), chart])]
    given: list[Any] = []

    def drawn(charts: Any, *how: Any, **named: Any) -> list[tuple[str, bytes]]:
        given.append((list(charts), how, named))
        return [("scale.png", b"png")]

    monkeypatch.setattr("equipoise.media.paper.figure_files", drawn)
    for figures, quiet in ((True, False), (False, True)):
        out = tmp_path / f"{figures}"
        keep_study(sections, {"a.csv": b"1"}, out, figures=figures, quiet=quiet)
        assert sorted(file.name for file in out.iterdir()) == ["a.csv", *["scale.png"] * figures]
        printed = capsys.readouterr().out
        assert (printed == "") == quiet
        if not quiet:
            assert printed.splitlines()[-1] == f"2 files in {out}/" and "It differs." in printed
    assert given == [([chart], (("png",), "page"), {"title": True})]
    monkeypatch.setattr(results.importlib.util, "find_spec", lambda name: None)
    keep_study(sections, {"a.csv": b"1"}, tmp_path / "none", figures=True, quiet=True)
    assert [file.name for file in (tmp_path / "none").iterdir()] == ["a.csv"]


def check(outcome: str, passed: bool = False, why: str = "") -> Any:
    return SimpleNamespace(outcome=outcome, passed=passed, why=why)


PASSED, FAILED = check("passed", True), check("FAILED")
OPEN, LET = check("undecided"), check("undecided", True)


@pytest.mark.parametrize(
    ("checks", "code", "out", "err"),
    [
        ([PASSED, PASSED], 0, "2 of 2 requirements passed\n", ""),
        ([PASSED, LET, LET], 0, "1 of 3 requirements passed, 2 undecided\n", ""),
        ([PASSED, FAILED, OPEN], 1, "", "1 of 3 requirements failed\n"),
        ([PASSED, OPEN, LET], 3, "", "2 of 3 requirements are undecided\n"),
        (
            [FAILED, check("not usable", why="No answer.")],
            4,
            "",
            "No answer. Nothing was checked; --insist checks it all the same.\n",
        ),
    ],
)
def test_a_gate_ends_with_what_came_out(
    checks: list[Any], code: int, out: str, err: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for quiet in (False, True):
        if code:
            with pytest.raises(typer.Exit) as ended:
                end_gate(checks, quiet=quiet)
            assert ended.value.exit_code == code
        else:
            end_gate(checks, quiet=quiet)
        assert capsys.readouterr() == ("" if quiet else out, err)


def test_the_outcomes_are_those_of_the_gate() -> None:
    from equipoise.metrics import requirement
    from equipoise.verdict.gate import NOT_USABLE

    assert (requirement.FAILED, requirement.UNDECIDED, NOT_USABLE) == ("FAILED", "undecided", "not usable")
