"""The command line as a person meets it: help, version, and a reader that leaves early."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise import __version__, cores
from equipoise.cli.console import progress_bar

Result = subprocess.CompletedProcess[str]
Command = Callable[..., Result]

COMMANDS = {
    ("audit",): ("--data", "--task", "--limit", "--server", "--device", "--by", "--config", "--out", "--help-all"),
    ("report",): ("--json",),
    ("measure",): ("--estimator", "--level", "--by", "--resamples", "--metric"),
    ("list",): ("metrics", "engines", "tasks", "schema"),
    ("study",): ("estimators", "wording", "temperature", "calibration"),
    ("data",): ("list", "show", "check", "fetch"),
    ("data", "list"): (),
    ("data", "show"): ("--columns",),
    ("data", "check"): ("--columns", "--all"),
    ("data", "fetch"): ("--to", "--quiet"),
}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help(forked: Command, command: tuple[str, ...], tmp_path: Path) -> None:
    result = forked(*command, "--help", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert "Usage: " in result.stdout
    for option in COMMANDS[command]:
        assert option in result.stdout


def test_without_a_command_the_help_is_shown(equipoise: Command, tmp_path: Path) -> None:
    result = equipoise(cwd=tmp_path)
    assert result.returncode == 0 and "Start with `equipoise ask" in result.stdout
    assert equipoise("data", cwd=tmp_path).stdout.startswith("Usage: ")


def test_the_version_is_printed(equipoise: Command, tmp_path: Path) -> None:
    assert equipoise("--version", cwd=tmp_path).stdout == f"{__version__}\n"


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_error(environ: dict[str, str], audited: tuple[Path, Result]) -> None:
    for words in (f"report {audited[0]}", "--help", f"report {audited[0]} --json"):
        line = f"set -o pipefail; {sys.executable} -m equipoise {words} | head -c 1"
        result = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=environ, check=False)
        assert (result.returncode, result.stderr) == (0, ""), words


@pytest.mark.parametrize(("load", "said"), [(7.9, True), (3.0, False), (0.2, False)])
def test_a_terminal_is_told_when_other_programs_use_the_cores(
    load: float, said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cores, "load", lambda: load)
    monkeypatch.setattr(cores, "there", lambda: 2)
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_bar(quiet=False):
        pass
    assert ("Other programs use the cores (load 7.9 on 2 cores): this takes longer." in terminal.getvalue()) == said
