"""A rehearsal with simulated raters estimates what a survey costs."""

from __future__ import annotations

from pathlib import Path

import pytest
from local_parts import write_records
from typer.testing import CliRunner

from equipoise.builder.steps import (
    BuildFolder,
)
from equipoise.builder.verdict.cleaning import (
    SIMULATED_LINE,
)
from equipoise.cli import app


@pytest.mark.slow
def test_a_rehearsal_estimates_the_cost(tmp_path: Path, some_sentences) -> None:
    write_records(BuildFolder(tmp_path).kept, some_sentences(4))
    result = CliRunner().invoke(
        app,
        ["build", "simulate", str(tmp_path), "--raters", "6", "--accuracy", "1", "--incoherent", "0", "--pay", "10"],
    )
    assert result.exit_code == 0, result.output
    assert "6 simulated, 6 passed" in result.output
    assert "16 simulated, 4.00 per sentence" in result.output
    assert "4 of 4 sentences" in result.output and "4 of 4 good sentences" in result.output
    database = f"sqlite:///{tmp_path / 'simulation.sqlite'}"
    cleaned = CliRunner().invoke(app, ["build", "clean", str(tmp_path), "--database", database])
    assert cleaned.output.startswith(SIMULATED_LINE)
