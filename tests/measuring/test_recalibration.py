"""Calibrating a run: what is written, what is said, and what cannot be done; through the command line too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from kept_texts import assert_kept
from test_kept_measurements import PAIRS, asked, open_dataset
from typer.testing import CliRunner

import equipoise
from equipoise.cli import app
from equipoise.measuring import recalibration
from equipoise.measuring.recalibration import Recalibrated, Splits, recalibrate
from equipoise.metrics.calibration import noise_floor
from equipoise.records import EquipoiseError, RunError
from equipoise.runs.run import Run


def results(path: Path, *, items: int = 900, power: float = 3.0, seed: int = 0) -> Path:
    """Write results of a model whose odds are the true ones to a power: overconfident by a known map."""
    rng = np.random.default_rng(seed)
    true = rng.uniform(0.05, 0.95, items)
    odds = (true / (1 - true)) ** power
    said = odds / (1 + odds)
    y = rng.random(items) < true
    rows = ["item,candidate,prob,gold,stands_for,group:half\n"]
    for number, (p, label) in enumerate(zip(said, y, strict=True)):
        for word, side, prob, gold in (("him", "male", p, label), ("her", "female", 1 - p, not label)):
            rows.append(f"s{number},{word},{prob:.12f},{int(gold)},{side},{'ab'[number % 2]}\n")
    path.write_text("".join(rows))
    return path


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return equipoise.import_results(results(tmp_path / "made.csv"), out=tmp_path / "run", resamples=5)


def recalibrated(run: Run, plan: Splits | None = None) -> Recalibrated:
    return recalibrate([(key.dataset, key.task, outcomes) for key, outcomes in run.answers()], plan)


def test_maps_repair_what_was_planted(run: Run) -> None:
    result = recalibrated(run, Splits(splits=8))
    rows = result.table[(result.table["metric"] == "ece") & (result.table["group"] == "all")]
    table = rows.set_index(["method", "maps"])
    for method in ("beta", "platt", "temperature", "isotonic", "histogram"):
        row = table.loc[method, "pooled"]
        assert row["before"] > 0.15 and row["after"] < 0.6 * row["before"] and row["low"] <= row["after"] <= row["high"]
    assert set(result.table["maps"]) == {"pooled", "by predicted_gender"}
    final = final_temperature(result.maps)
    assert final["parameters"]["temperature"] == pytest.approx(3.0, rel=0.25)


def final_temperature(maps: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    (final,) = [m for m in maps if m["method"] == "temperature" and m["maps"] == "pooled" and m["split"] is None]
    return final


def test_the_floor_is_that_of_the_calibrated_probabilities(run: Run) -> None:
    plan = Splits(methods=("temperature",), splits=1)
    result = recalibrated(run, plan)
    (row,) = result.table.query("metric == 'ece' and group == 'all' and maps == 'pooled'").to_dict("records")
    (sample,) = result.samples.values()
    assert row["floor"] == pytest.approx(noise_floor(sample["after"].to_numpy()), abs=1e-12)
    # Overconfident probabilities vary less, so their own floor is far lower.
    assert row["floor"] > 1.3 * noise_floor(sample["before"].to_numpy())


def test_any_group_can_have_maps_of_its_own_and_the_same_seed_gives_the_same(run: Run) -> None:
    plan = Splits(methods=("platt",), splits=3, by="half")
    table = recalibrated(run, plan).table
    assert set(table["group"]) == {"all", "half=a", "half=b"}
    pd.testing.assert_frame_equal(table, recalibrated(run, plan).table)
    with pytest.raises(EquipoiseError, match="no item has a group 'hals'"):
        recalibrated(run, Splits(by="hals"))


def test_a_calibrated_model_is_said_to_sit_at_its_floor(tmp_path: Path) -> None:
    made = equipoise.import_results(
        results(tmp_path / "m.csv", items=300, power=1.0), out=tmp_path / "run", resamples=5
    )
    warnings = recalibrated(made, Splits(methods=("beta",), splits=5)).warnings
    assert any("all) sits at the noise floor" in sentence for sentence in warnings)


def test_one_label_alone_and_no_pairs_are_clear_errors(tmp_path: Path) -> None:
    file = tmp_path / "one.csv"
    rows = "".join(f"s{i},him,0.{i},1,male\ns{i},her,0.1,0,female\n" for i in range(1, 9))
    file.write_text("item,candidate,prob,gold,stands_for\n" + rows)
    made = equipoise.import_results(file, out=tmp_path / "run", resamples=5)
    with pytest.raises(RunError, match="items that all have one label; there is nothing to calibrate"):
        recalibrated(made)
    file.write_text("item,candidate,prob,gold\na,x,0.5,1\na,y,0.5,0\n")
    made = equipoise.import_results(file, out=tmp_path / "other", resamples=5)
    with pytest.raises(RunError, match="no sentence pairs with a human label"):
        recalibrated(made)


@pytest.mark.slow
def test_the_command_line_imports_reports_draws_and_calibrates(tmp_path: Path) -> None:
    file, folder = results(tmp_path / "made.csv", items=120), tmp_path / "run"
    runner = CliRunner(env={"COLUMNS": "160"})

    def said(*arguments: str) -> str:
        result = runner.invoke(app, list(arguments), catch_exceptions=False)
        assert result.exit_code == 0
        return result.output

    assert "Calibration of made on made" in said("import", str(file), "--out", str(folder), "--resamples", "20")
    assert "predicted_gender=female" in said("report", str(folder))
    assert "half=a" in said("measure", str(folder), "--by", "half", "--resamples", "20")
    assert "predicted_gender=male" in said("report", str(folder), "--as", "reliability")
    calibrate = ("study", "calibration", str(folder), "--splits", "2", "--method", "temperature")
    assert "by predicted_gender" in said(*calibrate)
    table = equipoise.load(folder).frame("calibration.csv")
    pd.testing.assert_frame_equal(table, pd.read_csv(folder / "calibration.csv"))
    assert set(table["maps"]) == {"pooled", "by predicted_gender"} and set(table["splits"]) == {2}
    maps = json.loads((folder / "calibration_maps.json").read_text())
    assert final_temperature(maps)["parameters"]["temperature"] == pytest.approx(3.0, rel=0.4)
    drawn = sorted(path.name for path in (folder / "figures").iterdir())
    assert drawn == ["calibrated-made-imported.png", "reliability-made-imported.png"]
    assert all((folder / "figures" / name).read_bytes().startswith(b"\x89PNG") for name in drawn)
    bins = pd.read_csv(folder / "reliability.csv")
    assert bins[bins["group"] == "all"]["items"].sum() == 120


def test_what_maps_do_is_as_kept() -> None:
    outcomes = asked(open_dataset(PAIRS), "cloze", model="bias=1,noise=2")
    made = {}
    for name, plan in {"usual": Splits(splits=3), "own": Splits(("platt", "isotonic"), 2, 5, "bias_type")}.items():
        empty = asked(open_dataset("builtin").limited(2))
        done = recalibrate([("before", "t", empty), ("d", "t", outcomes), ("after", "t", empty)], plan)
        sums = done.table.select_dtypes("number").sum().to_dict()
        made[name] = {
            "table": done.table.iloc[:: max(1, len(done.table) // 12)],
            "sums": {key: float(value) for key, value in sums.items()},
            "maps": [len(done.maps), [(m["method"], m["maps"], m["group"], m["split"]) for m in done.maps][::7]],
            "parameters": [sum(map(_total, m["parameters"].values())) for m in done.maps][::5],
            "warnings": list(done.warnings),
            "sample": done.samples["d", "t"].head(4),
        }
    assert_kept("measured/recalibrated", made)


def _total(value: Any) -> float:
    return float(np.sum(np.asarray(value, dtype=float)))


def test_splits_and_progress_are_checked_and_told() -> None:
    for wrong in ({"splits": 0}, {"seed": -1}):
        told = f"{wrong.get('splits', 100)} and {wrong.get('seed', 0)}"
        with pytest.raises(EquipoiseError, match=f"^splits must be at least 1 and the seed 0 or more, not {told}$"):
            Splits(**wrong)
    with pytest.raises(EquipoiseError, match=r"^unknown calibration method 'magic'"):
        Splits(("magic",))
    told: list[tuple[str, int, int]] = []
    outcomes = asked(open_dataset(PAIRS[:12]), "cloze", model="bias=1,noise=2")
    recalibrate([("d", "t", outcomes)], Splits(("temperature",), 2), progress=lambda *seen: told.append(seen))
    assert told == [("d · t", 1, 2), ("d · t", 2, 2)]
    with pytest.raises(RunError, match=r"^calibration needs at least two sentences, one to fit on and one to test on$"):
        recalibrate([("d", "t", outcomes.take(np.arange(1)))], Splits(("temperature",), 2))


def judged(groups: list[str]) -> recalibration._Judged:
    n = len(groups)
    rng = np.random.default_rng(1)
    p = rng.random(n)
    y = (rng.random(n) < p).astype(float)
    return recalibration._Judged(y, p, np.array(groups, dtype=object), np.arange(n))


def test_a_group_that_the_tested_half_lacks_and_groups_that_cannot_be_compared_are_left_out() -> None:
    every = judged(["a"] * 6 + ["b"] * 4 + [""] * 2)
    tested = (every.y[:6], every.p[:6], every.p[:6] / 2, every.groups[:6])
    recalibration._keep(every, ("platt", "all"), tested)
    assert {key[2:] for key in every.values} == {(name, m) for name in ("all", "a") for m in ("ece", "brier")}
    y, p, half, _ = tested
    assert every.values["platt", "all", "a", "brier"] == [(np.mean((y - p) ** 2), np.mean((y - half) ** 2))]
    assert every.floors["platt", "all", "all"] == [noise_floor(half)]
    recalibration._keep(every, ("platt", "all"), (every.y, every.p, every.p / 2, every.groups))
    assert len(every.values["platt", "all", "b", "ece"]) == 1 and len(every.values["platt", "all", "all", "ece"]) == 2
    assert len(every.values["platt", "all", "all", "group_ece"]) == 1, "one group alone has nothing to compare"


def test_a_group_that_no_split_tested_is_not_said_to_sit_at_its_floor() -> None:
    assert list(recalibration._at_the_floor(judged(["a", "b"]), "gender", Splits())) == []


def test_the_halves_are_of_clusters_and_a_group_is_counted_where_it_was_tested() -> None:
    few = judged(["a", "b", "a", "b", "a", "b", "a", "a"])
    list(recalibration._one_split(few, Splits(methods=()), 3))
    tested = ~few.half(3)
    assert tested.sum() == 4
    counts = {name: int((few.groups[tested] == name).sum()) for name in "ab"}
    expected = {"all": [4]} | {name: [count] for name, count in counts.items() if count}
    assert few.sizes == expected


def test_groups_of_one_label_have_no_maps_of_their_own() -> None:
    few = judged(["a", "b"] * 10)
    few.y[:] = np.tile([0.0, 1.0], 10)
    maps = list(recalibration._one_split(few, Splits(methods=("temperature",)), 0))
    assert [fitted["maps"] for fitted in maps] == [recalibration.POOLED]
    assert {key[1] for key in few.values} == {recalibration.POOLED}
