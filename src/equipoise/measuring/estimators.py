"""Do uncertainty estimators agree? UCerF by estimator, rank correlations between them, and orders that they change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ..records import Booleans, EquipoiseError, Estimate, Floats, Strings
from ..stats import concordance
from ..stats.bootstrap import interval
from ..stats.ranks import Rank, rank_ranges
from .estimator_values import SetValues
from .evidence import NO_SPREAD

METHOD = "percentile bootstrap over clusters"
MOST_SETS = 1000
"""Correlations over sets look at every two sets: of more sets a random sample of this size is taken."""

SAME, CHANGED, OPEN = "same order", "order changes", "not settled"


@dataclass(frozen=True)
class Resamples:
    """How intervals are drawn."""

    resamples: int = 1000
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if self.resamples < 2:
            raise EquipoiseError(f"resamples must be at least 2, not {self.resamples}")
        if not 0 < self.level < 1:
            raise EquipoiseError(f"level must lie between 0 and 1, not {self.level}")


@dataclass(frozen=True)
class Standing:
    """A run's UCerF under one estimator; `rank` is a range where the intervals do not settle the order."""

    run: str
    estimator: str
    ucerf: Estimate
    rank: Rank


@dataclass(frozen=True)
class Agreement:
    """How alike two estimators order models, occupations or sets; `run` is empty for models."""

    over: str
    run: str
    first: str
    second: str
    kendall: Estimate
    spearman: Estimate


@dataclass(frozen=True)
class PairOrder:
    """Which of two runs has the higher UCerF: the estimators that settle it either way, and those that do not.

    All orders of a study hold together at the level (Bonferroni). `sides` are the sets that one estimator says the
    first run treats more alike, and another the second.
    """

    first: str
    second: str
    for_first: Sequence[str]
    for_second: Sequence[str]
    open: Sequence[str]
    sides: Strings
    sets: int

    @property
    def verdict(self) -> str:
        """Whether all estimators settle the same order, two settle opposite ones, or some settle none."""
        if self.for_first and self.for_second:
            return CHANGED
        return OPEN if self.open else SAME


@dataclass(frozen=True)
class Study:
    """What one dataset, task and type says about the estimators."""

    values: SetValues
    standings: Sequence[Standing]
    flips: Sequence[Estimate]
    agreements: Sequence[Agreement]
    orders: Sequence[PairOrder]
    crossing: Sequence[Strings]
    """By run: the sets that are in the least alike quarter under one estimator and not under another."""


def study(values: SetValues, plan: Resamples) -> Study:
    """Return standings, flips, correlations and orders, with intervals by resampling clusters."""
    weights = values.weights(resamples=plan.resamples, seed=plan.seed)
    drawn = values.means(weights)
    flips = [interval_of(f.mean(), (f @ weights) / weights.sum(axis=0), values.sets, plan) for f in values.flipped]
    return Study(
        values,
        list(_standings(values, drawn, plan)),
        flips,
        [*_over_models(values, drawn, plan), *_within_runs(values, weights, plan)],
        list(_orders(values, drawn, plan)),
        [values.set_ids[_crosses(by_estimator)] for by_estimator in values.values],
    )


def _crosses(values: Floats) -> Booleans:
    """Return the sets at or under the lower quartile by one estimator, and above it by another."""
    low = values <= np.quantile(values, 0.25, axis=1, keepdims=True) + concordance.TIE
    return np.asarray(low.any(axis=0) & ~low.all(axis=0))


def interval_of(value: float, samples: Floats, n: int, plan: Resamples, *, sets: int | None = None) -> Estimate:
    """Return a value with its interval; none has zero width. `sets` were resampled, where they are not the n."""
    low, high = interval(samples, level=plan.level, units=n if sets is None else sets)
    if high - low > concordance.TIE:
        return Estimate(float(value), low, high, plan.level, n, METHOD)
    return Estimate(float(value), np.nan, np.nan, plan.level, n, NO_SPREAD)


