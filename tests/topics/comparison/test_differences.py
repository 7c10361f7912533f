"""Sentences and tables of a comparison say which run is better, and only where a difference is detected."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kept_texts import assert_kept

import equipoise
from equipoise import audit
from equipoise.comparing.comparison import Choices, Comparison, compare
from equipoise.media import markdown
from equipoise.media.cells import plain
from equipoise.records.showing import Cell, Chart, Dot, Finding, Section, Table
from equipoise.report import COMPARED, sections
from equipoise.topics.comparison import differences as topic
from equipoise.topics.comparison.differences import (
    answer,
    blind,
    difference_charts,
    differences,
    findings,
    matrices,
    overlap,
    summary,
)

RESOLVABLE = "builtin · next-word, resolvable (type 2)"


@pytest.fixture(scope="module")
def three(planted_run: Path, mild_run: Path, twin_run: Path) -> Comparison:
    metrics = ("flip_rate", "accuracy", "ucerf")
    return compare([planted_run, mild_run, twin_run], Choices(permutations=2000, resamples=50, metrics=metrics))


@pytest.fixture(scope="module")
def two(planted_run: Path, mild_run: Path) -> Comparison:
    return compare([planted_run, mild_run], Choices(permutations=2000, resamples=50))


def told(comparison: Comparison, runs: str, data: str) -> Finding:
    """Return what is said about two runs on some data, without the name of the data."""
    section = findings(comparison)
    assert section is not None
    every = [entry for entry in section.shown if isinstance(entry, Section)]
    # Of several pairs the sentences are folded: the order of all runs comes first.
    inner = [entry for folded in every if folded.folded for entry in folded.shown if isinstance(entry, Section)]
    (pair,) = [entry for entry in (*every, *inner) if entry.title == runs]
    (finding,) = [found for found in pair.every(Finding) if found.text.startswith(f"{data}: ")]
    return replace(finding, text=finding.text.removeprefix(f"{data}: "))


def of(comparison: Comparison, metric: str, runs: str) -> Any:
    """Return the tested difference of two runs."""
    (test,) = [t for t in comparison.tests if (t.row.model, t.data, t.row.metric) == (runs, RESOLVABLE, metric)]
    return test


def test_a_sentence_tells_the_difference_of_the_better_run(three: Comparison) -> None:
    test = of(three, "flip_rate", "planted (strong) − planted (mild)")
    assert test.difference.p_corrected < 0.05 and test.better == "planted (mild)"
    found = told(three, "planted (strong) and planted (mild)", RESOLVABLE)
    points = f"{100 * test.difference.value:.0f}"
    words = f"planted (mild) changes its answer with the pronoun {points} points less often than planted (strong)"
    assert found.text.startswith(words) and len(found.text) < 260
    assert found.estimate == test.difference and test.row in found.rests_on
    alike = told(three, "planted (mild) and planted (twin)", RESOLVABLE)
    assert alike.text == "No difference is detected in flip rate, accuracy and UCerF."


def test_a_sentence_counts_what_it_leaves_to_the_tables(two: Comparison) -> None:
    found = told(two, "planted (strong) and planted (mild)", RESOLVABLE)
    tests = [test for test in two.tests if test.data == RESOLVABLE]
    further = [test for test in tests if test.row.metric not in ("flip_rate", "accuracy", "ucerf")]
    differ = sum(test.detected for test in further)
    assert found.text.endswith(f"Of {len(further)} further metrics, {differ} differ.") and differ > 1
    assert found.text.count("(strong)") == 1 and len(found.text) < 330


def test_sentences_about_other_data_do_not_speak_of_pronouns(tmp_path: Path) -> None:
    runs = [
        equipoise.audit(
            f"planted:strength={strength},bias=0,noise=1", "sentiment", limit=40, out=tmp_path / name, resamples=20
        )
        for name, strength in (("guesses", 0), ("knows", 3))
    ]
    comparison = compare(runs, metrics=("flip_rate", "accuracy"), permutations=2000, resamples=20, progress=False)
    section = overlap(comparison)
    assert section is not None and "does the group word change their answer" in section.intro
    text = markdown.draw(summary(comparison))
    assert "changes its answer with the group word" in text and "pronoun" not in text + section.intro


def test_the_verdict_of_every_run_comes_first(tmp_path: Path) -> None:
    runs = [
        equipoise.audit(f"planted:strength=0,bias=0,noise={noise}", limit=20, out=tmp_path / f"{noise}", resamples=20)
        for noise in (1, 2)
    ]
    section = findings(compare(runs, permutations=20, resamples=20, progress=False))
    assert section is not None
    verdicts = [finding.text for finding in section.every(Finding) if finding.topic == "verdict"]
    for number, text in zip((1, 2), verdicts, strict=True):
        assert text.startswith(f"planted ({number}) on builtin · next-word. Not usable: there are too few sets")


def test_a_matrix_has_every_pair_once_and_only_one_is_opened(three: Comparison) -> None:
    (sections,) = [several for data, several in matrices(three) if data == RESOLVABLE]
    assert [section.folded for section in sections] == [True] * 3, "one matrix for each metric, on demand"
    (matrix,) = [table for section in sections for table in section.every(Table) if table.title == "ucerf"]
    strong, mild, twin = three.names
    assert [row.cells[0] for row in matrix.rows] == [mild, twin]
    assert [column.title for column in matrix.columns[1:]] == [strong, mild]
    test = of(three, "ucerf", "planted (strong) − planted (mild)")
    assert list(matrix.rows[0].cells[1:]) == [Cell(-test.difference.value, strong=True, after="▲"), ""]
    assert matrix.rows[1].cells[2] == Cell(0.0, strong=False)
    unfolded = [entry for entry in differences(three).shown if isinstance(entry, Table)]
    assert not unfolded, "no matrix and no long table before the reader asks"


def test_the_table_of_differences_has_every_test(two: Comparison) -> None:
    (table,) = differences(two).every(Table)
    rows = [row for row in table.rows if not row.heading]
    assert [row.cells[0] for row in rows] == [test.row.metric for test in two.tests]
    for row, test in zip(rows, two.tests, strict=True):
        cell, corrected = row.cells[1], row.cells[3]
        assert isinstance(cell, Cell) and cell.content == test.row and cell.strong == test.detected
        assert isinstance(corrected, Cell) and corrected.content == test.difference.p_corrected
        assert row.cells[2] == test.difference.p
        assert row.cells[4] == (test.better or None) and row.better == test.row.better
    written = plain(table).rows[1]
    assert written[1] == f"{two.tests[0].row:+}" and written[1][0] in "+-" and written[2] == f"{two.tests[0].row.n}"


def test_too_few_exchanges_for_so_many_comparisons_are_named(
    planted_run: Path, mild_run: Path, two: Comparison
) -> None:
    few = compare([planted_run, mild_run], Choices(permutations=50, resamples=20))
    least = len(few.tests) / 51
    for shown in (summary(few), findings(few)):
        assert shown is not None
        first = next(iter(shown.every(Finding)))
        assert first.state == "doubt" and "cannot detect any difference" in first.text and f"{least:.2g}" in first.text
    assert list(blind(two)) == []
    assert list(blind(replace(few, choices=replace(few.choices, correction="bh")))) == []


def test_a_chart_has_every_difference_hollow_where_none_is_detected(three: Comparison) -> None:
    charts = list(difference_charts(three))
    assert {chart.name for chart in charts} == {f"differences-builtin-next-word-{kind}" for kind in ("type1", "type2")}
    for chart in charts:
        tests = [test for test in three.tests if test.data == chart.title]
        dots = list(chart.panels[0].marks_of(Dot))
        assert [dot.x for dot in dots] == [test.difference for test in tests]
        assert [dot.hollow for dot in dots] == [not test.detected for test in tests]
        assert len({dot.y for dot in dots}) == len(dots), "no two of them at one place"
        assert [key.label for key in chart.legend] == list(dict.fromkeys(test.row.model for test in tests))
    many = replace(three, tests=[replace(t, row=replace(t.row, model=str(n))) for n, t in enumerate(three.tests)])
    assert list(difference_charts(many)) == [], "more pairs than tones"


def test_a_summary_lists_what_is_detected_or_asked_for(two: Comparison, three: Comparison) -> None:
    shown = summary(two)
    detected = sum(test.detected for test in two.tests)
    told_last = [str(finding) for finding in shown.every(Finding)][-1]
    assert told_last.startswith(f"The runs differ: {detected} of {len(two.tests)} differences hold after correction")
    apart = [
        replace(test, row=replace(test.row, estimate=replace(test.difference, p_corrected=1.0))) for test in two.tests
    ]
    reach = max(abs(end) for test in apart if test.row.metric == "flip_rate" for end in test.difference.ends)
    none = str(answer(replace(two, tests=apart)))
    assert none.startswith("No difference is detected: 0 of") and f"up to {reach:.3f} in flip rate (n = " in none
    assert re.search(r"\), \d\.\d{3} in accuracy \(n = \d+\) or \d\.\d{3} in signed UCerF \(n = \d+\) could", none)
    assert sum(len(table.rows) for table in shown.every(Table)) == detected
    assert sum(len(table.rows) for table in summary(three).every(Table)) == len(three.tests), "metrics were asked for"


def test_overlaps_are_counted_under_their_runs(two: Comparison) -> None:
    section = overlap(two)
    assert section is not None and not list(section.every(Chart))
    (table,) = section.every(Table)
    heading, *rows = table.rows
    assert heading.heading and heading.cells == ("planted (strong) and planted (mild)",)
    for row, counted in zip(rows, two.overlaps, strict=True):
        assert row.cells[0] == counted.data and row.cells[8] == counted.sets
        both = row.cells[7]
        assert isinstance(both, Cell) and both.content == counted.flips[2] and both.after == f"({counted.expected:.1f})"
    assert rows[1].cells[1:5] == (None,) * 4, "nothing is right in ambiguous sentences"


def test_what_is_described_is_as_it_was_kept(three: Comparison, two: Comparison) -> None:
    described = [one for one in sections(two, COMPARED) if one.id not in ("runs", "spreads")]
    assert_kept("topics/comparison", *described, summary(two))
    assert_kept("topics/comparison-of-three", *sections(three, (findings, differences)), list(matrices(three)))


@pytest.mark.parametrize(
    ("detected", "text"),
    [
        ([], ""),
        ([False], "Of one further metric, none differ."),
        ([True], "Of one further metric, 1 differs."),
        ([True, False, False], "Of 3 further metrics, 1 differs."),
        ([True, True, False], "Of 3 further metrics, 2 differ."),
        ([False, False], "Of 2 further metrics, none differ."),
    ],
)
def test_metrics_that_are_not_named_are_counted(detected: list[bool], text: str) -> None:
    tests: Any = [SimpleNamespace(detected=one) for one in detected]
    assert topic._further(tests) == text


def test_an_entry_is_of_the_row_against_the_column(three: Comparison) -> None:
    (test, *_) = [one for one in three.tests if one.detected and one.better]
    known = {(test.first, test.second): test}
    value, mark = test.row.value, "▲" if test.better == test.first else "▼"
    other = {"▲": "▼", "▼": "▲"}[mark]
    assert topic._entry(known, test.first, test.second) == Cell(value, strong=True, after=mark)
    assert topic._entry(known, test.second, test.first) == Cell(-value, strong=True, after=other)
    assert topic._entry(known, test.first, "nobody") == ""
    neither = {(test.first, test.second): replace(test, row=replace(test.row, better="neither"))}
    assert topic._entry(neither, test.first, test.second).after == ""  # type: ignore[union-attr]


def test_the_word_is_that_of_the_first_run(three: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    own = topic.words_of
    monkeypatch.setattr(topic, "words_of", lambda parts: given.append(parts) or own(parts))
    summary(three)
    assert given and all(part in three.runs[0].parts for parts in given for part in parts)
    assert not any(parts is run.parts for parts in given for run in three.runs[1:])


def test_what_changes_is_called_by_its_name_on_each_dataset(tmp_path: Path) -> None:
    asked = {"data": ["builtin", "gendered:control"], "limit": 40, "resamples": 20, "by": []}
    runs = [audit(f"planted:bias={b},noise=0.1", out=tmp_path / str(b), **asked).path for b in (0, 9)]
    compared = compare(runs, Choices(permutations=2000, resamples=20, metrics=("flip_rate",)))
    told = [finding.text for finding in summary(compared).every(Finding) if finding.topic == "difference"]
    assert any("changes its answer with the pronoun" in text for text in told), "the control has other group words"
