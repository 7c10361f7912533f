"""The folder of a tuning run: killed at any step there is no adapter or the whole one; files of others stay."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from kills import killed_everywhere
from planted_training import few_sets

from equipoise.datasets.exposure import sentence_hash
from equipoise.files import sync_folder
from equipoise.records import DatasetError, EquipoiseError, ModelError
from equipoise.training import Limits, Plan, TrainingError, open_training_sets, tune, tune_folder, tuning
from equipoise.training.tune_folder import TuneFolder

PLAN = Plan(
    steps=2, answerable=1, unanswerable=1, leash_rows=1, validate_every=1, checkpoint_every=1, validation_sets=2,
    rank=2, patience=9,
)  # fmt: skip
ANY = Limits(accuracy=1, mass=1, certainty=0, perplexity=1e9)


@pytest.mark.slow
def test_killed_tuning(tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sets = open_training_sets("grammar", seed=0, markers=False)
    monkeypatch.setattr(tuning, "open_training_sets", lambda data, seed, markers: sets)
    out = tmp_path / "out"

    def state(folder: Path) -> Any:
        """Return the files that others read; without its configuration an adapter is none."""
        if not (folder / "adapter_config.json").is_file():
            assert not (folder / "training" / "report.json").exists()
            return None
        weights = hashlib.sha256((folder / "adapter_model.safetensors").read_bytes()).hexdigest()
        return weights, (folder / "training" / "trained_on.txt").read_bytes()

    def command() -> None:
        tune(str(tiny_folder), out=out, plan=PLAN, limits=ANY, markers=False, device="cpu")

    steps, seen = killed_everywhere(out, command, state, tmp_path, most=13)
    command()
    assert steps > 30 and seen == {None, state(out)}
    assert sorted(file.name for file in (out / "training").iterdir()) == [
        *("curves.csv", "lock", "report.json", "settings.json", "trained_on.txt", "validation.csv"),
    ]
    with pytest.raises(TrainingError, match=r"begun with weight 1\.0, not 2\.0"):
        tune(str(tiny_folder), out=out, plan=replace(PLAN, weight=2.0), limits=ANY, markers=False)
    (out / "training" / "report.json").write_text("{")
    with pytest.raises(TrainingError, match=r"report\.json is damaged; give a new out folder"):
        command()


@pytest.mark.slow
def test_a_run_that_failed_before_its_first_step_may_begin_anew(tiny_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no such file"):
        tune(str(tiny_folder), data="mistyped.csv", out=tmp_path / "a", plan=PLAN)
    with pytest.raises(ModelError, match="planted cannot be trained"):
        tune("planted", out=tmp_path / "a", plan=PLAN, markers=False)
    assert json.loads((tmp_path / "a" / "training" / "settings.json").read_text())["model"] == "planted"


def test_a_folder_with_other_files_is_not_written_to(tiny_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(TrainingError, match="is not empty"):
        tune(str(tiny_folder), out=tmp_path, plan=PLAN)


SETTINGS = {"model": "m", "steps": 2, "limits": {"mass": 0.1}}


def test_a_folder_is_begun_and_begun_again_with_the_same_settings_alone(tmp_path: Path) -> None:
    folder = TuneFolder(tmp_path / "out")
    with folder.begun(SETTINGS):
        assert json.loads((tmp_path / "out" / "training" / "settings.json").read_text()) == SETTINGS
        with pytest.raises(EquipoiseError), TuneFolder(tmp_path / "out").begun(SETTINGS):
            pass  # another process holds it
    # No step was taken, so it may begin anew with others; then it may not.
    with folder.begun({**SETTINGS, "steps": 5}):
        assert json.loads((folder.path / "settings.json").read_text())["steps"] == 5
    for name in ("curves.csv", "checkpoint.pt", "report.json"):
        (folder.path / name).write_text("{}")
        with folder.begun({**SETTINGS, "steps": 5}):
            pass
        with (
            pytest.raises(TrainingError, match=r"out was begun with steps 5, not 2; give a new out folder$"),
            folder.begun(SETTINGS),
        ):
            pass
        (folder.path / name).unlink()
    (folder.path / "curves.csv").write_text("")
    (folder.path / "settings.json").write_text("[1")
    with (
        pytest.raises(TrainingError, match=r"settings\.json is damaged; give a new out folder$"),
        folder.begun(SETTINGS),
    ):
        pass
    (folder.path / "settings.json").write_text("3")
    with pytest.raises(TrainingError, match="is damaged"), folder.begun(SETTINGS):
        pass


@pytest.mark.parametrize(
    ("name", "fine"),
    [
        ("training/lock", True),
        ("training/.settings.json.12.part", True),
        ("training/mine.txt", False),
        ("training/locked", False),
        ("lock", False),
        ("mine/lock", False),
    ],
)
def test_what_a_killed_beginning_leaves_is_no_file_of_others(name: str, fine: bool, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("")
    if fine:
        with TuneFolder(tmp_path).begun(SETTINGS):
            assert (tmp_path / "training" / "settings.json").is_file()
        return
    with pytest.raises(TrainingError, match=r"is not empty and not the folder of a tuning run; give a new out folder$"):
        TuneFolder(tmp_path).begun(SETTINGS).__enter__()
    assert not (tmp_path / "training" / "settings.json").exists()


@pytest.fixture
def begun(tmp_path: Path) -> TuneFolder:
    folder = TuneFolder(tmp_path)
    with folder.begun(SETTINGS):
        pass
    return folder


def test_rows_checkpoints_and_reports_come_back(begun: TuneFolder) -> None:
    assert begun.report is None and begun.checkpoint() is None
    rows = [{"step": 0, "loss": 1.5}, {"step": 1, "loss": 0.25}]
    begun.write_rows("curves.csv", rows)
    with open(begun.path / "curves.csv", encoding="utf-8", newline="") as lines:
        assert [{name: float(value) for name, value in row.items()} for row in csv.DictReader(lines)] == rows
    begun.write_rows("curves.csv", [])
    assert (begun.path / "curves.csv").read_text().strip() == ""
    begun.save_checkpoint({"state": {"step": 3}, "weights": {"a": torch.ones(2)}})
    kept = begun.checkpoint()
    assert kept is not None and kept["state"] == {"step": 3} and kept["weights"]["a"].tolist() == [1, 1]
    begun.finish({"step": 3})
    assert begun.report == {"step": 3} and begun.checkpoint() is None
    begun.tidy()  # a second time, without a checkpoint
    (begun.path / "checkpoint.pt").write_bytes(b"no weights")
    with pytest.raises(
        TrainingError, match=r"checkpoint\.pt is damaged; delete it to begin again, or give a new out folder$"
    ):
        begun.checkpoint()


def test_the_configuration_of_a_model_is_the_last_file_to_come(
    begun: TuneFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[str] = []
    replaced, synced = os.replace, []

    def replace_file(source: Any, target: Any) -> None:
        moved.append(Path(target).name)
        replaced(source, target)

    def sync(folder: Path) -> None:
        synced.append((folder, len(moved)))
        sync_folder(folder)

    monkeypatch.setattr(tune_folder.os, "replace", replace_file)
    monkeypatch.setattr(tune_folder, "sync_folder", sync)
    (begun.path / "saved").mkdir()
    (begun.path / "saved" / "left.txt").write_text("of a killed run")
    names = ("z.json", "config.json", "weights.bin", "adapter_config.json", "a.txt")
    begun.keep_model(lambda folder: [(folder / name).write_text(name) for name in names] and None)
    assert moved == ["a.txt", "weights.bin", "z.json", "adapter_config.json", "config.json"]
    assert synced == [(begun.out, 5)]
    assert all((begun.out / name).read_text() == name for name in names)
    assert sorted(path.name for path in begun.path.iterdir()) == ["lock", "settings.json"]


def test_every_sentence_of_every_set_is_hashed_once(begun: TuneFolder) -> None:
    sets = few_sets()[:3]
    begun.write_trained_on([*sets, sets[0]])
    expected = sorted({sentence_hash(member) for item in sets for member in item.members})
    assert (begun.path / "trained_on.txt").read_text().splitlines() == expected


def test_files_are_written_as_people_read_them(begun: TuneFolder) -> None:
    begun.write_json("a.json", {"b": [1], "a": "x"})
    assert (begun.path / "a.json").read_text() == '{\n  "b": [\n    1\n  ],\n  "a": "x"\n}\n'
    begun.write_rows("a.csv", [{"b": 1, "a": 2}, {"a": 3, "b": 4}])
    assert (begun.path / "a.csv").read_text().split() == ["b,a", "1,2", "4,3"]
    begun.write_rows("b.csv", [])
    assert (begun.path / "b.csv").read_text().strip() == ""
