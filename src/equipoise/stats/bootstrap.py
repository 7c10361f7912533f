"""Intervals by resampling whole clusters, never single rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..records import Estimate, Integers
from .distributions import ndtr, ndtri, stdtrit
from .resampling import CHUNK_BYTES, Chunks, Statistic, evaluate

DRAWN_AT_ONCE = 32
"""Resamples that are drawn before they are written to the table of weights."""


def numbered(names: NDArray[Any]) -> tuple[Integers, NDArray[Any]]:
    """Return the number of each item's name, 0 to C-1 in order of first appearance, and the name of each number."""
    numbers, different = pd.factorize(names)
    if numbers.min(initial=0) < 0:  # NaN is a name, too, but looking for it first takes as long as all the rest
        numbers, different = pd.factorize(names, use_na_sentinel=False)
    return numbers.astype(np.int64, copy=False), different


def cluster_numbers(names: NDArray[Any]) -> Integers:
    """Return the number of each item's cluster, 0 to C-1 in order of first appearance."""
    return numbered(names)[0]


def of_names(function: Callable[[Any], Any], names: NDArray[Any], dtype: Any = object) -> NDArray[Any]:
    """Return the function of each item's name, which is computed once for each different name."""
    numbers, different = numbered(names)
    return np.array([function(name) for name in different.tolist()], dtype=dtype)[numbers]


MOST_ACCELERATION = 0.25
"""Bound on the correction for skewness: beyond it the expansion behind the correction does not hold."""
MOST_UNITS = 16_384
"""At most this many units are resampled: more clusters are dealt at random into this many groups of equal size."""


def resampling_units(names: NDArray[Any]) -> Integers:
    """Return the number of each item's resampling unit: its cluster, or a random group where there are many clusters.

    Resampling random groups has the same expected variance as resampling their clusters, and time and memory no longer
    grow with the number of clusters times the number of resamples (docs/decisions/bootstrap.md).
    """
    numbers = cluster_numbers(names)
    count = len(pd.unique(numbers))
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
            # Some resamples at once: a column by itself is written to a new line of memory for each cluster.
            for first in range(0, draws.shape[1], DRAWN_AT_ONCE):
                block = [
                    np.bincount(rng.integers(0, clusters, size=clusters), minlength=clusters)
                    for _ in range(min(DRAWN_AT_ONCE, draws.shape[1] - first))
                ]
                draws[:, first : first + len(block)] = np.array(block, dtype=np.float32).T
            yield draws
            del draws  # one chunk is held at a time

    return chunks


def held(chunks: Chunks) -> Chunks:
    """Return chunks that are drawn once, now, if there is only one; more of them are drawn anew each time."""
    drawing = chunks()
    first = next(drawing)
    return chunks if next(drawing, None) is not None else lambda: iter([first])


UNDEFINED = "no interval: undefined in most resamples"
FEW_UNITS = 200
"""With fewer units a percentile interval is widened: it would hold the truth a little less often than it says."""


def percentile(value: float, samples: NDArray[Any], *, level: float, units: int) -> Estimate:
    """Return a value with the interval of its resamples, over those in which it is defined; n is the units resampled.

    It is the percentile interval. With fewer than `FEW_UNITS` resampled units each end is the outer of two: of the
    percentile for Student's t, and of the same percentile corrected for skewness (docs/decisions/intervals.md).
    """
    defined = samples[~np.isnan(samples)]
    # A metric that is undefined in most resamples has no interval to trust.
    if len(defined) < len(samples) / 2 or not len(defined):
        return Estimate.alone(value, level=level, n=units, method=UNDEFINED)
    low, high = quantiles(defined, _ends(defined, level, units)).tolist()
    method = f"percentile bootstrap, {len(samples)} resamples of {units:,} clusters"
    return Estimate(float(value), low, high, level, units, method)


def quantiles(values: NDArray[Any], shares: Sequence[float]) -> NDArray[np.float64]:
    """Return some quantiles of values without NaN, as `np.quantile` does, with less around it."""
    places = (len(values) - 1) * np.asarray(shares)
    below = places.astype(np.int64)
    above = np.minimum(below + 1, len(values) - 1)
    ordered = np.partition(values, np.concatenate([below, above]))
    low, high, beyond = ordered[below], ordered[above], places - below
    # From the nearer of the two, so that rounding is as small as it can be.
    apart = high - low
    return np.where(beyond < 0.5, low + apart * beyond, high - apart * (1 - beyond))


def t_factor(level: float, freedom: float) -> float:
    """Return how much wider an interval by Student's t is than one by the normal distribution."""
    # scipy.stats has the same two functions, and takes most of a second to import.
    return float(stdtrit(freedom, (1 + level) / 2) / ndtri((1 + level) / 2))


def _ends(samples: NDArray[Any], level: float, units: int) -> tuple[float, float]:
    """Return which quantiles of the resamples are the ends of the interval."""
    if units >= FEW_UNITS:
        return (1 - level) / 2, (1 + level) / 2
    freedom = max(units - 1, 1)
    z = float(ndtri((1 + level) / 2)) * t_factor(level, freedom) * np.sqrt(units / freedom)
    spread = samples - samples.mean()
    deviation = float(samples.std())
    skewness = float((spread**3).mean()) / deviation**3 if deviation > 0 else 0.0
    a = float(np.clip(skewness / 6, -MOST_ACCELERATION, MOST_ACCELERATION))
    low, high = (float(ndtr(a + (a + side) / (1 - a * (a + side)))) for side in (-z, z))
    return min(low, float(ndtr(-z))), max(high, float(ndtr(z)))


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
    units = int(numbers.max()) + 1
    (samples,) = evaluate([Statistic(function, arrays, numbers)], weight_chunks(units, resamples=resamples, seed=seed))
    return replace(percentile(value, samples, level=level, units=units), n=len(numbers))
