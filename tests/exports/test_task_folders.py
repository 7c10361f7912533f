"""The same model asked by Equipoise, by lm-evaluation-harness and by inspect gives the same numbers."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

import equipoise
from equipoise.cli import app
from equipoise.datasets import open_dataset
from equipoise.exports import task_metrics
from equipoise.records import DatasetError, EquipoiseError, Outcomes
from equipoise.runs import Part, Run
from equipoise.runs.imported import read_results

LIMITS = {"builtin": 8, "bbq:Religion": 3}
"""Base sentences; one of BBQ has some 40 questions."""

ASKED = {"builtin": ("next-word", "mcq"), "bbq:Religion": ("mcq",)}
KINDS = {"builtin": ("type1", "type2"), "bbq-religion": ("ambiguous", "disambiguated")}
EVERYWHERE = ("accuracy", "ucerf", "flip_rate", "flip_bias")
METRICS = {
    ("builtin", "type1"): EVERYWHERE[1:],
    ("builtin", "type2"): (*EVERYWHERE, "eo_sum"),
    ("bbq-religion", "ambiguous"): (*EVERYWHERE, "bbq_bias_ambiguous"),
    ("bbq-religion", "disambiguated"): (*EVERYWHERE, "bbq_bias_disambiguated"),
}
"""What the tools themselves compute."""


@pytest.fixture(scope="module")
def model(tiny_llama: Callable[..., Path]) -> Path:
    return tiny_llama()


@pytest.fixture(scope="module")
def audited(model: Path, real_data: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> list[Part]:
    """Return our own answers."""
    real_data("bbq")
    parts = []
    for name, tasks in ASKED.items():
        data, out = open_dataset(name).limited(LIMITS[name]), tmp_path_factory.mktemp("audit") / "run"
        parts += equipoise.audit(str(model), data=[data], task=list(tasks), orders=2, resamples=20, out=out).parts
    return parts


@pytest.fixture(scope="module")
def exported(audited: list[Part], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the tasks of both tools, written by the command line."""
    folder = tmp_path_factory.mktemp("tools")
    for tool in ("lm-eval", "inspect"):
        for data, tasks in ASKED.items():
            words = ["export", tool, "--data", data, *(word for task in tasks for word in ("--task", task))]
            words += ["--limit", str(LIMITS[data]), "--orders", "2", "--out", str(folder / tool), "--quiet"]
            app(words, standalone_mode=False)
    return folder


def difference(ours: Outcomes, theirs: Outcomes) -> float:
    """Return the largest difference of a log-probability; every question must be in both."""
    rows = {key: row for row, key in enumerate(zip(ours.example_id, ours.variant, strict=True))}
    order = [rows.pop(key) for key in zip(theirs.example_id, theirs.variant, strict=True)]
    assert not rows
    return float(np.abs(ours.logprobs[order] - theirs.logprobs).max())


def check_parity(audited: list[Part], imported: Run) -> None:
    """Check that every question has the same log-probabilities and every metric the same value and n."""
    ours = {(part.dataset, part.task): part for part in audited}
    assert {(part.dataset, part.task) for part in imported.parts} == set(ours)
    for theirs in imported.parts:
        part = ours[theirs.dataset, theirs.task]
        assert difference(part.outcomes, theirs.outcomes) < 1e-4
        for kind in KINDS[theirs.dataset]:
            for metric in (*METRICS[theirs.dataset, kind], "certainty"):
                values = [measured.get(metric, type=kind) for measured in (part.measured, theirs.measured)]
                if values[0] is None or values[1] is None:
                    # A bias score is undefined where no answer names a person; the rest always has a value.
                    assert values == [None, None] and metric.startswith("bbq_bias"), metric
                    continue
                assert values[0].estimate.n == values[1].estimate.n
                # Shares of counted answers are the same; U and certainty move with the log-probabilities.
                margin = 1e-4 if metric in ("ucerf", "certainty") else 1e-9
                assert values[0].estimate.value == pytest.approx(values[1].estimate.value, abs=margin), metric


def check_metrics(logged: Mapping[str, Mapping[str, float]], imported: Run) -> None:
    """Check that the metrics a tool computed are ours, from the log-probabilities that it logged."""
    checked = 0
    for part in imported.parts:
        for kind in KINDS[part.dataset]:
            name = f"equipoise_{part.dataset}_{part.task}_{kind}".replace("-", "_")
            assert set(logged[name]) == set(METRICS[part.dataset, kind]), name
            for metric, value in logged[name].items():
                ours = part.measured.get(metric, type=kind)
                expected = ours.estimate.value if ours else math.nan
                assert value == pytest.approx(expected, abs=1e-6, nan_ok=ours is None), (name, metric)
                checked += 1
    assert checked == 2 * len(METRICS["builtin", "type1"]) + 2 * len(METRICS["builtin", "type2"]) + 10


@pytest.mark.slow
def test_lm_evaluation_harness(
    tool: Callable[..., str], model: Path, audited: list[Part], exported: Path, tmp_path: Path
) -> None:
    names = ",".join(sorted(folder.name for folder in (exported / "lm-eval").iterdir()))
    arguments = ["--model", "hf", "--model_args", f"pretrained={model},dtype=float32", "--device", "cpu"]
    arguments += ["--tasks", names, "--include_path", exported / "lm-eval", "--batch_size", "64"]
    tool("lm_eval", "run", *arguments, "--log_samples", "--output_path", tmp_path / "logs", cwd=tmp_path)
    imported = equipoise.import_results(
        tmp_path / "logs", format="lm-eval", out=tmp_path / "run", resamples=20, estimators=["perplexity"]
    )
    assert imported.manifest.model == model.name
    check_parity(audited, imported)
    (results,) = (tmp_path / "logs").rglob("results_*.json")
    logged = {}
    for name, values in json.loads(results.read_text())["results"].items():
        named = {key.partition(",")[0]: value for key, value in values.items()}
        logged[name] = {key: value for key, value in named.items() if key in task_metrics.METRICS}
    check_metrics(logged, imported)


@pytest.mark.slow
def test_inspect(tool: Callable[..., str], model: Path, audited: list[Part], exported: Path, tmp_path: Path) -> None:
    shutil.copytree(exported / "inspect", tmp_path / "tasks")
    files = sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "tasks").glob("*/task.py"))
    arguments = ["--model", "hf/local", "-M", f"model_path={model}", "-M", "device=cpu", "--display", "none"]
    tool("inspect", "eval", *files, *arguments, cwd=tmp_path)
    imported = equipoise.import_results(tmp_path / "logs", format="inspect", out=tmp_path / "run", resamples=20)
    assert imported.manifest.model == model.name
    check_parity(audited, imported)
    # .eval files are zip archives that need the extra [inspect], which the import above has loaded.
    logs = [json.loads(ZipFile(file).read("header.json")) for file in (tmp_path / "logs").glob("*.eval")]
    logged = {
        log["eval"]["task"]: {
            name: metric["value"] for score in log["results"]["scores"] for name, metric in score["metrics"].items()
        }
        for log in logs
    }
    check_metrics(logged, imported)


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
