"""The build folder: what a step needs is named, and so is a damaged line."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import fields, replace
from pathlib import Path
from shlex import quote

import pytest
from filelock import FileLock
from local_parts import write_records
from typer.testing import CliRunner

from equipoise.builder.steps import (
    BuildError,
    BuildFolder,
    Rejected,
    Sentence,
    Step,
    Variant,
    as_lines,
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


STEP = Step("filter", 5, 3, {"länge": 2}, {"near": 2}, "now")


def test_a_sentence_knows_its_versions_and_labels() -> None:
    variant = Variant("b", "she", "female", "old")
    one = Sentence("s", "type1", "a", "he", "subject", "cook", "nurse", "nurse", "male", (variant,), "young")
    assert one.versions() == (Variant("a", "he", "male", "young"), variant)
    assert (one.other, replace(one, target="cook").other) == ("cook", "nurse")
    assert (one.label("nurse", "old"), one.label("cook", "old"), one.label("nurse", "")) == (
        "old nurse",
        "cook",
        "nurse",
    )


def test_a_step_switches_to_its_files_and_keeps_other_tables(tmp_path: Path) -> None:
    folder = BuildFolder(tmp_path / "new" / "build")
    assert folder.steps() == {} and folder.named() == {}
    folder.commit(
        STEP, {"kept.jsonl": "a\n", "dataset/old.md": "b\n", "dataset/old.csv": "c\n", "dataset/x.csv": "d\n"}
    )
    logged = folder.steps()["filter"]
    assert replace(logged, files={}) == STEP and logged.files["kept.jsonl"] == hashlib.sha256(b"a\n").hexdigest()
    assert folder.named() == dict(logged.files) and len(logged.files) == 4
    folder.record(replace(STEP, went_out=9))
    assert folder.steps()["filter"] == replace(logged, went_out=9)
    folder.record(Step("survey", 1, 1))
    assert list(folder.steps()) == ["filter", "survey"]
    folder.commit(STEP, {"kept.jsonl": "e\n", "dataset/x.csv": "f\n"})
    kept = {file.relative_to(folder.path).as_posix(): file.read_text() for file in sorted(folder.path.rglob("*.*"))}
    assert {name: text for name, text in kept.items() if not name.startswith(".") and name != "steps.json"} == {
        "dataset/old.csv": "c\n",
        "dataset/x.csv": "f\n",
        "kept.jsonl": "e\n",
    }
    assert set(folder.steps()["filter"].files) == {"kept.jsonl", "dataset/x.csv", "dataset/old.csv"}
    text = (folder.path / "steps.json").read_text()
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n" and json.loads(text)[0][
        "settings"
    ] == {"near": 2}


def test_a_folder_names_its_files(tmp_path: Path) -> None:
    folder = BuildFolder(tmp_path)
    files = (folder.generations, folder.drafts, folder.kept, folder.rejected, folder.aside)
    assert [file.name for file in files] == [
        f"{name}.jsonl" for name in ("generations", "drafts", "kept", "rejected", "aside")
    ]
    assert {file.parent for file in files} == {
        tmp_path
    } and folder.database == f"sqlite:///{tmp_path / 'survey.sqlite'}"


@pytest.mark.parametrize("content", ["{", "[1]", "[{}]", '[{"name": "x", "other": 1}]', '{"a": 1}'])
def test_a_damaged_log_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "steps.json").write_text(content)
    path = re.escape(str(tmp_path / "steps.json"))
    with pytest.raises(BuildError, match=rf"^{path} is damaged \(.+\); delete it and run the steps again$"):
        BuildFolder(tmp_path).steps()


def test_another_step_that_writes_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.builder.steps.WAIT", 0.05)
    with (
        FileLock(tmp_path / ".build.lock"),
        pytest.raises(
            BuildError, match=rf"^another step is writing into {re.escape(str(tmp_path))}; wait for it to end$"
        ),
    ):
        BuildFolder(tmp_path).record(STEP)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"id": "x"}', "1: not a rejected; it needs other, reasons, target, text, type"),
        (
            '{"id":1,"type":2,"target":3,"other":4,"text":5,"reasons":[],"more":6}',
            "1: not a rejected; it needs no other fields",
        ),
        ("[1]", "1: not a JSON object"),
        ("{x}", "1: not JSON (Expecting property name enclosed in double quotes)"),
    ],
)
def test_a_line_that_is_no_record_is_named(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "rejected.jsonl"
    path.write_text(f"{line}\n\n")
    with pytest.raises(BuildError) as error:
        read_records(path, Rejected, made_by="filter")
    assert str(error.value) == f"{path}:{reason}"


def test_records_come_back_and_blank_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "rejected.jsonl"
    records = [Rejected("a", "type1", "cook", "nurse", "ü", ("length: x", "y")), Rejected("b", "", "", "", "", ())]
    assert as_lines(records[:1]) == json.dumps(vars_of(records[0]), ensure_ascii=False) + "\n"
    path.write_text("\n" + as_lines(records).replace("\n", "\n\n") + "[")
    assert read_records(path, Rejected, made_by="filter") == records
    assert [number for number, _ in json_lines(path)] == [2, 4]
    with pytest.raises(BuildError, match=r"none\.jsonl does not exist; run `equipoise build filter [^`]+` first$"):
        read_records(tmp_path / "none.jsonl", Rejected, made_by="filter")
    path.write_bytes(b"\xff\n")
    with pytest.raises(BuildError, match=r"rejected\.jsonl is damaged: it is not UTF-8 text$"):
        list(json_lines(path))
    path.write_text(json.dumps({**vars_of(records[0]), "reasons": [{"no": 1}]}) + "\n")
    with pytest.raises(BuildError, match=r"rejected\.jsonl:1: not a rejected \("):
        read_records(path, Rejected, made_by="filter")


def vars_of(record: Rejected) -> dict[str, object]:
    return {field.name: getattr(record, field.name) for field in fields(record)}
