"""Benchmarks stay alive: each runs with tiny sizes, and is in the list of those that there are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
SCRIPTS = sorted(file.stem for file in FOLDER.glob("*.py"))


def test_the_list_names_every_benchmark() -> None:
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert SCRIPTS and not [name for name in SCRIPTS if f"`{name}.py`" not in listed]


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_every_benchmark_runs(name: str, tmp_path: Path) -> None:
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--smoke"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-1000:] + ended.stderr[-3000:]
