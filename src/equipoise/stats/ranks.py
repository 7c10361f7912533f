"""Ranks from tests of every two: a rank is a range wherever the tests do not settle the order."""

from __future__ import annotations

from typing import NamedTuple

from ..records import Booleans


class Rank(NamedTuple):
    """The best and the worst rank that the tests allow; 1 is the best."""

    best: int
    worst: int

    def __str__(self) -> str:
        return f"{self.best}" if self.best == self.worst else f"{self.best}–{self.worst}"


def ranks_of(apart: Booleans) -> list[Rank]:
    """Return the ranks that are possible, given which (row) is shown to be better than which (column)."""
    count = len(apart)
    return [Rank(1 + int(apart[:, i].sum()), count - int(apart[i].sum())) for i in range(count)]
