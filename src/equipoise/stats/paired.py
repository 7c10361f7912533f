"""Two models on the same sentences: differences with intervals, tests, and correction for many comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records import Estimate, Floats, Integers
from . import bounded, jackknife, means
from .bootstrap import percentile, weight_chunks
from .resampling import CHUNK_BYTES, Chunks, Copies, Statistic, evaluate

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
    are the differences of each cluster where the metric is a plain mean, else None, and `sizes` the items of each.
    """

    first: Sequence[Statistic]
    second: Sequence[Statistic]
    n: int
    width: float = math.inf
    units: Floats | None = None
    sizes: Floats | None = None

    @property
    def difference(self) -> float:
        """The first model's value minus the second's."""
        return _value(self.first) - _value(self.second)


ENOUGH_EXCHANGES = 5000
"""Exchanges behind every p-value."""
EXCHANGES_OF_A_TEST = 100
"""Exchanges for each test of a family, where a p-value is small: Holm's corrected p can then be as small as 0.01."""
MOST_EXCHANGES = 100_000
FEW_AS_LARGE = 10
"""With fewer exchanges that give as large a difference, a p-value is taken from more exchanges."""


@dataclass(frozen=True)
class Trial:
    """How differences are tested: `tests` is the number of tests in the family, `permutations` overrides what follows.

    Each p-value has 5,000 exchanges. Those that are small have 100 for each test of the family (at most 100,000), since
    a p-value is never below 1 / (exchanges + 1) and is multiplied by up to the number of tests.
    """

    resamples: int = 2000
    permutations: int | None = None
    level: float = 0.95
    seed: int = 0
    tests: int = 1

    @property
    def first(self) -> int:
        """The exchanges behind every p-value."""
        return ENOUGH_EXCHANGES if self.permutations is None else self.permutations

    @property
    def most(self) -> int:
        """The exchanges behind a small p-value."""
        if self.permutations is not None:
            return self.permutations
        return max(ENOUGH_EXCHANGES, min(MOST_EXCHANGES, EXCHANGES_OF_A_TEST * self.tests))

    def least_p(self, clusters: int) -> float:
        """Return the smallest p-value that this number of clusters can have: two of all 2^n exchanges are as large."""
        return max(1 / (self.most + 1), 2.0 ** (1 - clusters))


def paired_differences(contests: Sequence[Contest], *, clusters: int, trial: Trial | None = None) -> list[Estimate]:
    """Return the difference of every contest: the first model's value minus the second's, with a two-sided p-value.

    The interval is a percentile bootstrap, or where evidence is little a jackknife (`_estimate`).
    Both resample whole clusters: the interval draws them with replacement, the same for both models; the test
    exchanges the two models' answers within each cluster with probability 1/2, which changes nothing if the models do
    not differ (Fisher's paired permutation test). p counts the observed arrangement as one of them, so it is never
    smaller than 1 / (exchanges + 1).
    """
    trial = trial or Trial()
    intervals = paired_intervals(contests, clusters=clusters, trial=trial)
    p_values = _p_values(contests, clusters, trial)
    return [replace(interval, p=p) for interval, p in zip(intervals, p_values, strict=True)]


def paired_intervals(contests: Sequence[Contest], *, clusters: int, trial: Trial) -> list[Estimate]:
    """Return the difference of every contest with its interval, without a test."""
    samples = _differences(contests, weight_chunks(clusters, resamples=trial.resamples, seed=trial.seed))
    return [
        replace(_estimate(contest, resampled, trial), n=contest.n)
        for contest, resampled in zip(contests, samples, strict=True)
    ]


def _p_values(contests: Sequence[Contest], clusters: int, trial: Trial) -> list[float]:
    """Return the p-value of each contest; small ones come from more exchanges, where the family has many tests."""
    counts = _as_large(contests, clusters, _exchanges(clusters, trial.first, [trial.seed, 1]))
    small = [n for n, (as_large, _) in enumerate(counts) if as_large < FEW_AS_LARGE]
    if trial.most > trial.first and small:
        chunks = _exchanges(clusters, trial.most - trial.first, [trial.seed, 2])
        for n, more in zip(small, _as_large([contests[n] for n in small], clusters, chunks), strict=True):
            counts[n] = counts[n][0] + more[0], counts[n][1] + more[1]
    return [(as_large + 1) / (defined + 1) for as_large, defined in counts]


def _as_large(contests: Sequence[Contest], clusters: int, chunks: Chunks) -> list[tuple[int, int]]:
    """Return how many exchanges give a difference as large as the one seen, and in how many it is defined."""
    mixtures = _Mixtures(clusters)
    exchanged = [mixtures.contest(contest) for contest in contests]
    under_null = zip(contests, _differences(exchanged, chunks), strict=True)
    return [_counted(contest.difference, permuted) for contest, permuted in under_null]


def _counted(observed: float, permuted: Floats) -> tuple[int, int]:
    defined = permuted[~np.isnan(permuted)]
    return int((np.abs(defined) >= abs(observed) - TOLERANCE).sum()), len(defined)


