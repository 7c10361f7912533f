"""An engine with faults for every process, and a suite file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

FAULTY = Path(__file__).resolve().parent.parent / "faulty"


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process and those that it starts find the engine `faulty:`."""
    monkeypatch.syspath_prepend(str(FAULTY))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(FAULTY), os.environ.get("PYTHONPATH", "")]))


@pytest.fixture
def suite_file(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a suite file: a few quick metrics, and what it is given."""

    def write(text: str, name: str = "suite") -> Path:
        path = tmp_path / f"{name}.toml"
        few = '[settings]\nlimit = 6\nresamples = 20\nmetrics = ["ucerf", "flip_rate"]\nby = []\n'
        head, _, rest = text.partition("[settings]\n")
        path.write_text(f'out = "{tmp_path / name}"\n{head}\n{few}{rest}', encoding="utf-8")
        return path

    return write
