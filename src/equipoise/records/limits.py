"""How far probabilities are known: bounds of what an engine could not see, or counts of sampled answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .errors import ModelError

BOUNDED = "bounded"
"""Flag of a score that holds a bound for a candidate that was not among the most probable tokens."""

SAMPLED = "sampled"
"""Flag of a score that was estimated from sampled answers."""

PSEUDOCOUNT = 0.5
"""Added to the count of every class of answers: no class that was not sampled is impossible."""

NO_CLASS = -1
"""The count of a class that an item does not have, such as a candidate without a marker."""


@dataclass(frozen=True, slots=True)
class ScoreLimits:
    """How far the probability of each continuation is known.

    `low` and `high` are the smallest and largest probability that each may have; empty where all are exact. `counts`
    say how many sampled answers named each continuation and, last, how many named none; empty without samples.
    """

    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()

    def check(self, continuations: int) -> None:
        """Refuse limits that cannot be those of that number of continuations."""
        is_long = len(self.low) == len(self.high) and len(self.low) in (0, continuations)
        if not is_long or len(self.counts) not in (0, continuations + 1):
            raise ModelError(f"the limits of a score must be those of its {continuations} continuations")
        if not all(0 <= low <= high <= 1 for low, high in zip(self.low, self.high, strict=True)):
            raise ModelError("the limits of a probability must be within 0 and 1, the lower one first")
        if any(count < 0 for count in self.counts):
            raise ModelError("the number of sampled answers must not be negative")


@dataclass(frozen=True)
class Limits:
    """How far the probabilities of items are known, as tables with one row for each item.

    `low` and `high` have a column for each candidate, and so have those of candidates named with or without their
    marker; None where all are exact. `counts` are of sampled answers: each candidate, then (in items with markers) each
    candidate with its marker, then answers that name none; a class that an item does not have is NO_CLASS.
    """

    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None
    low_with_marker: NDArray[np.float64] | None = None
    high_with_marker: NDArray[np.float64] | None = None
    counts: NDArray[np.int64] | None = None

    COLUMNS: ClassVar[Mapping[str, str]] = {
        "low": "prob_low",
        "high": "prob_high",
        "low_with_marker": "prob_low_with_marker",
        "high_with_marker": "prob_high_with_marker",
        "counts": "sample_counts",
    }
    """Field -> column of `outcomes.parquet`."""

    @property
    def samples(self) -> int:
        """How many sampled answers the item has that has fewest; 0 where none were sampled."""
        return 0 if self.counts is None else int(np.maximum(self.counts, 0).sum(axis=1).min())

    @property
    def within(self) -> int:
        """The number of items with a candidate whose probability is known within limits only."""
        return 0 if self.low is None or self.high is None else int((self.high > self.low).any(axis=1).sum())

    @property
    def tables(self) -> dict[str, NDArray[Any]]:
        """The tables that are there, by field."""
        tables = {name: getattr(self, name) for name in self.COLUMNS}
        return {name: table for name, table in tables.items() if table is not None}

    def check(self, items: int, candidates: int) -> None:
        """Refuse limits that cannot be those of the items; ValueError."""
        for name, table in self.tables.items():
            widths = (candidates + 1, 2 * candidates + 1) if name == "counts" else (candidates,)
            if table.ndim != 2 or len(table) != items or table.shape[1] not in widths:
                raise ValueError("the limits of Outcomes must have a row for each item and a column for each candidate")
        for low, high in ((self.low, self.high), (self.low_with_marker, self.high_with_marker)):
            if (low is None) != (high is None):
                raise ValueError("probabilities need both limits")
            if low is not None and high is not None and not ((low >= 0) & (low <= high) & (high <= 1 + 1e-6)).all():
                raise ValueError("the limits of a probability are within 0 and 1, the lower one first")
        if self.counts is not None and (self.counts < NO_CLASS).any():
            raise ValueError("the number of sampled answers is not negative")

    def take(self, rows: NDArray[Any]) -> Limits:
        """Return the limits of some rows (a mask or indices)."""
        return Limits(**{name: table[rows] for name, table in self.tables.items()})
