"""Two models on the same sentences: differences with intervals, tests, and correction for many comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..records import Estimate, Floats
from . import bounded
from .bootstrap import percentile, weight_chunks
from .resampling import CHUNK_BYTES, Chunks, Statistic, evaluate

TOLERANCE = 1e-6
"""Weights are float32: a permuted difference that is smaller than the observed one by less counts as equally large."""

DETECTED = 0.05
"""A corrected p under this is called a difference, where the interval leaves 0 out, too."""

PAIRED = "percentile bootstrap of paired differences, {resamples} resamples of clusters"


def is_detected(difference: Estimate) -> bool:
    """Return whether the corrected p and the interval both show a difference: with few clusters it may include 0."""
    return difference.p_corrected < DETECTED and difference.excludes_zero


@dataclass(frozen=True)
class Contest:
    """A metric of two models on the same clusters, averaged over variants (seeds); `n` is the number of units.

    `width` is that of all possible values of the metric: where evidence is little, the interval comes from it. `units`
    are the differences of each cluster where the metric is a plain mean, else None.
    """

    first: Sequence[Statistic]
    second: Sequence[Statistic]
    n: int
    width: float = math.inf
    units: Floats | None = None

    @property
    def difference(self) -> float:
        """The first model's value minus the second's."""
        return _value(self.first) - _value(self.second)


@dataclass(frozen=True)
class Trial:
    """How differences are tested."""

    resamples: int = 2000
    permutations: int = 5000
    level: float = 0.95
    seed: int = 0


def paired_differences(contests: Sequence[Contest], *, clusters: int, trial: Trial | None = None) -> list[Estimate]:
    """Return the difference of every contest: the first model's value minus the second's, with a two-sided p-value.

    The interval is a percentile bootstrap, or where evidence is little one from the bounds of the metric (`_interval`).
    Both resample whole clusters: the interval draws them with replacement, the same for both models; the test
    exchanges the two models' answers within each cluster with probability 1/2, which changes nothing if the models do
    not differ (Fisher's paired permutation test). p counts the observed arrangement as one of them, so it is never
    smaller than 1 / (permutations + 1).
    """
    trial = trial or Trial()
    drawn = weight_chunks(clusters, resamples=trial.resamples, seed=trial.seed)
    samples = _differences(contests, drawn)
    exchanged = [_exchangeable(contest, clusters) for contest in contests]
    under_null = _differences(exchanged, _exchanges(clusters, trial.permutations, trial.seed))
    results = []
    for contest, resampled, permuted in zip(contests, samples, under_null, strict=True):
        estimate = _estimate(contest, resampled, trial)
        results.append(replace(estimate, n=contest.n, p=_p_value(estimate.value, permuted)))
    return results


def _estimate(contest: Contest, resampled: Floats, trial: Trial) -> Estimate:
    """Return a difference with its interval, which is never of zero width; none where the metric has no bounds."""
    value, width, units, level = contest.difference, contest.width, contest.units, trial.level
    clusters = len(np.unique(np.concatenate([s.clusters for s in (*contest.first, *contest.second)])))
    drawn = percentile(value, resampled, level=level, units=clusters)
    if units is not None and math.isfinite(width):
        if not bounded.is_enough(units, 2 * width):
            return replace(_of_units(units, width, trial), value=value)
    elif not bounded.has_width(*drawn.ends, 2 * width) or clusters < bounded.ENOUGH_UNITS:
        if not math.isfinite(width):
            return Estimate.alone(value, level=level, n=clusters, method="no interval: too few clusters")
        radius = bounded.hoeffding_radius([clusters, clusters], width, level=level)
        return Estimate.around(value, radius, (-width, width), level=level, n=clusters, method=bounded.HOEFFDING)
    return replace(drawn, method=PAIRED.format(resamples=trial.resamples))


def _of_units(units: Floats, width: float, trial: Trial) -> Estimate:
    """Return the mean of few differences, or of differences that are nearly all alike, with its interval."""
    if not units.any():
        # Nothing differs: then few clusters do, and none by more than the width.
        reach = width * bounded.clopper_pearson(0, len(units), level=trial.level).high
        return Estimate(0.0, -reach, reach, trial.level, len(units), bounded.BETTING)
    return bounded.mean_interval(units, (-width, width), level=trial.level, seed=trial.seed)


def _value(statistics: Sequence[Statistic]) -> float:
    return float(np.mean([float(statistic.value) for statistic in statistics]))


def _differences(contests: Sequence[Contest], chunks: Chunks) -> list[Floats]:
    """Return first - second of each contest under every weighting, averaged over variants."""
    statistics = [statistic for contest in contests for statistic in (*contest.first, *contest.second)]
    values = iter(evaluate(statistics, chunks))
    differences = []
    for contest in contests:
        first = np.mean([next(values) for _ in contest.first], axis=0)
        differences.append(first - np.mean([next(values) for _ in contest.second], axis=0))
    return differences


def _exchangeable(contest: Contest, clusters: int) -> Contest:
    """Return the contest between two mixtures of the models: its weights say who answers for whom (`_exchanges`)."""
    pairs = list(zip(contest.first, contest.second, strict=True))
    return Contest(
        [_mixed(a, b, clusters, 0) for a, b in pairs], [_mixed(a, b, clusters, 2) for a, b in pairs], contest.n
    )


def _mixed(first: Statistic, second: Statistic, clusters: int, side: int) -> Statistic:
    """Return the statistic over the rows of both models; `side` 0 and 2 are the two halves of an exchange."""
    arrays = [np.concatenate(pair) for pair in zip(first.arrays, second.arrays, strict=True)]
    numbers = np.concatenate([first.clusters + side * clusters, second.clusters + (side + 1) * clusters])
    shares = first.row_shares, second.row_shares
    both = None if shares[0] is None or shares[1] is None else np.concatenate([shares[0], shares[1]])
    return Statistic(first.function, arrays, numbers, shares=both)


def _exchanges(clusters: int, permutations: int, seed: int) -> Chunks:
    """Return chunks of weights over four copies of the clusters.

    The first two are the share of each model in the one mixture, the last two in the other.
    """

    def chunks() -> Iterator[NDArray[np.float32]]:
        # A stream of its own: with the bootstrap's, the test would not be independent of the interval.
        rng = np.random.default_rng([seed, 1])
        width = max(1, min(permutations, CHUNK_BYTES // (16 * clusters)))
        for start in range(0, permutations, width):
            size = (clusters, min(width, permutations - start))
            swapped = rng.integers(0, 2, size=size, dtype=np.int8).astype(np.float32)
            yield np.concatenate([1 - swapped, swapped, swapped, 1 - swapped])

    return chunks


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
    # The last step is the largest p-value itself, so none exceeds 1.
    corrected[order] = np.minimum.accumulate(steps[::-1])[::-1]
    return corrected


CORRECTIONS: Mapping[str, Callable[[Floats], Floats]] = {"holm": holm, "bh": benjamini_hochberg}
"""Name -> correction for the number of comparisons."""


def corrected(family: Sequence[Estimate], correction: str = "holm") -> list[Estimate]:
    """Return the estimates of one family of tests with `p_corrected`; those without a test do not belong to it."""
    tested = [n for n, estimate in enumerate(family) if not math.isnan(estimate.p)]
    values = CORRECTIONS[correction](np.array([family[n].p for n in tested])).tolist()
    p_values = dict(zip(tested, values, strict=True))
    return [replace(estimate, p_corrected=p_values.get(n, math.nan)) for n, estimate in enumerate(family)]
