"""A manifest survives the disk, and one that was changed or is none is named."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from equipoise import load
from equipoise.comparing.matching import named_apart
from equipoise.records import (
    RunError,
    RunManifest,
)
from equipoise.runs.folder import RunFolder
from equipoise.runs.manifest import name_in_suite, write_manifest

SETTINGS = {"level": 0.95, "resamples": 2, "seed": 0}
MANIFEST = RunManifest("m", {"weights": "w"}, {}, {}, SETTINGS, {}, "equipoise audit m", "2026-01-01T00:00:00+00:00")


def one_sentence(error: RunError) -> str:
    text = str(error)
    assert "\n" not in text and len(text.replace(tempfile.gettempdir(), "")) < 600
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
