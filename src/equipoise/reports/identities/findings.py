"""The WinoIdentity paper's headline questions about one run: each a number with its interval, and a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...records import Measurement
from ...runs.measurements import Measurements, kind_title, span
from ...stats.independent import independent_difference
from .views import NONE, WAYS, WITH

SIDES = {"male": "male-dominated", "female": "female-dominated"}
REASONED = {"next-word": "next-word-cot", "mcq": "mcq-cot"}
"""A task -> the same after a chain of thought."""


@dataclass(frozen=True)
class Finding:
    """An answer: what it is about, its number, and the number in a sentence."""

    name: str
    row: Measurement
    sentence: str


def findings(measured: Measurements, kind: str) -> Iterator[Finding]:
    """Yield what a run says about privilege, double disadvantage and declining, for each augmentation that it has."""
    where = f"In {kind_title(kind)} sentences" if kind else "In these sentences"
    for way in WAYS:
        at = {"type": kind, "augmentation": way}
        yield from _privileged(measured, at, f"{where} {WITH[way]},")
        yield from _double(measured, at, f"{where} {WITH[way]},")
        yield from _declined(measured, at, f"{where} {WITH[way]},")


def _privileged(measured: Measurements, at: dict[str, str], where: str) -> Iterator[Finding]:
    for privilege in ("privileged", "disadvantaged"):
        row = measured.get("confidence_drop", privilege=privilege, **at)
        if row is None:
            continue
        if row.low > 0:
            effect = f"lower confidence by {span(row)}"
        elif row.high < 0:
            effect = f"raise confidence: they lower it by {span(row)}"
        else:
            effect = f"do not change confidence detectably: the loss is {span(row)}"
        yield Finding(
            f"loss for {privilege} markers", row, f"{where} markers of {privilege} groups {effect} (n = {row.n})."
        )


def _double(measured: Measurements, at: dict[str, str], where: str) -> Iterator[Finding]:
    for side in ("", *SIDES):
        row = measured.get("double_disadvantage", side=side, **at)
        if row is None:
            continue
        among = f" of {SIDES[side]} occupations" if side else ""
        shown = "higher" if row.low > 0 else "lower" if row.high < 0 else "not detectably higher or lower"
        yield Finding(
            f"double disadvantage{', ' + SIDES[side] if side else ''}",
            row,
            f"{where} confidence{among} for privileged markers with the stereotype is {shown} than for disadvantaged"
            f" ones against it: {span(row)} (n = {row.n}).",
        )
    row = measured.get("disadvantage_interaction", **at)
    if row is not None:
        settled = "more" if row.low > 0 else "less" if row.high < 0 else "not detectably more or less"
        yield Finding(
            "cost of disadvantage, against - with",
            row,
            f"{where} a disadvantaged marker costs {settled} confidence against the stereotype than with it:"
            f" {span(row)} (n = {row.n}).",
        )


def _declined(measured: Measurements, at: dict[str, str], where: str) -> Iterator[Finding]:
    unmarked = measured.get("coverage", type=at["type"], augmentation=NONE)
    for privilege in ("privileged", "disadvantaged"):
        row = measured.get("coverage", privilege=privilege, **at)
        if row is not None and unmarked is not None:
            yield Finding(
                f"coverage, {privilege}",
                row,
                f"{where} a model that answers {unmarked.value:.0%} of the unmarked sentences, those it is surest of,"
                f" answers {row.value:.0%} [{row.low:.0%}, {row.high:.0%}] with {privilege} markers (n = {row.n}).",
            )


def reasoning_sentences(parts: Sequence[tuple[str, Measurements]], kind: str) -> Iterator[str]:
    """Yield what a chain of thought changes about confidence, for runs that have a task with and without it.

    Both were asked the same sentences, so the interval of two independent samples is wide rather than narrow.
    """
    by_task = dict(parts)
    for task, reasoned in REASONED.items():
        if task not in by_task or reasoned not in by_task:
            continue
        for way in (NONE, *WAYS):
            rows = [by_task[name].get("confidence", type=kind, augmentation=way) for name in (reasoned, task)]
            if rows[0] is None or rows[1] is None:
                continue
            change = independent_difference(rows[0].estimate, rows[1].estimate)
            verb = "raises" if change.low > 0 else "lowers" if change.high < 0 else "does not change"
            detectably = "" if verb != "does not change" else " detectably"
            marking = WITH.get(way, "without a marker")
            yield (
                f"In {kind_title(kind)} sentences {marking}, a chain of thought {verb} confidence{detectably}:"
                f" {change.value:+.3f} [{change.low:+.3f}, {change.high:+.3f}] (n = {rows[0].n:,} and {rows[1].n:,})."
            )
