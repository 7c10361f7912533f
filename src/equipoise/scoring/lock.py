"""A lock on a run folder: one process writes it at a time."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from ..records import RunError


def hold(path: Path) -> BaseFileLock:
    """Return the lock file as a lock that this process holds; the error names the process that holds it already.

    The operating system releases the lock when the process ends, however it ends.
    """
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise RunError(
            f"{path.parent} is being written by {_holder(path)}; wait for it, or choose another out"
        ) from None
    path.write_text(f"process {os.getpid()} on {socket.gethostname()}")
    return lock


def _holder(path: Path) -> str:
    try:
        return path.read_text().strip() or "another process"
    except OSError:  # Windows does not let others read a locked file
        return "another process"
