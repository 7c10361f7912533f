"""The page of a run, as the viewer shows it."""

from __future__ import annotations

from pathlib import Path

from ..report import run_page
from ..runs.run import Run
from .pages import is_ours

REPORT = "report.html"


def stored_page(folder: Path) -> bytes:
    """Return the page that is in a run's folder; where it is not of this version, the page as it is made now."""
    run = Run(folder)
    if REPORT in run.manifest.files:
        content = run.folder.content(REPORT, run.manifest)
        if is_ours(content):
            return content
    return run_page(run).encode("utf-8", "replace")
