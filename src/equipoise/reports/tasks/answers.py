"""What was answered freely, and how the rules read it: a sample of each meaning, most of all of the unparsed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...records import Measurement, Message
from ...runs.measurements import kind_title
from ...runs.run import Part, Run
from ...runs.tables import examples_from_frame
from ...tasks.open_answer import meaning_of, open_questions
from ...tasks.outcomes import MEANINGS
from ..page.rendering import Section, render
from .views import is_open

SHOWN = {"unparsed": 12}
"""How many answers of a meaning are shown; FEW of every other."""

FEW = 3

SHARES = tuple(f"{meaning}_share" for meaning in MEANINGS)


@dataclass(frozen=True)
class Answer:
    """A question as it was asked, and what the model wrote."""

    question: str
    text: str


@dataclass(frozen=True)
class Reading:
    """The answers of one meaning: how many there are, and some of them, spread evenly."""

    meaning: str
    count: int
    sample: Sequence[Answer]


def answers(run: Run) -> Section | None:
    """Return how open answers were read, with a sample of each meaning; None where nothing was answered freely."""
    parts = [
        {"title": str(part), "readings": list(readings(part)), "rows": list(_rows(part))}
        for part in run.parts
        if is_open(part)
    ]
    names = [name.removesuffix("_share") for name in SHARES]
    return Section("answers", "Open answers", render("answers.html", parts=parts, names=names)) if parts else None


def readings(part: Part) -> Iterator[Reading]:
    """Yield the answers by meaning, the unparsed first; a candidate that was named is "one of the candidates"."""
    by_meaning: dict[str, list[Answer]] = defaultdict(list)
    for answer, meaning in _answers(part):
        by_meaning[meaning if isinstance(meaning, str) else "one of the candidates"].append(answer)
    for meaning in (*reversed(MEANINGS), "one of the candidates"):
        several = by_meaning.get(meaning, [])
        shown = min(SHOWN.get(meaning, FEW), len(several))
        sample = [several[number * len(several) // shown] for number in range(shown)]
        yield Reading(meaning, len(several), sample)


def _answers(part: Part) -> Iterator[tuple[Answer, int | str]]:
    """Yield every answer that the run folder holds to the questions of this part, with its meaning."""
    run = part.run
    asked = set(part.items["example_id"])
    rows = run.examples[(run.examples["dataset"] == part.dataset) & run.examples["id"].isin(asked)]
    questions = list(run.manifest.settings.get("questions") or ())
    candidates: dict[tuple[Message, ...] | str, tuple[str, ...]] = {}
    for example in examples_from_frame(rows):
        for context in open_questions(example, questions).values():
            candidates[context] = example.candidates
    for context, text in run.texts():
        if context in candidates and not isinstance(context, str):
            yield Answer(context[-1].content, text), meaning_of(text, candidates[context])


def _rows(part: Part) -> Iterator[Mapping[str, object]]:
    """Yield the shares of the meanings by type."""
    for kind in part.kinds:
        cells: list[Measurement | None] = [part.measured.get(name, type=kind) for name in SHARES]
        yield {"kind": kind_title(kind), "cells": cells}
