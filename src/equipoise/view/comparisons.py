"""Comparisons of chosen runs, as a viewer makes them: of all that they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..comparing.comparison import Comparison, compare
from ..records import EquipoiseError
from ..report import comparison_page

MOST_COMPARED = 12
"""Runs of one comparison: more make a page that nobody reads."""


def compared(folders: Sequence[Path], **choices: Any) -> Comparison:
    """Return the comparison of runs; where they were asked different sentences, on those that all were asked."""
    try:
        return compare(folders, progress=False, **choices)
    except EquipoiseError:
        return compare(folders, intersect=True, progress=False, **choices)


def compared_page(folders: Sequence[Path]) -> bytes:
    """Return the page of a comparison, with the cases on which the runs differ."""
    return comparison_page(compared(folders), sentences=True).encode("utf-8", "replace")
