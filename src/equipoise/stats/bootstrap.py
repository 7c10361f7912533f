"""Intervals by resampling whole counterfactual sets, never single rows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records import Estimate, Integers, UndefinedMetric

CHUNK_BYTES = 192 * 2**20
"""Bound on the weights held at once: memory stays flat however many resamples are asked for."""


def cluster_numbers(names: NDArray[Any]) -> Integers:
    """Return the number of each item's cluster, 0 to C-1 in order of first appearance."""
    _, first, numbers = np.unique(names.astype(str), return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[numbers]


def weight_chunks(clusters: Integers, *, resamples: int, rng: np.random.Generator) -> Iterator[NDArray[np.float32]]:
    """Yield (items, b) arrays of multiplicities: each column draws as many clusters as there are, with replacement."""
    count = int(clusters.max()) + 1
    width = max(1, min(resamples, CHUNK_BYTES // (4 * max(len(clusters), 1))))
    for start in range(0, resamples, width):
        draws = [
            np.bincount(rng.integers(0, count, size=count), minlength=count)
            for _ in range(min(width, resamples - start))
        ]
        yield np.stack(draws, axis=1).astype(np.float32)[clusters]


def interval(samples: NDArray[Any], *, level: float) -> tuple[float, float]:
    """Return the percentile interval of the resampled values, over the resamples in which the metric is defined."""
    defined = samples[~np.isnan(samples)]
    # A metric undefined in most resamples has no trustworthy interval: say so by leaving it open.
    if len(defined) < len(samples) / 2 or not len(defined):
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def resampled(
    function: Callable[..., Any], arrays: Sequence[NDArray[Any]], weights: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return the metric of each resample: one column of `weights` holds how often each row was drawn."""
    if "weights" in inspect.signature(function).parameters:
        return np.asarray(function(*arrays, weights=weights), dtype=np.float64)
    return _one_by_one(function, arrays, weights)


def bootstrap(
    function: Callable[..., Any],
    arrays: Sequence[NDArray[Any]],
    *,
    clusters: NDArray[Any],
    rng: np.random.Generator,
    resamples: int = 2000,
    level: float = 0.95,
) -> Estimate:
    """Return the metric of the arrays with a percentile interval from resampling clusters of rows.

    A function with a `weights` parameter is evaluated for many resamples at once; any other is called once a
    resample on the copied rows, which is slower and gives the same.
    """
    value = float(function(*arrays))
    numbers = cluster_numbers(clusters)
    samples = np.concatenate(
        [resampled(function, arrays, weights) for weights in weight_chunks(numbers, resamples=resamples, rng=rng)]
    )
    low, high = interval(samples, level=level)
    return Estimate(value, low, high, level, len(numbers), "percentile bootstrap over clusters")


def _one_by_one(
    function: Callable[..., Any], arrays: Sequence[NDArray[Any]], weights: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return the metric of each resample, NaN where it is undefined."""
    values = np.full(weights.shape[1], np.nan)
    for column in range(weights.shape[1]):
        rows = np.repeat(np.arange(len(weights)), weights[:, column].astype(np.int64))
        try:
            values[column] = function(*(array[rows] for array in arrays))
        except UndefinedMetric:
            continue
    return values
