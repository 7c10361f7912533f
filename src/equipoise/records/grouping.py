"""Several things: together where they have something in common, and listed in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def grouped(several: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return what has the same key together, in the order of the first of each."""
    groups: dict[K, list[T]] = {}
    for entry in several:
        groups.setdefault(key(entry), []).append(entry)
    return groups


def listed(names: Sequence[str], last: str = "and") -> str:
    """Return names as a sentence lists them: "a, b and c"."""
    return f"{', '.join(names[:-1])} {last} {names[-1]}" if len(names) > 1 else names[0]
