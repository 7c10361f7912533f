"""Do uncertainty estimators agree? UCerF by estimator, rank correlations between them, and orders that they change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..metrics import METRICS
from ..records import Booleans, EquipoiseError, Estimate, Floats, Integers, Strings, UndefinedMetric
from ..stats import concordance
from ..stats.bootstrap import cluster_numbers, percentile, resampling_units, weight_chunks
from ..stats.paired import Contest, Trial, corrected, is_detected, paired_differences
from ..stats.ranks import Rank, ranks_of
from ..stats.resampling import Statistic
from ..uncertainty import ESTIMATORS, Estimator
from .conformal import is_calibratable
from .ensembles import is_worded
from .evidence import NO_SPREAD, Evidence, mean_contest
from .items import Items

METHOD = "percentile bootstrap over clusters"
MOST_SETS = 1000
"""Correlations over sets look at every two sets: of more sets a random sample of this size is taken."""

ALIKE = 1e-9
"""Estimators whose values all lie closer than this are one: margin and top probability with two candidates."""

SAME, CHANGED, OPEN = "same order", "order changes", "not settled"


@dataclass(frozen=True)
class SetValues:
    """U by run, estimator and set, and the changed answers by run and set; sets are averaged over option orders.

    `clusters` numbers the resampling unit of each set, `groups` names its occupation ("" where it has none). `axis`
    says what `estimators` names: estimators, or the wordings of the question.
    """

    runs: Sequence[str]
    estimators: Sequence[str]
    values: Floats
    flipped: Floats
    set_ids: Strings
    clusters: Integers
    groups: Strings
    axis: str = "estimator"
    calibrated: Sequence[str] = ()
    """Estimators with a threshold from the run's own labels, whose noise is common to all sets."""

    @property
    def tested(self) -> list[int]:
        """The places of the estimators by which an order of runs can be tested."""
        return [place for place, name in enumerate(self.estimators) if name not in self.calibrated]

    @property
    def sets(self) -> int:
        """The number of sets."""
        return len(self.set_ids)

    @cached_property
    def units(self) -> Integers:
        """The number of each set's resampling unit: its cluster, or a group of clusters where there are many."""
        return resampling_units(self.clusters)

    def weights(self, *, resamples: int, seed: int) -> NDArray[np.float32]:
        """Return how often each unit was drawn in each resample, as (units, resamples)."""
        chunks = weight_chunks(int(self.units.max()) + 1, resamples=resamples, seed=seed)
        return np.concatenate(list(chunks()), axis=1)

    def drawn_mean(self, by_set: Floats, weights: NDArray[np.float32]) -> Floats:
        """Return the mean of a value of each set in every resample."""
        means: Floats = (np.bincount(self.units, by_set) @ weights) / (np.bincount(self.units) @ weights)
        return means

    def means(self, weights: NDArray[np.float32]) -> Floats:
        """Return UCerF by run, estimator and resample."""
        return np.array([[self.drawn_mean(row, weights) for row in by_estimator] for by_estimator in self.values])

    def group_means(self, run: int, weights: NDArray[np.float32]) -> tuple[Strings, Floats]:
        """Return the occupations, and UCerF of each by estimator, occupation and resample; NaN where none was drawn."""
        names = np.array(sorted(set(self.groups.tolist()) - {""}), dtype=object)
        inside = self.groups != ""
        shape = len(names), len(weights)
        cells = np.searchsorted(names, self.groups[inside]) * len(weights) + self.units[inside]

        def drawn(by_set: Floats | None = None) -> Floats:
            by_unit = np.bincount(cells, None if by_set is None else by_set[inside], minlength=shape[0] * shape[1])
            return np.asarray(by_unit.reshape(shape) @ weights, dtype=np.float64)

        with np.errstate(invalid="ignore", divide="ignore"):
            return names, np.stack([drawn(by_set) for by_set in self.values[run]]) / drawn()


@dataclass(frozen=True)
class Resamples:
    """How intervals are drawn; tests are corrected for all `parts` of a study (types of sentences, metrics)."""

    resamples: int = 1000
    level: float = 0.95
    seed: int = 0
    parts: int = 1

    def __post_init__(self) -> None:
        if self.resamples < 2:
            raise EquipoiseError(f"resamples must be at least 2, not {self.resamples}")
        if not 0 < self.level < 1:
            raise EquipoiseError(f"level must lie between 0 and 1, not {self.level}")


@dataclass(frozen=True)
class Standing:
    """A run's UCerF under one estimator; `rank` is a range where the tests do not settle the order."""

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

    An order is settled where comparisons would detect a difference, corrected over all orders (Holm). `sides` are the
    sets that one estimator says the first run treats more alike, and another the second.
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


