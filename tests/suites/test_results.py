"""What a suite leaves: its gates are answered, and the command ends with their answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.runs import Run
from equipoise.suites.suite_file import SuiteError

Write = Callable[..., Path]


BASIS = 'models = ["planted"]\ndata = ["builtin"]\ntask = ["next-word"]\n'


@pytest.mark.slow
def test_the_command_line(suite_file: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()

    def run(text: str, *options: str) -> Any:
        return runner.invoke(app, ["suite", str(suite_file(text)), *options])

    require = '[settings]\n[gate]\nrequire = ["ucerf[type=type2] >= 0.01", "flip_rate[type=type1] <= -1"]\n'
    dry = run(BASIS + require, "--dry-run")
    assert (
        dry.exit_code == 0
        and "12 prompts" in dry.output
        and "about 5 s left" in dry.output
        and not (tmp_path / "suite" / "cells").exists()
    )
    assert run('models = ["planted"]\ndata = ["builtin"]\ntask = ["no-task"]\n', "--dry-run").exit_code == 2
    ended = run(BASIS + require)
    assert ended.exit_code == 1, ended.output
    assert "1 done" in ended.output and "2 of 2 requirements failed" in ended.output, "six sets are not usable"
    assert (tmp_path / "suite" / "gates.xml").is_file()
    command = Run(next((tmp_path / "suite" / "cells").iterdir())).manifest.command
    assert command.startswith("equipoise suite") and "planted / builtin / next-word" in command
    unknown = run(BASIS + '[settings]\n[gate]\nrequire = ["of_nobody >= 1"]\n')
    assert isinstance(unknown.exception, SuiteError) and "matches nothing in the 1 finished cells" in str(
        unknown.exception
    )
