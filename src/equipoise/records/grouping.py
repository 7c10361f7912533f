"""Things together that have something in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def grouped(several: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return what has the same key together, in the order of the first of each."""
    groups: dict[K, list[T]] = {}
    for entry in several:
        groups.setdefault(key(entry), []).append(entry)
    return groups
