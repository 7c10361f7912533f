"""The sentences on which runs differ, side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kept_texts import assert_kept

from equipoise.comparing.comparison import compare
from equipoise.records.showing import Cell, Finding, Table
from equipoise.report import comparison_page
from equipoise.tasks.open_answer import MEANINGS
from equipoise.topics.comparison import cases
from equipoise.topics.comparison.cases import differing


def test_the_sentences_are_those_with_different_answers_and_the_furthest_apart_come_first(
    planted_run: Path, mild_run: Path
) -> None:
    comparison = compare([planted_run, mild_run], resamples=20, permutations=20)
    section = differing(comparison)
    assert section is not None
    match = comparison.matches[0]
    first, second = match.outcomes
    apart = first.predicted != second.predicted
    (said, *_) = section.every(Finding)
    assert f"{int(apart.sum()):,} of {len(apart):,} sentences" in said.text
    (table, *_) = section.every(Table)
    distance = abs(first.probs - second.probs).max(axis=1)
    assert 0 < len(table.rows) == min(100, int(apart.sum()))
    texts = dict(zip(comparison.runs[0].examples["id"], comparison.runs[0].examples["text"], strict=True))
    furthest = max((row for row in range(len(apart)) if apart[row]), key=lambda row: distance[row])
    tied = [row for row in range(len(apart)) if apart[row] and distance[row] == distance[furthest]]
    assert str(table.rows[0].cells[0].content) in {str(texts[first.example_id[row]]) for row in tied}  # type: ignore[union-attr]


def test_sentences_are_on_the_page_only_where_they_were_asked_for(planted_run: Path, mild_run: Path) -> None:
    comparison = compare([planted_run, mild_run], resamples=20, permutations=20)
    sentence = str(differing(comparison).shown[1].rows[0].cells[0].content)  # type: ignore[union-attr]
    shown = sentence.partition("'")[0]
    assert shown in comparison_page(comparison, sentences=True)
    assert shown not in comparison_page(comparison)


def test_what_is_described_is_as_it_was_kept(planted_run: Path, mild_run: Path) -> None:
    assert_kept("topics/comparison-cases", differing(compare([planted_run, mild_run], resamples=20, permutations=20)))


def outcomes_of(make_outcomes: Any, probs: list[tuple[float, ...]], **changes: Any) -> Any:
    rows = [{"pair": f"p{at}", "probs": row, "gold": 0, "answerable": at < 2} for at, row in enumerate(probs)]
    return replace(make_outcomes(rows), **changes)


def test_answers_are_told_with_their_probability_and_right_ones_are_strong(make_outcomes: Any) -> None:
    flags = np.array(["", "", "open-answer", ""], dtype=object)
    sides = np.array(["", "", "", "male|female"], dtype=object)
    variant = np.array(["", "seed=1", "", ""], dtype=object)
    first = [(0.9, 0.1, 0.0), (0.2, 0.8, 0.0), (0.1, 0.2, 0.7), (0.4, 0.6, 0.0)]
    second = [(0.3, 0.7, 0.0), (0.5, 0.5, 0.0), (0.6, 0.3, 0.1), (0.9, 0.1, 0.0)]
    several = [outcomes_of(make_outcomes, one, flags=flags, sides=sides, variant=variant) for one in (first, second)]
    several[1] = replace(several[1], variant=np.array([""] * 4, dtype=object))
    match: Any = SimpleNamespace(outcomes=several)
    texts = {f"item-{at}": (f"Sentence {at}.", ["nurse", "clerk"]) for at in range(3)}
    chosen = np.stack([one.predicted for one in several])
    told = [cases._answers(texts, match, chosen, row) for row in range(4)]
    assert told[0] == [Cell("nurse 90%", strong=True), Cell("clerk 70%")]
    assert told[1] == [Cell("clerk 80%"), "a tie"]
    assert told[2][0] == Cell(f"{MEANINGS[-1]} 70%"), "as open answers have it"
    turned: Any = SimpleNamespace(outcomes=several[::-1])
    assert cases._answers(texts, turned, chosen[::-1], 1) == ["a tie", Cell("clerk 80%")]
    assert told[2][1] == Cell("nurse 60%"), "nothing is right where the text leaves it open"
    assert told[3] == [Cell("female 60%"), Cell("male 90%")]
    told_of = [cases._sentence(texts, match, row) for row in (0, 1, 3)]
    assert told_of == ["Sentence 0.", "Sentence 1. (seed=1)", "item-3"]
    distances = cases._distances(match, np.array([0, 2]))
    assert distances == pytest.approx([0.6, 0.6])
    unnamed = cases._answers({}, match, np.full((2, 4), 2), 0)
    assert [getattr(cell, "content", cell) for cell in unnamed] == ["candidate 3 0%"] * 2


def test_runs_that_agree_have_a_note_and_no_table(planted_run: Path, mild_run: Path) -> None:
    comparison = compare([planted_run, mild_run], resamples=20, permutations=20)
    (match,) = comparison.matches
    same = replace(match, items=[match.items[0]] * 2)
    (note,) = cases._of_match(comparison, same)
    assert str(note) == f"{match}: the runs answer 0 of {len(match.outcomes[0]):,} sentences differently."
    section = differing(comparison)
    assert section is not None
    (table,) = section.every(Table)
    assert table.shown == 12 and table.rest(88) == "88 further sentences"


def test_runs_without_their_items_have_no_cases(planted_run: Path, mild_run: Path) -> None:
    comparison = compare([planted_run, mild_run], resamples=20, permutations=20)
    bare: Any = SimpleNamespace(parts=[SimpleNamespace(has_items=True), SimpleNamespace(has_items=False)])
    some: Any = SimpleNamespace(runs=[comparison.runs[0], bare], names=comparison.names, matches=comparison.matches)
    assert cases._of_match(some, comparison.matches[0]) == [] and differing(some) is None
    assert cases._has_items(comparison.runs[0]) and not cases._has_items(bare)
