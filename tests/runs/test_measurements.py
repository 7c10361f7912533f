"""What an audit prints with --json and writes to measurements.csv follows the published JSON Schema."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from equipoise.cli import app
from equipoise.records import (
    Estimate,
    Measurement,
    RunManifest,
)
from equipoise.runs import Run
from equipoise.runs.folder import RunFolder
from equipoise.runs.measurements import measurements_frame, measurements_from_frame


def test_measurements_follow_their_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app(["list", "schema"], standalone_mode=False)
    schema = json.loads(capsys.readouterr().out)
    Draft202012Validator.check_schema(schema)
    assert tuple(schema["properties"]["measurements"]["items"]["properties"]) == Measurement.COLUMNS
    words = ["audit", "planted:strength=2", "--limit", "12", "--task", "next-word", "--task", "mcq", "--orders", "2"]
    app([*words, "--resamples", "20", "--no-html", "--json", "--out", str(tmp_path / "run")], standalone_mode=False)
    printed = json.loads(capsys.readouterr().out)
    errors = [error.message for error in Draft202012Validator(schema).iter_errors(printed)]
    rows = printed["measurements"]
    assert rows and not errors[:3]
    assert next(iter(printed)) == "verdicts" and len(printed["verdicts"]) == 2, "the verdict comes first"
    assert tuple(pd.read_csv(tmp_path / "run" / "measurements.csv").columns) == Measurement.COLUMNS
    broken = {**printed, "measurements": [{**rows[0], "n": -1}]}
    assert list(Draft202012Validator(schema).iter_errors(broken))


MANIFEST = RunManifest("m", {"weights": "w"}, {}, {}, {}, {}, "equipoise audit m", "2026-01-01T00:00:00+00:00")


def test_measurements_survive_the_disk_to_the_bit(tmp_path: Path) -> None:
    values = [0.1 + 0.2, 1 / 3, 5e-324, -1.7976931348623157e308, 0.0]
    names = ["NA", "1.0", "null", 'a,"b"', ""]
    measurements = [
        Measurement("ucerf", name, name, "t", "a=b,c=d", Estimate(value, value, value, 0.95, 7, name), "higher")
        for name, value in zip(names, values, strict=True)
    ]
    table = measurements_frame(measurements)
    folder = RunFolder(tmp_path)
    folder.commit({"measurements.csv": table}, MANIFEST)
    pd.testing.assert_frame_equal(folder.frame("measurements.csv"), table, check_exact=True, check_dtype=False)
    assert measurements_from_frame(folder.frame("measurements.csv")) == measurements


def test_a_measurement_without_interval_stays_without(tmp_path: Path) -> None:
    estimate = Estimate(0.5, float("nan"), float("nan"), 0.95, 7, "no interval")
    folder = RunFolder(tmp_path)
    table = measurements_frame([Measurement("ece_floor", "m", "d", "t", "all", estimate, "neither")])
    folder.commit({"measurements.csv": table}, MANIFEST)
    (back,) = measurements_from_frame(folder.frame("measurements.csv"))
    assert np.isnan([back.low, back.high]).all() and (back.value, back.estimate.method) == (0.5, "no interval")


def test_a_run_is_read_by_parts_and_looks_its_measurements_up(finished: Path) -> None:
    run = Run(finished, name="mine")
    (part,) = run.parts
    assert (str(part), str(part.key), part.key.model) == ("builtin · next-word", "builtin · next-word", "mine")
    assert (len(part.items), part.kinds, run.level) == (len(run.outcomes), ["type2", "type1"], 0.95)
    ucerf = part.measured.get("ucerf", type="type2")
    (row,) = run.measurements.query("metric == 'ucerf' and group == 'type=type2'").to_dict("records")
    assert ucerf is not None
    pd.testing.assert_series_equal(pd.Series(ucerf.row()), pd.Series(row), check_exact=True)
    assert ucerf.estimate.method
    assert part.measured.get("ucerf", type="type3") is None
    assert part.outcomes.cluster_id.tolist() == part.items["cluster_id"].tolist()
