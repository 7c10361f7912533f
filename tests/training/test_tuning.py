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
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from kept_texts import assert_kept
from planted_training import Bigram, few_sets, plant
from tiny import make_tokenizer

from equipoise.datasets import open_dataset
from equipoise.datasets.exposure import exposure_notes
from equipoise.records import RunError
from equipoise.report import write_training_page
from equipoise.run import audit
from equipoise.training import Limits, Plan, TrainingError, trained_on, tune, tuning
from equipoise.training.grammar import grammar_dataset
from equipoise.training.leash import Reference, neutral_paragraphs
from equipoise.training.training_sets import Splits
from equipoise.training.tune_folder import TuneFolder
from equipoise.training.tuning import State, Tuned, TuneRun, _questions, _report, _tuned
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


FINE = {field.name: 0.5 for field in fields(Validation)}


class Falling:
    """Losses of a weight that should be zero, and validations whose losses are given."""

    def __init__(self, losses: tuple[float, ...]) -> None:
        self.losses, self.asked = list(losses), 0

    def parts(self, model: torch.nn.Linear, step: int) -> dict[str, torch.Tensor]:
        loss = (model.weight**2).sum() * 100
        return {"task": loss / 2, "loss": loss}

    def run(self, model: object) -> Validation:
        self.asked += 1
        return Validation(**{**FINE, "loss": self.losses.pop(0)})


def trained(folder: TuneFolder, losses: tuple[float, ...], **changes: Any) -> tuple[State, torch.nn.Linear, list[Any]]:
    torch.manual_seed(1)
    model = torch.nn.Linear(2, 1, bias=False)
    planted = Falling(losses)
    folder.path.mkdir(parents=True, exist_ok=True)
    told: list[Any] = []
    run = TuneRun(model, planted, planted, replace(PLAN, **changes), Limits())  # type: ignore[arg-type]
    return run.train(folder, lambda *progress: told.append(progress)), model, told


def test_a_run_validates_keeps_its_best_weights_and_tells_how_far_it_is(tmp_path: Path) -> None:
    folder = TuneFolder(tmp_path)
    state, model, told = trained(folder, (9.0, 3.0, 2.0, 4.0), steps=7, validate_every=3)
    assert told == [("tune", step, 7) for step in range(1, 8)]
    assert [row["step"] for row in state.validations] == [0, 3, 6, 7]
    assert [row["loss"] for row in state.validations] == [9, 3, 2, 4]
    assert (state.step, state.best_step, state.best_loss, state.lowest, state.waited) == (7, 6, 2, 2, 1)
    assert state.faults == [] and list(state.best) == ["weight"]
    assert not torch.equal(state.best["weight"], model.weight), "the best are those of step 6, not of step 7"
    assert [row["step"] for row in state.curves] == list(range(7))
    assert [row["step"] for row in rows(tmp_path / "training" / "curves.csv")] == list(range(7))
    assert [row["step"] for row in rows(tmp_path / "training" / "validation.csv")] == [0, 3, 6, 7]
    for row in state.curves:
        # The gradient of 100 w^2 is 200 w, and the loss says how long w is.
        assert row["gradient"] == pytest.approx(20 * row["loss"] ** 0.5, rel=1e-4)
        assert row["task"] == pytest.approx(row["loss"] / 2)
    assert [row["loss"] for row in state.curves] == sorted((row["loss"] for row in state.curves), reverse=True)


def test_a_run_goes_on_from_its_checkpoint_to_the_same_weights(tmp_path: Path) -> None:
    losses = (9.0, 3.0, 2.0, 4.0, 5.0)
    whole, expected, _ = trained(TuneFolder(tmp_path / "whole"), losses, steps=8, validate_every=2)
    folder = TuneFolder(tmp_path / "cut")
    trained(folder, losses[:3], steps=4, validate_every=2, warmup=0)
    folder.save_checkpoint({**(folder.checkpoint() or {})})
    cut = TuneFolder(tmp_path / "again")
    first, _, _ = trained(cut, losses[:3], steps=4, validate_every=2)
    assert first.step == 4
    state, model, told = trained(cut, losses[3:], steps=8, validate_every=2)
    assert [step for _, step, _ in told] == [5, 6, 7, 8]
    assert [row["step"] for row in state.curves] == list(range(8))
    assert [row["loss"] for row in state.validations] == list(losses)
    assert (state.best_step, state.best_loss) == (whole.best_step, whole.best_loss) == (4, 2)
    assert model.weight.shape == expected.weight.shape


