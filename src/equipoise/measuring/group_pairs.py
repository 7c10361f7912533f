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
from ..metrics.groups import mean
from ..records import ABSENT, Estimate, Integers, Measurement, Outcomes, RunKey, Strings, group_label
from ..stats.bootstrap import weight_chunks
from ..stats.paired import Contest, Trial, holm, paired_differences
from ..stats.resampling import Statistic, evaluate
from ..uncertainty import PERPLEXITY
from .cells import by_value
from .evidence import Evidence, interval
from .items import Items
from .measure import Plan, measure

PRONOUNS = {"male": "he", "female": "she", "neutral": "they"}
"""The genders by the pronoun that stands for them; every other group of pronouns is named after its own."""

DIFFERENCES = {"certainty": "certainty_difference", "desirability": "desirability_difference"}
"""Column -> the metric that is its difference between two groups."""

EXCHANGES = "random exchanges of the two groups within clusters"
"""How the p-values are made."""


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


def measure_group_pairs(items: Items, plan: Plan, key: RunKey) -> list[Measurement]:
    """Return the metrics of sets for every pair of groups, and their differences; nothing where there is one pair."""
    pairs = group_pairs(items)
    if len(pairs) < 2:
        return []
    metrics = [metric for metric in plan.metrics if metric.unit == "sets"]
    measurements: list[Measurement] = []
    for pair in pairs:
        chosen = items.outcomes.take(np.sort(np.concatenate(pair.rows)))
        rows, _ = measure(Items(chosen, plan.disparity), replace(plan, metrics=metrics, by=()), key)
        measurements += [_named(row, pair) for row in rows]
    measurements += _differences(items, pairs, plan, key)
    return measurements


def _named(row: Measurement, pair: GroupPair) -> Measurement:
    return replace(row, group=group_label({**row.parts, "pair": pair.name}))


def _differences(items: Items, pairs: Sequence[GroupPair], plan: Plan, key: RunKey) -> Iterator[Measurement]:
    """Yield first - second of every pair, its p-value and Holm's, by type."""
    wanted = {metric.name: metric for metric in plan.metrics if metric.unit == "pair"}
    outcomes = items.outcomes
    types = by_value(outcomes.group("type")) or [("", np.arange(len(outcomes)))]
    for (column, name), (kind, rows) in product(DIFFERENCES.items(), types):
        if name not in wanted or (column == "desirability" and not outcomes.answerable[rows].all()):
            continue
        tested = [pair for pair in (_of_type(pair, rows) for pair in pairs) if len(pair.rows[0])]
        estimates = _estimates(items, tested, wanted[name], column, plan)
        for pair, (apart, p, p_holm) in zip(tested, estimates, strict=True):
            group = group_label({"pair": pair.name, **({"type": kind} if kind else {})})
            for ending, estimate in (("", apart), ("_p", p), ("_p_holm", p_holm)):
                if name + ending in wanted:
                    yield Measurement.of(name + ending, key, group, estimate, wanted[name + ending].better)


def _of_type(pair: GroupPair, rows: Integers) -> GroupPair:
    kept = np.isin(pair.rows[0], rows)
    return replace(pair, rows=(pair.rows[0][kept], pair.rows[1][kept]))


def _estimates(
    items: Items, pairs: Sequence[GroupPair], metric: Metric, column: str, plan: Plan
) -> Iterator[tuple[Estimate, Estimate, Estimate]]:
    """Yield the difference of every pair, its p-value, and the p-value corrected for all of them."""
    values, clusters = items.columns(PERPLEXITY)[column], items.clusters
    size = int(clusters.max()) + 1
    apart = [Statistic(mean, [values[a] - values[b]], clusters[a]) for a, b in (pair.rows for pair in pairs)]
    samples = evaluate(apart, weight_chunks(size, resamples=plan.resamples, seed=plan.seed))
    sides = [[Statistic(mean, [values[rows]], clusters[rows]) for rows in pair.rows] for pair in pairs]
    contests = [Contest([first], [second], 0) for first, second in sides]
    tests = paired_differences(contests, clusters=size, trial=Trial(1, plan.permutations, plan.level, plan.seed))
    corrected = holm(np.array([test.p for test in tests]))
    for pair, statistic, drawn, test, p_holm in zip(pairs, apart, samples, tests, corrected, strict=True):
        n = len(set(items.outcomes.set_id[pair.rows[0]].tolist()))
        evidence = Evidence(metric, [statistic], drawn, test.value)
        low, high, method = interval(evidence, items.outcomes.k, plan.level, plan.seed)
        yield (
            Estimate(test.value, low, high, plan.level, n, method),
            Estimate(test.p, np.nan, np.nan, plan.level, n, EXCHANGES),
            Estimate(float(p_holm), np.nan, np.nan, plan.level, n, f"{EXCHANGES}, Holm over {len(pairs)} pairs"),
        )
