"""What the documentation shows below a command is what that command prints."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from documented import Command, blocks, commands, files_of, is_output
from typer.testing import CliRunner

from equipoise.cli import app

SHOWN = [command for command in commands() if command.shown and not command.reason]
PLACES = sorted({command.page for command in SHOWN})
SLOW = {"README.md": "asks the default model", "docs/first-five-minutes.md": "asks the default model"}
"""Pages whose commands take more than five seconds, and why."""


def output_of(command: Command) -> str:
    """Return what a command prints, without its progress."""
    if command.line.startswith("equipoise "):
        return CliRunner().invoke(app, command.words).stdout
    return subprocess.run(shlex.split(command.line), capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.slow if page in SLOW else ()) for page in PLACES]
)
def test_the_output_on_a_page_is_what_is_printed(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in files_of(page).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for command in SHOWN:
        if command.page == page:
            printed = output_of(command)
            assert is_output(command.shown, printed), f"{command}\nshown:\n{command.shown}\nprinted:\n{printed}"


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("3 rows\nno faults", "3 rows no\nfaults\n", True),
        ("3 rows\n…", "3 rows\nmore\n", True),
        ("…\n3 rows", "3 rows\n", True),
        ("3 rows\n…", "3 rows\n", True),
        ("a\n…\nb", "a\nx\ny\nb", True),
        ("a\n…\nb", "a\nx\ny\nc", False),
        ("3 rows", "4 rows", False),
        ("3 rows", "3 rows\nand a warning", False),
        ("3 r…", "4 rows", False),
    ],
)
def test_an_output_is_compared_word_by_word(shown: str, printed: str, same: bool) -> None:
    assert is_output(shown, printed) is same


def test_a_page_with_a_server_has_the_file_of_the_readme() -> None:
    def workflow(page: str) -> list[str]:
        return [block["text"] for block in blocks(page) if block["kind"] == "yaml"]

    assert workflow("README.md") == workflow("docs/how-to/my-server.md") != []


def test_most_pages_for_newcomers_show_output() -> None:
    assert {"README.md", "docs/how-to/audit-your-own-data.md"} <= set(PLACES)