def test_checkpoints_are_kept_every_few_steps_and_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []
    monkeypatch.setattr(TuneRun, "_keep", lambda self, folder, state: kept.append(state.step))
    trained(TuneFolder(tmp_path), (9.0, 3.0), steps=7, validate_every=9, checkpoint_every=3)
    assert kept == [3, 6, 7]


def test_a_run_stops_when_validations_bring_nothing(tmp_path: Path) -> None:
    state, _, _ = trained(TuneFolder(tmp_path), (9.0, 3.0, 3.0, 3.5), steps=9, validate_every=1, patience=2)
    assert (state.step, state.waited, state.best_step) == (3, 2, 1), "an equal loss is no gain"


def test_a_step_takes_the_rate_of_the_plan_and_gradients_of_length_one() -> None:
    model = torch.nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[3.0, 4.0]]))
    model.register_parameter("frozen", torch.nn.Parameter(torch.ones(1), requires_grad=False))
    run = TuneRun(model, Falling(()), Falling(()), replace(PLAN, warmup=2, steps=12), Limits())  # type: ignore[arg-type]
    (group,) = run._optimiser.param_groups
    assert group["params"] == [model.weight] and group["betas"] == (0.9, 0.98) and group["weight_decay"] == 0
    assert run.step(0) == {"step": 0, "task": pytest.approx(1250), "loss": pytest.approx(2500), "gradient": 1000}
    assert group["lr"] == pytest.approx(PLAN.learning_rate / 2)
    assert model.weight.grad.tolist() == [pytest.approx([0.6, 0.8], rel=1e-4)]  # type: ignore[union-attr]
    # Adam's first step is the rate, whatever the gradient.
    assert model.weight.tolist() == [pytest.approx([3 - PLAN.learning_rate / 2, 4 - PLAN.learning_rate / 2])]
    run.step(5)
    assert group["lr"] == replace(PLAN, warmup=2).rate_at(5)


def test_a_loss_that_is_no_number_ends_the_run() -> None:
    model = torch.nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        model.weight.fill_(float("nan"))
    run = TuneRun(model, Falling(()), Falling(()), PLAN, Limits())  # type: ignore[arg-type]
    with pytest.raises(TrainingError, match=r"^the loss is not a number at step 4; lower the learning rate$"):
        run.step(4)


def test_what_is_reported_of_a_run() -> None:
    validations = [{"step": step, "loss": float(9 - step)} for step in (0, 3, 6)]
    kept = State(step=6, validations=validations, best_step=3, best={"w": 1}, faults=["late"])
    report = {
        "step": 3,
        "refused": False,
        "steps": 6,
        "before": validations[0],
        "after": validations[1],
        "faults_at_the_end": ["late"],
        "held_out_occupations": ["nurse"],
    }
    assert _report(kept, ("nurse",)) == report
    assert _tuned(Path("out"), report) == Tuned(Path("out"), validations[0], validations[1], 3, ("late",))
    refused = _report(State(step=6, validations=validations, faults=["a", "b"]), ())
    assert (refused["step"], refused["refused"], refused["after"]) == (0, True, validations[2])
    sentence = "^no checkpoint passed the guards, so no adapter was saved: a; b$"
    with pytest.raises(TrainingError, match=sentence):
        _tuned(Path("out"), refused)


