"""Logs of lm-evaluation-harness become results, and what is wrong with one is said with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from equipoise.datasets import open_dataset
from equipoise.options import DatasetOptions
from equipoise.records import DatasetError
from equipoise.runs.imported import read_results
from equipoise.runs.imported.documents import documents_of
from equipoise.tasks import TaskOptions, open_task

DOCUMENTS = documents_of(open_dataset("builtin", DatasetOptions(limit=2)), open_task("next-word"), TaskOptions())


def sample(number: int, responses: Any = None) -> dict[str, Any]:
    values = [[[-1.0 - number, False]], [["-2.5", True]]]
    return {"doc": DOCUMENTS[number].record(), "resps": values if responses is None else responses}


def write(path: Path, *lines: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def test_a_file_or_a_folder_of_samples_is_read(tmp_path: Path) -> None:
    write(tmp_path / "model" / "deep" / "samples_b.jsonl", sample(2), sample(3))
    one = write(tmp_path / "model" / "deep" / "samples_a.jsonl", sample(0), sample(1))
    (part,) = read_results(tmp_path, format="lm-eval")
    assert (part.model, part.dataset.source) == ("deep", str(tmp_path))
    assert part.outcomes.logprobs.tolist() == [[-1.0 - n, -2.5] for n in range(4)]
    (alone,) = read_results(one, format="lm-eval", model="mine")
    assert (alone.model, len(alone.outcomes.gold)) == ("mine", 2)


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({"model_args": "dtype=float32,pretrained=owner/name,x=1"}, "owner/name"),
        ({"model_args": {"pretrained": "owner/name"}}, "owner/name"),
        ({"model_args": {"other": 1}}, "folder"),
        ({"model_args": "x=1"}, "folder"),
        ({"model_args": None}, "folder"),
        ({}, "folder"),
        (None, "folder"),
        ("x", "folder"),
        ([], "folder"),
        ({"model_args": {"pretrained": 3}}, "3"),
    ],
)
def test_the_model_is_named_by_the_results_beside_the_samples(tmp_path: Path, config: Any, name: str) -> None:
    file = write(tmp_path / "folder" / "samples_a.jsonl", *(sample(n) for n in range(4)))
    (file.parent / "results_1.json").write_text(json.dumps({"config": config} if config is not None else {}))
    (part,) = read_results(file, format="lm-eval")
    assert part.model == name


def test_a_local_model_is_named_by_its_folder(tmp_path: Path) -> None:
    file = write(tmp_path / "folder" / "samples_a.jsonl", *(sample(n) for n in range(4)))
    (tmp_path / "my-model").mkdir()
    (file.parent / "results_1.json").write_text(json.dumps({"config": {"model_args": "x=1"}}))
    (file.parent / "results_2.json").write_text(
        json.dumps({"config": {"model_args": f"pretrained={tmp_path / 'my-model'}"}})
    )
    assert read_results(file, format="lm-eval")[0].model == "my-model"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["[" * 9999], "samples_a.jsonl:1: is not a sample of lm-evaluation-harness"),
        (["{"], "samples_a.jsonl:1: is not a sample of lm-evaluation-harness"),
        ([sample(0), "3"], "samples_a.jsonl:2: is not a sample of lm-evaluation-harness"),
        ([{"doc": {}}], "samples_a.jsonl:1: is not a sample of lm-evaluation-harness"),
        (
            [{"doc": {}, "resps": []}],
            "samples_a.jsonl:1: was not made by `equipoise export`: its field 'equipoise' is missing",
        ),
        ([sample(0, [[["x", True]]])], "samples_a.jsonl:1: has no log-probability for each continuation"),
        ([sample(0), sample(1, [[]])], "samples_a.jsonl:2: has no log-probability for each continuation"),
        ([sample(0, [{"x": 1}, {}])], "samples_a.jsonl:1: has no log-probability for each continuation"),
        ([sample(0, 3)], "samples_a.jsonl:1: has no log-probability for each continuation"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, lines: list[Any], reason: str) -> None:
    with pytest.raises(DatasetError) as error:
        read_results(write(tmp_path / "samples_a.jsonl", *lines), format="lm-eval")
    assert str(error.value) == f"{tmp_path}/{reason}"


def test_a_folder_without_samples_or_of_several_models_is_refused(tmp_path: Path) -> None:
    advice = "holds no samples_*.jsonl; run lm_eval with --log_samples and --output_path"
    with pytest.raises(DatasetError) as error:
        read_results(tmp_path, format="lm-eval")
    assert str(error.value) == f"{tmp_path}: {advice}"
    for name in ("b", "a"):
        write(tmp_path / name / "samples_x.jsonl", sample(0))
    with pytest.raises(DatasetError) as error:
        read_results(tmp_path, format="lm-eval")
    assert str(error.value) == f"{tmp_path}: holds logs of several models (a, b); import one at a time"


def test_a_byte_that_is_no_text_is_named_by_its_line_and_results_that_are_damaged_name_no_model(tmp_path: Path) -> None:
    file = write(tmp_path / "folder" / "samples_a.jsonl", *(sample(n) for n in range(4)))
    (file.parent / "results_1.json").write_bytes(b"[\xff")
    assert read_results(file, format="lm-eval")[0].model == "folder"
    first, second, *rest = file.read_bytes().split(b"\n")
    file.write_bytes(b"\n".join([first, second.replace(b"nurse", b"n\xe1rse", 1) + b"\xe1", *rest]))
    with pytest.raises(DatasetError) as error:
        read_results(file, format="lm-eval")
    assert str(error.value) == f"{file}:2: is not a sample of lm-evaluation-harness"
