"""The sentences on which runs differ, side by side."""

from __future__ import annotations

from pathlib import Path

from kept_texts import assert_kept

from equipoise.comparing.comparison import compare
from equipoise.records.showing import Finding, Table
from equipoise.report import comparison_page
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
