"""How base sentences were drawn, and what that does to intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Sample:
    """How base sentences were drawn: how many there are of each type, and how many looks share the error.

    `together` is the number of intervals that hold at once: 1 gives a guarantee for each by itself. `totals` are those
    of the metrics that an audit without markers waits for (stopping.py), `precision` is the width asked for.
    """

    population: Mapping[str, int] = field(default_factory=dict)
    looks: int = 1
    together: int = 1
    precision: float = 0.0
    totals: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def errors(self) -> int:
        """Among how many intervals the error is shared (Bonferroni)."""
        return self.looks * self.together

    def level(self, level: float) -> float:
        """Return the level of one interval at one look, so that all together have the one asked for."""
        return 1 - (1 - level) / self.errors

    def shrink(self, kind: str, drawn: int) -> float:
        """Return by how much deviations shrink because a share of the sentences was drawn, without replacement."""
        there_are = self.population.get(kind, 0)
        return float(np.sqrt(max(0.0, 1 - drawn / there_are))) if there_are else 1.0
