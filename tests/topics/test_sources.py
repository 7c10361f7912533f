"""`equipoise study suite` says what the results of a suite depend on, and draws it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from equipoise.cli import app

SUITE = """
out = "{out}"
models = ["planted:bias=0.2,noise=0.5", "planted:bias=0.8,noise=0.5", "planted:bias=1.4,noise=0.5"]
data = ["builtin"]
task = ["next-word", "mcq"]

[settings]
limit = 70
resamples = 20
by = []
metrics = ["ucerf", "flip_rate", "accuracy"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suite")
    (folder / "suite.toml").write_text(SUITE.format(out=folder / "out"))
    assert CliRunner().invoke(app, ["suite", str(folder / "suite.toml"), "--quiet"]).exit_code == 0
    return folder


@pytest.mark.slow
def test_the_command_names_models_as_the_suite_does_and_writes_tables_and_figures(folder: Path) -> None:
    command = ["study", "suite", str(folder / "out" / "cells"), "--out", str(folder / "sources"), "--resamples", "60"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "of the variation is the model" in result.output
    assert "UCerF and Flip rate order the 3 models alike: Kendall's tau 1.00" in result.output
    names = {path.name for path in (folder / "sources").iterdir()}
    assert {"variation.csv", "agreement.csv", "carried.csv"} <= names
    assert {"sources-ucerf-type2.png", "sources-metrics-type2.png"} <= names
    carried = pd.read_csv(folder / "sources" / "carried.csv")
    assert set(carried["first"]) == {"planted:bias=0.2,noise=0.5", "planted:bias=0.8,noise=0.5"}
    shares = pd.read_csv(folder / "sources" / "variation.csv")
    assert shares[(shares["type"] == "type2") & (shares["source"] != "order of models (tau)")]["value"].sum() == (
        pytest.approx(1)
    )


def test_runs_that_are_not_usable_are_left_out_with_the_reason(folder: Path, tmp_path: Path) -> None:
    command = [
        "audit",
        "planted:strength=0,bias=0,noise=0.1",
        "--data",
        "builtin",
        "--limit",
        "70",
        "--resamples",
        "20",
    ]
    assert CliRunner().invoke(app, [*command, "--out", str(tmp_path / "blind"), "--quiet"]).exit_code == 0
    command = ["study", "suite", str(folder / "out" / "cells"), str(tmp_path / "blind"), "--no-figures"]
    result = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out"), "--resamples", "20"])
    assert result.exit_code == 0 and "left out: planted" in result.output