def test_training_and_validation_read_different_paragraphs(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[list[str]] = []
    monkeypatch.setattr(tuning, "NeutralText", lambda tokenizer, paragraphs: read.append(paragraphs))
    asked: list[int] = []
    for name in ("outside_sets", "control_sets"):
        monkeypatch.setattr(tuning, name, lambda count: asked.append(count) or few_sets()[:count])
    splits = Splits(few_sets(), few_sets()[:9], (), (), ())
    losses, validator = _questions(make_tokenizer(), splits, Reference(None), replace(PLAN, outside_sets=5))
    assert read == [neutral_paragraphs()[:18], neutral_paragraphs()[18:]] and asked == [5, 5]
    assert (validator.sets, validator.outside_sets, validator.control_sets) == (8, 5, 5)
    assert len(losses.drawn(0)) == 3


def test_what_tuning_passes_on_and_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    opened: list[Any] = []
    model = Bigram(len(make_tokenizer()))

    def sets(data: str, *, seed: int, markers: bool) -> list[Any]:
        opened.append((data, seed, markers))
        return [item for item in few_sets() for _ in (0, 1)]

    def split(given: Any, *, seed: int, held_out: int) -> Splits:
        opened.append((len(given), seed, held_out))
        return Splits(few_sets(), few_sets()[:12], (), (), ("nurse",))

    monkeypatch.setattr(tuning, "open_training_sets", sets)
    monkeypatch.setattr(tuning, "split_sets", split)
    monkeypatch.setattr(
        tuning, "load_for_training", lambda *given, **named: opened.append((*given, named)) or (1, make_tokenizer())
    )
    monkeypatch.setattr(tuning, "prepare", lambda *given: opened.append(given) or (model, Reference(model)))
    monkeypatch.setattr(tuning, "save", lambda *given: (given[-1] / "config.json").write_text("{}"))
    plan = replace(PLAN, steps=2, validate_every=1, held_out=3, seed=6)
    choices: dict[str, Any] = {"data": "mine.csv", "plan": plan, "limits": ANY, "markers": False, "device": "cpu"}
    result = tune("m", out=tmp_path / "out", **choices)
    assert opened == [("mine.csv", 6, False), (2 * len(few_sets()), 6, 3), ("m", {"device": "cpu"}), (1, "m", plan)]
    settings = json.loads((tmp_path / "out" / "training" / "settings.json").read_text())
    report = json.loads((tmp_path / "out" / "training" / "report.json").read_text())
    assert_kept("training/tuned", settings, report)
    assert repr(result) == repr(_tuned(tmp_path / "out", report)) and (tmp_path / "out" / "config.json").is_file()
    hashes = (tmp_path / "out" / "training" / "trained_on.txt").read_text().splitlines()
    assert len(hashes) > 20
    (tmp_path / "out" / "training" / "checkpoint.pt").write_text("left by a kill")
    assert repr(tune("m", out=tmp_path / "out", **choices)) == repr(result) and len(opened) == 4
    assert not (tmp_path / "out" / "training" / "checkpoint.pt").exists()


def test_names_of_the_package_are_loaded_when_they_are_asked_for() -> None:
    from equipoise import training

    assert dir(training) == sorted(training._MODULES) and "tune" in dir(training)
    for name, module in training._MODULES.items():
        assert getattr(training, name).__module__.endswith(module.strip("."))
    with pytest.raises(AttributeError, match=r"^module 'equipoise\.training' has no attribute 'tunes'$"):
        training.tunes  # noqa: B018


def test_what_a_model_s_dropout_leaves_out_depends_on_the_step_and_the_seed() -> None:
    class Losses:
        def parts(self, model: Any, step: int) -> dict[str, torch.Tensor]:
            return {"loss": model(torch.ones(1, 64)).square().sum()}

    def losses(first: int, seed: int = 0) -> list[float]:
        model = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(64, 1))
        with torch.no_grad():
            for weight in model.parameters():
                weight.copy_(torch.linspace(-1, 1, weight.numel()).reshape(weight.shape))
        plan = replace(PLAN, learning_rate=1e-30, seed=seed)
        run = TuneRun(model, Losses(), None, plan, Limits())  # type: ignore[arg-type]
        return [run.step(step)["loss"] for step in range(first, 6)]

    whole = losses(0)
    assert len(set(whole)) == 6 and losses(0) == whole, "each step has its own"
    assert losses(3) == whole[3:], "as of a run that was killed after three steps"
    assert not set(losses(0, seed=1)) & set(whole)
