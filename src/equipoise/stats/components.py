"""Variance components of a fully crossed table: how much of the spread each factor and each interaction makes.

The table has one value for each combination of wording, sentence and group. Mean squares are solved for the components
(analysis of variance; Searle, Casella & McCulloch 1992, chapter 4), so that each estimate is unbiased. Intervals are
generalised ones (Weerahandi 1993): mean squares are drawn by the chi-square distribution and solved again. The degrees
of freedom of sentences follow from how unequal they are, so that they need not be normal; of wordings it is assumed.
Groups are all there are (a mixed model with fixed groups, whose effects add up to 0): a factor without them is about
the mean over groups, so its mean square leaves out what differs between groups, and a component with them is the
mean square of effects over all groups. So the components add up to the variance of a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np

from ..records import Estimate, Floats, UndefinedMetric

METHOD = "analysis of variance; generalised interval (Weerahandi 1993)"
NOTHING = "no interval: the component is 0 in all draws"
CROSS = " × "
Factors = tuple[str, ...]


@dataclass(frozen=True)
class Component:
    """One factor or interaction: its variance, and its share of all variance."""

    name: str
    variance: Estimate
    share: Estimate


@dataclass(frozen=True)
class Table:
    """Values by factor, in the order of `factors`; `resampled` names the sentences, `fixed` the groups or ""."""

    values: Floats
    factors: Factors
    resampled: str
    fixed: str = ""

    def __post_init__(self) -> None:
        small = [name for name, size in self.sizes.items() if size < 2]
        if small:
            raise UndefinedMetric(f"variance components need at least two of each factor; {small[0]} has one")
        if np.isnan(self.values).any():
            raise UndefinedMetric("variance components need a value for every combination")

    @property
    def sizes(self) -> Mapping[str, int]:
        """The number of levels of each factor."""
        return dict(zip(self.factors, self.values.shape, strict=True))

    @property
    def subsets(self) -> list[Factors]:
        """The factors, then their interactions, the highest last."""
        sizes = range(1, len(self.factors) + 1)
        return list(chain.from_iterable(combinations(self.factors, size) for size in sizes))

    def freedom(self, subset: Factors) -> int:
        """Return the degrees of freedom of a factor or interaction."""
        return int(np.prod([self.sizes[name] - 1 for name in subset]))

    def spread_over(self, subset: Factors) -> float:
        """Return what turns the mean square of a fixed factor, by its degrees of freedom, into one over its levels."""
        return 1 - 1 / self.sizes[self.fixed] if self.fixed in subset else 1.0

    def others(self, subset: Factors) -> int:
        """Return how many values are averaged for each level of a factor or interaction."""
        return int(np.prod([size for name, size in self.sizes.items() if name not in subset]))


def components(table: Table, *, level: float = 0.95, draws: int = 2000, seed: int = 0) -> list[Component]:
    """Return the component of each factor and interaction with an interval; the last also holds all other noise."""
    squares = {subset: np.array([_mean_square(table, subset)]) for subset in table.subsets}
    drawn = dict(_drawn(table, squares, draws, seed))
    variances = _solved(table, squares)
    variations = _solved(table, drawn)
    if table.fixed:
        variations[table.fixed,] = _drawn_effects(table, squares, draws, seed)
    totals = _positive_sum(variances), _positive_sum(variations)
    rows = []
    for subset in table.subsets:
        n = int(np.prod([table.sizes[name] for name in subset]))
        shares = np.maximum(variances[subset], 0) / totals[0], np.maximum(variations[subset], 0) / totals[1]
        variance = _estimate(variances[subset], variations[subset], level, n)
        rows.append(Component(CROSS.join(subset), variance, _estimate(*shares, level, n)))
    return rows


def _estimate(value: Floats, samples: Floats, level: float, n: int) -> Estimate:
    low, high = np.quantile(np.maximum(samples, 0.0), [(1 - level) / 2, (1 + level) / 2])
    if not high > low:
        return Estimate(max(float(value[0]), 0.0), np.nan, np.nan, level, n, NOTHING)
    return Estimate(max(float(value[0]), 0.0), float(low), float(high), level, n, METHOD)


def _positive_sum(variances: Mapping[Factors, Floats]) -> Floats:
    total: Floats = np.sum([np.maximum(values, 0) for values in variances.values()], axis=0)
    if (total <= 0).any():
        raise UndefinedMetric("all values are equal: there is no variance to divide")
    return total


def _effects(table: Table, subset: Factors, *, within: str = "") -> Floats:
    """Return the effects of a factor or interaction: means less the effects of all that it contains.

    They are of the whole table, or within each level of a factor.
    """
    effects: Floats = table.values
    for axis, name in enumerate(table.factors):
        if name == within:
            continue
        mean = effects.mean(axis=axis, keepdims=True)
        effects = effects - mean if name in subset else mean
    return effects


def _mean_square(table: Table, subset: Factors) -> float:
    return table.others(subset) * float((_effects(table, subset) ** 2).sum()) / table.freedom(subset)


def _solved(table: Table, squares: Mapping[Factors, Floats]) -> dict[Factors, Floats]:
    """Return the components that have these mean squares as their expectation."""
    solved = {}
    for subset in table.subsets:
        above = [other for other in table.subsets if set(subset) <= set(other) and _is_alike(table, subset, other)]
        signs = [(-1) ** (len(other) - len(subset)) for other in above]
        total = np.sum([sign * squares[other] for sign, other in zip(signs, above, strict=True)], axis=0)
        solved[subset] = table.spread_over(subset) * total / table.others(subset)
    return solved


def _is_alike(table: Table, subset: Factors, other: Factors) -> bool:
    """Return whether both hold the fixed factor, or neither does: its effects add up to 0, so they touch no others."""
    return (table.fixed in subset) == (table.fixed in other)


def _drawn(table: Table, squares: Mapping[Factors, Floats], draws: int, seed: int) -> Iterator[tuple[Factors, Floats]]:
    """Yield draws of every mean square, by the chi-square distribution with its degrees of freedom."""
    rng = np.random.default_rng(seed)
    for subset in table.subsets:
        freedom: float = table.freedom(subset)
        if table.resampled in subset:
            freedom = min(freedom, _freedom_of_sentences(table, subset, float(squares[subset][0])))
        yield subset, squares[subset] * freedom / rng.chisquare(freedom, draws)


def _freedom_of_sentences(table: Table, subset: Factors, mean_square: float) -> float:
    """Return the degrees of freedom that a mean square has by its variance over sentences (Satterthwaite)."""
    profiles = _profiles(table, tuple(name for name in subset if name != table.resampled))
    units = len(profiles)
    parts = ((profiles - profiles.mean(axis=0)) ** 2).sum(axis=1)
    scaled = parts * table.others(subset) * units / table.freedom(subset)
    variance = float(scaled.var(ddof=1)) / units
    # 2 m^2 / var is n - 1 for normal sentences, and less where few sentences make most of the spread.
    return max(1.0, 2 * mean_square**2 / variance) if variance > 0 else float(table.freedom(subset))


def _profiles(table: Table, subset: Factors) -> Floats:
    """Return the effects of the other factors within each sentence: one row for each sentence."""
    effects = _effects(table, subset, within=table.resampled)
    place = table.factors.index(table.resampled)
    return np.moveaxis(effects, place, 0).reshape(table.sizes[table.resampled], -1)


def _drawn_effects(table: Table, squares: Mapping[Factors, Floats], draws: int, seed: int) -> Floats:
    """Return the mean square of the fixed factor's effects, drawn around the effects that were seen."""
    fixed = (table.fixed,)
    effects = _effects(table, fixed).reshape(-1)
    above = [subset for subset in table.subsets if table.fixed in subset and subset != fixed]
    error = sum((-1) ** len(subset) * float(squares[subset][0]) for subset in above)
    error = max(error, min(float(squares[subset][0]) for subset in above)) / table.others(fixed)
    noise = np.random.default_rng([seed, 1]).normal(0, np.sqrt(error), (draws, len(effects)))
    drawn = effects + noise - noise.mean(axis=1, keepdims=True)
    mean_square: Floats = (drawn**2).mean(axis=1)
    return mean_square
