"""Rank correlations of two lists under many resamples at once: Kendall's tau-b and Spearman's rho.

`weights` holds a column for each resample: how often each row was drawn. A resample in which a list is constant has no
correlation: NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..records import Floats

TIE = 1e-12
"""Values that are closer than this are equal: they differ by rounding alone."""


def signs(values: Floats) -> NDArray[np.float32]:
    """Return the sign of the difference of every two rows, as a square."""
    apart = values[:, None] - values[None, :]
    square: NDArray[np.float32] = np.where(np.abs(apart) < TIE, 0, np.sign(apart)).astype(np.float32)
    return square


def kendall(first: NDArray[np.float32], second: NDArray[np.float32], weights: NDArray[np.float32]) -> Floats:
    """Return tau-b of two lists for each resample, in [-1, 1], from their `signs`."""
    products = (first * second, first * first, second * second)
    together, alone, other = ((weights * (square @ weights)).astype(np.float64).sum(axis=0) for square in products)
    return _ratio(together, alone * other)


def spearman(first: Floats, second: Floats, weights: NDArray[np.float32]) -> Floats:
    """Return rho of two lists for each resample, in [-1, 1]; ties share their mean rank."""
    drawn = weights.astype(np.float64)
    ranks = [_weighted_ranks(values, drawn) for values in (first, second)]
    total = drawn.sum(axis=0)
    a, b = (rank - (drawn * rank).sum(axis=0) / total for rank in ranks)
    return _ratio((drawn * a * b).sum(axis=0), (drawn * a * a).sum(axis=0) * (drawn * b * b).sum(axis=0))


def column_kendall(first: Floats, second: Floats) -> Floats:
    """Return tau-b of each column of two tables with the same rows; rows with NaN are left out of their column."""
    missing = np.isnan(first) | np.isnan(second)
    a, b = (_column_signs(np.where(missing, np.nan, values)) for values in (first, second))
    return _ratio((a * b).sum(axis=(0, 1)), (a * a).sum(axis=(0, 1)) * (b * b).sum(axis=(0, 1)))


def column_spearman(first: Floats, second: Floats) -> Floats:
    """Return rho of each column of two tables with the same rows; rows with NaN are left out of their column."""
    missing = np.isnan(first) | np.isnan(second)
    ranks = []
    for values in (first, second):
        rank = pd.DataFrame(np.round(np.where(missing, np.nan, values), 12)).rank().to_numpy()
        ranks.append(np.where(missing, 0.0, rank - np.nanmean(np.where(missing, np.nan, rank), axis=0)))
    a, b = ranks
    return _ratio((a * b).sum(axis=0), (a * a).sum(axis=0) * (b * b).sum(axis=0))


def _column_signs(values: Floats) -> Floats:
    apart = values[:, None, :] - values[None, :, :]
    return np.where(np.isnan(apart) | (np.abs(apart) < TIE), 0.0, np.sign(apart))


def _weighted_ranks(values: Floats, drawn: Floats) -> Floats:
    """Return the mean rank of each row in each resample, as if its copies stood in the list."""
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order], prepend=-np.inf) >= TIE
    starts = np.flatnonzero(steps)
    counts = np.add.reduceat(drawn[order], starts, axis=0)
    middles = np.cumsum(counts, axis=0) - counts / 2
    ranks = np.empty_like(drawn)
    ranks[order] = middles[np.cumsum(steps) - 1]
    return ranks


def _ratio(together: Any, squared: Any) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Floats = np.where(squared > 0, together / np.sqrt(squared), np.nan)
    return np.clip(ratio, -1.0, 1.0)
