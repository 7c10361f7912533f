"""Help that fits a screen, and old names that answer with the new ones."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from kept_texts import assert_kept
from typer.main import get_command
from typer.testing import CliRunner

import equipoise
from equipoise.cli import GROUPS, app, main
from equipoise.cli.help import COMMON, OLD_COMMANDS, _write_panels
from equipoise.cli.parameters import AUDIT
from equipoise.options import OUTPUT, PANELS, RENAMED
from equipoise.options.option import TUNING

SCREEN = {"COLUMNS": "80", "TERMINAL_WIDTH": "80"}
LINES = 30
PROGRAM: Any = get_command(app)


def called(command: str) -> list[str]:
    return [command] if command in PROGRAM.commands else ["study", command]


def parameters(words: list[str]) -> list[Any]:
    found = PROGRAM
    for word in words:
        found = found.commands[word]
    return list(found.params)


def shown(*words: str) -> str:
    return CliRunner().invoke(app, list(words), env=SCREEN).output


def test_few_commands_each_under_one_heading_on_one_screen() -> None:
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == sorted(PROGRAM.commands) and len(listed) <= 20
    text = shown("--help")
    assert len(text.splitlines()) <= LINES and max(map(len, text.splitlines())) <= 80
    for heading, names in GROUPS.items():
        assert re.search(rf"^  {heading} +{names[0]} +[A-Z].+\.$", text, re.MULTILINE)
        assert all(re.search(rf"^  (?:{heading})? +{name} +[A-Z].+\.$", text, re.MULTILINE) for name in names)


@pytest.mark.parametrize("command", COMMON)
def test_short_help_has_eight_options_on_one_screen_and_the_long_one_has_all(command: str) -> None:
    known = {parameter.name: parameter for parameter in parameters(called(command))}
    options = [name for name in COMMON[command] if known[name].param_type_name == "option"]
    short, long = shown(*called(command), "--help"), shown(*called(command), "--help-all")
    assert len(options) == 8 and len(short.splitlines()) <= 24 and max(map(len, short.splitlines())) <= 80
    assert all(re.search(rf"^  {known[name].opts[0]} +\S", short, re.MULTILINE) for name in COMMON[command])
    assert all(re.search(rf"^  (?:-\w, )?{p.opts[0]}\b", long, re.MULTILINE) for p in known.values())
    hidden = len(known) - len(COMMON[command]) - 1
    assert f"all {hidden} other options" in short


def test_every_command_fits_a_screen_or_has_a_short_help() -> None:
    tall = [name for name in PROGRAM.commands if len(shown(name, "--help").splitlines()) > 45]
    assert not tall


def test_the_long_help_has_a_panel_for_each_subject_and_fits_80_columns() -> None:
    text = shown("audit", "--help-all")
    headings = re.findall(r"^(\w[\w ]+):$", text, re.MULTILINE)
    assert headings == [panel for panel in PANELS if panel != TUNING]
    assert max(map(len, text.splitlines())) <= 80
    for panel in headings:
        section = text.partition(f"\n{panel}:\n")[2].partition("\n\n")[0]
        options = [option for option in AUDIT.values() if option.panel == panel]
        names = [option.name if option.positional else f"--{option.key}" for option in options]
        assert names and all(re.search(rf"^  (?:-\w, )?{name}\b", section, re.MULTILINE) for name in names)
    for option in AUDIT.values():
        if option.default not in (None, "", (), {}, False):
            assert "[default: " in " ".join(text.partition(f" --{option.key} ")[2].split())[:700] or option.positional


@pytest.mark.parametrize("old", OLD_COMMANDS)
def test_an_old_command_answers_with_the_new_one(old: str) -> None:
    result = CliRunner().invoke(app, [old, "run"])
    assert (
        result.exit_code != 0 and str(result.exception) == f"`equipoise {old}` is now `equipoise {OLD_COMMANDS[old]}`"
    )
    assert old not in PROGRAM.commands
    words = [word for word in OLD_COMMANDS[old].split() if word != "RUN"]
    found = PROGRAM
    while hasattr(found, "commands"):
        found = found.commands[words.pop(0)]
    assert not words or words == ["--as", old]


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_option_answers_with_the_new_one(
    old: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["equipoise", "audit", f"--{old}", "2"])
    with pytest.raises(SystemExit) as ended:
        main()
    new = RENAMED[old].replace("_", "-")
    assert ended.value.code == 2 and capsys.readouterr().err == f"equipoise: --{old} is now --{new}\n"
    assert RENAMED[old] in AUDIT and old not in AUDIT


def test_the_package_is_a_program() -> None:
    command = [sys.executable, "-m", "equipoise", "--version"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert equipoise.__version__ in ended.stdout


@pytest.mark.parametrize("command", COMMON)
def test_help_is_as_it_was_kept(command: str) -> None:
    assert_kept(f"cli/help/{command}", shown(*called(command), "--help"), shown(*called(command), "--help-all"))


def test_the_first_help_is_as_it_was_kept() -> None:
    several = [shown(*words, "--help") for words in ((), ("gate",), ("study",), ("build",), ("data", "make"))]
    assert_kept("cli/help/first", *several)


def test_a_parameter_without_help_is_in_no_panel() -> None:
    told: list[Any] = []

    class Formatter:
        def section(self, name: str) -> Any:
            told.append(name)
            return nullcontext()

        def write_dl(self, rows: Any) -> None:
            told.append(list(rows))

    def parameter(record: Any, panel: str | None) -> Any:
        return SimpleNamespace(get_help_record=lambda ctx: record, rich_help_panel=panel)

    first = next(iter(PANELS))
    params = [parameter(("--b", "b"), None), parameter(None, first), parameter(("--a", "a"), first)]
    _write_panels(params, None, Formatter())
    assert told == [first, [("--a", "a")], OUTPUT, [("--b", "b")]]
