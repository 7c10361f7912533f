"""What an audit prints with --json and writes to measurements.csv follows the published JSON Schema."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from equipoise.cli import app
from equipoise.metrics import METRICS
from equipoise.records import (
    DECIDED,
    Estimate,
    Measurement,
    RunManifest,
    group_label,
    parse_group,
)
from equipoise.runs import Run
from equipoise.runs.csv_files import to_csv
from equipoise.runs.folder import RunFolder
from equipoise.runs.measurements import (
    Measurements,
    interval,
    kind_title,
    measurements_frame,
    measurements_from_frame,
    metric_place,
    ordered_kinds,
    read_measurements,
    span,
)


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


def row(metric: str, group: str, value: float = 0.5, **more: Any) -> Measurement:
    label = group_label(parse_group(group))
    return Measurement(metric, "m", "d", "t", label, Estimate(value, 0.25, 0.75, 0.95, 4, "x", **more), "higher")


ROWS = [
    row("ucerf", "type=type1", 0.1),
    row("ucerf", "type=type1", 0.9),
    row("ucerf", "type=type2,gender=male", 0.2),
    row("ucerf", "type=type2,gender=female", 0.3),
    row("accuracy_renyi", "type=zeta,seed=1", 1.0),
    row("accuracy_renyi", "type=zeta,seed=2", 3.0),
    row("accuracy_renyi", "type=zeta", 2.0),
    row("ece", "by=gender", 0.4),
    row("ece", "gender=male", 0.6),
    row("ece", "all", 0.7),
    row("ece", "type=type2,pair=a,gender=x", 0.8),
    row("ece", "type=type2,pair=b", 0.85),
]


def test_measurements_are_looked_up_by_metric_and_group() -> None:
    table = Measurements(ROWS)
    assert len(table) == 11 and list(table) == [ROWS[0], *ROWS[2:]], "the first of two counts"
    assert table.metrics == ["ucerf", "accuracy_renyi", "ece"]
    assert table.get("ucerf", type="type1", gender="") == ROWS[0] and table.get("ece") == ROWS[9]
    assert table.get("ucerf", type="type3") is None and table.at("ece", "by=gender") == ROWS[7]
    assert (table.own("ucerf"), table.own("accuracy"), table.own("nothing")) == ("ucerf", "accuracy_renyi", "nothing")
    assert table.groups_of("ucerf") == ["type=type1", "gender=male,type=type2", "gender=female,type=type2"]
    assert dict(table.values_of("gender", "type2")) == {
        "female": "gender=female,type=type2",
        "male": "gender=male,type=type2",
    }
    assert list(table.values_of("gender", "type2")) == ["female", "male"]
    assert dict(table.values_of("gender", "")) == {"male": "gender=male"} and not table.values_of("gender", "type1")
    assert table.kinds == ["type2", "type1", "zeta"] and table.keys == ["gender"]
    assert table.groupings() == [ROWS[7]]
    assert table.spread("accuracy_renyi", "type=zeta") == pytest.approx(2**0.5)
    assert [row.value for row in table.ways_asked("accuracy_renyi", "type=zeta")] == [1.0, 3.0]
    assert not table.ways_asked("ucerf", "type=type1") and not table.ways_asked("accuracy_renyi", "seed=1,type=zeta")
    assert table.spread("ucerf", "type=type1") is None and Measurements([]).kinds == [""]


def test_types_and_metrics_have_their_order_and_words() -> None:
    assert ordered_kinds({"", "b", "type1", "a", DECIDED, "type2"}) == ["type2", "type1", DECIDED, "a", "b"]
    assert ordered_kinds({""}) == [""]
    assert [kind_title(kind) for kind in ("type1", "mine", "")] == ["ambiguous (type 1)", "mine", "all items"]
    first, second = list(METRICS)[:2]
    assert [metric_place(name) for name in (first, second, "nothing")] == [0, 1, len(METRICS)]
    assert interval(row("a", "all")) == "[0.250, 0.750]" and span(row("a", "all")) == "0.500 [0.250, 0.750]"
    nan = float("nan")
    for low, high in ((nan, 1.0), (0.0, nan)):
        assert interval(Estimate(0.5, low, high, 0.95, 1, "x")) == "[no interval]"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"better": "more"}, "it is cut off or altered"),
        ({"value": ""}, ""),
        ({"value": "", "low": ""}, "a value is not a number"),
        ({"value": "", "high": ""}, "a value is not a number"),
        ({"value": "nan"}, "a value is not a number"),
        ({"value": "inf"}, "a value is not a number"),
        ({"low": "", "high": ""}, ""),
        ({"level": "1.5"}, "a value is not a number"),
        ({"level": ""}, "a value is not a number"),
        ({"p": ""}, ""),
        ({"n": "0"}, ""),
        ({"n": "-1"}, "it has a number that no measurement can have"),
        ({"p": "1.01"}, "it has a number that no measurement can have"),
        ({"p": "-0.01"}, "it has a number that no measurement can have"),
        ({"p_corrected": "7"}, "it has a number that no measurement can have"),
        ({"low": "0.9", "high": "0.1"}, "it has a number that no measurement can have"),
        ({"metric": "first"}, "two rows say different things of one group"),
        ({"metric": "first", "value": "0.5"}, ""),
    ],
)
def test_a_cell_that_cannot_be_right_is_refused(change: dict[str, str], reason: str) -> None:
    cells = {name: str(value) for name, value in row("ucerf", "all").row().items()} | {"p": "0.5", "p_corrected": "0.5"}
    cells["value"] = "0.25"
    rows = [{**cells, "metric": "first", "value": "0.5"}, {**cells, **change}, {**cells, "metric": "last"}]
    frame = pd.DataFrame(rows, columns=list(Measurement.COLUMNS))
    file = io.BytesIO(frame.to_csv(index=False).encode())
    if not reason:
        assert len(read_measurements(file)) == 3
        return
    with pytest.raises(ValueError, match=f"^{reason}$"):
        read_measurements(file)


def test_a_table_with_other_columns_or_groups_is_refused() -> None:
    frame = measurements_frame(ROWS)
    for changed in (frame.drop(columns="p"), frame[[*frame.columns[1:], frame.columns[0]]]):
        with pytest.raises(ValueError, match=r"^it is cut off or altered$"):
            read_measurements(io.BytesIO(changed.to_csv(index=False).encode()))
    broken = frame.assign(group="no group")
    with pytest.raises(Exception, match="group"):
        read_measurements(io.BytesIO(broken.to_csv(index=False).encode()))
    whole = read_measurements(io.BytesIO(to_csv(measurements_frame([row("ucerf", "a=-1", 0.5)]))))
    assert whole["group"].tolist() == ["a=-1"] and whole["n"].tolist() == [4]