def _standings(values: SetValues, drawn: Floats, plan: Resamples) -> Iterator[Standing]:
    for place, estimator in enumerate(values.estimators):
        means = values.values[:, place].mean(axis=1)
        estimates = [interval_of(m, s, values.sets, plan) for m, s in zip(means, drawn[:, place], strict=True)]
        ranks = rank_ranges(estimates, higher=True, level=plan.level)
        for run, estimate, rank in zip(values.runs, estimates, ranks, strict=True):
            yield Standing(run, estimator, estimate, rank)


def _over_models(values: SetValues, drawn: Floats, plan: Resamples) -> Iterator[Agreement]:
    """Yield the agreement of the estimators about the order of the runs; nothing for a single run."""
    if len(values.runs) > 1:
        means = values.values.mean(axis=2)
        yield from _of_columns("models", "", values, (means.T[:, :, None], drawn.swapaxes(0, 1)), plan)


def _within_runs(values: SetValues, weights: NDArray[np.float32], plan: Resamples) -> Iterator[Agreement]:
    """Yield the agreement about the order of occupations and of sets, run by run."""
    chosen = np.arange(values.sets)
    if values.sets > MOST_SETS:
        chosen = np.sort(np.random.default_rng(plan.seed).choice(values.sets, MOST_SETS, replace=False))
    once = np.ones((values.sets, 1), dtype=np.float32)
    for number, run in enumerate(values.runs):
        names, means = values.group_means(number, once)
        if len(names) > 1:
            drawn = values.group_means(number, weights)[1]
            yield from _of_columns("occupations", run, values, (means, drawn), plan)
        yield from _of_sets(run, values.estimators, values.values[number][:, chosen], weights[chosen], plan)


def _of_columns(
    over: str, run: str, values: SetValues, means: tuple[Floats, Floats], plan: Resamples
) -> Iterator[Agreement]:
    """Yield agreements from means by estimator, unit and resample: those of all sets, and those of the resamples."""
    estimators = values.estimators
    for a, b in combinations(range(len(estimators)), 2):
        points, drawn = [(mean[a], mean[b]) for mean in means]
        correlations = [
            interval_of(function(*points)[0], function(*drawn), len(points[0]), plan, sets=values.sets)
            for function in (concordance.column_kendall, concordance.column_spearman)
        ]
        yield Agreement(over, run, estimators[a], estimators[b], *correlations)


def _of_sets(
    run: str, estimators: Sequence[str], values: Floats, weights: NDArray[np.float32], plan: Resamples
) -> Iterator[Agreement]:
    once = np.ones((values.shape[1], 1), dtype=np.float32)
    squares = [concordance.signs(row) for row in values]
    for a, b in combinations(range(len(estimators)), 2):
        kendall = [concordance.kendall(squares[a], squares[b], drawn) for drawn in (once, weights)]
        spearman = [concordance.spearman(values[a], values[b], drawn) for drawn in (once, weights)]
        correlations = [interval_of(point[0], drawn, values.shape[1], plan) for point, drawn in (kendall, spearman)]
        yield Agreement("sets", run, estimators[a], estimators[b], *correlations)


def _orders(values: SetValues, drawn: Floats, plan: Resamples) -> Iterator[PairOrder]:
    pairs = list(combinations(range(len(values.runs)), 2))
    tests = len(pairs) * len(values.estimators)
    if not tests:
        return
    bound = NormalDist().inv_cdf(1 - (1 - plan.level) / (2 * tests))
    means = values.values.mean(axis=2)
    for a, b in pairs:
        gaps = means[a] - means[b]
        errors = np.std(drawn[a] - drawn[b], axis=1, ddof=1)
        settled = np.where(np.abs(gaps) > bound * errors, np.sign(gaps), 0)
        by_sign: dict[int, list[str]] = {1: [], -1: [], 0: []}
        for estimator, sign in zip(values.estimators, settled, strict=True):
            by_sign[int(sign)].append(estimator)
        apart = values.values[a] - values.values[b]
        sides = (apart > concordance.TIE).any(axis=0) & (apart < -concordance.TIE).any(axis=0)
        names = (values.runs[a], values.runs[b])
        yield PairOrder(*names, by_sign[1], by_sign[-1], by_sign[0], values.set_ids[sides], values.sets)
