"""The command line as a person meets it: help, version, and a reader that leaves early."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from kept_texts import assert_kept

from equipoise import __version__, cli, cores
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


FLAGS = ("multiple", "required", "is_eager", "is_flag", "hidden")
VALUES = ("min", "max", "nargs", "metavar", "rich_help_panel", "help")


def commands(group: Any, path: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return every command with its parameters: their names, limits, defaults, help and panels."""
    found = {}
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            found |= commands(command, (*path, name))
            continue
        rows = []
        for one in command.params:
            flags = [flag for flag in FLAGS if getattr(one, flag, False)]
            values = {name: value for name in VALUES if (value := getattr(one, name, None)) not in (None, "", 1)}
            rows.append(((*one.opts, *one.secondary_opts), one.name, one.default, flags, values))
        found[" ".join((*path, name))] = {"help": command.help, "parameters": rows}
    return found


def test_every_command_has_the_parameters_that_were_kept() -> None:
    found = commands(typer.main.get_command(cli.app))
    assert_kept("cli/parameters", found)


def test_every_command_is_under_one_heading() -> None:
    shown = [name for names in cli.GROUPS.values() for name in names]
    assert sorted(shown) == sorted(typer.main.get_command(cli.app).commands) and len(set(shown)) == len(shown)


def test_a_command_line_ends_as_its_command_and_leaves_no_work_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []
    monkeypatch.setattr(cli, "collect_rarely", lambda: done.append("rarely"))
    monkeypatch.setattr(cli.gc, "freeze", lambda: done.append("freeze"))
    monkeypatch.setattr(cli, "ignore", lambda: done.append("ignore"))
    monkeypatch.setattr(cli, "tidy_cache", lambda: done.append("tidy"))
    monkeypatch.setattr(cli, "app", lambda **named: (done.append(named), 3)[1])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 3
    assert done == ["rarely", "tidy", {"standalone_mode": False}, "ignore", "freeze"]


def test_an_arrow_that_a_terminal_cannot_show_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="ascii") for _ in range(2)]
    monkeypatch.setattr(cli.sys, "stdout", streams[0])
    monkeypatch.setattr(cli.sys, "stderr", streams[1])
    monkeypatch.setattr(cli, "app", lambda **named: typer.echo("→"))
    monkeypatch.setattr(cli, "tidy_cache", lambda: None)
    monkeypatch.setattr(cli, "ignore", lambda: None)
    monkeypatch.setattr(cli.gc, "freeze", lambda: None)
    monkeypatch.setattr(cli, "collect_rarely", lambda: None)
    with pytest.raises(SystemExit):
        cli.main()
    assert [stream.errors for stream in streams] == ["replace", "replace"]


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


def test_only_streams_of_text_are_told_how_to_replace(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, wrapped = io.StringIO(), io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(cli.sys, "stdout", plain)
    monkeypatch.setattr(cli.sys, "stderr", wrapped)
    for name in ("tidy_cache", "ignore"):
        monkeypatch.setattr(cli, name, lambda: None)
    monkeypatch.setattr(cli, "app", lambda **named: 0)
    monkeypatch.setattr(cli.gc, "freeze", lambda: None)
    monkeypatch.setattr(cli, "collect_rarely", lambda: None)
    with pytest.raises(SystemExit):
        cli.main()
    assert wrapped.errors == "replace"
