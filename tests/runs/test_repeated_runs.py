"""The same command twice gives the same bytes, but for times and durations."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tiny import LLAMA, make_model, make_tokenizer

from equipoise.cli import app

TIME = re.compile(rb"20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00| UTC|Z)?")
OF_TIME = ("started", "finished", "sha256", "files")
"""Fields of the manifest that hold a time, or a hash of something that does."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    tokenizer = make_tokenizer()
    make_model("LlamaConfig", len(tokenizer), **LLAMA).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def run(*words: str | Path) -> None:
    app([str(word) for word in words], standalone_mode=False)


def contents(folder: Path) -> dict[str, Any]:
    """Return every file of a folder, without times; the manifest by its fields."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and not file.name.endswith("lock")]
    found: dict[str, Any] = {str(file.relative_to(folder)): TIME.sub(b"TIME", file.read_bytes()) for file in files}
    manifest = json.loads(found["run/manifest.json"])
    found["run/manifest.json"] = {name: value for name, value in manifest.items() if name not in OF_TIME}
    return found


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["planted:noise=1", "model"])
def test_two_clean_runs_are_equal_byte_for_byte(
    engine: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    for place in (tmp_path / "first", tmp_path / "second"):
        place.mkdir()
        monkeypatch.chdir(place)
        spec = model if engine == "model" else engine
        run("audit", spec, "--limit", "3", "--task", "next-word", "--task", "mcq", "--resamples", "20", "--out", "run")
        run("report", "run", "--as", "tables", "--format", "csv", "--quiet")
        run("gate", "run", "--require", "accuracy >= 0", "--insist", "--junit", "junit.xml", "--quiet")
        made.append(contents(place))
    first, second = made
    assert list(first) == list(second) and "run/report.html" in first and "run/scores.jsonl" in first
    different = [name for name in first if first[name] != second[name]]
    assert not different
