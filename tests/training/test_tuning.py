"""`equipoise tune`: it learns, resumes after kill -9 with the same weights, and keeps nothing that cheats."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

from equipoise.datasets import open_dataset
from equipoise.datasets.exposure import exposure_notes
from equipoise.records import RunError
from equipoise.report import write_training_page
from equipoise.run import audit
from equipoise.training import Limits, Plan, TrainingError, trained_on, tune
from equipoise.training.grammar import grammar_dataset
from equipoise.training.tuning import State, TuneRun
from equipoise.training.validation import Validation

PLAN = Plan(
    steps=12, answerable=2, unanswerable=1, leash_rows=1, validate_every=3, checkpoint_every=3, validation_sets=8,
    rank=4, learning_rate=5e-3, patience=9, outside_sets=8,
)  # fmt: skip


ANY = Limits(accuracy=1, outside=1, position=1, mass=1, certainty=0, perplexity=1e9)


@pytest.fixture(scope="module")
def tuned(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tuned") / "adapter"
    tune(str(tiny_folder), out=out, plan=PLAN, limits=ANY, markers=False, device="cpu")
    return out


def rows(file: Path) -> list[dict[str, float]]:
    with open(file, encoding="utf-8", newline="") as lines:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(lines)]


def test_tuning_writes_curves(tuned: Path) -> None:
    curves = rows(tuned / "training" / "curves.csv")
    assert [row["step"] for row in curves] == list(range(12))
    assert curves[0]["leash"] == pytest.approx(0, abs=1e-6) and curves[-1]["leash"] > 0
    assert [row["step"] for row in rows(tuned / "training" / "validation.csv")] == [0, 3, 6, 9, 12]
    assert not (tuned / "training" / "checkpoint.pt").exists()
    config = json.loads((tuned / "adapter_config.json").read_text())
    assert config["peft_type"] == "LORA" and config["r"] == 4


def test_an_adapter_says_what_it_was_trained_on(tuned: Path) -> None:
    assert trained_on(tuned, grammar_dataset(seed=PLAN.seed).examples)
    assert not trained_on(tuned, open_dataset("builtin").examples)


def test_the_same_call_returns_a_finished_run_and_other_settings_are_refused(tuned: Path, tiny_folder: Path) -> None:
    before = (tuned / "adapter_model.safetensors").stat().st_mtime_ns
    again = tune(str(tiny_folder), out=tuned, plan=PLAN, limits=ANY, markers=False, device="cpu")
    assert (tuned / "adapter_model.safetensors").stat().st_mtime_ns == before
    assert again.step in (3, 6, 9, 12)
    with pytest.raises(TrainingError, match=r"begun with weight 1\.0, not 2\.0"):
        tune(str(tiny_folder), out=tuned, plan=replace(PLAN, weight=2.0), limits=ANY, markers=False)


def test_audit_takes_the_adapter(tuned: Path, tiny_folder: Path, tmp_path: Path) -> None:
    plain = audit(str(tiny_folder), limit=4, out=tmp_path / "plain", device="cpu")
    adapted = audit(str(tiny_folder), limit=4, out=tmp_path / "adapted", device="cpu", adapter=str(tuned))
    values = [run.measurements.set_index(["metric", "group"])["value"] for run in (plain, adapted)]
    assert not values[0].equals(values[1])
    assert not any("was trained on" in note for note in adapted.manifest.notes)


def test_an_audit_on_what_the_adapter_was_trained_on_warns(tuned: Path, tiny_folder: Path, tmp_path: Path) -> None:
    seen = trained_on(tuned, grammar_dataset(seed=PLAN.seed).examples)[:8]
    rows = [{"text": e.text, "pronoun": e.slots["pronoun"], "candidates": "|".join(e.candidates)} for e in seen]
    few = {"metrics": ["ucerf_signed"], "resamples": 10, "by": [], "out": tmp_path / "run", "device": "cpu"}
    run = audit(str(tiny_folder), rows, adapter=str(tuned), **few)
    (note,) = [note for note in run.manifest.notes if "was trained on" in note]
    count = len(trained_on(tuned, open_dataset(rows).examples))
    assert 0 < count <= 8 and f"{tuned} was trained on {count} of {count} sentences" in note
    assert exposure_notes((str(tuned),), [grammar_dataset(seed=PLAN.seed)])  # a model tuned whole is such a folder
    assert not exposure_notes(("smollm2", None, (1, 2)), [open_dataset("builtin")])


def test_the_learning_curves_are_drawn(tuned: Path) -> None:
    page = write_training_page(tuned / "training")[0].read_text(encoding="utf-8")
    figure = ElementTree.parse(tuned / "training" / "curves.svg").getroot()
    lines = [part for part in figure.iter("{http://www.w3.org/2000/svg}path") if "outline" in part.get("class", "")]
    assert len(lines) == 5 + 3 + 3 + 3 + 2 + 3 + 1
    # Twelve steps are twelve points of each loss, five validations five points of each value.
    assert sorted({part.get("d", "").count(" ") for part in lines}) == [9, 23]
    report = json.loads((tuned / "training" / "report.json").read_text())
    assert f"{report['after']['ucerf']:.3f}" in page and "on 8 validation sets" in page
    assert f"step {report['step']} of 12" in page
    with pytest.raises(RunError, match=r"it has no settings\.json"):
        write_training_page(tuned)


KILLED = """
import sys, time
from pathlib import Path
from xml.etree import ElementTree
import equipoise.training.tuning as tuning
from equipoise.training import Limits, Plan, tune
plan, limits = eval(sys.argv[3]), eval(sys.argv[4])
kept = tuning.TuneRun._keep
def slow(self, folder, state):
    kept(self, folder, state)
    if state.step == 6:
        time.sleep(600)
