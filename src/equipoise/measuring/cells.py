"""Which groups of items a metric is taken of: the whole, each type, and each group of either."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics.columns import HIDDEN_GROUPS
from ..metrics.sides import is_predicted
from ..records import Booleans, EquipoiseError, Example, Integers, Outcomes
from ..stats.bootstrap import cluster_numbers
from .items import Items


@dataclass(frozen=True)
class Cell:
    """A group of items that some metrics are taken over; `rows` are listed apart for every variant (seed).

    `units` are those of the metrics to take; `mixed` says that it holds answerable and unanswerable items; `key` is the
    group that metrics over groupings compare.
    """

    parts: Mapping[str, str]
    rows: Mapping[str, Integers]
    units: frozenset[str]
    mixed: bool = False
    key: str = ""


CROSS = "*"
"""What joins groups into one, as in `gender*occupation`."""

JOIN = " × "
"""What is between the names of such a group."""


def with_intersections(outcomes: Outcomes, by: Sequence[str] | None) -> Outcomes:
    """Return the outcomes with a group for each key such as `gender*occupation`; "" where a part is missing."""
    joined = {}
    for key in by or ():
        if CROSS in key:
            columns = [outcomes.group(part) for part in key.split(CROSS)]
            names = [JOIN.join(values) if all(values) else "" for values in zip(*columns, strict=True)]
            joined[key] = np.array(names, dtype=object)
    return replace(outcomes, groups={**outcomes.groups, **joined}) if joined else outcomes


def group_keys(outcomes: Outcomes, by: Sequence[str] | None) -> list[str]:
    """Return the groups to break down by."""
    keys = [key for key in outcomes.groups if key not in HIDDEN_GROUPS] if by is None else list(dict.fromkeys(by))
    _refuse_unknown(keys, list(outcomes.groups))
    return keys


def check_groups(examples: Iterable[Example], by: Sequence[str] | None) -> None:
    """Refuse a breakdown by a group that no example has, before the model is asked."""
    # What was predicted is a group too, once the model has been asked.
    keys = [part for key in by or () for part in key.split(CROSS) if not is_predicted(part)]
    _refuse_unknown(keys, sorted({name for example in examples for name in example.groups}) if keys else [])


def _refuse_unknown(keys: Iterable[str], known: Sequence[str]) -> None:
    for key in keys:
        if key not in known:
            raise EquipoiseError(f"no item has a group {key!r}; known groups: {', '.join(known)}")


def cells(items: Items, by: Sequence[str] | None) -> Iterator[Cell]:
    """Yield the whole, each type, each group of either, and each grouping."""

    def cell(parts: Mapping[str, str], rows: Integers, *units: str, key: str = "") -> Cell:
        answerable: Booleans = outcomes.answerable[rows]
        mixed = bool(answerable.any()) and not bool(answerable.all())
        variants = outcomes.variant[rows]
        names = sorted(set(variants.tolist())) if has_variants else ()
        by_variant = {name: rows[variants == name] for name in names} or {"": rows}
        return Cell(parts, by_variant, frozenset(units), mixed, key)

    outcomes = items.outcomes
    has_variants = bool((outcomes.variant != "").any())
    keys = group_keys(outcomes, by)
    numbers = {key: items.group_numbers(key)[0] for key in (*keys, "other")}
    constant = {key: items.constant_within_sets(numbers[key]) for key in keys}
    bases: list[tuple[dict[str, str], Integers]] = [({}, np.arange(len(outcomes)))]
    bases += [({"type": kind}, rows) for kind, rows in by_type(items) if kind]
    for parts, base in bases:
        yield cell(parts, base, "items", "sets", "contrast")
        for key in (key for key in keys if key != "type"):  # types are the bases already
            # Rates of both classes need the sentences in which the occupation is the other one, too.
            others = by_value(outcomes.group("other"), base, numbers["other"]) if key == "occupation" else ()
            elsewhere = dict(others)
            for value, rows in by_value(outcomes.groups[key], base, numbers[key]):
                named = {**parts, key: value}
                yield cell(named, rows, "items", *(("sets",) if constant[key] else ()))
                if constant[key] and not is_predicted(key):
                    yield cell(named, _union(rows, elsewhere.get(value)), "contrast")
    for key in keys:
        rows = np.flatnonzero(outcomes.groups[key] != "")
        if not is_predicted(key) and len(rows) and numbers[key][rows].min() < numbers[key][rows].max():
            yield cell({"by": key}, rows, "grouping", key=key)


def _union(rows: Integers, others: Integers | None) -> Integers:
    """Return the rows that are among either, sorted as these are."""
    if others is None:
        return rows
    inside = np.zeros(int(max(rows[-1], others[-1])) + 1, dtype=bool)
    inside[rows] = inside[others] = True
    return np.flatnonzero(inside)


def of_type(kind: str) -> dict[str, str]:
    """Return the part of a group's name that says its type; none where items have no types."""
    return {"type": kind} if kind else {}


def by_type(items: Items) -> list[tuple[str, Integers]]:
    """Return each type with its rows; all rows, as those of "", where no item has a type."""
    every = np.arange(len(items))
    return by_value(items.outcomes.group("type"), every, items.group_numbers("type")[0]) or [("", every)]


def by_value(
    column: NDArray[Any], rows: Integers | None = None, numbers: Integers | None = None
) -> list[tuple[str, Integers]]:
    """Return each value of a column but "" with its rows, in the order of the values; `numbers` are the values'."""
    rows = np.arange(len(column)) if rows is None else rows
    if not len(rows):
        return []
    codes = cluster_numbers(column[rows]) if numbers is None else numbers[rows]
    order = np.argsort(codes, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    named = [(str(column[rows[group[0]]]), rows[group]) for group in groups]
    return sorted((pair for pair in named if pair[0]), key=lambda pair: pair[0])
