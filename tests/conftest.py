"""Fixtures that several test files share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """Return a function that gives the folder of a real dataset, or skips; in CI a missing one is a failure."""

    def folder(name: str) -> Path:
        root = os.environ.get("EQUIPOISE_DATA")
        found = Path(root).expanduser() / name if root else None
        if found is not None and found.is_dir():
            return found.resolve()
        reason = f"needs the real {name}: set EQUIPOISE_DATA to the folder that holds a folder {name!r}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)

    return folder
