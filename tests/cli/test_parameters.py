"""Options on the command line: made from the table, and turned into what the library takes."""

from __future__ import annotations

from typing import Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.cli.parameters import AUDIT, with_options
from equipoise.options import RunOptions
from equipoise.settings import Settings

SHARED = {
    "audit": tuple(AUDIT),
    "measure": ("estimators", "by", "disparity", "level", "resamples", "where", "quiet", "json", "no_html"),
    "report": ("where", "log", "json", "no_html"),
    "import": ("metrics", "by", "level", "resamples", "quiet", "json"),
    "suite": ("cluster", "workers", "worker_cores", "quiet"),
    "compare": ("where", "resamples", "quiet"),
}
COMMANDS: Any = get_command(app)


def chosen(*words: str, unset: bool = True) -> dict[str, Any]:
    """Return what a command with a few options is called with."""
    called: list[dict[str, Any]] = []
    small = typer.Typer()

    @small.command()
    @with_options("columns", "pronouns", "log", "shots", "limit", "crossed", unset=unset, level="Another help.")
    def command(own: int = 1, **choices: Any) -> None:
        called.append({"own": own, **choices})

    result = CliRunner().invoke(small, list(words))
    assert result.exit_code == 0, result.output
    return called[0]


def test_a_command_gets_what_was_given_as_the_library_takes_it() -> None:
    assert chosen() == {"own": 1, "crossed": False}
    words = ("--columns", "text=a,gold=b", "--columns", "pronoun=c", "--pronouns", "he, she", "--pronouns", "they")
    assert chosen(*words, "--log", "wandb", "--shots", "./s.csv", "--limit", "3", "--level", "0.9", "--own", "2") == {
        "own": 2,
        "columns": {"text": "a", "gold": "b", "pronoun": "c"},
        "pronouns": ["he", "she", "they"],
        "log": ["wandb"],
        "shots": "s.csv",
        "limit": 3,
        "level": 0.9,
        "crossed": False,
    }


def test_defaults_are_those_of_the_table_where_they_are_asked_for() -> None:
    assert chosen(unset=False) == {"own": 1, "pronouns": ["he", "she"], "crossed": False, "level": 0.95}


def test_what_an_audit_is_called_with_by_default_is_what_the_library_takes_by_default() -> None:
    parameters = {parameter.name: parameter for parameter in COMMANDS.commands["audit"].params}
    assert set(AUDIT) <= set(parameters)
    given: dict[str, Any] = {}
    for name, option in AUDIT.items():
        value = parameters[name].default
        given |= {} if value is None else {name: value}
        assert (
            value is None or list(value) == list(option.default) if option.several else value in (None, option.default)
        )
    assert Settings.taken(given).asked == {} and RunOptions.taken(given).model == RunOptions.model


@pytest.mark.parametrize("command", SHARED)
def test_a_shared_option_has_one_flag_and_one_help(command: str) -> None:
    by_flag = {flag: parameter for parameter in COMMANDS.commands[command].params for flag in parameter.opts}
    for name in SHARED[command]:
        option = AUDIT[name]
        parameter = by_flag[option.name if option.positional else f"--{option.key}"]
        assert parameter.help.startswith(option.help)
        assert ("Repeatable." in parameter.help) == (option.several or option.pairs)
