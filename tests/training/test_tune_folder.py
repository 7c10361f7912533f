"""The folder of a tuning run: killed at any step there is no adapter or the whole one; files of others stay."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kills import killed_everywhere

from equipoise.records import DatasetError, ModelError
from equipoise.training import Limits, Plan, TrainingError, open_training_sets, tune, tuning

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
