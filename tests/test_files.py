"""A file is written whole or not at all, and what a killed writer left is removed by the next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from left_behind import dead_process, made

from equipoise.files import write_file
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
