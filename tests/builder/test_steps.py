"""The build folder: what a step needs is named, and so is a damaged line."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import pytest
from local_parts import write_records
from typer.testing import CliRunner

from equipoise.builder.steps import (
    BuildError,
    BuildFolder,
    Sentence,
    json_lines,
    read_records,
)
from equipoise.cli import app


def test_steps_say_what_is_missing(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["build", "filter", str(tmp_path)])
    assert isinstance(result.exception, BuildError)
    assert f"run `equipoise build generate {quote(str(tmp_path))} --server URL --model NAME` first" in str(
        result.exception
    )
    write_records(BuildFolder(tmp_path).kept, [])
    result = CliRunner().invoke(app, ["build", "clean", str(tmp_path)])
    assert f"run `equipoise build survey {quote(str(tmp_path))}` first" in str(result.exception)


def test_a_damaged_file_is_named_with_its_line(tmp_path: Path, some_sentences) -> None:
    path = tmp_path / "kept.jsonl"
    write_records(path, some_sentences(3))
    assert len(read_records(path, Sentence, made_by="filter")) == 3
    whole = path.read_text()
    path.write_text(whole + '{"id": "cut o')  # a crash: the last line is left out
    assert len(list(json_lines(path))) == 3
    path.write_text('{"id": broken}\n' + whole)
    with pytest.raises(BuildError, match=r"kept.jsonl:1: not JSON"):
        read_records(path, Sentence, made_by="filter")
    path.write_text('{"id": "x"}\n')
    with pytest.raises(BuildError, match=r"kept.jsonl:1: not a sentence"):
        read_records(path, Sentence, made_by="filter")
