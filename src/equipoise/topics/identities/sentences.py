"""The WinoIdentity paper's questions, and what a chain of thought changes, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ... import packaged
from ...records import Measurement
from ...records.showing import Finding
from ...runs.measurements import Measurements
from ...stats.independent import independent_difference
from ...stats.paired import corrected, is_detected
from ...verdict.findings import is_shown
from ...verdict.identities import TOPIC, where_of
from ...verdict.subgroups import NONE, WAYS, WITH

REASONED = {"next-word": "next-word-cot", "mcq": "mcq-cot"}
"""A task -> the same after a chain of thought."""


def answers(measured: Measurements, kind: str, way: str) -> Iterator[Finding]:
    """Yield what a run says about privilege, double disadvantage and declining; each rests on one number.

    A difference is named where it is shown among all claims of the run.
    """
    unmarked = measured.get("coverage", type=kind, augmentation=NONE)
    for name, question in packaged.toml(__package__, "questions.toml").items():
        row = measured.get(question["metric"], type=kind, augmentation=way, **question.get("group", {}))
        if row is not None and (question["metric"] != "coverage" or unmarked is not None):
            claim = is_shown(row) if "signs" in question else None
            sign = question.get("signs", [""] * 3)[2 if not claim else 0 if row.value > 0 else 1]
            words = question["answer"].format(sign=sign, row=row, unmarked=unmarked.value if unmarked else None)
            text = f"{where_of(kind)} {WITH[way]}, {words} (n = {row.n:,})."
            yield Finding(text, [row], TOPIC, kind, name=name, claim=claim)


def reasoning(measured: Measurements, reasoned: Measurements | None, kind: str) -> Iterator[Finding]:
    """Yield what a chain of thought changes about confidence, for runs that have a task with and without it.

    Both were asked the same sentences, so the test of two independent samples is strict. Its p-values are corrected
    for all types and ways to mark a sentence.
    """
    pairs = [] if reasoned is None else list(_with_and_without(measured, reasoned))
    tests = corrected([independent_difference(after.estimate, before.estimate) for after, before in pairs])
    for change, (after, before) in zip(tests, pairs, strict=True):
        if after.parts.get("type", "") != kind:
            continue
        effect = "does not detectably change"
        if is_detected(change):
            effect = "raises" if change.value > 0 else "lowers"
        text = (
            f"{where_of(kind)} {WITH.get(after.parts['augmentation'], 'without a marker')}, a chain of thought"
            f" {effect} confidence: {change:+} (n = {after.n:,} and {before.n:,})."
        )
        yield Finding(text, [after, before], TOPIC, kind)


def _with_and_without(measured: Measurements, reasoned: Measurements) -> Iterator[tuple[Measurement, Measurement]]:
    """Yield mean confidence with and without a chain of thought, of each type and way to mark a sentence."""
    for kind, way in product(measured.kinds, (NONE, *WAYS)):
        after, before = (of.get("confidence", type=kind, augmentation=way) for of in (reasoned, measured))
        if after is not None and before is not None:
            yield after, before
