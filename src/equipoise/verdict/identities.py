"""What markers change, in sentences: one rule for words, chart and table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..records import Measurement, parse_group
from ..records.showing import Finding
from ..runs.measurements import Measurements, kind_title
from ..stats.paired import DETECTED, is_detected
from .findings import SAME, absolute, is_shown
from .subgroups import NONE, WITH, Subgroups

TOPIC = "identities"
NO_CHANGE = "No attribute differs detectably from no marker."
CORRECTED = "after correction for all claims"
NAMED = 7
"""From this number on markers are not listed: the chart names them."""


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
        """Its p-value, corrected for all claims of the run."""
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


def strongest_change(identities: Subgroups) -> Change | None:
    """Return the detected change of confidence that is furthest from 0; None without markers, or without any."""
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


def findings(identities: Subgroups) -> list[Finding]:
    """Return what identities change: the sentence on the strongest change first, then those of each type."""
    strongest = strongest_change(identities)
    several = [finding for kind in identities.kinds for finding in change_findings(identities, kind)]
    if strongest is None:
        return several
    leading = next(finding for finding in several if strongest.row in finding.rests_on)
    return [leading, *(finding for finding in several if finding is not leading)]


def change_findings(identities: Subgroups, kind: str) -> Iterator[Finding]:
    """Yield the gap between genders without a marker, what markers change, and whether for he and she alike."""
    yield from _gender(identities.measured, kind)
    for way in identities.ways(kind):
        where = f"{where_of(kind)} {WITH[way]},"
        yield from change_sentence(changes(identities, kind, way), where, kind)
        yield from _interaction(changes(identities, kind, way, "confidence_interaction"), where, kind)


def where_of(kind: str) -> str:
    """Return the sentences of a type as a sentence begins."""
    return f"In {kind_title(kind)} sentences" if kind else "In these sentences"


def _finding(text: str, rests_on: Sequence[Measurement], kind: str, *, claim: bool) -> Finding:
    return Finding(text, rests_on, TOPIC, kind, claim=claim)


def _gender(measured: Measurements, kind: str) -> Iterator[Finding]:
    at = {"type": kind, "augmentation": NONE}
    he, she = (measured.get("confidence", gender=gender, **at) for gender in ("male", "female"))
    gap = measured.get("confidence_disparity", **at)
    if he is None or she is None or gap is None or abs(gap.value - abs(he.value - she.value)) > SAME:
        return
    text = f"{where_of(kind)} without a marker,"
    if is_shown(gap):
        more, other = ("he", "she") if he.value > she.value else ("she", "he")
        text += f" confidence is {gap} higher with {more} than with {other}"
    else:
        text += f" no difference of confidence between he and she is detected: {gap}"
    yield _finding(f"{text} (n = {gap.n:,}).", [gap, he, she], kind, claim=is_shown(gap))


def change_sentence(several: Sequence[Change], where: str, kind: str) -> Iterator[Finding]:
    """Yield how many markers lower and raise confidence, and which does most; or that no attribute differs."""
    if not several:
        return
    detected = [change for change in several if change.detected]
    if not detected:
        smallest = min(several, key=lambda change: change.p)
        why = f"smallest p = {smallest.p:.3f} of {_markers(len(several))}, {CORRECTED}"
        if smallest.p < DETECTED:  # few sentences: their interval is valid at any n, and wide
            why = f"the intervals of all {_markers(len(several))} include 0"
        text = f"{where} no attribute differs detectably from no marker ({why}, n = {smallest.row.n:,})."
        yield _finding(text, [smallest.row], kind, claim=False)
        return
    lower = sorted((c for c in detected if c.row.value < 0), key=lambda change: change.row.value)
    higher = sorted((c for c in detected if c.row.value > 0), key=lambda change: -change.row.value)
    clauses = [_clause(lower, "lower", len(several)), _clause(higher, "raise", len(several))]
    rests_on = [strongest_first[0].row for strongest_first in (lower, higher) if strongest_first]
    text = (
        f"{where} {'; '.join(filter(None, clauses))} (against the same sentences unmarked; p < {DETECTED} {CORRECTED},"
        f" n = {rests_on[0].n:,})."
    )
    yield _finding(text, rests_on, kind, claim=True)


def _clause(strongest_first: Sequence[Change], verb: str, tested: int) -> str:
    if not strongest_first:
        return ""
    strongest = strongest_first[0]
    size = f"{absolute(strongest.row)}"
    if len(strongest_first) == 1:
        return f"{strongest.name} {verb}s confidence by {size}"
    return f"{len(strongest_first)} of {tested} markers {verb} confidence, most of all {strongest.name}, by {size}"


def _interaction(several: Sequence[Change], where: str, kind: str) -> Iterator[Finding]:
    """Yield which marker changes confidence with he and with she by the most different amounts, or that none does."""
    if not several:
        return
    detected = [change for change in several if change.detected]
    largest = max(detected or several, key=lambda change: abs(change.row.value))
    apart = f"the change with he minus that with she is {largest.row:+}"
    if not detected:
        text = f"{where} no marker changes confidence with he and with she by detectably different amounts; most of all"
        text += f" {largest.name}: {apart} (n = {largest.row.n:,})."
        yield _finding(text, [largest.row], kind, claim=False)
        return
    subject, most = f"{largest.name} changes", ""
    if len(detected) > 1:
        subject, most = f"{len(detected)} of {len(several)} markers change", f", most of all {largest.name}"
    text = (
        f"{where} {subject} confidence with he and with she by different amounts{most}: {apart} (p < {DETECTED}"
        f" {CORRECTED}, n = {largest.row.n:,})."
    )
    yield _finding(text, [largest.row], kind, claim=True)


def _markers(count: int) -> str:
    return "1 marker" if count == 1 else f"{count} markers"
