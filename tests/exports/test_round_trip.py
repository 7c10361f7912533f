"""The same model asked by Equipoise, by lm-evaluation-harness and by inspect gives the same numbers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import equipoise
from equipoise.cli import app
from equipoise.datasets import open_dataset
from equipoise.records import DatasetError, EquipoiseError, Outcomes
from equipoise.runs import Run
from equipoise.runs.imported import read_results

SETS = 8
TASKS = ("next-word", "mcq")


@pytest.fixture(scope="module")
def model(tiny_llama: Callable[..., Path]) -> Path:
    return tiny_llama()


@pytest.fixture(scope="module")
def audited(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return our own run."""
    data = open_dataset("builtin").limited(SETS)
    out = tmp_path_factory.mktemp("audit") / "run"
    return equipoise.audit(str(model), data=[data], task=list(TASKS), seeds=2, resamples=20, out=out)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the tasks of both tools, written by the command line."""
    folder = tmp_path_factory.mktemp("tools")
    words = ["--limit", str(SETS), "--seeds", "2", *(word for task in TASKS for word in ("--task", task)), "--quiet"]
    app(["export", "lm-eval", "--out", str(folder / "harness"), *words], standalone_mode=False)
    app(["export", "inspect", "--out", str(folder / "inspect"), *words], standalone_mode=False)
    return folder


def difference(ours: Outcomes, theirs: Outcomes) -> float:
    """Return the largest difference of a log-probability; every question must be in both."""
    rows = {key: row for row, key in enumerate(zip(ours.example_id, ours.variant, strict=True))}
    order = [rows.pop(key) for key in zip(theirs.example_id, theirs.variant, strict=True)]
    assert not rows
    return float(np.abs(ours.logprobs[order] - theirs.logprobs).max())


def check_parity(audited: Run, imported: Run) -> None:
    assert [part.task for part in sorted(imported.parts, key=lambda part: part.task)] == sorted(TASKS)
    for part in imported.parts:
        ours = next(other for other in audited.parts if other.task == part.task)
        assert difference(ours.outcomes, part.outcomes) < 1e-4
        for kind in ("type1", "type2"):
            for metric in ("ucerf", "certainty"):
                values = [run.measured.get(metric, type=kind) for run in (ours, part)]
                assert values[0] is not None and values[1] is not None
                assert values[0].estimate.n == values[1].estimate.n
                assert values[0].estimate.value == pytest.approx(values[1].estimate.value, abs=1e-4)


def check_metrics(theirs: dict[str, float], imported: Run, task: str, kind: str) -> None:
    """Check that the tool's own metrics are ours, from the log-probabilities that it logged."""
    part = next(part for part in imported.parts if part.task == task)
    for metric in ("ucerf", "accuracy", "eo_sum"):
        ours = part.measured.get(metric, type=kind)
        assert (ours is None) == (metric not in theirs), metric
        if ours is not None and not task.startswith("mcq"):
            assert theirs[metric] == pytest.approx(ours.estimate.value, abs=1e-6), metric
    if not task.startswith("mcq"):
        answers = part.items[part.items["type"] == kind].groupby("set_id")["predicted"].nunique()
        assert theirs["flip_rate"] == pytest.approx(float((answers > 1).mean()), abs=1e-6)


def test_lm_evaluation_harness(
    tool: Callable[..., str], model: Path, audited: Run, exported: Path, tmp_path: Path
) -> None:
    names = ",".join(sorted(folder.name for folder in (exported / "harness").iterdir()))
    arguments = ["--model", "hf", "--model_args", f"pretrained={model},dtype=float32", "--device", "cpu"]
    arguments += ["--tasks", names, "--include_path", exported / "harness", "--batch_size", "64"]
    tool("lm_eval", "run", *arguments, "--log_samples", "--output_path", tmp_path / "logs", cwd=tmp_path)
    imported = equipoise.import_results(
        tmp_path / "logs", format="lm-eval", out=tmp_path / "run", resamples=20, estimators=["perplexity"]
    )
    assert imported.manifest.model == model.name
    check_parity(audited, imported)
    (results,) = (tmp_path / "logs").rglob("results_*.json")
    logged = json.loads(results.read_text())["results"]
    for kind in ("type1", "type2"):
        values = {name.split(",")[0]: value for name, value in logged[f"equipoise_builtin_next_word_{kind}"].items()}
        check_metrics(values, imported, "next-word", kind)


def test_inspect(tool: Callable[..., str], model: Path, audited: Run, exported: Path, tmp_path: Path) -> None:
    shutil.copytree(exported / "inspect", tmp_path / "tasks")
    files = sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "tasks").glob("*/task.py"))
    arguments = ["--model", "hf/local", "-M", f"model_path={model}", "-M", "device=cpu", "--display", "none"]
    tool("inspect", "eval", *files, *arguments, cwd=tmp_path)
    imported = equipoise.import_results(tmp_path / "logs", format="inspect", out=tmp_path / "run", resamples=20)
    assert imported.manifest.model == model.name
    check_parity(audited, imported)


def test_what_cannot_be_exported_is_one_sentence(tmp_path: Path) -> None:
    words = ["export", "lm-eval", "--limit", "2", "--out", str(tmp_path)]
    with pytest.raises(EquipoiseError, match="next-word-cot asks in several turns, which cannot be exported"):
        app([*words, "--task", "next-word-cot"], standalone_mode=False)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("no json", "samples_x.jsonl:1: is not a sample of lm-evaluation-harness"),
        ('{"doc": {"question": "?"}, "resps": []}', "samples_x.jsonl:1: was not made by `equipoise export`"),
    ],
)
def test_a_log_of_another_task_is_one_sentence(tmp_path: Path, line: str, sentence: str) -> None:
    (tmp_path / "samples_x.jsonl").write_text(line)
    with pytest.raises(DatasetError, match=sentence):
        read_results(tmp_path, format="lm-eval")
    (tmp_path / "log.json").write_text(line)
    with pytest.raises(
        DatasetError, match=r"log\.json: (is not a log of inspect|the evaluation ended with status None)"
    ):
        read_results(tmp_path, format="inspect")


def test_a_folder_without_logs_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"holds no samples_\*\.jsonl; run lm_eval with --log_samples"):
        read_results(tmp_path, format="lm-eval")
    with pytest.raises(DatasetError, match=r"holds no \.eval or \.json log of inspect"):
        read_results(tmp_path, format="inspect")