def _estimate(contest: Contest, resampled: Floats, trial: Trial) -> Estimate:
    """Return a difference with its interval, which is never of zero width; none where the metric has no bounds."""
    value, width, units, level = contest.difference, contest.width, contest.units, trial.level
    present = np.unique(np.concatenate([s.clusters for s in (*contest.first, *contest.second)]))
    clusters = len(present)
    drawn = replace(
        percentile(value, resampled, level=level, units=clusters), method=PAIRED.format(resamples=trial.resamples)
    )
    if units is not None and math.isfinite(width):
        if bounded.is_enough(units, 2 * width):
            return drawn
        few = bounded.mean_interval(units, (-width, width), level=level, seed=trial.seed, counts=contest.sizes)
        return replace(few, value=value, low=min(few.low, value), high=max(few.high, value))
    if bounded.has_width(*drawn.ends, 2 * width) and clusters >= bounded.ENOUGH_UNITS:
        return drawn
    if jackknife.FEWEST <= clusters < bounded.ENOUGH_UNITS:
        return _left_out(contest, present, level)
    if not math.isfinite(width):
        return Estimate.alone(value, level=level, n=clusters, method="no interval: too few clusters")
    radius = bounded.hoeffding_radius([clusters, clusters], width, level=level)
    return Estimate.around(value, radius, (-width, width), level=level, n=clusters, method=bounded.HOEFFDING)


def _left_out(contest: Contest, present: Integers, level: float) -> Estimate:
    """Return a difference of any metric with the jackknife's interval."""
    value, scale, clusters = contest.difference, (-contest.width, contest.width), len(present)
    first, second = (jackknife.left_out_values(side, present) for side in (contest.first, contest.second))
    left_out = first - second
    if not np.isfinite(left_out).all():
        return Estimate.alone(value, level=level, n=clusters, method="no interval: undefined without some cluster")
    if not math.isfinite(contest.width):
        plain = jackknife.plain_interval(value, left_out, level=level)
        return Estimate(value, *plain, level, clusters, jackknife.PLAIN)
    # Where a metric is not made of means, an item counts as much as a cluster: more cannot be said.
    item = max((means.item_size(tables) if tables else 1.0) for tables in map(means.tables, contest.first))
    ends = jackknife.scale_interval(value, left_out, scale, item=item, level=level)
    return Estimate(value, *ends, level, clusters, jackknife.METHOD)


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


class _Mixtures:
    """Statistics over the rows of both models, each with its copy of the clusters: weights say who answers for whom.

    What several of them share, such as a column, is joined once.
    """

    def __init__(self, clusters: int) -> None:
        self._clusters = clusters
        self._copies = Copies()
        self._joined: dict[tuple[int, ...], tuple[Any, NDArray[Any]]] = {}
        """By the identity of what was joined, which is held so that nothing else has it."""

    def contest(self, contest: Contest) -> Contest:
        """Return the contest between two mixtures of the models (`_exchanges`)."""
        first = [self._mixed(a, b) for a, b in zip(contest.first, contest.second, strict=True)]
        # The other halves of the exchanges are of the same rows, by the last two copies of the clusters.
        second = [replace(statistic, numbers=self._moved(statistic.numbers, 2)) for statistic in first]
        return Contest(first, second, contest.n)

    def _mixed(self, first: Statistic, second: Statistic) -> Statistic:
        columns = [self._both(*pair) for pair in zip(first.columns, second.columns, strict=True)]
        numbers = self._both(first.numbers, self._moved(second.numbers, 1))
        shares = None
        if first.shares is not None and second.shares is not None:
            shares = self._both(first.shares, second.shares)
        rows = None
        if first.rows is not None or second.rows is not None:
            rows = self._once((numbers, first.rows, second.rows), lambda: _joined_rows(first, second))
        return Statistic(first.function, columns, numbers, rows, shares, copies=self._copies)

    def _both(self, first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
        return self._once((first, second), lambda: np.concatenate([first, second]))

    def _moved(self, numbers: Integers, copies: int) -> Integers:
        return self._once((numbers, copies), lambda: numbers + copies * self._clusters)

    def _once(self, sources: tuple[Any, ...], join: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Return what is joined of some sources; the same sources in the same order give the same array."""
        key = tuple(map(id, sources))
        if key not in self._joined:
            self._joined[key] = sources, join()
        return self._joined[key][1]


def _joined_rows(first: Statistic, second: Statistic) -> Integers:
    """Return the rows of two statistics among the items of both."""
    size = len(first.numbers)
    places = np.arange(size), np.arange(size, size + len(second.numbers))
    some = (every if s.rows is None else every[s.rows] for every, s in zip(places, (first, second), strict=True))
    return np.concatenate(list(some))


def _exchanges(clusters: int, permutations: int, seed: Sequence[int]) -> Chunks:
    """Return chunks of weights over four copies of the clusters.

    The first two are the share of each model in the one mixture, the last two in the other.
    """

    def chunks() -> Iterator[NDArray[np.float32]]:
        # A stream of its own: with the bootstrap's, the test would not be independent of the interval.
        rng = np.random.default_rng(seed)
        width = max(1, min(permutations, CHUNK_BYTES // (16 * clusters)))
        for start in range(0, permutations, width):
            size = (clusters, min(width, permutations - start))
            swapped = rng.integers(0, 2, size=size, dtype=np.int8)
            weights = np.empty((4, *size), dtype=np.float32)
            weights[1] = weights[2] = swapped
            weights[0] = weights[3] = 1 - swapped
            yield weights.reshape(4 * clusters, -1)
            del weights  # one chunk is held at a time

    return chunks


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
