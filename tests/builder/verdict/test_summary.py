"""The state of a survey: agreement between raters, and who counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from survey_raters import vote

from equipoise.builder.steps import (
    Sentence,
)
from equipoise.builder.verdict.summary import agreement_with_others, krippendorff_alpha, rows_of, summarise
from equipoise.builder.verdict.votes import Answer, RaterRecord
from equipoise.records import UndefinedMetric


def test_alpha_of_krippendorffs_own_example() -> None:
    # Krippendorff (2011), nominal data of four observers, twelve units: 0.743.
    observers = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    counts = np.array([[sum(row[unit] == value for row in observers) for value in range(1, 6)] for unit in range(12)])
    assert krippendorff_alpha(counts) == pytest.approx(0.743, abs=5e-4)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12))
def test_alpha_is_at_most_one_and_ignores_order(units: list[tuple[int, int]]) -> None:
    counts = np.array(units, dtype=int).reshape(-1, 2)
    try:
        alpha = krippendorff_alpha(counts)
    except UndefinedMetric:
        given_answers = {place for unit in units if sum(unit) > 1 for place in (0, 1) if unit[place]}
        assert len(given_answers) < 2
        return
    assert alpha <= 1 + 1e-12
    assert krippendorff_alpha(counts[::-1, ::-1]) == pytest.approx(alpha)
    unanimous = all(min(unit) == 0 for unit in units if sum(unit) > 1)
    assert (alpha == pytest.approx(1.0)) is unanimous


def test_agreement_with_the_others() -> None:
    # Three units: a, b and c answer yes, yes, no; then all yes; then a alone.
    unit, rater = np.array([0, 0, 0, 1, 1, 1, 2]), np.array([0, 1, 2, 0, 1, 2, 0])
    reply = np.array([1, 1, 0, 1, 1, 1, 1])
    agree, asked = agreement_with_others(unit, rater, reply, 3)
    assert (agree.tolist(), asked.tolist()) == ([1, 1, 1], [1, 1, 2])


def test_raters_without_answers_are_not_counted(some_sentences: Callable[[int], list[Sentence]]) -> None:
    (sentence,) = some_sentences(1)
    raters = [RaterRecord(f"r{n}", "passed", 1.0, "") for n in range(90)]
    answers = [Answer(sentence.id, f"r{n}", 0, vote(True, True, True), 5.0, False) for n in range(4)]
    summary = summarise(rows_of(answers)[0], raters, (1, 1))
    assert (summary.answers, summary.contributors, summary.passed) == (4, 4, 90)
