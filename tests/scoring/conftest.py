"""A cache without anything in it, and no package index."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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
