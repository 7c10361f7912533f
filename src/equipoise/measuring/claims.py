"""The claims that a run allows: every difference that a sentence or a mark in a table may name, tested as one family.

Over all claims of a dataset and task at most 5% of runs of a model that treats all groups alike have a p-value below
0.05 after correction. Differences between groups, identities and labels share four fifths of the error: they are sums
over clusters, and are tested together by exchanging signs (stats/signs.py). Occupations, each against the rest, and
overconfidence share the other fifth. docs/decisions/claims.md has the simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .. import cores
from ..metrics.naming import suffix
from ..records import Floats, Integers, Measurement, Strings, group_label, parse_group
from ..stats.bootstrap import cluster_numbers, joint_numbers
from ..stats.separation import separations
from ..stats.signs import SignTests, sign_tests
from ..uncertainty import PERPLEXITY
from .cells import by_type, of_type
from .columns import Columns
from .group_pairs import GroupPair, compared_column, compared_pairs
from .identity_claims import Claim, Name, identity_claims, side_units
from .items import Items
from .measure import Plan
from .stopping import Sample

SHARES = {"groups": 0.8, "occupations": 0.1, "overconfidence": 0.1}
"""What of the error each kind of claims may use."""

DRAWS = 4999

PValues = Mapping[Name, tuple[float, float]]
"""Measurement -> its p-value alone, and corrected for all claims."""


@dataclass(frozen=True)
class Contrast:
    """A metric that is a sum over clusters: of one column, or the difference of its means over two named sides."""

    metric: str
    column: str
    among: str
    by: str = ""
    first: str = ""
    second: str = ""


LABELLED_PAIRS = "labelled pairs"

CONTRASTS = (
    Contrast("flip_bias", "flip_sign", "all"),
    Contrast("accuracy_gap", "correct", "labelled", "stereotype", "pro", "anti"),
    Contrast("desirability_gap", "desirability", "answerable", "stereotype_within", "pro", "anti"),
    Contrast("certainty_gap", "certainty", "all", "gender_within", "male", "female"),
    Contrast("bbq_bias_ambiguous", "lean_ambiguous", "polarity"),
    Contrast("bbq_bias_disambiguated", "lean_disambiguated", "polarity"),
    Contrast("label_lean", "p_apart", LABELLED_PAIRS),
)
"""Differences between groups, or from the labels of people, that have a sentence of their own."""

OVERCONFIDENCE = Contrast("overconfidence", "stated_apart", "answerable")


def with_claims(rows: Sequence[Measurement], p_values: PValues, sample: Sample | None = None) -> list[Measurement]:
    """Return the measurements, those that a page may claim with p-values corrected for all such claims."""
    errors = (sample or Sample()).errors
    return [_with_p(row, p_values, errors) for row in rows]


class Claims(NamedTuple):
    """What may be claimed of items that have that many types, and is not tested yet."""

    groups: Sequence[Claim]
    sure: Sequence[Claim]
    occupations: Sequence[tuple[str, Mapping[str, str], tuple[Floats, Strings]]]
    kinds: int


def claims_of(items: Items, plan: Plan) -> Claims:
    """Return what may be claimed of items; nothing where no intervals are asked for."""
    if not plan.intervals:
        return Claims([], [], [], 1)
    kinds = by_type(items)
    groups, sure = _group_claims(items, plan, kinds), _claims(items, plan, kinds, (OVERCONFIDENCE,))
    return Claims(list(groups), list(sure), list(_occupations(items, plan, kinds)), len(kinds))


def tested(claims: Claims, names: Collection[Name], seed: int) -> PValues:
    """Return the p-values of the claims that are measurements of these names, alone and corrected."""
    p_values: dict[Name, tuple[float, float]] = {}
    families = [(claims.groups, SHARES["groups"]), (claims.sure, SHARES["overconfidence"])]
    families = [([claim for claim in several if claim.name in names], share) for several, share in families]
    families = [(several, share) for several, share in families if several]
    tests: list[Callable[[], Any]] = []
    for several, _ in families:
        tests.append(partial(sign_tests, [claim.units for claim in several], draws=DRAWS, seed=seed))
    for _, _, means in claims.occupations:
        tests.append(partial(separations, *means, seed=seed))
    results = iter(cores.shared_out(lambda test: test(), tests))
    for several, share in families:
        signs: SignTests = next(results)
        for claim, p, corrected in zip(several, signs.p.tolist(), signs.corrected.tolist(), strict=True):
            p_values[claim.name] = (p, corrected / share)
    for metric, part, _ in claims.occupations:
        for row in next(results):
            name = metric, group_label({"occupation": row.group, **part})
            p_values[name] = (row.corrected, row.corrected * claims.kinds / SHARES["occupations"])
    return p_values | _of_attributes(p_values)


def _with_p(row: Measurement, p_values: PValues, errors: int) -> Measurement:
    if (row.metric, row.group) not in p_values:
        return row
    p, corrected = (min(1.0, errors * value) for value in p_values[row.metric, row.group])
    return replace(row, estimate=replace(row.estimate, p=p, p_corrected=corrected))


def _of_attributes(p_values: PValues) -> dict[Name, tuple[float, float]]:
    """Return the p-values of attributes: those of the surest of their markers."""
    surest: dict[Name, tuple[float, float]] = {}
    for (metric, group), p in p_values.items():
        parts = parse_group(group)
        if parts.pop("marker", ""):
            attribute = metric, group_label(parts)
            surest[attribute] = min(p, surest.get(attribute, p))
    return surest


def _group_claims(items: Items, plan: Plan, kinds: Sequence[tuple[str, Integers]]) -> Iterator[Claim]:
    yield from _claims(items, plan, kinds, CONTRASTS)
    yield from identity_claims(items)
    if pairs := compared_pairs(items):
        for kind, rows in kinds:
            yield from _pair_claims(items, plan, kind, rows, pairs)


def _claims(
    items: Items, plan: Plan, kinds: Sequence[tuple[str, Integers]], contrasts: Sequence[Contrast]
) -> Iterator[Claim]:
    """Yield the contrasts of each type, as far as the items have both sides."""
    estimator = plan.estimators[0]
    columns, ending = items.columns(estimator), suffix(estimator.name)
    estimated = {metric.name for metric in plan.metrics if metric.estimated}
    for contrast in contrasts:
        applies = items.applicable[contrast.among] & ((items.outcomes.sides == "") | (contrast.among == LABELLED_PAIRS))
        name = contrast.metric + (ending if contrast.metric in estimated else "")
        for kind, rows in kinds:
            units = _units(columns, contrast, rows[applies[rows]], items.clusters)
            if units is not None:
                # Bias scores of questions are taken over all types: their columns tell these apart.
                whole = contrast.among == "polarity"
                yield Claim((name, group_label({} if whole else of_type(kind))), units)


def _units(columns: Columns, contrast: Contrast, rows: Integers, clusters: Integers) -> Floats | None:
    """Return what each cluster adds to a contrast; None where a side has no items."""
    values = np.full(len(clusters), np.nan)
    values[rows] = columns[contrast.column][rows]
    every = np.ones(len(clusters), dtype=bool)
    sides = [(every, 1.0)]
    if contrast.by:
        names = columns[contrast.by]
        sides = [(names == contrast.first, 1.0), (names == contrast.second, -1.0)]
    return side_units(values, every.astype(np.float64), clusters, sides)


def _pair_claims(items: Items, plan: Plan, kind: str, rows: Integers, pairs: Sequence[GroupPair]) -> Iterator[Claim]:
    """Yield the difference of every two groups by name."""
    columns = items.columns(PERPLEXITY)  # as the differences are measured
    size = items.cluster_count
    for metric in plan.metrics:
        # A ratio is not a sum over clusters. Nothing says that it differs: the difference of probabilities does.
        if metric.unit != "pair" or metric.interval == "ratio":
            continue
        values = columns[compared_column(metric)]
        among = rows[items.applicable[metric.applies_to][rows]]
        for pair in pairs:
            first, second = pair.among(among).rows
            if len(first):
                apart = np.asarray(values[first] - values[second], dtype=np.float64)
                units: Floats = np.bincount(items.clusters[first], apart, size).astype(np.float64)
                yield Claim((metric.name, group_label({"pair": pair.name, **of_type(kind)})), units)


def _occupations(
    items: Items, plan: Plan, kinds: Sequence[tuple[str, Integers]]
) -> Iterator[tuple[str, Mapping[str, str], tuple[Floats, Strings]]]:
    """Yield the metric, the type, and U by cluster and occupation, of which each is tested against the others.

    Where no answer is right, it is the signed U: the other one does not see who was chosen.
    """
    estimator = plan.estimators[0]
    columns, names = items.columns(estimator), items.outcomes.group("occupation")
    planned = {metric.name for metric in plan.metrics}
    for kind, rows in kinds:
        metric, column = ("ucerf", "u") if items.outcomes.answerable[rows].all() else ("ucerf_signed", "u_signed")
        values = columns[column]
        rows = rows[(names[rows] != "") & ~np.isnan(values[rows])]
        if metric not in planned or not len(rows):
            continue
        # Sets that share a base sentence are one piece of evidence.
        means = _by_cluster(values, items.clusters, names, rows)
        yield metric + suffix(estimator.name), of_type(kind), means


def _by_cluster(values: Floats, clusters: Integers, names: Strings, rows: Integers) -> tuple[Floats, Strings]:
    """Return the mean of each cluster and name among the rows, and the name, in order of first appearance."""
    numbers = joint_numbers(clusters[rows], cluster_numbers(names[rows]))
    firsts = np.unique(numbers, return_index=True)[1]
    return np.bincount(numbers, values[rows]) / np.bincount(numbers), names[rows[firsts]]
