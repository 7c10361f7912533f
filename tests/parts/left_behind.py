"""What a killed process leaves behind."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path


def made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * 99)
    return path


@cache
def dead_process() -> int:
    """Return the number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid
