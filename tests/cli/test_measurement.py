"""`equipoise report` and `measure`: what is made of a run without the model."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from noted import noted, refusal, said

from equipoise.cli import measurement

Result = subprocess.CompletedProcess[str]
Command = Callable[..., Result]


def test_a_report_prints_the_same_without_the_model(forked: Command, audited: tuple[Path, Result]) -> None:
    folder, result = audited
    again = forked("report", folder.name, cwd=folder.parent)
    assert (again.returncode, again.stderr, again.stdout) == (0, "", result.stdout)


@pytest.mark.slow
def test_a_report_fits_a_narrow_terminal(forked: Command, audited: tuple[Path, Result]) -> None:
    result = forked("report", audited[0], cwd=audited[0], COLUMNS="80")
    tables = [line for line in result.stdout.splitlines() if not line.startswith(("note: ", "Brackets"))]
    assert max(map(len, tables)) <= 80 and "…" not in "".join(tables)


def test_an_old_terminal_is_no_reason_to_fail(equipoise: Command, audited: tuple[Path, Result]) -> None:
    result = equipoise("report", audited[0], cwd=audited[0], PYTHONIOENCODING="ascii")
    assert (result.returncode, result.stderr) == (0, "") and "ucerf" in result.stdout


@pytest.mark.slow
def test_json_is_all_that_stands_on_standard_output(forked: Command, audited: tuple[Path, Result]) -> None:
    folder, _ = audited
    result = forked("report", folder, "--json", cwd=folder)
    rows = json.loads(result.stdout)["measurements"]
    table = pd.read_csv(folder / "measurements.csv")
    assert list(rows[0]) == list(table.columns) and len(rows) == len(table)
    values = [float("nan") if row["value"] is None else row["value"] for row in rows]
    assert values == pytest.approx(list(table["value"]), abs=1e-14, nan_ok=True)
    assert all(row["low"] is None or isinstance(row["low"], float) for row in rows)


@pytest.mark.slow
def test_other_estimators_need_no_model(forked: Command, run_copy: Path) -> None:
    words = ("--estimator", "renyi", "--estimator", "margin", "--by", "form", "--level", "0.8", "--resamples", "50")
    result = forked("measure", run_copy, *words, "--json", cwd=run_copy.parent)
    rows = json.loads(result.stdout)["measurements"]
    assert {"ucerf_renyi", "ucerf_margin"} <= {row["metric"] for row in rows}
    assert {row["level"] for row in rows} == {0.8}
    assert "form=object,type=type2" in {row["group"] for row in rows}
    shown = forked("report", run_copy, cwd=run_copy.parent).stdout
    assert "ucerf_renyi" in shown and "80% intervals" in shown and "possessive" in shown


@pytest.mark.slow
def test_measuring_loads_no_torch(run_copy: Path) -> None:
    code = (
        "import sys\nfrom equipoise.cli import main\n"
        f"sys.argv = ['equipoise', 'measure', {str(run_copy)!r}, '--metric', 'ucerf', '--resamples', '10', '-q']\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert not ended.code\n"
        "print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


@pytest.mark.slow
def test_import_writes_a_page_as_audit_does(equipoise: Command, tmp_path: Path) -> None:
    rows = [f"{item},{name},{value},0" for item in range(6) for name, value in (("nurse", -0.2), ("guard", -1.8))]
    (tmp_path / "mine.csv").write_text("\n".join(["item,candidate,logprob,gold", *rows]), encoding="utf-8")
    words = ("import", "mine.csv", "--model", "m", "--resamples", "20", "--quiet")
    for more, has_page in (((), True), (("--no-html",), False)):
        result = equipoise(*words, "--out", f"run{len(more)}", *more, cwd=tmp_path)
        assert (result.returncode, result.stderr) == (0, "")
        assert (tmp_path / f"run{len(more)}" / "report.html").is_file() == has_page


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the notes of what is written and shown of a run, which is only a word."""
    names = ("write_page", "show_run")
    notes = {name: noted(monkeypatch, f"equipoise.cli.measurement.{name}") for name in names}
    for name in ("run.remeasure", "run.load", "subset.subset_run", "run.import_results"):
        notes[name] = noted(monkeypatch, f"equipoise.{name}", name)
    return notes


def test_every_option_of_measure_is_handed_on(shown: dict[str, Any]) -> None:
    words = ("--estimator", "renyi", "--by", "form", "--disparity", "range", "--level", "0.9", "--resamples", "7")
    said("measure", "run", *words, "--metric", "ucerf", "--no-html", "--json")
    given = {"estimators": ["renyi"], "by": ["form"], "disparity": "range", "level": 0.9, "resamples": 7}
    assert shown["run.remeasure"] == [((Path("run"),), {**given, "metrics": ["ucerf"]})]
    assert shown["write_page"] == [(("run.remeasure",), {"no_html": True})]
    assert shown["show_run"] == [(("run.remeasure",), {"quiet": False, "as_json": True})]
    said("measure", "run", "--where", "a=b", "--where", "c=d", "--out", "part", "--level", "0.9", "--quiet")
    part = {"out": Path("part"), "level": 0.9}
    assert shown["subset.subset_run"] == [((Path("run"), ["a=b", "c=d"]), part)]
    assert shown["write_page"][1] == (("subset.subset_run",), {"no_html": False})
    assert shown["show_run"][1] == (("subset.subset_run",), {"quiet": True, "as_json": False})
    assert refusal("measure", "run", "--out", "x") == "--out is the folder of a part of the run: it needs --where"


def test_a_part_of_nothing_is_the_run_itself(shown: dict[str, Any]) -> None:
    run: Any = measurement.part_of(Path("run"), None, None, quiet=True)
    assert run == "run.load" and shown["run.load"] == [((Path("run"),), {})]


def test_every_option_of_import_is_handed_on(shown: dict[str, Any]) -> None:
    words = ("--format", "lm-eval", "--model", "m", "--dataset", "d", "--out", "o", "--replace", "--metric", "ucerf")
    said("import", "a", "b", *words, "--by", "form", "--level", "0.9", "--resamples", "7", "--no-html", "--quiet")
    chosen = {"format": "lm-eval", "model": "m", "dataset": "d", "out": Path("o"), "replace": True}
    more = {"metrics": ["ucerf"], "by": ["form"], "level": 0.9, "resamples": 7}
    assert shown["run.import_results"] == [(([Path("a"), Path("b")],), {**chosen, **more})]
    assert shown["write_page"] == [(("run.import_results",), {"no_html": True})]
    assert shown["show_run"] == [(("run.import_results",), {"quiet": True, "as_json": False})]
    said("import", "a")
    usual = {"format": "general", "model": "", "dataset": "", "out": None, "replace": False}
    assert shown["run.import_results"][1] == (([Path("a")],), usual)
