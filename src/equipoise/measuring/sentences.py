"""Marked sentences, added up by base sentence and group.

A sentence has up to 158 variants. Metrics of identities are made of means, so the items of a group and sentence may be
added up first: what is resampled then has a row for each sentence, whatever the number of items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics.columns import COLUMNS
from ..records import Booleans, Floats, Integers
from ..stats.bootstrap import cluster_numbers
from .cells import of_type
from .items import Items
from .markers import NEUTRAL, NONE, contrast_shares, marked_types

Level = tuple[str, ...]
OPTIONAL = ("attribute", "marker")
"""Parts that the group of an unmarked sentence does not have."""

NAMES = {"side": ("male", "female"), "stereotype": ("pro", "anti")}
"""The values of these parts that marked sentences are grouped by."""


@dataclass(frozen=True, eq=False)
class SentenceTable:
    """The groups of a level, each with its rows, and what metrics read of them.

    `numbers` are those of the base sentences of a type, `clusters` those of what is resampled of all items, `shares`
    say what each row counts. `unmarked` are the rows of unmarked sentences by gender, and "" where groups have none.
    """

    columns: Mapping[str, NDArray[Any]]
    numbers: Integers
    clusters: Integers
    shares: Floats
    groups: Sequence[tuple[Mapping[str, str], slice]]
    unmarked: Mapping[str, slice]

    def means(self, name: str) -> list[float]:
        """Return the mean of a column for each group; NaN where it applies to none of its rows."""
        values = self.columns[name]
        applies = ~np.isnan(values)
        # Sums from start to end of each group, and of what is between groups.
        places = [place for _, rows in self.groups for place in (rows.start, rows.stop)]
        sums = [
            np.add.reduceat(np.append(np.where(applies, column, 0.0), 0.0), places)[::2] if places else np.zeros(0)
            for column in (values * self.shares, self.shares)
        ]
        with np.errstate(invalid="ignore", divide="ignore"):
            means: list[float] = (sums[0] / sums[1]).tolist()
        return means


@dataclass(frozen=True, eq=False)
class MarkedType:
    """The sentences of one type that were asked with markers, and without for comparison; `rows` are of the items."""

    items: Items
    kind: str
    rows: Integers

    @cached_property
    def numbers(self) -> Integers:
        """The number of each row's base sentence."""
        return cluster_numbers(self.items.outcomes.cluster_id[self.rows])

    @property
    def sentences(self) -> int:
        """The number of base sentences."""
        return int(self.numbers.max()) + 1

    @cached_property
    def shares(self) -> Floats:
        """What each row counts."""
        return contrast_shares(self.items.outcomes, self.rows)

    @cached_property
    def _codes(self) -> dict[str, Integers]:
        return {}

    def _code(self, name: str) -> Integers:
        """Return a number for each value of a group, or of a column of names."""
        if name not in self._codes:
            self._codes[name] = cluster_numbers(self._names(name))
        return self._codes[name]

    def _names(self, name: str) -> NDArray[Any]:
        outcomes = self.items.outcomes
        column = self.items.shared["subgroup"] if name == "subgroup" else outcomes.group(name)
        return column[self.rows]

    def table(
        self, level: Level, columns: Mapping[str, NDArray[Any]], applies: Booleans, *, added_up: bool = True
    ) -> SentenceTable:
        """Return the groups of a level with the columns of their items; `added_up`: of their base sentences.

        Numbers are then averaged, and names keep the items of a sentence apart. Variants of the question are pooled.
        """
        pooled = not {"attribute", "privilege"} & set(level)
        kept = np.flatnonzero(applies[self.rows] & (self._sided if pooled else True))
        names = [name for name in columns if COLUMNS[name].names] if added_up else []
        last = self.numbers[kept] if added_up else np.arange(len(kept))
        keys = _joined([*(self._code(name)[kept] for name in (*level, *names)), last])
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        rows = kept[order]
        firsts, shares, chosen = rows[starts], self.shares[rows], self.rows[rows]
        counts = np.add.reduceat(shares, starts) if len(starts) else shares

        def column(name: str) -> NDArray[Any]:
            if COLUMNS[name].names or not added_up:
                return columns[name][chosen[starts]]
            values = columns[name][chosen]
            return np.asarray(np.add.reduceat(values * shares, starts) / counts) if len(starts) else values

        groups = list(self._groups(level, firsts))
        unmarked = {parts.get("gender", ""): inside for parts, inside in groups if parts.get("augmentation") == NONE}
        return SentenceTable(
            {name: column(name) for name in columns},
            self.numbers[firsts],
            self.items.clusters[self.rows[firsts]],
            counts,
            [(parts, inside) for parts, inside in groups if _is_named(parts, level)],
            unmarked,
        )

    @cached_property
    def _sided(self) -> Booleans:
        """Which rows count in groups of several attributes: markers with a side, where some have one."""
        ways, sides = (self.items.outcomes.group(name)[self.rows] for name in ("augmentation", "privilege"))
        has_sides = np.isin(ways, list(set(ways[(sides != "") & (sides != NEUTRAL)].tolist())))
        return np.asarray((sides != NEUTRAL) | ~has_sides)

    def _groups(self, level: Level, firsts: Integers) -> Iterator[tuple[dict[str, str], slice]]:
        """Yield the groups of a level by the parts of their names, and their rows of a table that is sorted by them."""
        keys = _joined([self._code(name)[firsts] for name in level])
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        rows = self.rows[firsts[starts]]
        names = zip(*(self.items.outcomes.group(name)[rows].tolist() for name in level), strict=True)
        for values, (start, end) in zip(names, pairwise([*starts.tolist(), len(keys)]), strict=True):
            parts = {name: str(value) for name, value in zip(level, values, strict=True) if value}
            yield {**parts, **of_type(self.kind)}, slice(start, end)


def _is_named(parts: Mapping[str, str], level: Level) -> bool:
    """Return whether a group has all parts of its level; unmarked sentences need no marker, and none a gender."""
    optional = ("gender", *(OPTIONAL if parts.get("augmentation") == NONE else ()))
    known = all(parts[name] in values for name, values in NAMES.items() if name in parts)
    return known and all(name in parts or name in optional for name in level)


def _joined(codes: Sequence[Integers]) -> Integers:
    """Return one number for each combination of several numberings, sorted as these are, the first first."""
    joint = codes[0]
    for code in codes[1:]:
        joint = joint * (int(code.max(initial=0)) + 1) + code
    return joint


def marked_sentences(items: Items) -> Iterator[MarkedType]:
    """Yield the marked sentences of each type."""
    for kind, rows in marked_types(items.outcomes):
        yield MarkedType(items, kind, rows)
