"""A file is written whole or not at all, and what a killed writer left is removed by the next."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from left_behind import dead_process, made

from equipoise.files import (
    StrangeFile,
    file_sha256,
    plain_file,
    read_plain,
    remove_unchanged,
    sha256,
    unlinked,
    write_file,
)
from equipoise.records import (
    RunManifest,
)
from equipoise.runs.folder import RunFolder

SETTINGS = {"level": 0.95, "resamples": 2, "seed": 0}
MANIFEST = RunManifest("m", {"weights": "w"}, {}, {}, SETTINGS, {}, "equipoise audit m", "2026-01-01T00:00:00+00:00")


def test_a_write_that_fails_leaves_the_old_file_and_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(tmp_path)
    folder.begin(MANIFEST)
    before = (tmp_path / "manifest.json").read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        folder.begin(replace(MANIFEST, notes=["another"]))
    assert (tmp_path / "manifest.json").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["manifest.json"]


def test_an_unfinished_page_is_removed_by_the_next_one(tmp_path: Path) -> None:
    gone, other = (
        made(tmp_path / f".compare.html.{dead_process()}.part"),
        made(tmp_path / f".another.html.{dead_process()}.part"),
    )
    write_file(tmp_path / "compare.html", b"new")
    assert not gone.exists() and other.exists()


def test_a_place_behind_a_link_or_outside_is_refused(tmp_path: Path) -> None:
    folder, outside = tmp_path / "run", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "letter").write_text("mine")
    (folder / "linked").symlink_to(outside)
    (folder / "file").symlink_to(outside / "letter")
    (folder / "gone").symlink_to(outside / "nothing")
    (folder / "plain").write_text("ours")
    os.mkfifo(folder / "pipe")
    for name, reason in {
        "linked/letter": "is a link, not a plain folder",
        "file": "is a link, not a plain file",
        "gone": "is a link",
        "pipe": "is a named pipe",
        "../outside/letter": "is not a name within the folder",
        str(outside / "letter"): "is not a name within the folder",
        "": "is not a name within the folder",
    }.items():
        with pytest.raises(StrangeFile, match=reason):
            plain_file(folder, name)
        with pytest.raises(StrangeFile):
            read_plain(folder, name, most=100)
        with pytest.raises(StrangeFile):
            remove_unchanged(folder, {name: sha256(b"mine")})
    assert plain_file(folder, "new/file") == folder / "new/file"
    assert read_plain(folder, "plain", most=4) == b"ours"
    with pytest.raises(StrangeFile, match="is larger than"):
        read_plain(folder, "plain", most=3)
    assert file_sha256(folder / "pipe") is None, "which would never end"
    assert (outside / "letter").read_text() == "mine"


def test_a_half_written_file_is_never_a_link(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("mine")
    (tmp_path / f".table.{os.getpid()}.part").symlink_to(tmp_path / "letter")
    write_file(tmp_path / "table", b"ours")
    assert (tmp_path / "letter").read_text() == "mine" and (tmp_path / "table").read_bytes() == b"ours"


def test_a_file_with_two_names_is_given_one_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("mine")
    os.link(tmp_path / "letter", tmp_path / "scores.jsonl")
    unlinked(tmp_path / "scores.jsonl")
    with open(tmp_path / "scores.jsonl", "a") as file:
        file.write(" and ours")
    assert (tmp_path / "letter").read_text() == "mine"
    assert (tmp_path / "scores.jsonl").read_text() == "mine and ours"
