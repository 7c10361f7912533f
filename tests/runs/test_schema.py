"""What an audit prints with --json and writes to measurements.csv follows the published JSON Schema."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from equipoise.cli import app
from equipoise.records import Measurement


def test_measurements_follow_their_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app(["schema"], standalone_mode=False)
    schema = json.loads(capsys.readouterr().out)
    Draft202012Validator.check_schema(schema)
    assert tuple(schema["items"]["properties"]) == Measurement.COLUMNS
    words = ["audit", "planted:strength=2", "--limit", "12", "--task", "next-word", "--task", "mcq", "--seeds", "2"]
    app([*words, "--resamples", "20", "--no-html", "--json", "--out", str(tmp_path / "run")], standalone_mode=False)
    rows = json.loads(capsys.readouterr().out)
    errors = [error.message for error in Draft202012Validator(schema).iter_errors(rows)]
    assert rows and not errors[:3]
    assert tuple(pd.read_csv(tmp_path / "run" / "measurements.csv").columns) == Measurement.COLUMNS
    broken = [{**rows[0], "n": -1}]
    assert list(Draft202012Validator(schema).iter_errors(broken))
