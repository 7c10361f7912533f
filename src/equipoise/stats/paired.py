"""Two models on the same sentences: differences with intervals, tests, and correction for many comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records import Floats, Integers
from .bootstrap import CHUNK_BYTES, cluster_numbers, interval, resampled, weight_chunks

TOLERANCE = 1e-6
"""Weights are float32: a permuted difference this close under the observed one counts as large as it."""


@dataclass(frozen=True)
class Difference:
    """The first model's value less the second's: its interval, and the p-value of "the models do not differ"."""

    value: float
    low: float
    high: float
    p: float
    n: int


@dataclass(frozen=True)
class Contest:
    """A metric of two models on the same rows: `first` and `second` are its inputs, parallel to each other."""

    function: Callable[..., Any]
    first: Sequence[NDArray[Any]]
    second: Sequence[NDArray[Any]]
    rows: Integers


def paired_differences(
    contests: Sequence[Contest],
    *,
    clusters: NDArray[Any],
    rng: np.random.Generator,
    resamples: int = 2000,
    permutations: int = 5000,
    level: float = 0.95,
) -> list[Difference]:
    """Return the difference of every contest, its percentile interval, and a two-sided p-value.

    Both resample whole clusters (counterfactual sets): the interval draws them with replacement for both models alike;
    the test exchanges the two models' answers within each cluster with probability 1/2, which changes nothing if the
    models do not differ (Fisher's paired permutation test). p counts the observed arrangement as one of them, so
    it is never 0, and never smaller than 1 / (permutations + 1).
    """
    numbers = cluster_numbers(clusters)
    drawn: list[list[Floats]] = [[] for _ in contests]
    for weights in weight_chunks(numbers, resamples=resamples, rng=rng):
        for contest, samples in zip(contests, drawn, strict=True):
            own = weights[contest.rows]
            first, second = (resampled(contest.function, arrays, own) for arrays in (contest.first, contest.second))
            samples.append(first - second)
    swapped: list[list[Floats]] = [[] for _ in contests]
    for exchange in _exchanges(numbers, permutations, rng):
        for contest, samples in zip(contests, swapped, strict=True):
            samples.append(_exchanged(contest, exchange[contest.rows]))
    results = []
    for contest, samples, under_null in zip(contests, drawn, swapped, strict=True):
        value = float(contest.function(*contest.first)) - float(contest.function(*contest.second))
        low, high = interval(np.concatenate(samples), level=level)
        count = len(np.unique(numbers[contest.rows]))
        results.append(Difference(value, low, high, _p_value(value, np.concatenate(under_null)), count))
    return results


def _exchanges(clusters: Integers, permutations: int, rng: np.random.Generator) -> Iterator[NDArray[np.float32]]:
    """Yield (items, b) arrays: 1 where the models' answers are exchanged, the same for a whole cluster."""
    count = int(clusters.max()) + 1
    # Half as wide as the bootstrap's: the two models' rows are weighted side by side.
    width = max(1, min(permutations, CHUNK_BYTES // (8 * max(len(clusters), 1))))
    for start in range(0, permutations, width):
        drawn = rng.integers(0, 2, size=(count, min(width, permutations - start)), dtype=np.int8)
        yield drawn.astype(np.float32)[clusters]


def _exchanged(contest: Contest, exchange: NDArray[np.float32]) -> Floats:
    """Return the difference under each exchange: rows of both models, each with weight 1 in one of the two values."""
    arrays = [np.concatenate(pair) for pair in zip(contest.first, contest.second, strict=True)]
    weights = np.concatenate([1 - exchange, exchange])
    return resampled(contest.function, arrays, weights) - resampled(contest.function, arrays, 1 - weights)


def _p_value(observed: float, under_null: Floats) -> float:
    defined = under_null[~np.isnan(under_null)]
    as_large = int((np.abs(defined) >= abs(observed) - TOLERANCE).sum())
    return (as_large + 1) / (len(defined) + 1)


def holm(p_values: Floats) -> Floats:
    """Return the p-values corrected by Holm's step-down: all are valid at once (family-wise error)."""
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    corrected = np.empty_like(p_values, dtype=np.float64)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def benjamini_hochberg(p_values: Floats) -> Floats:
    """Return the p-values corrected by Benjamini and Hochberg: the expected share of false ones among those called."""
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * len(p_values) / np.arange(1, len(p_values) + 1)
    corrected = np.empty_like(p_values, dtype=np.float64)
    corrected[order] = np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0)
    return corrected


CORRECTIONS: Mapping[str, Callable[[Floats], Floats]] = {"holm": holm, "bh": benjamini_hochberg}
"""Name -> correction for the number of comparisons."""
