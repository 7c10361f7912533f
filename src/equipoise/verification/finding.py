"""What a check of a run folder found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NAMED_FAULTS = 5


@dataclass(frozen=True)
class Finding:
    """A check of a folder: what was checked, whether it holds, and what was seen."""

    name: str
    passed: bool
    what: str


def some(names: Sequence[str]) -> str:
    """Return the first few of many names."""
    more = f" and {len(names) - NAMED_FAULTS:,} more" if len(names) > NAMED_FAULTS else ""
    return ", ".join(names[:NAMED_FAULTS]) + more
