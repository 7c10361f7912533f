"""What markers change, and the WinoIdentity paper's questions, in sentences: one rule for words, chart and table."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from ...records import Estimate, Measurement, parse_group
from ...records.showing import Finding
from ...runs.measurements import Measurements, kind_title
from ...runs.run import Part
from ...stats.independent import independent_difference
from ...stats.paired import is_detected
from ...verdict.findings import absolute
from .subgroups import NONE, WAYS, WITH, Subgroups, subgroups

TOPIC = "identities"
DETECTABLE = 0.05
"""A marker differs from no marker if its p-value, corrected over all markers (Holm), is under this."""
NO_CHANGE = "No attribute differs detectably from no marker."
NAMED = 7
"""From this number on markers are not listed: the chart names them."""
REASONED = {"next-word": "next-word-cot", "mcq": "mcq-cot"}
"""A task -> the same after a chain of thought."""


@dataclass(frozen=True)
class Change:
    """How far a marker moves confidence in the same sentences."""

    attribute: str
    marker: str
    row: Measurement

    @property
    def kind(self) -> str:
        """The type of the sentences; "" where they have none."""
        return parse_group(self.row.group).get("type", "")

    @property
    def way(self) -> str:
        """How the sentences are marked."""
        return parse_group(self.row.group)["augmentation"]

    @property
    def p(self) -> float:
        """Its p-value after Holm's correction."""
        return self.row.estimate.p_corrected

    @property
    def detected(self) -> bool:
        """Whether the marker changes something: by the corrected test, and with an interval that leaves 0 out."""
        return is_detected(self.row.estimate)

    @property
    def name(self) -> str:
        """The marker and its attribute, as a sentence names them."""
        return f"“{self.marker}” ({self.attribute})"


def changes(identities: Subgroups, kind: str, way: str, metric: str = "confidence_change") -> list[Change]:
    """Return the changes of one type and augmentation by marker, over the genders.

    The attribute with the largest loss comes first, and so does its marker.
    """
    several = []
    for attribute, markers in identities.markers(kind, way).items():
        for marker in markers:
            at = {"type": kind, "augmentation": way, "attribute": attribute, "marker": marker}
            row = identities.measured.get(metric, **at)
            if row is not None and not math.isnan(row.estimate.p_corrected):
                several.append(Change(attribute, marker, row))
    lowest: dict[str, float] = {}
    for change in several:
        lowest[change.attribute] = min(change.row.value, lowest.get(change.attribute, change.row.value))
    return sorted(several, key=lambda change: (lowest[change.attribute], change.attribute, change.row.value))


def strongest_change(part: Part) -> Change | None:
    """Return the detected change of confidence that is furthest from 0; None without markers, or without any."""
    identities = subgroups(part)
    ways = [(kind, way) for kind in identities.kinds for way in identities.ways(kind)]
    every = [change for kind, way in ways for change in changes(identities, kind, way) if change.detected]
    return max(every, key=lambda change: abs(change.row.value), default=None)


def detected_names(several: Sequence[Change]) -> str:
    """Return which markers differ from no marker, or that no attribute does."""
    names = [change.marker for change in several if change.detected]
    if not names:
        return NO_CHANGE
    listed = f": {', '.join(names)}." if len(names) < NAMED else "."
    return f"{len(names)} of {len(several)} differ from no marker{listed}"


def findings(part: Part) -> Iterator[Finding]:
    """Yield, for each type, the gap between genders without a marker, and what markers change beyond it."""
    for kind in subgroups(part).kinds:
        yield from change_findings(part, kind)


def leading_findings(part: Part) -> Iterator[Finding]:
    """Yield the same for one type and augmentation alone: those of the strongest change, or the first."""
    identities, strongest = subgroups(part), strongest_change(part)
    for kind in [strongest.kind] if strongest else identities.kinds[:1]:
        way = strongest.way if strongest else identities.ways(kind)[0]
        yield from change_sentence(changes(identities, kind, way), f"{_where(kind)} {WITH[way]},", kind)


def change_findings(part: Part, kind: str, *, interactions: bool = False) -> Iterator[Finding]:
    """Yield the same for one type; `interactions`: also which markers change he and she by different amounts."""
    identities = subgroups(part)
    yield from _gender(identities.measured, kind)
    for way in identities.ways(kind):
        where = f"{_where(kind)} {WITH[way]},"
        yield from change_sentence(changes(identities, kind, way), where, kind)
        if interactions:
            yield from _interaction(changes(identities, kind, way, "confidence_interaction"), where, kind)


def _where(kind: str) -> str:
    return f"In {kind_title(kind)} sentences" if kind else "In these sentences"


def _finding(text: str, rests_on: Sequence[Measurement], kind: str, name: str = "") -> Finding:
    return Finding(text, rests_on, TOPIC, kind, name=name)


