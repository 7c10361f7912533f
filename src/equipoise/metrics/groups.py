"""Means with weights, and metrics taken group by group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records import Floats, Integers, Strings, UndefinedMetric

Value = Any
"""A float, or, when `weights` has a second axis (one column a resample), an array with one float a resample."""


def mean(values: NDArray[Any], *, weights: NDArray[Any] | None = None, of: str = "mean") -> Value:
    """Return the weighted mean of the values that are not NaN; NaN marks an item the quantity does not apply to.

    With weights of shape (n, B) the result has shape (B,), NaN in a resample that drew none of the items.
    """
    values = np.asarray(values, dtype=np.float64)
    applies = ~np.isnan(values)
    if not applies.any():
        raise UndefinedMetric(f"{of} of an empty group")
    centre = float(values[applies].mean())
    if weights is None:
        return centre
    if weights.dtype.kind != "f":  # whole numbers would truncate the values below
        weights = weights.astype(np.float64)
    # Centred, so that float32 sums stay exact to rounding; one product, so that the weights are read once.
    columns = np.stack([np.where(applies, values - centre, 0.0), applies]).astype(weights.dtype)
    total, count = (columns @ weights).astype(np.float64)
    if weights.ndim == 1 and not count:
        raise UndefinedMetric(f"{of} of an empty group")
    with np.errstate(invalid="ignore", divide="ignore"):
        return centre + total / count


def share(hits: NDArray[Any], among: NDArray[np.bool_], *, weights: NDArray[Any] | None = None, of: str) -> Value:
    """Return the mean of `hits` over the items of a subset."""
    return mean(np.where(among, hits, np.nan), weights=weights, of=of)


def by_group(metric: Callable[..., Value], *arrays: NDArray[Any], groups: Strings, **options: Any) -> dict[str, Value]:
    """Return the metric of each group, in the order of the names; an empty name is not a group."""
    return {name: metric(*(array[rows] for array in arrays), **options) for name, rows in rows_by_group(groups).items()}


def rows_by_group(groups: Strings) -> dict[str, Integers]:
    """Return the rows of each group, in the order of the names; an empty name is not a group."""
    names = sorted(set(groups.tolist()))
    numbers = {name: number for number, name in enumerate(names)}
    codes = np.fromiter(map(numbers.__getitem__, groups.tolist()), dtype=np.int64, count=len(groups))
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes)).tolist()
    return {name: order[start:end] for name, start, end in zip(names, [0, *ends], ends, strict=False) if name}


def gap(values: Mapping[str, Value]) -> Value:
    """Return the largest less the smallest value of the groups: 0 when all are equal."""
    stacked = _stack(values, "gap")
    return stacked.max(axis=0) - stacked.min(axis=0)


def ratio(values: Mapping[str, Value]) -> Value:
    """Return the smallest over the largest value of the groups: 1 when all are equal."""
    stacked = _stack(values, "ratio")
    largest = stacked.max(axis=0)
    if np.any(largest == 0):
        raise UndefinedMetric("ratio of groups whose values are all 0")
    return stacked.min(axis=0) / largest


def _stack(values: Mapping[str, Value], of: str) -> Floats:
    if len(values) < 2:
        raise UndefinedMetric(f"{of} of fewer than two groups")
    return np.stack([np.asarray(value, dtype=np.float64) for value in values.values()])
