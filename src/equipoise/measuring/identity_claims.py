"""Claims about identities: what markers change, who is behind, and how far identities lie apart.

Each is about sums over clusters, so that all of them are tested together with the other claims of a run (claims.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..records import Booleans, Floats, Integers, Strings, group_label
from .cells import of_type
from .changes import marker_changes
from .items import Items
from .markers import NEUTRAL, NONE
from .sentences import MarkedType, marked_sentences

Name = tuple[str, str]
"""A measurement by its metric and group."""

Sides = Sequence[tuple[Booleans, float]]
"""Rows, and the sign of their mean in a difference."""


class Claim(NamedTuple):
    """A claim by the name of its measurement: that a difference is not 0, or one of several.

    `units` are what each cluster adds to it; of several differences they have a row for each.
    """

    name: Name
    units: Floats


def identity_claims(items: Items) -> Iterator[Claim]:
    """Yield everything about identities that a page may say differs, in a sentence or by a mark in a table."""
    for sentences in marked_sentences(items) if items.is_marked else ():
        yield from _changed(sentences)
        yield from _apart(sentences)
        for name, sides in _contrasts(sentences):
            units = side_units(*_confidence(sentences), sides)
            if units is not None:
                yield Claim(name, units)


def side_units(
    values: Floats, shares: Floats, clusters: Integers, sides: Sides, size: int | None = None
) -> Floats | None:
    """Return what each cluster adds to a sum of means over some rows, each with its sign; None where one is empty.

    `shares` say what each row counts, `size` how many clusters there are, also beyond these rows. Values are taken
    around a common centre, so that a cluster which has one side only adds nothing where the sides are alike.
    """
    known = ~np.isnan(values)
    counted = [(known & inside, sign) for inside, sign in sides]
    if not all(inside.any() for inside, _ in counted):
        return None
    several = len(counted) > 1
    together = np.any([inside for inside, _ in counted], axis=0)
    centre = float(np.average(values[together], weights=shares[together])) if several else 0.0
    units = np.zeros(int(clusters.max(initial=-1)) + 1 if size is None else size)
    for inside, sign in counted:
        weighted = shares[inside] * (values[inside] - centre)
        units += sign * np.bincount(clusters[inside], weighted, len(units)) / float(shares[inside].sum())
    return units


def _confidence(sentences: MarkedType) -> tuple[Floats, Floats, Integers]:
    """Return the confidence of the items, NaN for those of other types, what each counts, and its cluster."""
    items, rows = sentences.items, sentences.rows
    values, shares = np.full(len(items), np.nan), np.ones(len(items))
    values[rows], shares[rows] = items.shared["confidence"][rows], sentences.shares
    return values, shares, items.clusters


def _changed(sentences: MarkedType) -> Iterator[Claim]:
    """Yield the change of each marker, and by how much it differs between he and she."""
    size = sentences.items.cluster_count
    # The cluster of each base sentence.
    places = np.zeros(sentences.sentences, dtype=np.int64)
    places[sentences.numbers] = sentences.items.clusters[sentences.rows]
    for change in marker_changes(sentences):
        if change.tested:
            first, second = (side[0].arrays[0] for side in (change.contest.first, change.contest.second))
            apart = np.asarray(first - second, dtype=np.float64) / len(first)
            units = np.bincount(places[change.contest.first[0].clusters], apart, size).astype(np.float64)
            yield Claim((change.metric.name, group_label(change.parts)), units)


def _apart(sentences: MarkedType) -> Iterator[Claim]:
    """Yield the disparity of each attribute: its genders, its markers or their crossings differ.

    These hold every difference of two identities, and are fewer. Markers without a side make no claim.
    """
    names = ("augmentation", "attribute", "privilege", "gender", "marker")
    ways, attribute, privilege, gender, marker = map(sentences.items.outcomes.group, names)
    inside = np.zeros(len(ways), dtype=bool)
    inside[sentences.rows] = True
    inside &= (ways != NONE) & (privilege != NEUTRAL)
    confidence, shares, clusters = _confidence(sentences)
    size = sentences.items.cluster_count
    for way, name in sorted(set(zip(ways[inside].tolist(), attribute[inside].tolist(), strict=True))):
        rows = np.flatnonzero(inside & (ways == way) & (attribute == name))
        genders, markers = (list(_against_others(group[rows])) for group in (gender, marker))
        sides = [*genders, *markers, *(_crossed(first, second) for first in genders for second in markers)]
        chosen = confidence[rows], shares[rows], clusters[rows]
        units = [row for side in sides if (row := side_units(*chosen, side, size)) is not None]
        if units:
            yield Claim(_name("confidence_disparity", sentences, way, attribute=name), np.stack(units))


def _against_others(group: Strings) -> Iterator[Sides]:
    """Yield each value of a group against the others; of two values the first only."""
    values = sorted(set(group.tolist()))
    for value in values if len(values) > 2 else values[: len(values) - 1]:
        yield [(group == value, 1.0), (group != value, -1.0)]


def _crossed(first: Sides, second: Sides) -> Sides:
    return [(rows & others, sign * turn) for rows, sign in first for others, turn in second]


def _contrasts(sentences: MarkedType) -> Iterator[tuple[Name, Sides]]:
    """Yield the differences of means: he and she without a marker, and the WinoIdentity paper's questions."""
    names = ("augmentation", "gender", "privilege", "side", "stereotype")
    ways, gender, privilege, side, stereotype = map(sentences.items.outcomes.group, names)
    unmarked = ways == NONE
    if set(gender[unmarked].tolist()) == {"male", "female"}:
        he, she = (unmarked & (gender == name) for name in ("male", "female"))
        yield _name("confidence_disparity", sentences, NONE), [(he, 1.0), (she, -1.0)]
    for way in sorted(set(ways[sentences.rows].tolist()) - {NONE}):
        marked = {name: (ways == way) & (privilege == name) for name in ("privileged", "disadvantaged")}
        for name, inside in marked.items():
            yield _name("confidence_drop", sentences, way, privilege=name), [(unmarked, 1.0), (inside, -1.0)]
        crossed = {(name, fits): marked[name] & (stereotype == fits) for name in marked for fits in ("pro", "anti")}
        for jobs in ("", "male", "female"):
            among = side == jobs if jobs else np.ones(len(side), dtype=bool)
            ahead, behind = crossed["privileged", "pro"], crossed["disadvantaged", "anti"]
            at = {"side": jobs} if jobs else {}
            yield _name("double_disadvantage", sentences, way, **at), [(ahead & among, 1.0), (behind & among, -1.0)]
        signs = {("privileged", "anti"): 1.0, ("disadvantaged", "anti"): -1.0, ("privileged", "pro"): -1.0}
        signs["disadvantaged", "pro"] = 1.0
        costs = [(crossed[who], sign) for who, sign in signs.items()]
        yield _name("disadvantage_interaction", sentences, way), costs


def _name(metric: str, sentences: MarkedType, way: str, **parts: str) -> Name:
    return metric, group_label({"augmentation": way, **parts, **of_type(sentences.kind)})
