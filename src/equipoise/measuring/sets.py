"""Counterfactual sets: the rows of their members, and columns by set and member."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records import ABSENT, Floats, Integers


def members_of(numbers: Integers) -> Integers:
    """Return the rows of each number that occurs at least twice, as (numbers, rows), ABSENT-padded."""
    if not len(numbers):
        return np.empty((0, 1), dtype=np.int64)
    order = np.argsort(numbers, kind="stable")
    sizes = np.bincount(numbers)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    members = np.full((len(sizes), int(sizes.max())), ABSENT, dtype=np.int64)
    members[numbers[order], rank] = order
    return members[sizes > 1]


def of_members(column: NDArray[Any], members: Integers) -> Floats:
    """Return a column's values by set and member, NaN for absent members."""
    return np.where(members == ABSENT, np.nan, column[members])


def only(column: NDArray[Any], names: tuple[str, ...]) -> NDArray[Any]:
    """Return a column of names with "" in the place of all others."""
    kept = np.zeros(len(column), dtype=bool)
    for name in names:
        kept |= column == name
    return np.where(kept, column, "")


def within_sets(
    column: NDArray[Any], members: Integers, needed: tuple[str, ...], known: Floats | None = None
) -> NDArray[Any]:
    """Return a column of the needed names (or ""), empty for items whose set does not have all of them.

    Items that are NaN in `known` do not count.
    """
    if known is not None:
        column = np.where(np.isnan(known), "", column)
    kept = np.full(len(column), "", dtype=column.dtype)
    values = np.where(members == ABSENT, "", column[members])
    complete = np.all([(values == value).any(axis=1) for value in needed], axis=0)
    rows = members[complete]
    rows = rows[rows != ABSENT]
    kept[rows] = column[rows]
    return kept
