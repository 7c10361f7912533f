"""Columns that are computed when they are first read: a comparison reads a few of all that an audit needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records import Integers

Columns = Mapping[str, NDArray[Any]]
Maker = Callable[[], NDArray[Any]]


class LazyColumns(Mapping[str, NDArray[Any]]):
    """Columns by name, each computed once, and others; all that apply to no item are one array: `nothing`."""

    def __init__(self, makers: Mapping[str, Maker], nothing: NDArray[Any], others: Columns | None = None) -> None:
        self._makers, self._nothing, self._others = makers, nothing, others or {}
        self._made: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._makers:
            return self._others[name]
        if name not in self._made:
            column = self._makers[name]()
            self._made[name] = self._nothing if _is_nothing(column) else column
        return self._made[name]

    @property
    def own(self) -> tuple[str, ...]:
        """The names of the columns that are computed here."""
        return tuple(self._makers)

    def take(self, name: str, rows: Integers) -> NDArray[Any]:
        """Return these rows of a column."""
        return self[name][rows]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._others, *self._makers)))

    def __len__(self) -> int:
        return len(list(iter(self)))


def each(names: tuple[str, ...], several: Callable[[], Columns]) -> dict[str, Maker]:
    """Return what makes each of several columns that are computed together, when the first of them is read."""
    made: dict[str, Columns] = {}

    def one(name: str) -> NDArray[Any]:
        if not made:
            made["columns"] = several()
        return made["columns"][name]

    return {name: partial(one, name) for name in names}


def _is_nothing(column: NDArray[Any]) -> bool:
    """Return whether a column of numbers applies to no item."""
    return column.dtype == np.float64 and column.ndim == 1 and bool(np.isnan(column).all())
