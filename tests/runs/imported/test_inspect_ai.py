"""Logs of inspect become results, and what is wrong with one is said with its sample."""

from __future__ import annotations

import builtins
import json
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from equipoise.datasets import open_dataset
from equipoise.options import DatasetOptions
from equipoise.records import DatasetError
from equipoise.runs.imported import inspect_ai, read_results
from equipoise.runs.imported.documents import documents_of
from equipoise.runs.imported.inspect_ai import ZSTANDARD, _support_zstandard
from equipoise.tasks import TaskOptions, open_task

DOCUMENTS = documents_of(open_dataset("builtin", DatasetOptions(limit=2)), open_task("next-word"), TaskOptions())
HEADER = {"status": "success", "eval": {"model": "hf/owner/name"}}


def sample(number: int, scored: Any = None) -> dict[str, Any]:
    values = {"logprobs": [-1.0 - number, -2.5], **({"flags": ["odd"]} if number == 1 else {})}
    scores = {"equipoise": {"metadata": values}} if scored is None else scored
    return {"id": f"s{number}", "metadata": DOCUMENTS[number].record(), "scores": scores}


def plain(path: Path, *samples: Any, **header: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**HEADER, **header, "samples": list(samples)}))
    return path


def packed(path: Path, *samples: Any, **header: Any) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({**HEADER, **header}))
        archive.writestr("other/x.json", "not read")
        for number, one in reversed(list(enumerate(samples))):
            archive.writestr(f"samples/{number}.json", json.dumps(one))
    return path


@pytest.mark.parametrize("write", [plain, packed])
def test_a_log_is_read_in_either_format(tmp_path: Path, write: Any) -> None:
    file = write(tmp_path / ("a.json" if write is plain else "a.eval"), *map(sample, range(4)))
    (part,) = read_results(file, format="inspect")
    assert (part.model, part.task, part.dataset.source) == ("owner/name", "next-word", str(file))
    assert part.outcomes.logprobs.tolist() == [[-1.0 - n, -2.5] for n in range(4)]
    assert part.outcomes.flags.tolist() == ["", "odd", "", ""]


def test_a_folder_of_logs_is_one_result(tmp_path: Path) -> None:
    plain(tmp_path / "deep" / "b.json", sample(0), sample(1))
    packed(tmp_path / "c.eval", sample(2), sample(3))
    (part,) = read_results(tmp_path, format="inspect", model="mine")
    assert part.model == "mine" and sorted(part.outcomes.logprobs[:, 0].tolist()) == [-4.0, -3.0, -2.0, -1.0]
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DatasetError) as error:
        read_results(empty, format="inspect")
    assert str(error.value) == f"{empty}: holds no .eval or .json log of inspect"
    (tmp_path / "c.eval").unlink()
    plain(tmp_path / "d.json", sample(2), sample(3), eval={"model": "hf/other"})
    with pytest.raises(DatasetError) as error:
        read_results(tmp_path, format="inspect")
    assert str(error.value) == f"{tmp_path}: holds logs of several models (other, owner/name); import one at a time"


@pytest.mark.parametrize(
    ("evaluation", "name"),
    [
        ({"model": "hf/a/b", "model_args": {"model_path": "/models/mine"}}, "mine"),
        ({"model": "hf/a/b", "model_args": {}}, "a/b"),
        ({"model": "b"}, "model"),
        ({}, "model"),
        (None, "model"),
    ],
)
def test_the_model_is_named_by_the_header(tmp_path: Path, evaluation: Any, name: str) -> None:
    file = plain(tmp_path / "a.json", *map(sample, range(4)), eval=evaluation)
    assert read_results(file, format="inspect")[0].model == name


@pytest.mark.parametrize(
    ("samples", "header", "reason"),
    [
        ([sample(0)], {"status": "error"}, "the evaluation ended with status 'error'; run it to its end"),
        ([sample(0), sample(1, {})], {}, "sample 's1': has no log-probabilities; was it scored by its own scorer?"),
        (
            [sample(0, {"equipoise": None})],
            {},
            "sample 's0': has no log-probabilities; was it scored by its own scorer?",
        ),
        ([{"id": 7}], {}, "sample 7: was not made by `equipoise export`: its field 'equipoise' is missing"),
    ],
)
def test_a_log_that_cannot_be_used_is_named(
    tmp_path: Path, samples: list[Any], header: dict[str, Any], reason: str
) -> None:
    file = plain(tmp_path / "a.json", *samples, **header)
    with pytest.raises(DatasetError) as error:
        read_results(file, format="inspect")
    assert str(error.value) == f"{file}: {reason}"


