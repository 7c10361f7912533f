"""Means with weights, and metrics taken group by group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records import Integers, Strings, UndefinedMetric

Weights = NDArray[Any] | None
"""How often each item counts (None: once), or in each resample: a column each."""

Value = Any
"""A float, or, when `weights` has a second axis (a column for each resample), an array of floats."""


def mean(values: NDArray[Any], *, weights: Weights = None, of: str = "mean") -> Value:
    """Return the weighted mean of the values that are not NaN; NaN marks an item the quantity does not apply to.

    With weights of shape (n, B) the result has shape (B,), NaN in a resample that drew none of the items.
    """
    values = np.asarray(values, dtype=np.float64)
    applies = ~np.isnan(values)
    if not applies.all():
        values, weights = values[applies], weights if weights is None else weights[applies]
    if not len(values):
        raise UndefinedMetric(f"{of} of an empty group")
    if weights is None:
        return float(np.add.reduce(values) / len(values))  # as `mean` does, with less around it
    if weights.ndim == 1:
        count = float(np.add.reduce(weights))
        if not count:
            raise UndefinedMetric(f"{of} of an empty group")
        return float(values @ weights) / count
    if weights.dtype.kind != "f":  # whole numbers would truncate the values below
        weights = weights.astype(np.float64)
    # Centred, so that float32 sums stay exact to rounding; one product, so that the weights are read once.
    centre = 0.0 if getattr(weights, "exact", False) else float(np.add.reduce(values) / len(values))
    columns = np.empty((2, len(values)), dtype=weights.dtype)
    np.subtract(values, centre, out=columns[0], casting="same_kind")
    columns[1] = 1.0
    total, count = (columns @ weights).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return centre + total / count


def share(hits: NDArray[Any], among: NDArray[np.bool_], *, weights: Weights = None, of: str) -> Value:
    """Return the mean of `hits` over the items of a subset."""
    return mean(hits[among], weights=weights if weights is None else weights[among], of=of)


def by_group(metric: Callable[..., Value], *arrays: NDArray[Any], groups: Strings, **options: Any) -> dict[str, Value]:
    """Return the metric of each group, in the order of the names; an empty name is not a group.

    `weights` among the options are those of the items.
    """
    weights = options.pop("weights", None)
    values = {}
    for name, rows in rows_by_group(groups).items():
        chosen = {} if weights is None else {"weights": weights[rows]}
        values[name] = metric(*(array[rows] for array in arrays), **chosen, **options)
    return values


def rows_by_group(groups: Strings) -> dict[str, Integers]:
    """Return the rows of each group, in the order of the names; an empty name is not a group."""
    if not len(groups):
        return {}
    # Groups often come in runs: each run is looked up once.
    starts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
    runs = groups[starts].tolist()
    names = sorted(set(runs))
    numbers = {name: number for number, name in enumerate(names)}
    codes = np.repeat([numbers[name] for name in runs], np.diff(starts, append=len(groups)))
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes))
    return {name: order[start:end] for name, start, end in zip(names, [0, *ends], ends, strict=False) if name}


def total_size(differences: Value) -> Value:
    """Return the sum of the sizes of stacked differences."""
    return np.abs(differences).sum(axis=0)


def largest_size(differences: Value) -> Value:
    """Return the largest size among stacked differences."""
    return np.abs(differences).max(axis=0)


def mean_size(differences: Value) -> Value:
    """Return the mean of the sizes of stacked differences."""
    return np.abs(differences).mean(axis=0)


def span(values: Value) -> Value:
    """Return the largest less the smallest of stacked values."""
    return np.ptp(values, axis=0)


@dataclass(frozen=True)
class Norm:
    """A metric that is the size of signed differences: `differences` returns them stacked, `join` makes one size.

    Noise makes sizes larger, so the interval of such a metric comes from the deviations of the signed differences.
    """

    differences: Callable[..., Value]
    join: Callable[[Value], Value]

    def __call__(self, *arrays: NDArray[Any], weights: Weights = None, **options: Any) -> Value:
        return self.join(self.differences(*arrays, weights=weights, **options))

    def ends(self, intervals: Sequence[tuple[float, float]]) -> tuple[float, float]:
        """Return the smallest and the largest size that intervals of all differences allow."""
        lows, highs = np.array(intervals).T
        if self.join is span:
            return max(0.0, float(lows.max() - highs.min())), float(highs.max() - lows.min())
        nearest = np.clip(0.0, lows, highs)
        return float(self.join(nearest)), float(self.join(np.maximum(np.abs(lows), np.abs(highs))))
