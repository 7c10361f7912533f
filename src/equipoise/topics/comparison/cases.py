"""The sentences on which runs differ, side by side: for a reader who may see the dataset's sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...comparing.comparison import Comparison
from ...comparing.matching import Match
from ...records import ABSENT, Integers
from ...records.showing import Cell, Column, Finding, Row, Section, Table
from ...runs.run import Run
from ...tasks.outcomes import further_options
from ..cases import question_of

MOST = 100
SHOWN = 12
"""Sentences of a table, and those of them that are seen before the others are unfolded."""


def differing(comparison: Comparison) -> Section | None:
    """Return the sentences that the runs answer differently, those first whose probabilities are furthest apart."""
    shown: list[Finding | Table] = []
    for match in comparison.matches:
        shown += _of_match(comparison, match)
    intro = (
        "Each row is one sentence, with the answer of each run and its probability among the candidates. The sentences"
        " whose probabilities are furthest apart come first."
    )
    return Section("Cases on which they differ", shown, "differing", "Cases", intro) if shown else None


def _of_match(comparison: Comparison, match: Match) -> list[Finding | Table]:
    runs = [run for run in comparison.runs if _has_items(run)]
    if len(runs) < len(comparison.runs):
        return []
    chosen = np.stack([outcomes.predicted for outcomes in match.outcomes])
    apart = np.flatnonzero((chosen != chosen[:1]).any(axis=0))
    total = chosen.shape[1]
    note = Finding(
        f"{match}: the runs answer {len(apart):,} of {total:,} sentences differently.", topic="cases", state="note"
    )
    if not len(apart):
        return [note]
    rows = apart[np.argsort(-_distances(match, apart), kind="stable")][:MOST]
    texts = _texts(runs[0], match)
    columns = [Column("sentence", words=True), *(Column(name, words=True) for name in comparison.names)]
    cells = [Row((Cell(_sentence(texts, match, row)), *_answers(texts, match, chosen, row))) for row in rows.tolist()]
    return [note, Table(f"{match}", columns, cells, shown=SHOWN, more="further sentences")]


def _has_items(run: Run) -> bool:
    return all(part.has_items for part in run.parts)


def _distances(match: Match, rows: Integers) -> Any:
    """Return how far apart the runs' probabilities of each row are: the largest difference of any candidate."""
    probabilities = np.stack([outcomes.probs[rows] for outcomes in match.outcomes])
    return (probabilities.max(axis=0) - probabilities.min(axis=0)).max(axis=1)


def _texts(run: Run, match: Match) -> Mapping[str, tuple[str, Sequence[str]]]:
    """Return the text with its question, and the candidates, of every example of the match, by its name."""
    examples = run.examples[run.examples["dataset"] == match.dataset]
    several = zip(*(examples[name] for name in ("id", "text", "slots", "candidates")), strict=True)
    return {
        str(name): (f"{text} {question_of(run, slots)}".strip(), [str(candidate) for candidate in people])
        for name, text, slots, people in several
    }


def _sentence(texts: Mapping[str, tuple[str, Sequence[str]]], match: Match, row: int) -> str:
    outcomes = match.outcomes[0]
    variant = str(outcomes.variant[row] or "")
    text = texts.get(str(outcomes.example_id[row]), (str(outcomes.example_id[row]), ()))[0]
    return f"{text} ({variant})" if variant else text


def _answers(
    texts: Mapping[str, tuple[str, Sequence[str]]], match: Match, chosen: Integers, row: int
) -> list[str | Cell]:
    """Return the answer of each run to one row, with its probability."""
    answers: list[str | Cell] = []
    for outcomes, place in zip(match.outcomes, chosen[:, row], strict=True):
        if place == ABSENT:
            answers.append("a tie")
            continue
        people = list(texts.get(str(outcomes.example_id[row]), ("", ()))[1])
        if outcomes.sides[row]:
            people = str(outcomes.sides[row]).split("|")
        names = [*people, *further_options(str(outcomes.flags[row] or ""), outcomes.k - len(people))]
        right = outcomes.gold[row] == place and bool(outcomes.answerable[row])
        named = names[place] if place < len(names) else f"candidate {place + 1}"
        answers.append(Cell(f"{named} {outcomes.probs[row, place]:.0%}", strong=right))
    return answers
