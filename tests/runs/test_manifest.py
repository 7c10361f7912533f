"""A manifest survives the disk, and one that was changed or is none is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from equipoise import load
from equipoise.records import (
    RunError,
    RunManifest,
)
from equipoise.runs.folder import RunFolder

MANIFEST = RunManifest("m", {"weights": "w"}, {}, {}, {}, {}, "equipoise audit m", "2026-01-01T00:00:00+00:00")


def one_sentence(error: RunError) -> str:
    text = str(error)
    assert "\n" not in text and len(text) < 600
    return text


def test_a_manifest_survives_the_disk(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    manifest = RunManifest("модель", {"a": [1, 2]}, {"d": {"n": 1}}, {}, {"level": 0.95}, {}, "c", "s", "f", ["n"], {})
    folder.commit({}, manifest)
    assert folder.manifest() == RunFolder(tmp_path).manifest() == manifest


def changed_manifest(folder: Path, **changes: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            (name, value)
            for name in ("engine", "datasets", "tasks", "settings", "versions", "files")
            for value in ([], "x")
        ),
        *((name, value) for name in ("model", "command", "started") for value in (None, 3)),
        ("finished", 3),
        ("notes", "text"),
        ("notes", [1]),
        ("tasks", {"next-word": 1}),
        ("settings", {"level": "high"}),
        ("settings", {"level": 0}),
        ("settings", {"level": 1}),
        ("settings", {"level": True}),
    ],
)
def test_a_manifest_with_a_value_of_another_type_is_refused_by_name(copy: Path, name: str, value: object) -> None:
    changed_manifest(copy, **{name: value})
    with pytest.raises(RunError) as caught:
        load(copy)
    assert f"manifest.json is damaged ({name} has a value of another kind)" in one_sentence(caught.value)


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
        changed_manifest(copy, **{**content, name: other if name not in ("files", "versions") else {**value, "x": "y"}})
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
