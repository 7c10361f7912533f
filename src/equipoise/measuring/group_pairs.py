"""Sets of more than two groups: every pair of groups by name, as if the others were not there.

U, flips and the difference of every pair, with intervals; p-values of the differences are corrected by Holm over all
pairs of a type, so that they hold for all pairs at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from ..metrics import Metric
from ..records import ABSENT, Estimate, Integers, Outcomes, Strings
from ..stats.paired import Trial
from ..uncertainty import PERPLEXITY
from .cells import by_value
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


def member_names(outcomes: Outcomes) -> Strings:
    """Return whom each item of a set is about: the pronoun, or the group of a text without one; "" if unknown."""
    gender = outcomes.group("gender")
    if (gender != "").any():
        return np.array([PRONOUNS.get(name, name) for name in gender.tolist()], dtype=object)
    return outcomes.group("group")


def group_pairs(items: Items) -> list[GroupPair]:
    """Return every pair of groups that some set has both of, in the order in which the groups appear."""
    members, names = items.members, member_names(items.outcomes)
    inside = members != ABSENT
    groups = [name for name in dict.fromkeys(names.tolist()) if name]
    places = {name: inside & (names[members] == name) for name in groups}
    pairs = []
    for first, second in combinations(groups, 2):
        both = (places[first].sum(axis=1) == 1) & (places[second].sum(axis=1) == 1)
        if both.any():
            rows = [members[both, places[name][both].argmax(axis=1)] for name in (first, second)]
            pairs.append(GroupPair(first, second, (rows[0], rows[1])))
    return pairs


def group_pair_rows(items: Items, plan: Plan) -> list[Measured]:
    """Return the metrics of sets for every pair of groups, and their differences; nothing where there is one pair."""
    pairs = group_pairs(items)
    if len(pairs) < 2:
        return []
    metrics = [metric for metric in plan.metrics if metric.unit == "sets"]
    rows: list[Measured] = []
    for pair in pairs:
        alone = Items(items.outcomes.take(np.sort(np.concatenate(pair.rows))), plan.disparity)
        points, _ = measured_points(alone, replace(plan, metrics=metrics, by=()))
        rows += [row._replace(parts={**row.parts, "pair": pair.name}) for row in estimates(points, alone, plan)]
    return [*rows, *with_families(list(_differences(items, pairs, plan)))]


def _differences(items: Items, pairs: Sequence[GroupPair], plan: Plan) -> Iterator[Measured]:
    """Yield first - second of every pair with its p-value, by type."""
    outcomes = items.outcomes
    types = by_value(outcomes.group("type")) or [("", np.arange(len(outcomes)))]
    for metric, (kind, rows) in product([metric for metric in plan.metrics if metric.unit == "pair"], types):
        column = metric.inputs[0].removesuffix("_apart")
        if column == "desirability" and not outcomes.answerable[rows].all():
            continue
        tested = [pair for pair in (_of_type(pair, rows) for pair in pairs) if len(pair.rows[0])]
        for pair, estimate in zip(tested, _estimates(items, tested, metric, column, plan), strict=True):
            parts = {"pair": pair.name, **({"type": kind} if kind else {})}
            yield Measured(metric, metric.name, parts, estimate)


def _of_type(pair: GroupPair, rows: Integers) -> GroupPair:
    kept = np.isin(pair.rows[0], rows)
    return replace(pair, rows=(pair.rows[0][kept], pair.rows[1][kept]))


def _estimates(items: Items, pairs: Sequence[GroupPair], metric: Metric, column: str, plan: Plan) -> Iterator[Estimate]:
    """Yield the difference of every pair, with the p-value of exchanging the two groups within clusters."""
    values, clusters = items.columns(PERPLEXITY)[column], items.clusters
    sides = [(values[pair.rows[0]], values[pair.rows[1]], clusters[pair.rows[0]]) for pair in pairs]
    sets = [len(set(items.outcomes.set_id[pair.rows[0]].tolist())) for pair in pairs]
    if plan.intervals:
        trial = Trial(plan.resamples, plan.permutations, plan.level, plan.seed)
        several = paired_means(sides, metric.bounds, int(clusters.max()) + 1, trial)
    else:
        values_alone = [float(np.mean(first - second)) for first, second, _ in sides]
        several = [Estimate.alone(value, level=plan.level, n=0, method="value alone") for value in values_alone]
    for estimate, n in zip(several, sets, strict=True):
        yield replace(estimate, n=n)
