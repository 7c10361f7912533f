"""Where what was fetched or computed once is kept for the next time, and how it is kept tidy."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from .files import at_home, is_running, remove_abandoned

WORK = ".part-"
"""How the name of a work folder begins: files are made in it, and moved to their place when they are whole."""

LOCK = ".lock"
"""File in a work folder that is locked while the folder is in use."""

DOWNLOAD = "download.pid"
"""File in a work folder with the number of the process that downloads into it."""

NEW_SECONDS = 60
"""Age up to which a work folder may belong to a process that has not locked it yet."""


def cache_folder() -> Path:
    """Return `EQUIPOISE_CACHE`, else `equipoise` in the user's cache folder."""
    named = os.environ.get("EQUIPOISE_CACHE")
    if named:
        return at_home(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "equipoise"


def tidy_cache() -> None:
    """Remove what killed processes left in the cache: work folders, unfinished files and downloads under way."""
    cache = cache_folder()
    with suppress(OSError, RuntimeError):
        for work in [*cache.glob(f"{WORK}*"), *cache.glob(f"*/{WORK}*")]:
            _remove_work(work)
        for folder in ("servers", "hashes", "trials"):
            remove_abandoned(cache / folder)


def _remove_work(work: Path) -> None:
    """Remove a work folder whose process has ended, and end the download that it started."""
    from filelock import FileLock, Timeout

    with suppress(OSError, Timeout):
        owner = work.name.removeprefix(WORK).partition("-")[0]
        ended = owner.isdecimal() and not is_running(int(owner))
        if ended or time.time() - work.stat().st_mtime > NEW_SECONDS:
            # A process on another machine may share the cache: its lock tells that it runs.
            with FileLock(work / LOCK, timeout=0):
                _end_download(work)
                shutil.rmtree(work, ignore_errors=True)


def _end_download(work: Path) -> None:
    """End a download whose parent was killed: it would go on, and nobody would take what it fetched."""
    # Errors: no file, no number in it, or, as on Windows, no ps.
    with suppress(OSError, ValueError):
        process = int((work / DOWNLOAD).read_text())
        # Its number may have gone to another process: only one whose command names the folder is meant.
        shown = subprocess.run(["ps", "-ww", "-p", str(process), "-o", "command="], capture_output=True, text=True)
        if str(work) in shown.stdout:
            os.kill(process, signal.SIGTERM)