def _gender(measured: Measurements, kind: str) -> Iterator[Finding]:
    at = {"type": kind, "augmentation": NONE}
    he, she = (measured.get("confidence", gender=gender, **at) for gender in ("male", "female"))
    gap = measured.get("confidence_disparity", **at)
    if he is not None and she is not None and gap is not None and gap.low > 0:
        more, other = ("he", "she") if he.value > she.value else ("she", "he")
        text = f"{_where(kind)} without a marker, confidence is {gap} higher with {more} than with {other}"
        yield _finding(f"{text} (n = {gap.n:,}).", [gap, he, she], kind)


def change_sentence(several: Sequence[Change], where: str, kind: str) -> Iterator[Finding]:
    """Yield how many markers lower and raise confidence, and which does most; or that no attribute differs."""
    if not several:
        return
    detected = [change for change in several if change.detected]
    if not detected:
        smallest = min(several, key=lambda change: change.p)
        why = f"smallest p = {smallest.p:.3f} after Holm over {_markers(len(several))}"
        if smallest.p < DETECTABLE:  # few sentences: their interval is valid at any n, and wide
            why = f"the intervals of all {_markers(len(several))} include 0"
        text = f"{where} no attribute differs detectably from no marker ({why}, n = {smallest.row.n:,})."
        yield _finding(text, [smallest.row], kind)
        return
    lower = sorted((c for c in detected if c.row.value < 0), key=lambda change: change.row.value)
    higher = sorted((c for c in detected if c.row.value > 0), key=lambda change: -change.row.value)
    clauses = [_clause(lower, "lower", len(several)), _clause(higher, "raise", len(several))]
    rests_on = [strongest_first[0].row for strongest_first in (lower, higher) if strongest_first]
    text = (
        f"{where} {'; '.join(filter(None, clauses))} (against the same sentences unmarked; p < {DETECTABLE} after Holm"
        f" over {_markers(len(several))}, n = {rests_on[0].n:,})."
    )
    yield _finding(text, rests_on, kind)


def _clause(strongest_first: Sequence[Change], verb: str, tested: int) -> str:
    if not strongest_first:
        return ""
    strongest = strongest_first[0]
    size = f"{absolute(strongest.row)}"
    if len(strongest_first) == 1:
        return f"{strongest.name} {verb}s confidence by {size}"
    return f"{len(strongest_first)} of {tested} markers {verb} confidence, most of all {strongest.name}, by {size}"


def _interaction(several: Sequence[Change], where: str, kind: str) -> Iterator[Finding]:
    """Yield which marker changes confidence with he and with she by the most different amounts, if any does."""
    detected = [change for change in several if change.detected]
    if not detected:
        return
    largest = max(detected, key=lambda change: abs(change.row.value))
    subject, most = f"{largest.name} changes", ""
    if len(detected) > 1:
        subject, most = f"{len(detected)} of {len(several)} markers change", f", most of all {largest.name}"
    text = (
        f"{where} {subject} confidence with he and with she by different amounts{most}: the change with he minus that"
        f" with she is {largest.row:+} (p < {DETECTABLE} after Holm over {_markers(len(several))},"
        f" n = {largest.row.n:,})."
    )
    yield _finding(text, [largest.row], kind)


def _markers(count: int) -> str:
    return "1 marker" if count == 1 else f"{count} markers"


@cache
def _questions() -> Mapping[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("questions.toml").read_text(encoding="utf-8"))


def answers(measured: Measurements, kind: str, way: str) -> Iterator[Finding]:
    """Yield what a run says about privilege, double disadvantage and declining; each rests on one number."""
    unmarked = measured.get("coverage", type=kind, augmentation=NONE)
    for name, question in _questions().items():
        row = measured.get(question["metric"], type=kind, augmentation=way, **question.get("group", {}))
        if row is not None and (question["metric"] != "coverage" or unmarked is not None):
            sign = question.get("signs", [""] * 3)[0 if row.low > 0 else 1 if row.high < 0 else 2]
            words = question["answer"].format(sign=sign, row=row, unmarked=unmarked.value if unmarked else None)
            yield _finding(f"{_where(kind)} {WITH[way]}, {words} (n = {row.n:,}).", [row], kind, name)


def reasoning(measured: Measurements, reasoned: Measurements | None, kind: str) -> Iterator[Finding]:
    """Yield what a chain of thought changes about confidence, for runs that have a task with and without it.

    Both were asked the same sentences, so the interval of two independent samples is wide rather than narrow.
    """
    for way in (NONE, *WAYS):
        before = measured.get("confidence", type=kind, augmentation=way)
        after = None if reasoned is None else reasoned.get("confidence", type=kind, augmentation=way)
        if after is None or before is None:
            continue
        moved = independent_difference(after.estimate, before.estimate)
        change = Estimate(moved.value, moved.low, moved.high, after.estimate.level, moved.n, "independent")
        effect = "raises" if change.low > 0 else "lowers" if change.high < 0 else "does not detectably change"
        text = (
            f"{_where(kind)} {WITH.get(way, 'without a marker')}, a chain of thought {effect} confidence:"
            f" {change:+} (n = {after.n:,} and {before.n:,})."
        )
        yield _finding(text, [after, before], kind)