Known = Mapping[tuple[str, str], Estimate]
"""What a run has measured already, by run and estimator (or wording): one number has one interval everywhere."""

FLIPS = "flip rate"
"""The place of flips among what is known."""


def study(values: SetValues, plan: Resamples, known: Known | None = None) -> Study:
    """Return standings, flips, correlations and orders, with intervals by resampling clusters.

    What is `known` is shown as it was measured; other values have the interval that a measurement would have.
    """
    known = known or {}
    weights = values.weights(resamples=plan.resamples, seed=plan.seed)
    drawn = values.means(weights)
    flips = [
        known.get((run, FLIPS)) or set_estimate("flip_rate", flipped, values, weights, plan)
        for run, flipped in zip(values.runs, values.flipped, strict=True)
    ]
    orders = list(_orders(values, plan))
    return Study(
        values,
        list(_standings(values, weights, plan, known, orders)),
        flips,
        [*_over_models(values, drawn, plan), *_within_runs(values, weights, plan)],
        orders,
        [values.set_ids[_crosses(by_estimator)] for by_estimator in values.values],
    )


def _crosses(values: Floats) -> Booleans:
    """Return the sets at or under the lower quartile by one estimator, and above it by another."""
    low = values <= np.quantile(values, 0.25, axis=1, keepdims=True) + concordance.TIE
    return np.asarray(low.any(axis=0) & ~low.all(axis=0))


def set_estimate(
    name: str, by_set: Floats, values: SetValues, weights: NDArray[np.float32], plan: Resamples
) -> Estimate:
    """Return the mean of a value of each set, with the interval that an audit gives that metric (evidence.py)."""
    metric = METRICS[name]
    statistic = Statistic(metric.function, [by_set], values.clusters)
    evidence = Evidence(metric, [statistic], float(by_set.mean()), 2, plan.level, plan.seed)
    samples = values.drawn_mean(by_set, weights) if evidence.needs_resamples else None
    return replace(evidence.estimate(samples), n=values.sets)


def interval_of(value: float, samples: Floats, n: int, plan: Resamples, *, sets: int | None = None) -> Estimate:
    """Return a value with its interval; none has zero width. `sets` were resampled, where they are not the n."""
    estimate = percentile(value, samples, level=plan.level, units=n if sets is None else sets)
    if estimate.width > concordance.TIE:
        return replace(estimate, n=n, method=METHOD)
    return Estimate.alone(value, level=plan.level, n=n, method=NO_SPREAD)


def correlation_of(value: float, samples: Floats, n: int, plan: Resamples, *, sets: int | None = None) -> Estimate:
    """Return a correlation with its interval.

    A resample holds some sets twice, which are tied with themselves, so resampled correlations are off to one side of
    the value. Their spread around their own mean is put around the value.
    """
    centred = np.clip(samples - np.nanmean(samples) + value, -1.0, 1.0) if not np.isnan(samples).all() else samples
    estimate = interval_of(value, centred, n, plan, sets=sets)
    return replace(estimate, low=min(estimate.low, value), high=max(estimate.high, value))


def _standings(
    values: SetValues, weights: NDArray[np.float32], plan: Resamples, known: Known, orders: Sequence[PairOrder]
) -> Iterator[Standing]:
    """Yield each run by each estimator; two runs are ranked apart where their order is tested and found."""
    for place, estimator in enumerate(values.estimators):
        estimates = [
            known.get((run, estimator)) or set_estimate("ucerf", values.values[at, place], values, weights, plan)
            for at, run in enumerate(values.runs)
        ]
        better = {(order.first, order.second) for order in orders if estimator in order.for_first}
        better |= {(order.second, order.first) for order in orders if estimator in order.for_second}
        apart = np.array([[(run, other) in better for other in values.runs] for run in values.runs])
        for run, estimate, rank in zip(values.runs, estimates, ranks_of(apart), strict=True):
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
    once = np.ones((len(weights), 1), dtype=np.float32)
    for number, run in enumerate(values.runs):
        names, means = values.group_means(number, once)
        if len(names) > 1:
            drawn = values.group_means(number, weights)[1]
            yield from _of_columns("occupations", run, values, (means, drawn), plan)
        yield from _of_sets(
            run, values.estimators, values.values[number][:, chosen], weights[values.units[chosen]], plan
        )