tuning.TuneRun._keep = slow
tune(sys.argv[1], out=Path(sys.argv[2]), plan=plan, limits=limits, markers=False, device="cpu")
"""


@pytest.mark.slow
def test_a_run_that_is_killed_resumes_to_the_same_weights(tuned: Path, tiny_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "adapter"
    command = [sys.executable, "-c", KILLED, str(tiny_folder), str(out), repr(PLAN), repr(ANY)]
    process = subprocess.Popen(command, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    curves = out / "training" / "curves.csv"
    deadline = time.monotonic() + 120
    while not (curves.is_file() and len(rows(curves)) == 6):
        assert time.monotonic() < deadline and process.poll() is None, "no checkpoint was written"
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (out / "adapter_model.safetensors").exists()
    tune(str(tiny_folder), out=out, plan=PLAN, limits=ANY, markers=False, device="cpu")
    for name in ("adapter_model.safetensors", "training/curves.csv", "training/validation.csv"):
        assert (out / name).read_bytes() == (tuned / name).read_bytes(), name


def test_a_run_goes_on_while_it_learns_although_no_step_passes_yet() -> None:
    losses = iter([5.0, 4.0, 3.0, 2.0, 1.0, 1.5, 1.6])
    fine = {field.name: 0.5 for field in fields(Validation)}

    class Answers:
        def run(self, model: object) -> Validation:
            return Validation(**{**fine, "loss": next(losses), "mass": 0.0})  # refused for its mass

    run = TuneRun(torch.nn.Linear(1, 1), None, Answers(), PLAN, Limits())  # type: ignore[arg-type]
    state = State(validations=[{"step": 0, **Validation(**fine).row()}])
    waited = []
    for _ in range(7):
        run._validate(state)
        waited.append(state.waited)
    assert waited == [0, 0, 0, 0, 0, 1, 2]
    assert state.faults and not state.best


@pytest.mark.slow
def test_nothing_is_kept_where_every_checkpoint_breaks_a_guard(tiny_folder: Path, tmp_path: Path) -> None:
    plan = replace(PLAN, steps=3)
    impossible = Limits(mass=-2)
    with pytest.raises(TrainingError, match="passed the guards, so no adapter was saved: the candidates' probability"):
        tune(str(tiny_folder), out=tmp_path / "a", plan=plan, limits=impossible, markers=False, device="cpu")
    assert not (tmp_path / "a" / "adapter_model.safetensors").exists()
    page, _ = write_training_page(tmp_path / "a" / "training")
    assert "No step passed the guards" in page.read_text(encoding="utf-8")
    with pytest.raises(TrainingError, match="no checkpoint passed the guards"):  # at once, without training again
        tune(str(tiny_folder), out=tmp_path / "a", plan=plan, limits=impossible, markers=False, device="cpu")


@pytest.mark.slow
def test_the_command_line_tunes_and_says_what_changed(tiny_folder: Path, tmp_path: Path) -> None:
    def command(*words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
        line = [sys.executable, "-m", "equipoise", "tune", str(tiny_folder), *words]
        return subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)

    refused = command("--data", "winobias", "--out", "a")
    assert refused.returncode == 2 and "winobias is for evaluation" in refused.stderr
    small = ("--steps", "2", "--sets", "2", "--validate-every", "1", "--validation-sets", "8", "--no-markers")
    small = (*small, "--outside-sets", "8")
    done = command("--out", "b", *small, "--learning-rate", "1e-6", "--device", "cpu")
    assert done.returncode == 0, done.stderr
    assert (
        "on 8 built-in sets, never trained on" in done.stdout
        and "Kept step" in done.stdout
        and "--adapter b" in done.stdout
    )
    assert (tmp_path / "b" / "training" / "report.html").is_file()
    assert (tmp_path / "b" / "adapter_model.safetensors").is_file()
