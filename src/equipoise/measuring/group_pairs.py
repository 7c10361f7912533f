"""Sets of more than two groups, and all decisions: every pair of groups by name, as if the others were not there.

U, flips and the difference of every pair, with intervals; p-values of the differences are then corrected with all
claims of the run (claims.py), that of a ratio by Holm over the pairs of a type. Where people differ in several
attributes at once (age, gender and race), two groups are compared between people who are alike in the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from ..metrics import Metric
from ..metrics.columns import HIDDEN_GROUPS
from ..metrics.decisions import log_mean
from ..records import ABSENT, Estimate, Floats, Integers, Outcomes, Strings
from ..stats.bootstrap import of_names
from ..stats.paired import Contest, Trial, paired_differences
from ..stats.resampling import Statistic
from ..uncertainty import PERPLEXITY
from .cells import by_type, of_type
from .evidence import paired_means
from .items import Items
from .measure import Measured, Plan, estimates, measured_points, with_families

PRONOUNS = {"male": "he", "female": "she", "neutral": "they"}
"""The genders by the pronoun that stands for them; every other group of pronouns is named after its own."""


@dataclass(frozen=True)
class GroupPair:
    """Two groups, and the rows of both in sets that have both, set by set."""

    first: str
    second: str
    rows: tuple[Integers, Integers]

    @property
    def name(self) -> str:
        """The pair as measurements name it."""
        return f"{self.first}|{self.second}"

    def among(self, rows: Integers) -> GroupPair:
        """Return the pair in the sets whose items are among the rows."""
        kept = np.isin(self.rows[0], rows)
        return replace(self, rows=(self.rows[0][kept], self.rows[1][kept]))


def member_names(outcomes: Outcomes) -> Strings:
    """Return whom each item of a set is about: the pronoun, or the group of a text without one; "" if unknown."""
    gender = outcomes.group("gender")
    if (gender != "").any():
        return of_names(lambda name: PRONOUNS.get(name, name), gender)
    return outcomes.group("group")


def attributes(items: Items) -> list[Strings]:
    """Return the columns that tell the members of a set apart: one, or several where decisions cross them."""
    outcomes = items.outcomes
    if not items.applicable["decisions"].any() or (outcomes.group("group") != "").any():
        return [member_names(outcomes)]
    names = [name for name in outcomes.groups if name not in HIDDEN_GROUPS]
    return [outcomes.groups[name] for name in names if not items.constant_within_sets(outcomes.groups[name])]


def group_pairs(items: Items) -> list[GroupPair]:
    """Return every pair of groups that some set has both of, in the order in which the groups appear."""
    columns = attributes(items)
    pairs: list[GroupPair] = []
    for number, names in enumerate(columns):
        others = [*columns[:number], *columns[number + 1 :]]
        pairs += _pairs(names, items.matched(*others) if others else items.members)
    return pairs


def _pairs(names: Strings, members: Integers) -> Iterator[GroupPair]:
    inside = members != ABSENT
    groups = [name for name in dict.fromkeys(names.tolist()) if name]
    places = {name: inside & (names[members] == name) for name in groups}
    for first, second in combinations(groups, 2):
        both = (places[first].sum(axis=1) == 1) & (places[second].sum(axis=1) == 1)
        if both.any():
            rows = [members[both, places[name][both].argmax(axis=1)] for name in (first, second)]
            yield GroupPair(first, second, (rows[0], rows[1]))


def compared_pairs(items: Items) -> list[GroupPair]:
    """Return the pairs if they say more than the whole: there are several, or decisions, whose whole names no group."""
    decides = bool(items.applicable["decisions"].any())
    if not decides and all(len(items.group_numbers(name)[1]) < 3 for name in ("gender", "group")):
        return []  # two groups are one pair
    pairs = group_pairs(items)
    return pairs if decides or len(pairs) > 1 else []


def group_pair_rows(items: Items, plan: Plan) -> list[Measured]:
    """Return the metrics of sets for every pair of groups, and their differences; nothing where there is one pair."""
    pairs = compared_pairs(items)
    if not pairs:
        return []
    metrics = [metric for metric in plan.metrics if metric.unit == "sets"]
    rows: list[Measured] = []
    for pair in pairs if len(attributes(items)) == 1 else ():
        alone = Items(items.outcomes.take(np.sort(np.concatenate(pair.rows))), plan.disparity)
        points, _ = measured_points(alone, replace(plan, metrics=metrics, by=()))
        rows += [row._replace(parts={**row.parts, "pair": pair.name}) for row in estimates(points, alone, plan)]
    return [*rows, *with_families(list(_differences(items, pairs, plan)))]


def compared_column(metric: Metric) -> str:
    """Return the column of items whose values a metric of pairs compares."""
    return metric.inputs[0].removesuffix("_apart")


def _differences(items: Items, pairs: Sequence[GroupPair], plan: Plan) -> Iterator[Measured]:
    """Yield first - second of every pair with its p-value, by type; of some metrics their ratio."""
    outcomes = items.outcomes
    metrics = [metric for metric in plan.metrics if metric.unit == "pair"]
    for metric, (kind, rows) in product(metrics, by_type(items)):
        column = compared_column(metric)
        if column == "desirability" and not outcomes.answerable[rows].all():
            continue
        rows = rows[items.applicable[metric.applies_to][rows]]
        tested = [pair for pair in (pair.among(rows) for pair in pairs) if len(pair.rows[0])]
        for pair, estimate in zip(tested, _estimates(items, tested, metric, column, plan), strict=True):
            parts = {"pair": pair.name, **of_type(kind)}
            yield Measured(metric, metric.name, parts, estimate)


def _estimates(items: Items, pairs: Sequence[GroupPair], metric: Metric, column: str, plan: Plan) -> Iterator[Estimate]:
    """Yield the difference of every pair, with the p-value of exchanging the two groups within clusters."""
    values, clusters = items.columns(PERPLEXITY)[column], items.clusters
    sides = [(values[pair.rows[0]], values[pair.rows[1]], clusters[pair.rows[0]]) for pair in pairs]
    sets = [len(set(items.outcomes.set_id[pair.rows[0]].tolist())) for pair in pairs]
    trial = Trial(plan.resamples, plan.permutations, plan.level, plan.seed)
    compare = _ratios if metric.interval == "ratio" else _mean_differences
    several = compare(sides, metric, items.cluster_count, trial if plan.intervals else None)
    for estimate, n in zip(several, sets, strict=True):
        yield replace(estimate if plan.intervals else _alone(estimate.value, plan.level), n=n)


Sides = Sequence[tuple[Floats, Floats, Integers]]
"""The values of both groups set by set, and the number of each one's cluster."""


def _mean_differences(sides: Sides, metric: Metric, clusters: int, trial: Trial | None) -> list[Estimate]:
    if trial is None:
        return [_alone(float(np.mean(first - second)), 0.0) for first, second, _ in sides]
    return paired_means(sides, metric.bounds[1], clusters, trial)


def _ratios(sides: Sides, metric: Metric, clusters: int, trial: Trial | None) -> list[Estimate]:
    """Return the ratio of the means of each pair: intervals and tests are those of the difference of logarithms."""
    if trial is None:
        return [_alone(float(first.mean() / second.mean()), 0.0) for first, second, _ in sides]
    contests = [
        Contest([Statistic(log_mean, [first], numbers)], [Statistic(log_mean, [second], numbers)], len(first))
        for first, second, numbers in sides
    ]
    logarithms = paired_differences(contests, clusters=clusters, trial=trial)
    return [
        replace(e, value=float(np.exp(e.value)), low=float(np.exp(e.low)), high=float(np.exp(e.high)))
        for e in logarithms
    ]


def _alone(value: float, level: float) -> Estimate:
    return Estimate.alone(value, level=level, n=0, method="value alone")