def _of_columns(
    over: str, run: str, values: SetValues, means: tuple[Floats, Floats], plan: Resamples
) -> Iterator[Agreement]:
    """Yield agreements from means by estimator, unit and resample: those of all sets, and those of the resamples."""
    estimators = values.estimators
    for a, b in combinations(range(len(estimators)), 2):
        points, drawn = [(mean[a], mean[b]) for mean in means]
        correlations = [
            correlation_of(function(*points)[0], function(*drawn), len(points[0]), plan, sets=values.sets)
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
        correlations = [correlation_of(point[0], drawn, values.shape[1], plan) for point, drawn in (kendall, spearman)]
        yield Agreement("sets", run, estimators[a], estimators[b], *correlations)


def _orders(values: SetValues, plan: Resamples) -> Iterator[PairOrder]:
    """Yield the order of every two runs, by the test of a difference that comparisons use."""
    pairs = list(combinations(range(len(values.runs)), 2))
    contests = [
        mean_contest(values.values[a, place], values.values[b, place], values.clusters, 1.0)
        for a, b in pairs
        for place in values.tested
    ]
    if not contests:
        return
    tests = tested(contests, values, plan)
    names = [values.estimators[place] for place in values.tested]
    count = len(names)
    for place, (a, b) in enumerate(pairs):
        by_sign: dict[int, list[str]] = {1: [], -1: [], 0: []}
        for estimator, test in zip(names, tests[place * count : (place + 1) * count], strict=True):
            by_sign[int(np.sign(test.value)) if is_detected(test) else 0].append(estimator)
        apart = values.values[a] - values.values[b]
        sides = (apart > concordance.TIE).any(axis=0) & (apart < -concordance.TIE).any(axis=0)
        both = (values.runs[a], values.runs[b])
        yield PairOrder(*both, by_sign[1], by_sign[-1], by_sign[0], values.set_ids[sides], values.sets)


def tested(contests: Sequence[Contest], values: SetValues, plan: Resamples) -> list[Estimate]:
    """Return the differences as comparisons test them, corrected over all of them and the parts of the study."""
    trial = Trial(plan.resamples, None, plan.level, plan.seed, plan.parts * len(contests))
    tests = corrected(paired_differences(contests, clusters=int(values.clusters.max()) + 1, trial=trial))
    return [replace(test, p_corrected=min(1.0, plan.parts * test.p_corrected)) for test in tests]


def usable_estimators(runs: Sequence[Items]) -> list[Estimator]:
    """Return the estimators that all runs have what is needed for: candidates, or sums over the whole vocabulary."""
    return [estimator for estimator in ESTIMATORS.values() if all(is_usable(estimator, items) for items in runs)]


def is_usable(estimator: Estimator, items: Items) -> bool:
    """Return whether the items have what the estimator needs."""
    if estimator.over == "wordings":
        return is_worded(items.outcomes)
    if estimator.over == "labels":
        return is_calibratable(items.outcomes)
    if estimator.over == "open answers":
        # A greedy answer has certainty 1 by construction.
        return bool(items.open_answers.all()) and bool((items.outcomes.probs.max(axis=1) < 1 - 1e-9).any())
    return not estimator.reduction or estimator.reduction in items.outcomes.reductions


def set_values(runs: Mapping[str, Items], rows: Integers, column: str, estimators: Sequence[Estimator]) -> SetValues:
    """Return the values of `column` (`u` or `u_signed`) of all sets among the rows; all runs have the same items.

    Estimators that give the same values are named together, as "margin, top-probability".
    """
    first = next(iter(runs.values()))
    places = first.firsts_among(rows)
    if not len(places):
        raise UndefinedMetric("no counterfactual set: a comparison of estimators needs sets with two members")
    codes = cluster_numbers(first.outcomes.set_id[places])
    firsts = places[np.unique(codes, return_index=True)[1]]
    counts = np.bincount(codes)

    def by_set(items: Items, name: str, estimator: Estimator | None = None) -> Floats:
        columns = items.shared if estimator is None else items.columns(estimator)
        return np.bincount(codes, columns[name][places]) / counts

    values = np.array([[by_set(items, column, estimator) for estimator in estimators] for items in runs.values()])
    names, kept = _distinct(values, [estimator.name for estimator in estimators])
    return SetValues(
        runs=list(runs),
        estimators=names,
        values=values[:, kept],
        flipped=np.array([by_set(items, "flipped") for items in runs.values()]),
        set_ids=first.outcomes.set_id[firsts],
        clusters=cluster_numbers(first.outcomes.cluster_id[firsts]),
        groups=first.outcomes.group("occupation")[firsts],
        calibrated=[estimator.name for estimator in estimators if estimator.over == "labels"],
    )


def _distinct(values: Floats, names: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return the names with equal estimators joined, and the place of the first of each."""
    together: dict[int, list[str]] = {}
    for place, name in enumerate(names):
        alike = [other for other in together if np.abs(values[:, other] - values[:, place]).max() < ALIKE]
        together.setdefault(alike[0] if alike else place, []).append(name)
    return [", ".join(equal) for equal in together.values()], list(together)
