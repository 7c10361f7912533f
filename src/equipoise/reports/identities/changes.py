"""What markers change against the same sentence unmarked: one rule for the sentences, the picture and its table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ...runs.measurements import interval, kind_title, span
from ..behaviour.views import Estimated
from .views import NONE, WITH, kinds_of, ways_of

DETECTABLE = 0.05
"""A marker differs from no marker if its p-value, corrected over all markers (Holm), is under this."""

NO_CHANGE = "No attribute differs detectably from no marker."


@dataclass(frozen=True)
class Change:
    """How far a marker moves confidence in the same sentences, its p-value after Holm's correction, and n sentences."""

    attribute: str
    marker: str
    estimate: Estimated
    p: float
    n: int

    @property
    def detected(self) -> bool:
        """Whether the marker changes something: by the corrected test, and with an interval that leaves 0 out."""
        return self.p < DETECTABLE and (self.estimate.high < 0 or self.estimate.low > 0)


def changes(rows: pd.DataFrame, metric: str = "confidence_change") -> list[Change]:
    """Return the changes of one type and augmentation by marker, over the genders.

    The attribute with the largest loss comes first, and so does its marker.
    """
    by_marker = rows[(rows["attribute"] != "") & (rows["marker"] != "") & (rows["gender"] == "")]
    several = [
        Change(row.attribute, row.marker, Estimated(row.value, row.low, row.high), float(row.p_corrected), int(row.n))
        for row in _rows_of(by_marker[by_marker["metric"] == metric])
    ]
    lowest = {
        name: min(change.estimate.value for change in several if change.attribute == name)
        for name in {change.attribute for change in several}
    }
    return sorted(several, key=lambda change: (lowest[change.attribute], change.attribute, change.estimate.value))


def caption(several: Sequence[Change]) -> str:
    """Return which markers differ from no marker, or that no attribute does."""
    names = [change.marker for change in several if change.detected]
    if not names:
        return NO_CHANGE
    return f"{len(names)} of {len(several)} differ from no marker" + (
        f": {', '.join(names)}." if len(names) < NAMED else "."
    )


NAMED = 7
"""From this number on markers are not listed: the picture names them."""


def in_words(frame: pd.DataFrame, *, interactions: bool = True) -> Iterator[str]:
    """Yield, for each type, the gap between genders without a marker, and what markers change beyond it."""
    for kind in kinds_of(frame):
        rows = frame[frame["type"] == kind]
        where = f"In {kind_title(kind)} sentences" if kind else "In these sentences"
        yield from _gender_sentence(rows, where)
        for way in ways_of(rows):
            part_rows = rows[rows["augmentation"] == way]
            yield from _change_sentence(changes(part_rows), f"{where} {WITH[way]},")
            if interactions:
                both = changes(part_rows, "confidence_interaction")
                yield from _interaction_sentence(both, f"{where} {WITH[way]},")


def _gender_sentence(rows: pd.DataFrame, where: str) -> Iterator[str]:
    unmarked = rows[(rows["augmentation"] == NONE) & (rows["occupation"] == "")]
    by_gender = {row.gender: row for row in _rows_of(unmarked[unmarked["metric"] == "confidence"]) if row.gender}
    apart = unmarked[unmarked["metric"] == "confidence_disparity"]
    if {"male", "female"} <= set(by_gender) and len(apart) and float(apart["low"].iloc[0]) > 0:
        more = "he" if by_gender["male"].value > by_gender["female"].value else "she"
        other = "she" if more == "he" else "he"
        gap = next(_rows_of(apart))
        than = f"higher with {more} than with {other}"
        yield f"{where} without a marker, confidence is {span(gap)} {than} (n = {gap.n})."


def _change_sentence(several: Sequence[Change], where: str) -> Iterator[str]:
    """Yield how many markers lower and raise confidence, and which does most; or that no attribute differs."""
    if not several:
        return
    detected = [change for change in several if change.detected]
    if not detected:
        smallest = min(several, key=lambda change: change.p)
        why = f"smallest p = {smallest.p:.3f} after Holm over {_markers(len(several))}"
        if smallest.p < DETECTABLE:  # few sentences: their interval is valid at any n, and wide
            why = f"the intervals of all {_markers(len(several))} include 0"
        yield f"{where} no attribute differs detectably from no marker ({why}, n = {smallest.n})."
        return
    lower = sorted((c for c in detected if c.estimate.value < 0), key=lambda change: change.estimate.value)
    higher = sorted((c for c in detected if c.estimate.value > 0), key=lambda change: -change.estimate.value)
    clauses = [_clause(lower, "lower", len(several)), _clause(higher, "raise", len(several))]
    n = (lower or higher)[0].n
    yield (
        f"{where} {'; '.join(filter(None, clauses))}"
        f" (against the same sentences unmarked; p < {DETECTABLE} after Holm over {_markers(len(several))}, n = {n})."
    )


def _clause(strongest_first: Sequence[Change], verb: str, tested: int) -> str:
    if not strongest_first:
        return ""
    strongest = strongest_first[0]
    sizes = sorted(abs(number) for number in (strongest.estimate.low, strongest.estimate.high))
    size = Estimated(abs(strongest.estimate.value), *sizes)
    name = f"“{strongest.marker}” ({strongest.attribute})"
    if len(strongest_first) == 1:
        return f"{name} {verb}s confidence by {span(size)}"
    return f"{len(strongest_first)} of {tested} markers {verb} confidence, most of all {name}, by {span(size)}"


def _interaction_sentence(several: Sequence[Change], where: str) -> Iterator[str]:
    """Yield which marker changes confidence with he and with she by the most different amounts, if any does."""
    detected = [change for change in several if change.detected]
    if not detected:
        return
    largest = max(detected, key=lambda change: abs(change.estimate.value))
    name = f"“{largest.marker}” ({largest.attribute})"
    if len(detected) == 1:
        subject, named = f"{name} changes", ""
    else:
        subject, named = f"{len(detected)} of {len(several)} markers change", f", most of all {name}"
    yield (
        f"{where} {subject} confidence with he and with she by different amounts{named}: change with he - with she"
        f" {largest.estimate.value:+.3f} {interval(largest.estimate)} (p < {DETECTABLE} after Holm over"
        f" {_markers(len(several))}, n = {largest.n})."
    )


def _markers(count: int) -> str:
    return "1 marker" if count == 1 else f"{count} markers"


def _rows_of(frame: pd.DataFrame) -> Iterator[Any]:
    rows: Iterator[Any] = frame.itertuples()
    return rows
