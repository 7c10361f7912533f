"""A manifest survives the disk, and one that was changed or is none is named."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import sys
import tempfile
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from equipoise import load
from equipoise.comparing.matching import named_apart
from equipoise.datasets import open_dataset
from equipoise.datasets.dataset import Fault
from equipoise.options import DatasetOptions
from equipoise.records import (
    RunError,
    RunManifest,
)
from equipoise.runs.folder import RunFolder
from equipoise.runs.manifest import (
    command_into,
    command_line,
    describe,
    name_in_suite,
    now,
    read_manifest,
    rebuild_advice,
    versions,
    write_manifest,
)

SETTINGS = {"level": 0.95, "resamples": 2, "seed": 0}
MANIFEST = RunManifest("m", {"weights": "w"}, {}, {}, SETTINGS, {}, "equipoise audit m", "2026-01-01T00:00:00+00:00")


def one_sentence(error: RunError) -> str:
    text = str(error)
    own = text.replace(tempfile.gettempdir(), "").replace(command_line(), "")  # the one that these tests run by
    assert "\n" not in text and len(own) < 600
    return text


def test_a_manifest_survives_the_disk(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    facts = {"sha256": "", "source": "", "licence": "", "examples": 1, "sets": 0, "faults": 0}
    manifest = RunManifest("модель", {"a": [1, 2]}, {"d": facts}, {}, SETTINGS, {}, "c", "s", "f", ["n"], {})
    folder.commit({}, manifest)
    assert folder.manifest() == RunFolder(tmp_path).manifest() == manifest


def changed_manifest(folder: Path, **changes: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("place", "value", "fault"),
    [
        *(
            (name, value, name)
            for name in ("engine", "datasets", "tasks", "settings", "versions")
            for value in ([], "x")
        ),
        *((name, value, f"{name} is not text") for name in ("model", "command", "started") for value in (None, 3)),
        ("finished", 3, "finished is not text or null"),
        ("notes", "text", "notes is not a list of texts"),
        ("notes", [1], "notes is not a list of texts"),
        ("tasks", {"next-word": 1}, "tasks is not objects by name"),
        ("tasks.next-word.samples", "many", "tasks.next-word.samples is neither a count nor objects by name"),
        *(("settings.level", value, "settings.level is not a number") for value in ("high", True, None)),
        *(("settings.level", value, "settings.level is not between 0 and 1") for value in (0, 1)),
        ("settings.resamples", 2.5, "settings.resamples is not a whole number"),
        ("settings.metrics", "ucerf", "settings.metrics is not a list of texts"),
        ("settings.by", [["gender"]], "settings.by is not a list of texts"),
        ("datasets.builtin.faults", "none", "datasets.builtin.faults is not a count"),
        ("datasets.builtin.examples", -1, "datasets.builtin.examples is not a count"),
        ("datasets.builtin.sha256", None, "datasets.builtin.sha256 is not text"),
        ("engine.identity", ["nothing"], "engine.identity is not a list of the engine's fields"),
        ("engine.thinks", "yes", "engine.thinks is not true or false"),
        ("files.examples.parquet", "00", "files.examples.parquet is not a SHA-256"),
        ("files", {"../outside": "0" * 64}, "files.../outside is not a name within the folder"),
    ],
)
def test_a_value_of_another_kind_is_refused_by_the_name_of_its_field(
    copy: Path, place: str, value: object, fault: str
) -> None:
    field, _, inside = place.partition(".")
    content = json.loads((copy / "manifest.json").read_text())[field]
    keys = inside.split(".", 1) if field != "files" else [inside]
    nested = content
    for key in keys[:-1]:
        nested = nested[key]
    if inside:
        nested[keys[-1]] = value
    changed_manifest(copy, **{field: content if inside else value})
    with pytest.raises(RunError) as caught:
        load(copy)
    assert f"manifest.json is damaged ({fault}" in one_sentence(caught.value)


def test_a_manifest_without_a_field_is_refused_by_its_name(copy: Path) -> None:
    path = copy / "manifest.json"
    content = json.loads(path.read_text())
    for name in content:
        path.write_text(json.dumps({key: value for key, value in content.items() if key != name}))
        with pytest.raises(RunError, match=f"damaged .{name} is missing"):
            load(copy)


def test_a_changed_value_of_the_right_kind_is_noticed(copy: Path) -> None:
    content = json.loads((copy / "manifest.json").read_text())
    for name in content.keys() - {"sha256", "finished"}:
        value = content[name]
        other = (
            f"{value} " if isinstance(value, str) else [*value, "x"] if isinstance(value, list) else {**value, "x": {}}
        )
        further = {"files": "0" * 64, "versions": "y", "datasets": value.get("builtin") if name == "datasets" else None}
        changed_manifest(copy, **{**content, name: {**value, "x": further[name]} if name in further else other})
        with pytest.raises(RunError, match="it was changed after the run wrote it"):
            load(copy)
    (copy / "manifest.json").write_text(json.dumps(content))
    assert load(copy).manifest.model == "planted", "other white space is no damage"


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"model": "m"}', "\x00\x01", '"text"'])
def test_a_damaged_manifest_is_named(copy: Path, content: str) -> None:
    (copy / "manifest.json").write_text(content)
    with pytest.raises(RunError) as caught:
        load(copy)
    assert "manifest.json is damaged" in one_sentence(caught.value)


def test_a_manifest_that_is_no_utf8_is_named(copy: Path) -> None:
    (copy / "manifest.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(RunError, match="damaged"):
        load(copy)


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("equipoise audit m --out old -q", "equipoise audit m -q --out 'a b/run'"),
        ("python -m equipoise audit m --out=--out --data x", "python -m equipoise audit m --data x --out 'a b/run'"),
        ("equipoise audit m", "equipoise audit m --out 'a b/run'"),
        ("notebook.py --out old", "notebook.py --out old"),
        ("equipoise audit 'm", "equipoise audit 'm"),
    ],
)
def test_advice_names_the_folder_as_it_was_given(
    command: str, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = RunFolder(Path("a b/run"))
    folder.path.mkdir(parents=True)
    folder.begin(replace(MANIFEST, command=command))
    with pytest.raises(RunError) as caught:
        load(folder.path)
    assert one_sentence(caught.value).endswith(f"was not finished; run its command again to continue: {advice}")
    changed_manifest(folder.path, notes="text")
    with pytest.raises(RunError) as caught:
        load(folder.path)
    assert one_sentence(caught.value).endswith(f"(it writes the files anew): {advice}")


def test_a_run_has_the_name_that_its_suite_gave_it(planted_run: Path, copy: Path) -> None:
    assert name_in_suite("equipoise suite suite.toml --only 'alpha 2 / builtin / mcq'") == "alpha 2"
    others = ("equipoise audit smollm2", "equipoise suite suite.toml", "python -m equipoise audit x --only y", "", "'")
    assert [name_in_suite(other) for other in others] == [""] * len(others)
    manifest = replace(load(copy).manifest, command="equipoise suite suite.toml --only 'alpha / builtin / next-word'")
    write_manifest(copy, manifest)
    assert load(copy).name == "alpha"
    assert [run.name for run in named_apart([load(copy), load(planted_run)])] == ["alpha", "planted"]


def test_a_manifest_is_written_to_be_read(tmp_path: Path) -> None:
    odd = replace(MANIFEST, notes=("ü",), settings={**SETTINGS, "x": (1, 2)}, command="a \udcff")
    read = write_manifest(tmp_path, odd)
    assert (read.notes, read.settings["x"]) == (["ü"], [1, 2])
    text = (tmp_path / "manifest.json").read_text()
    assert text.startswith('{\n  "model": "m",\n') and text.endswith("}\n") and '"ü"' in text and "\\udcff" in text
    content = json.loads(text)
    seal = content.pop("sha256")
    assert seal == hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("equipoise suite s --only 'a / b / c' --more", "a"),
        ("equipoise suite s --only", ""),
        ("equipoise audit s --only 'a / b'", ""),
        ("equipoise suite --only s 'a / b'", ""),
        ("equipoise suite s --jobs 'a / b'", ""),
    ],
)
def test_only_the_command_of_a_cell_names_its_model(command: str, name: str) -> None:
    assert name_in_suite(command) == name


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("equipoise audit m --out --out --out x", "equipoise audit m --out F"),
        ("equipoise audit m --out=x y", "equipoise audit m y --out F"),
        ("python -m other audit", "python -m other audit"),
        ("python -m equipoise audit", "python -m equipoise audit --out F"),
        ("'", "'"),
        ("", ""),
    ],
)
def test_a_command_is_told_for_the_folder(command: str, advice: str) -> None:
    assert command_into(Path("F"), command) == advice


def test_advice_shows_only_what_can_be_a_command(tmp_path: Path) -> None:
    plain = "run the command that made it again (it writes the files anew)"
    for command in (None, 3, "", "a\nb"):
        assert rebuild_advice(tmp_path, command) == plain
    assert rebuild_advice(tmp_path, "do it") == f"{plain}: do it"
    (tmp_path / "scores.jsonl").write_text("")
    kept = plain.replace("anew)", "anew, and its scores are kept)")
    assert rebuild_advice(tmp_path, "do it") == f"{kept}: do it"


def test_the_command_of_this_program_can_be_pasted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/x/equipoise", "audit", "a b"])
    assert command_line() == "equipoise audit 'a b'"
    monkeypatch.setattr(sys, "argv", ["/x/__main__.py", "audit"])
    assert command_line() == "python -m equipoise audit"


def test_versions_are_of_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(package: str) -> str:
        if package in ("gguf", "torch"):
            raise PackageNotFoundError(package)
        return f"of {package}"

    monkeypatch.setattr("equipoise.runs.manifest.version", version)
    told = versions.__wrapped__()
    names = ["equipoise", "python", "platform", "transformers", "tokenizers", "numpy", "pandas", "pyarrow"]
    assert list(told) == names and told["numpy"] == "of numpy" and told["python"] == platform.python_version()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", now())


def test_a_run_that_begins_is_described_whole() -> None:
    dataset = open_dataset("fresh", DatasetOptions(limit=4))
    few = replace(open_dataset("builtin", DatasetOptions(limit=2)), faults=(Fault("a", "b", "c", "d"),))
    engine: Any = SimpleNamespace(name="e", description={"a": 1, "b": 2}, identity={"z": 3, "b": 4})
    task: Any = SimpleNamespace(name="t", settings={"s": 1})
    told = describe(engine, [dataset, few], [task], {"seed": 1})
    assert (told.model, told.engine) == ("e", {"a": 1, "b": 4, "z": 3, "identity": ["b", "z"]})
    assert (told.tasks, told.settings, told.finished) == ({"t": {"s": 1}}, {"seed": 1}, None)
    assert told.datasets == {
        "fresh": {
            "sha256": dataset.sha256,
            "source": dataset.source,
            "licence": dataset.licence,
            "examples": 8,
            "sets": 4,
            "faults": 0,
            "population": dataset.population,
        },
        "builtin": {
            "sha256": few.sha256,
            "source": few.source,
            "licence": few.licence,
            "examples": 4,
            "sets": 2,
            "faults": 1,
        },
    }
    assert told.command == command_line() and told.versions == dict(versions())


@pytest.mark.parametrize(
    ("content", "reason"), [("[1]", "it is not a JSON object"), ("{", "it is not JSON"), ("\ud800", "it is not text")]
)
def test_a_file_that_is_no_manifest_says_why(tmp_path: Path, content: str, reason: str) -> None:
    (tmp_path / "manifest.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(RunError, match=rf"manifest\.json is damaged \({reason}\); run the command that made it again"):
        read_manifest(tmp_path)
    with pytest.raises(RunError, match=r"none is not a run folder: it has no manifest\.json$"):
        read_manifest(tmp_path / "none")


def test_a_manifest_that_is_a_link_or_cannot_be_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "manifest.json").symlink_to(tmp_path / "other.json")
    with pytest.raises(RunError) as caught:
        read_manifest(tmp_path)
    assert str(tmp_path / "manifest.json") in str(caught.value) and "link" in str(caught.value)

    def fails(*_: Any, **__: Any) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("equipoise.runs.manifest.read_plain", fails)
    with pytest.raises(RunError) as caught:
        read_manifest(tmp_path)
    assert str(caught.value) == f"{tmp_path / 'manifest.json'} cannot be read (permission denied)"
