"""Whether two tables of a run hold the same, column by column: one from the folder, one computed again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..runs.checked_tables import frame_of
from ..runs.tables import Rows
from .finding import Finding, some

TOLERANCE = 1e-6
"""How far a recomputed number may lie from the one in the folder: processors add up in different orders."""

KEYS = ["metric", "model", "dataset", "task", "group"]


Blocks = Iterable[tuple[pd.DataFrame, pd.DataFrame]]
"""Rows that were computed again, and the same rows of the folder, block by block."""


def compared_tables(name: str, blocks: Blocks, source: str) -> Finding:
    """Return whether the rows and columns of a table are those that follow from the run's `source`."""
    check, rows = name.partition(".")[0], [0, 0]
    columns: dict[str, None] = {}
    wrong: Counter[str] = Counter()
    for fresh, claimed in blocks:
        rows = [rows[0] + len(fresh), rows[1] + len(claimed)]
        columns |= dict.fromkeys(map(str, set(fresh) ^ set(claimed)))
        if rows[0] == rows[1] and not columns:
            wrong.update({str(column): int((~_same(fresh[column], claimed[column])).sum()) for column in fresh})
    if rows[0] != rows[1]:
        return Finding(check, False, f"{name} has {rows[1]:,} rows, from the {source} follow {rows[0]:,}")
    if columns:
        text = f"these columns of {name} do not follow from the {source}, or are missing"
        return Finding(check, False, f"{text}: {some(sorted(columns))}")
    faults = [f"{column} of {count:,} rows" for column, count in wrong.items() if count]
    if faults:
        return Finding(check, False, f"not what follows from the {source}: {some(faults)}")
    return Finding(check, True, f"{rows[0]:,} rows with {len(wrong)} columns recomputed from the {source}")


def blocks_of(name: str, fresh: Rows, claimed: Any) -> Blocks:
    """Yield what was computed again beside an arrow table of the folder: frames of a whole table would be large."""
    start = 0
    for group in fresh.groups():
        yield frame_of(name, group), frame_of(name, claimed.slice(start, len(group)))
        start += len(group)
    if start < len(claimed):
        rest = claimed.slice(start)
        yield frame_of(name, rest.slice(0, 0)), frame_of(name, rest)


def _same(fresh: pd.Series, claimed: pd.Series) -> np.ndarray:
    """Return which cells of two columns are the same: numbers within the tolerance, all else exactly."""
    left, right = fresh.reset_index(drop=True), claimed.reset_index(drop=True)
    if any(isinstance(cell, np.ndarray) for cell in (*left[:1], *right[:1])):
        if len({np.shape(cell) for cell in (*left, *right)}) == 1:  # as in most tables
            stacked = [np.stack(list(column)).astype(float) for column in (left, right)]
            return np.asarray(_close(*stacked).all(axis=1))
        return np.array([_near(a, b) for a, b in zip(left, right, strict=True)], dtype=bool)
    if all(pd.api.types.is_numeric_dtype(column) for column in (left, right)):
        return np.asarray(_close(left.to_numpy(float, na_value=np.nan), right.to_numpy(float, na_value=np.nan)))
    return np.asarray(left.fillna("").astype(str) == right.fillna("").astype(str))


def _near(left: object, right: object) -> bool:
    if not isinstance(left, np.ndarray) or not isinstance(right, np.ndarray) or left.shape != right.shape:
        return left is None and right is None
    return bool(_close(left.astype(float), right.astype(float)).all())


def _close(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.asarray(np.isclose(left, right, rtol=1e-9, atol=TOLERANCE, equal_nan=True))


def compared(fresh: pd.DataFrame, claimed: pd.DataFrame) -> Finding:
    """Return whether two tables of measurements hold the same numbers under the same names."""
    left, right = fresh.set_index(KEYS), claimed.set_index(KEYS)
    if not left.index.sort_values().equals(right.index.sort_values()):
        missing, extra = left.index.difference(right.index), right.index.difference(left.index)
        again = right.index[right.index.duplicated()].unique()
        examples = some([f"{key[0]}[{key[4]}]" for key in (*missing, *extra, *again)])
        text = f"{len(missing):,} that follow from the outcomes are missing, {len(extra):,} do not follow"
        text += f", {len(again):,} are listed more than once: {examples}" if len(again) else f": {examples}"
        return Finding("measurements", False, text)
    right = right.loc[left.index] if left.index.is_unique else right
    same = np.all([_same(left[column], right[column]) for column in left], axis=0)
    if not same.all():
        lines = list(_differences(left[~same], right[~same], list(map(str, left))))
        return Finding("measurements", False, f"{int((~same).sum()):,} of {len(left):,} are others: {some(lines)}")
    return Finding("measurements", True, f"{len(left):,} recomputed from the outcomes, all within {TOLERANCE:g}")


def _differences(fresh: pd.DataFrame, claimed: pd.DataFrame, columns: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with each row: its first column that differs."""
    for place, key in enumerate(fresh.index):
        left, right = fresh.iloc[place : place + 1], claimed.iloc[place : place + 1]
        column = next(name for name in columns if not _same(left[name], right[name]).all())
        what = "" if column == "value" else f" {column}"
        yield f"{key[0]}[{key[4]}]{what} is {_shown(left[column].iloc[0])}, not {_shown(right[column].iloc[0])}"


def _shown(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
