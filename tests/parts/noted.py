"""What a command hands to the library: calls that are noted instead of made, and commands that are run here."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.records import EquipoiseError

Call = tuple[tuple[Any, ...], dict[str, Any]]


def noted(patch: pytest.MonkeyPatch, target: str, gives: Any = None, *, hide: tuple[str, ...] = ("progress",)) -> Any:
    """Put a function in place of `target` ("package.module.name") that notes its calls, and return the notes.

    `gives` is what it returns, or what it raises; `hide` are keywords that are left out of the notes.
    """
    calls: list[Call] = []

    def called(*given: Any, **named: Any) -> Any:
        calls.append((given, {name: value for name, value in named.items() if name not in hide}))
        if isinstance(gives, Exception):
            raise gives
        return gives

    patch.setattr(target, called)
    return calls


def said(*words: Any, input: str | None = None, code: int = 0) -> tuple[str, str]:
    """Return what a command prints on standard output and on standard error; it must end with this code."""
    result = CliRunner().invoke(app, [*map(str, words)], input=input)
    assert result.exit_code == code, (result.output, result.exception)
    return result.stdout, result.stderr


def refusal(*words: Any, input: str | None = None) -> str:
    """Return the sentence with which a command refuses."""
    result = CliRunner().invoke(app, [*map(str, words)], input=input)
    assert isinstance(result.exception, EquipoiseError), (result.output, result.exception)
    return str(result.exception)
