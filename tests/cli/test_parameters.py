"""Options on the command line: made from the table, and turned into what the library takes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from equipoise.cli import app, parameters
from equipoise.cli.parameters import AUDIT, PaperValues, with_options
from equipoise.options import RunOptions
from equipoise.papers.published import published_values
from equipoise.records import EquipoiseError
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


@pytest.mark.parametrize(
    ("parts", "mapping"),
    [
        (["a=b"], {"a": "b"}),
        (["a=b,c=d", " e = f "], {"a": "b", "c": "d", "e": "f"}),
        (["a=b=c"], {"a": "b=c"}),
    ],
)
def test_columns_are_parts_of_names_and_columns(parts: list[str], mapping: dict[str, str]) -> None:
    assert parameters._column_map(parts) == mapping


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        (["a"], "--columns takes name=column parts, not 'a'"),
        (["=b"], "--columns takes name=column parts, not '=b'"),
        (["a=b, c="], "--columns takes name=column parts, not ' c='"),
        (["a=b", "a="], "--columns takes name=column parts, not 'a='"),
        (["a=b", "a=c"], "--columns names 'a' twice: 'b' and 'c'"),
    ],
)
def test_columns_that_cannot_be_are_refused(parts: list[str], sentence: str) -> None:
    with pytest.raises(EquipoiseError) as refused:
        parameters._column_map(parts)
    assert str(refused.value) == sentence


def test_values_are_turned_into_what_the_library_takes() -> None:
    values = {"columns": ["a=b"], "pronouns": ["he, she", "", "they"], "log": ["wandb"], "shots": Path("s.csv")}
    taken = {name: parameters._library_value(AUDIT[name], value) for name, value in values.items()}
    expected = {"columns": {"a": "b"}, "pronouns": ["he", "she", "they"], "log": ["wandb"], "shots": "s.csv"}
    assert taken == expected and all(type(taken[name]) is type(expected[name]) for name in taken)
    assert parameters._library_value(AUDIT["limit"], 3) == 3


def test_published_values_are_those_of_every_paper_named() -> None:
    papers = [PaperValues("ucerf-paper"), PaperValues("winoidentity-paper")]
    several = [value for name in ("ucerf", "winoidentity") for value in published_values(name)]
    assert parameters.published_values(papers) == several and parameters.published_values(None) == []


def test_what_was_given_is_told_from_a_default() -> None:
    def context(source: str | None) -> Any:
        found = None if source is None else SimpleNamespace(name=source)
        return SimpleNamespace(get_parameter_source=lambda name: found)

    given = {
        source: parameters.was_given(context(source), "x") for source in ("COMMANDLINE", "DEFAULT_MAP", "DEFAULT", None)
    }
    assert given == {"COMMANDLINE": True, "DEFAULT_MAP": True, "DEFAULT": False, None: False}