ODD: list[dict[str, Any]] = [
    {"samples": "x"},
    {"samples": 3},
    {"samples": [[]]},
    {"samples": [{"metadata": 3}]},
    {"samples": [{**sample(0), "scores": 3}]},
    {"samples": [sample(0, {"equipoise": {"metadata": {"logprobs": 3}}})]},
    {"samples": [sample(0, {"equipoise": {"metadata": {"logprobs": ["x"]}}})]},
    {"samples": [sample(0, {"equipoise": {"metadata": {"logprobs": [-1, -2], "flags": 3}}})]},
    {"eval": 3},
    {"eval": {"model_args": 3}},
]


@pytest.mark.parametrize("content", ODD)
def test_a_log_of_values_of_other_kinds_is_named(tmp_path: Path, content: dict[str, Any]) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps({**HEADER, **content}))
    with pytest.raises(DatasetError) as error:
        read_results(file, format="inspect")
    assert "\n" not in str(error.value) and str(error.value).startswith(f"{file}: ")


def test_a_damaged_archive_is_named_and_one_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = packed(tmp_path / "a.eval", *map(sample, range(4)))
    content = file.read_bytes()
    file.write_bytes(content.replace(b"-2.5", b"-2.4", 1))
    with pytest.raises(DatasetError) as error:
        read_results(file, format="inspect")
    assert str(error.value) == f"{file}: is not a log of inspect"
    file.write_bytes(content)
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("more.json", bytes(2 * 2**20 + 1))
    monkeypatch.setattr(inspect_ai, "MOST_BYTES", 2 * 2**20)
    with pytest.raises(DatasetError) as error:
        read_results(file, format="inspect")
    assert str(error.value) == f"{file}: has a part of more than 2 MiB"


def test_a_log_that_may_not_be_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(file: Path, **_: Any) -> str:
        raise PermissionError(13, "Permission denied", str(file))

    file = plain(tmp_path / "a.json", sample(0))
    monkeypatch.setattr(Path, "read_text", refused)
    with pytest.raises(PermissionError):
        read_results(file, format="inspect")


@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff", "zip without a header"])
def test_a_file_that_is_no_log_is_named(tmp_path: Path, content: Any) -> None:
    file = tmp_path / "a.eval"
    if isinstance(content, str):
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("x", "y")
    else:
        file.write_bytes(content)
    with pytest.raises(DatasetError) as error:
        read_results(file, format="inspect")
    assert str(error.value) == f"{file}: is not a log of inspect"


def test_a_compression_that_needs_help_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    usual = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name == "zipfile_zstd":
            asked.append(name)
            raise ModuleNotFoundError(name)
        return usual(name, *rest)

    with zipfile.ZipFile(packed(tmp_path / "a.eval", sample(0))) as archive:
        # After the archive is opened: an earlier test may have taught zipfile the compression, which then is looked up.
        monkeypatch.setattr(builtins, "__import__", refuse)
        monkeypatch.delattr(zipfile, "ZIP_ZSTANDARD", raising=False)
        _support_zstandard(archive, tmp_path / "a.eval")
        assert asked == []
        archive.infolist()[-1].compress_type = ZSTANDARD
        with pytest.raises(DatasetError) as error:
            _support_zstandard(archive, tmp_path / "a.eval")
        monkeypatch.setattr(zipfile, "ZIP_ZSTANDARD", ZSTANDARD, raising=False)
        _support_zstandard(archive, tmp_path / "a.eval")
    convert = "or convert the log: inspect log convert --to json"
    assert str(error.value) == f"{tmp_path}/a.eval: reading it needs pip install 'equipoise[inspect]', {convert}"
    assert asked == ["zipfile_zstd"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
@pytest.mark.parametrize(("format", "names"), [("inspect", ["a.eval", "b.json"]), ("lm-eval", ["samples_a.jsonl"])])
def test_a_pipe_among_the_logs_is_not_waited_for(tmp_path: Path, format: str, names: list[str]) -> None:
    for name in names:
        os.mkfifo(tmp_path / name)
    with pytest.raises(DatasetError, match=f"^{re.escape(str(tmp_path))}: holds no "):
        read_results(tmp_path, format=format)
