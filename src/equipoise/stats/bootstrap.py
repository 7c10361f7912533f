"""Intervals by resampling whole clusters, never single rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..records import Estimate, Integers
from .resampling import CHUNK_BYTES, Chunks, Statistic, evaluate


def cluster_numbers(names: NDArray[Any]) -> Integers:
    """Return the number of each item's cluster, 0 to C-1 in order of first appearance."""
    return pd.factorize(names, use_na_sentinel=False)[0].astype(np.int64)


MOST_UNITS = 16_384
"""At most this many units are resampled: more clusters are dealt at random into this many groups of equal size."""


def resampling_units(names: NDArray[Any]) -> Integers:
    """Return the number of each item's resampling unit: its cluster, or a random group where there are many clusters.

    Resampling random groups has the same expected variance as resampling their clusters, and time and memory no longer
    grow with the number of clusters times the number of resamples (docs/decisions/bootstrap.md).
    """
    numbers = cluster_numbers(names)
    count = int(numbers.max(initial=-1)) + 1
    if count <= MOST_UNITS:
        return numbers
    return np.random.default_rng(count).permutation(count)[numbers] % MOST_UNITS


def joint_numbers(*numbers: Integers) -> Integers:
    """Return one number for each combination of several numberings, in order of first appearance."""
    joint = numbers[0]
    for other in numbers[1:]:
        joint = cluster_numbers(joint * (int(other.max(initial=0)) + 1) + other)
    return joint


def weight_chunks(clusters: int, *, resamples: int, seed: int) -> Chunks:
    """Return the chunks of multiplicities: each column draws as many clusters as there are, with replacement."""

    def chunks() -> Iterator[NDArray[np.float32]]:
        rng = np.random.default_rng(seed)
        width = max(1, min(resamples, CHUNK_BYTES // (4 * clusters)))
        for start in range(0, resamples, width):
            draws = np.empty((clusters, min(width, resamples - start)), dtype=np.float32)
            for column in range(draws.shape[1]):
                drawn = rng.integers(0, clusters, size=clusters)
                draws[:, column] = np.bincount(drawn, minlength=clusters)
            yield draws

    return chunks


def interval(samples: NDArray[Any], *, level: float) -> tuple[float, float]:
    """Return the percentile interval of the resampled values, over the resamples in which the metric is defined."""
    ((low, high),) = intervals(samples[:, None], level=level)
    return low, high


def intervals(samples: NDArray[Any], *, level: float) -> list[tuple[float, float]]:
    """Return the percentile interval of each column of resampled values (see `interval`)."""
    ends = [(1 - level) / 2, (1 + level) / 2]
    missing = np.isnan(samples)
    whole = np.flatnonzero(~missing.any(axis=0))
    results = np.full((samples.shape[1], 2), np.nan)
    if len(whole):
        results[whole] = np.quantile(samples[:, whole], ends, axis=0).T
    for column in np.flatnonzero(missing.any(axis=0)):
        defined = samples[~missing[:, column], column]
        # A metric that is undefined in most resamples has no interval to trust.
        if len(defined) >= len(samples) / 2 and len(defined):
            results[column] = np.quantile(defined, ends)
    return [(float(low), float(high)) for low, high in results]


def bootstrap(
    function: Callable[..., Any],
    arrays: Sequence[NDArray[Any]],
    *,
    clusters: NDArray[Any],
    seed: int = 0,
    resamples: int = 2000,
    level: float = 0.95,
) -> Estimate:
    """Return the metric of the arrays with a percentile interval from resampling clusters of rows.

    A function with a `weights` parameter is evaluated for all resamples at once; any other is called once per
    resample on the copied rows, which is slower and gives the same.
    """
    value = float(function(*arrays))
    numbers = cluster_numbers(clusters)
    chunks = weight_chunks(int(numbers.max()) + 1, resamples=resamples, seed=seed)
    (samples,) = evaluate([Statistic(function, arrays, numbers)], chunks)
    low, high = interval(samples, level=level)
    return Estimate(value, low, high, level, len(numbers), "percentile bootstrap over clusters")
