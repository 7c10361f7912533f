"""Sentences and matrices of a comparison say which run is better, and only where a difference is detected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.records import Estimate
from equipoise.reports.comparison.compare import Choices, Comparison, compare
from equipoise.reports.comparison.page import comparison_page
from equipoise.reports.comparison.verdicts import better_run, matrices, pair_verdicts


@pytest.fixture(scope="module")
def three(planted_run: Path, mild_run: Path, make_run: Callable[..., Path]) -> Comparison:
    twin = make_run("twin", strength=1.6, bias=0.3)
    metrics = ("flip_rate", "accuracy", "ucerf")
    return compare([planted_run, mild_run, twin], Choices(permutations=2000, resamples=50, metrics=metrics))


def test_a_sentence_tells_the_difference_of_the_better_run(three: Comparison) -> None:
    verdicts = {(v.runs, v.data): v.sentence for v in pair_verdicts(three)}
    runs, data = "planted (strong) − planted (mild)", "builtin · next-word, resolvable (type 2)"
    test = next(t for t in three.tests if (t.runs, t.data, t.metric) == (runs, data, "flip_rate"))
    assert test.corrected < 0.05 and better_run(test) == "planted (mild)"
    points = f"{100 * test.difference.value:.0f}"
    told = f"planted (mild) changes its answer with the pronoun {points} points less often than planted (strong)"
    assert verdicts[runs, data].startswith(told) and len(verdicts[runs, data]) < 260
    alike = verdicts["planted (mild) − planted (twin)", data]
    assert alike == "No difference is detected in flip rate, accuracy and UCerF."


def test_a_sentence_counts_what_it_leaves_to_the_tables(planted_run: Path, mild_run: Path) -> None:
    comparison = compare([planted_run, mild_run], Choices(permutations=2000, resamples=50))
    (verdict,) = (v for v in pair_verdicts(comparison) if "type 2" in v.data)
    tests = [test for test in comparison.tests if test.data == verdict.data]
    further = [test for test in tests if test.metric not in ("flip_rate", "accuracy", "ucerf")]
    differ = sum(test.detected for test in further)
    assert verdict.sentence.endswith(f"Of {len(further)} further metrics, {differ} differ.") and differ > 1
    assert verdict.sentence.count("(strong)") == 1 and len(verdict.sentence) < 330


def test_a_matrix_has_every_pair_both_ways_round(three: Comparison) -> None:
    found = {(m.data, m.metric): m for m in matrices(three)}
    matrix = found["builtin · next-word, resolvable (type 2)", "ucerf"]
    for row in range(3):
        assert matrix.cells[row][row] is None
        for column in range(3):
            if row != column:
                one, other = matrix.cells[row][column], matrix.cells[column][row]
                assert one.value == -other.value and one.shown == other.shown
                assert one.better is None or one.better is not other.better
    strong, mild = matrix.cells[0][1], matrix.cells[1][0]
    assert mild.better is True and strong.better is False
    assert matrix.cells[1][2].better is None and matrix.cells[1][2].value == 0
    page = comparison_page(three)
    assert page.count('<table class="matrix">') == len(found) and "▲" in page


@pytest.mark.parametrize(
    ("low", "corrected", "detected"), [(0.01, 0.04, True), (-0.01, 0.04, False), (0.01, 0.05, False)]
)
def test_a_difference_needs_a_test_and_an_interval(
    three: Comparison, low: float, corrected: float, detected: bool
) -> None:
    difference = Estimate(0.1, low, 0.2, 0.95, 40, "paired", 0.001)
    assert replace(three.tests[0], difference=difference, corrected=corrected).detected == detected
