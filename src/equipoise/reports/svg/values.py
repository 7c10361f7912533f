"""The table under a chart: the numbers that the chart draws, as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Values:
    """What a chart draws, as a table: the headings of its columns, and its rows as text."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


def estimated(estimate: Any) -> tuple[str, str, str]:
    """Return a value and the ends of its interval as text; a dash for what is not known."""
    if estimate is None:
        return "–", "–", "–"
    value, low, high = (
        "–" if math.isnan(number) else f"{number:.3f}" for number in (estimate.value, estimate.low, estimate.high)
    )
    return value, low, high
