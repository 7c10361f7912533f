"""`equipoise report --as`: what it makes of a run, and which options have no use for it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise.cli import app


@pytest.fixture
def run(planted_run: Path, tmp_path: Path) -> Path:
    """Return a copy of a run, to write into."""
    return Path(shutil.copytree(planted_run, tmp_path / "run"))


def made(*words: str | Path) -> str:
    result = CliRunner().invoke(app, ["report", *map(str, words)])
    assert result.exit_code == 0, result.exception
    return result.output


def test_a_run_is_shown_as_what_was_asked_for(run: Path, tmp_path: Path) -> None:
    assert "tables" in made(run, "--as", "tables", "--format", "csv")
    assert {file.suffix for file in (run / "tables").iterdir()} == {".csv"}
    assert " files in " in made(run, "--as", "figures", "--format", "svg", "--out", tmp_path / "drawn")
    assert {file.suffix for file in (tmp_path / "drawn").iterdir()} == {".svg"}
    card = made(run, "--as", "card")
    assert "model-index" in card
    assert made(run, "--as", "card", "--out", tmp_path / "card.md") == f"{tmp_path / 'card.md'} is written\n"
    assert (tmp_path / "card.md").read_text(encoding="utf-8") == card
    before = (run / "report.html").read_bytes() if (run / "report.html").is_file() else b""
    made(run, "--as", "page", "--quiet")
    assert (run / "report.html").read_bytes() and b"<html" in (run / "report.html").read_bytes()[:200]
    assert before == b"" or before[:15] == (run / "report.html").read_bytes()[:15]


def test_notes_on_undefined_metrics_are_printed_with_all_the_rest(planted_run: Path) -> None:
    assert "are not defined for some occupations" not in made(planted_run)
    assert "are not defined for some occupations" in made(planted_run, "--all")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--bins", "5"), "--bins is for --as reliability, not for --as page"),
        (("--as", "card", "--json"), "--json is for --as page, not for --as card"),
        (("--as", "tables", "--where", "gender=male"), "--where is for --as page, not for --as tables"),
        (("--as", "tables", "--format", "png"), "--format must be one of markdown, latex, csv here, not png"),
        (("--as", "figures", "--format", "csv"), "--format must be one of pdf, svg, png here, not csv"),
        (
            ("--as", "figures", "--width", "longtable"),
            "--width longtable is for tables; figures are as wide as a column",
        ),
        (("--as", "card", "other"), "this is made of one run; give one run folder"),
        (("--as", "identities", "--bins", "3"), "--bins is for --as reliability, not for --as identities"),
    ],
)
def test_an_option_without_a_use_is_refused(words: tuple[str, ...], sentence: str, planted_run: Path) -> None:
    result = CliRunner().invoke(app, ["report", str(planted_run), *words])
    assert result.exit_code != 0 and sentence in str(result.exception)
