"""The state of a survey: agreement between raters, and who counts."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from survey_raters import vote

from equipoise.builder.steps import (
    Sentence,
)
from equipoise.builder.verdict.summary import (
    AnswerRow,
    agreement_with_others,
    krippendorff_alpha,
    rows_of,
    summarise,
)
from equipoise.builder.verdict.votes import Answer, RaterRecord, Vote
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


GIVEN = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.integers(0, 3),
        st.sampled_from(
            [vote(True, a, b) for a in (True, False, None) for b in (True, False)] + [vote(False), vote(None)]
        ),
        st.integers(1, 9),
    ),
    max_size=14,
    unique_by=lambda row: row[:2],
)


def agreement_by_hand(rows: list[AnswerRow], rater: str) -> float | None:
    """Return how often a rater says what most of the others say, where they are not split."""
    right = asked = 0
    for sentence, who, own, _ in rows:
        for place in range(3 if who == rater else 0):
            if own[place] not in ("yes", "no"):
                continue
            others = [row[2][place] for row in rows if row[0] == sentence and row[1] != rater]
            counts = Counter(reply for reply in others if reply in ("yes", "no"))
            if counts and counts["yes"] != counts["no"]:
                asked += 1
                right += counts.most_common(1)[0][0] == own[place]
    return right / asked if asked else None


@given(GIVEN)
def test_every_figure_is_what_counting_by_hand_gives(given_answers: list[tuple[int, int, Vote, int]]) -> None:
    rows: list[AnswerRow] = [(f"s{s}", f"r{r}", replies, float(time)) for s, r, replies, time in given_answers]
    raters = [
        RaterRecord(f"r{n}", "passed", 0.9, "", checks_right=n, checks_wrong=2 * n, withdrawn_by="x" * n)
        for n in range(4)
    ]
    told = summarise(rows, raters, (9, 4), 2)
    assert (told.sentences, told.settled, told.answers, told.simulated) == (9, 4, len(rows), 2)
    assert told.answers_a_sentence == (len(rows) / len({row[0] for row in rows}) if rows else 0)
    assert told.median_seconds == (statistics.median(row[3] for row in rows) if rows else None)
    assert [line.answers for line in told.raters] == sorted((line.answers for line in told.raters), reverse=True)
    for line in told.raters:
        own = [row for row in rows if row[1] == line.id]
        number = int(line.id[1:])
        assert line.answers == len(own)
        assert line.median_seconds == (statistics.median(row[3] for row in own) if own else None)
        assert line.agreement == agreement_by_hand(rows, line.id)
        assert (line.checks_right, line.checks_wrong, line.withdrawn_by) == (number, 2 * number, "x" * number)
        assert (line.state, line.score, line.locale) == ("passed", 0.9, "")
    for place, (name, alpha, count) in enumerate(told.alphas):
        table = {row[0]: Counter(other[2][place] for other in rows if other[0] == row[0]) for row in rows}
        counts = np.array([[of["yes"], of["no"]] for of in table.values()]).reshape(-1, 2)
        assert (name, count) == (("coherent", "first", "second")[place], int(counts.sum()))
        try:
            assert alpha == f"{krippendorff_alpha(counts):.3f}"
        except UndefinedMetric:
            assert alpha == "undefined"


def test_raters_are_counted_by_their_state_and_locale() -> None:
    states = ("invited", "testing", "passed", "failed", "withdrawn", "passed")
    raters = [RaterRecord(f"r{n}", state, None, "Kenya" if n > 3 else "") for n, state in enumerate(states)]
    rows = [(f"s{n}", f"r{who}", vote(True, True, True), 1.0) for n, who in enumerate((2, 2, 4, 5, 5, 5))]
    told = summarise(rows, raters, (6, 0))
    assert (told.contributors, told.passed, told.failed, told.entered) == (3, 3, 1, 5)
    assert list(told.locales.items()) == [("Kenya", 4), ("not given", 2)]
    assert summarise([], [], (0, 0)).raters == () and summarise([], [], (0, 0)).locales == {}


def test_answers_that_were_withdrawn_do_not_count() -> None:
    answers = [
        Answer("s", "r", 0, ("yes",), 2.5, False),
        Answer("t", "r", 1, ("no",), 3.5, True, origin="simulated"),
        Answer("u", "q", 0, ("no",), 4.5, False, origin="simulated"),
    ]
    assert rows_of(answers) == ([("s", "r", ("yes",), 2.5), ("u", "q", ("no",), 4.5)], 1)


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ([[1, 0], [0, 1]], "Krippendorff's alpha needs a question that two raters have answered"),
        ([[2, 0], [3, 0]], "Krippendorff's alpha is undefined where all answers are equal"),
    ],
)
def test_alpha_is_undefined_with_a_reason(counts: list[list[int]], reason: str) -> None:
    with pytest.raises(UndefinedMetric, match=f"^{reason}$"):
        krippendorff_alpha(np.array(counts))
