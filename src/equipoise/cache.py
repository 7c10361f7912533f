"""Where what was fetched or computed once is kept for the next time."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return `EQUIPOISE_CACHE`, else `equipoise` in the user's cache folder."""
    named = os.environ.get("EQUIPOISE_CACHE")
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "equipoise"
