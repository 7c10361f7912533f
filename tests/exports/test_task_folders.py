"""The same model asked by Equipoise, by lm-evaluation-harness and by inspect gives the same numbers."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from kept_texts import assert_kept

import equipoise
from equipoise.cli import app
from equipoise.datasets import open_dataset
from equipoise.datasets.bbq import AMBIGUOUS, DISAMBIGUATED
from equipoise.datasets.dataset import Dataset
from equipoise.exports import task_metrics
from equipoise.exports.task_folders import Questions, write_inspect_tasks, write_lm_eval_tasks
from equipoise.options import DatasetOptions
from equipoise.records import DatasetError, EquipoiseError, Example, Outcomes
from equipoise.runs import Part, Run
from equipoise.runs.imported import read_results
from equipoise.tasks import TaskOptions, open_task

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
    with pytest.raises(DatasetError, match=r"log\.json: is not a log of inspect"):
        read_results(tmp_path, format="inspect")


def test_a_folder_without_logs_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"holds no samples_\*\.jsonl; run lm_eval with --log_samples"):
        read_results(tmp_path, format="lm-eval")
    with pytest.raises(DatasetError, match=r"holds no \.eval or \.json log of inspect"):
        read_results(tmp_path, format="inspect")


PACKAGE = Path(task_metrics.__file__).parent


def exported_files(data: Dataset, task: str, folder: Path) -> dict[str, str]:
    """Return the files that both tools get, copies of packaged ones by their name alone."""
    asked = (data, open_task(task, TaskOptions()), TaskOptions())
    name = write_lm_eval_tasks(*asked, folder / "lm-eval")
    file = write_inspect_tasks(*asked, folder / "inspect")
    assert file == folder / "inspect" / name / "task.py"
    packaged = {(PACKAGE / copied).read_bytes(): copied for copied in ("task_metrics.py", "inspect_support.txt")}
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.*"))}
    return {name: packaged.get(content) or content.decode() for name, content in files.items()}


def test_the_files_of_both_tools_are_as_they_were_kept(tmp_path: Path) -> None:
    chosen = {
        "builtin": ({"limit": 3}, "next-word"),
        "winoidentity": ({"base": "builtin", "limit": 1, "attributes": ["age"], "augment": ["R"]}, "next-word"),
        "gendered": ({"limit": 1}, "mcq"),
    }
    for name, (choices, task) in chosen.items():
        dataset = open_dataset(name, DatasetOptions(**choices))
        files = exported_files(dataset, task, tmp_path / name)
        assert_kept(f"written/tasks-{name}", files, hide=[str((tmp_path / name).resolve())])


def question(number: int, gender: str, **changes: object) -> Example:
    groups = {"gender": gender, "type": "t"} | dict(changes.pop("groups", {}))  # type: ignore[call-overload]
    facts = {"gold": None, "stereotype": None, "set_id": f"s{number}", **changes}
    return Example(
        f"e{number}-{gender}", "The nurse met the cook; she slept.", ("nurse", "cook"), answerable=False, groups=groups,
        slots={"pronoun": "she"}, **facts,
    )  # fmt: skip


def metrics_of(*examples: Example) -> list[str]:
    (part,) = Questions.of(Dataset("d", examples), open_task("next-word", TaskOptions()), TaskOptions()).parts
    return part.metrics


def test_a_metric_is_asked_for_where_it_is_defined() -> None:
    lone, other = question(1, "male"), question(2, "female")
    assert metrics_of(lone, other) == []
    assert metrics_of(lone, question(2, "female", gold=1)) == ["accuracy"]
    assert metrics_of(lone, question(1, "female"), other) == ["ucerf", "flip_rate"]
    expected = [question(1, "male", stereotype=0), question(1, "female", stereotype=1)]
    assert metrics_of(*expected) == ["ucerf", "flip_rate", "flip_bias"]
    assert metrics_of(expected[0], question(1, "female")) == ["ucerf", "flip_rate"]
    sides = [
        question(number, f"{side} {kind}", gold=0, groups={"side": side, "stereotype": kind})
        for number, (side, kind) in enumerate((a, b) for a in ("male", "female") for b in ("pro", "anti"))
    ]
    assert metrics_of(*sides) == ["accuracy", "eo_sum"] and metrics_of(*sides[1:]) == ["accuracy"]
    assert metrics_of(*(question(n, "x", groups=e.groups) for n, e in enumerate(sides))) == []
    for kind, metric in ((DISAMBIGUATED, "bbq_bias_disambiguated"), (AMBIGUOUS, "bbq_bias_ambiguous")):
        asked = question(1, "x", stereotype=0, groups={"type": kind, "polarity": "neg"})
        assert metrics_of(asked) == [metric]
        assert metrics_of(question(1, "x", groups={"type": kind, "polarity": "neg"})) == []
        assert metrics_of(question(1, "x", stereotype=0, groups={"type": kind})) == []


def test_types_are_parts_of_their_own_under_plain_names() -> None:
    def parts(*kinds: str) -> list[tuple[str, int]]:
        examples = [question(number, "x", groups={"type": kind}) for number, kind in enumerate(kinds)]
        examples[0] = examples[0] if kinds[0] else replace(examples[0], groups={})
        made = Questions.of(Dataset("My-Data: 2", tuple(examples)), open_task("mcq", TaskOptions()), TaskOptions())
        assert made.name == "equipoise_my_data_2_mcq"
        return [(part.name.removeprefix(made.name), len(part.documents)) for part in made.parts]

    assert parts("b", "b") == [("", 2)]
    assert parts("b", "A", "b") == [("_a", 1), ("_b", 2)]
    assert parts("", "A") == [("_other", 1), ("_a", 1)]
