"""A finished run of few sentences, and a copy of it to do damage to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from equipoise import audit


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return audit("planted", out=tmp_path_factory.mktemp("run") / "it", limit=6, resamples=20).path


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "copy"))
