"""The state of a survey: progress, agreement between raters, and figures for each rater.

Works on arrays, so that the administration page stays fast with many answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...records import UndefinedMetric
from .questions import Questionnaire, published
from .votes import FAILED, INVITED, PASSED, SIMULATED, WITHDRAWN, Answer, RaterRecord, Vote

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RaterSummary:
    """One rater: answers that count, median seconds per sentence, agreement with the majority, attention checks."""

    id: str
    state: str
    score: float | None
    locale: str
    answers: int
    median_seconds: float | None
    agreement: float | None
    checks_right: int = 0
    checks_wrong: int = 0
    withdrawn_by: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """The whole survey; `alphas` holds (question, alpha as text, number of answers to it)."""

    sentences: int
    settled: int
    answers: int
    simulated: int
    answers_a_sentence: float
    median_seconds: float | None
    alphas: tuple[tuple[str, str, int], ...]
    raters: tuple[RaterSummary, ...]

    @property
    def contributors(self) -> int:
        """The number of raters with at least one answer that counts."""
        return sum(rater.answers > 0 for rater in self.raters)

    @property
    def passed(self) -> int:
        """The number of raters who passed the entrance test."""
        return sum(rater.state in (PASSED, WITHDRAWN) for rater in self.raters)

    @property
    def failed(self) -> int:
        """The number of raters who failed it."""
        return sum(rater.state == FAILED for rater in self.raters)

    @property
    def entered(self) -> int:
        """The number of raters who followed their invitation."""
        return sum(rater.state != INVITED for rater in self.raters)

    @property
    def locales(self) -> dict[str, int]:
        """The number of answers by the locale that raters gave."""
        counts: Counter[str] = Counter()
        for rater in self.raters:
            counts[rater.locale or "not given"] += rater.answers
        return {locale: count for locale, count in counts.most_common() if count}


AnswerRow = tuple[str, str, Vote, float]
"""sentence, rater, vote, seconds: an answer that counts."""

NO_CHOICE = -1
"""The code of "unsure", and of a question that was not asked; choices are numbered from 0."""


def rows_of(answers: Iterable[Answer]) -> tuple[list[AnswerRow], int]:
    """Return the rows of the answers that count, and how many of them are simulated."""
    kept = [answer for answer in answers if not answer.withdrawn]
    rows = [(answer.sentence, answer.rater, answer.vote, answer.seconds) for answer in kept]
    return rows, sum(answer.origin == SIMULATED for answer in kept)


def summarise(
    rows: Sequence[AnswerRow],
    raters: Sequence[RaterRecord],
    counts: tuple[int, int],
    simulated: int = 0,
    questions: Questionnaire | None = None,
) -> Summary:
    """Return the state of the survey; `counts` are all sentences, and the settled ones."""
    questions = questions or published()
    sentence_codes: dict[str, int] = {}
    rater_codes = {rater.id: code for code, rater in enumerate(raters)}
    sentence = np.array([sentence_codes.setdefault(row[0], len(sentence_codes)) for row in rows], dtype=np.int64)
    rater = np.array([rater_codes[row[1]] for row in rows], dtype=np.int64)
    replies = _codes([row[2] for row in rows], questions)
    seconds = np.array([row[3] for row in rows], dtype=np.float64)
    agree, asked = _agreement(sentence, rater, replies, len(raters))
    medians = _medians(rater, seconds, len(raters))
    answered = np.bincount(rater, minlength=len(raters))
    lines = [
        RaterSummary(
            id=record.id,
            state=record.state,
            score=record.score,
            locale=record.locale,
            answers=int(answered[code]),
            median_seconds=medians[code],
            agreement=float(agree[code] / asked[code]) if asked[code] else None,
            checks_right=record.checks_right,
            checks_wrong=record.checks_wrong,
            withdrawn_by=record.withdrawn_by,
        )
        for code, record in enumerate(raters)
    ]
    return Summary(
        sentences=counts[0],
        settled=counts[1],
        answers=len(rows),
        simulated=simulated,
        answers_a_sentence=len(rows) / len(sentence_codes) if rows else 0.0,
        median_seconds=float(np.median(seconds)) if rows else None,
        alphas=tuple(_alpha(sentence, replies[name], name) for name in questions.names),
        raters=tuple(sorted(lines, key=lambda line: -line.answers)),
    )


def _codes(votes: Sequence[Vote], questions: Questionnaire) -> dict[str, Counts]:
    """Return the number of the choice in each vote, for each question."""
    kinds = {vote: code for code, vote in enumerate(dict.fromkeys(votes))}
    which = np.array([kinds[vote] for vote in votes], dtype=np.int64)
    codes = {}
    for place, question in enumerate(questions.questions):
        numbers = {choice: number for number, choice in enumerate(question.choices)}
        table = np.array([numbers.get(vote[place], NO_CHOICE) for vote in kinds], dtype=np.int64)
        codes[question.name] = table[which] if len(table) else which
    return codes


def _agreement(sentence: Counts, rater: Counts, replies: dict[str, Counts], raters: int) -> tuple[Counts, Counts]:
    agree = asked = np.zeros(raters, dtype=np.int64)
    for reply in replies.values():
        given = reply != NO_CHOICE
        more = agreement_with_others(sentence[given], rater[given], reply[given], raters)
        agree, asked = agree + more[0], asked + more[1]
    return agree, asked


def _medians(rater: Counts, seconds: NDArray[np.float64], raters: int) -> list[float | None]:
    order = np.lexsort((seconds, rater))
    ordered, ends = seconds[order], np.cumsum(np.bincount(rater, minlength=raters))
    starts = np.concatenate([[0], ends[:-1]]) if raters else ends
    return [
        float(ordered[(start + end - 1) // 2] + ordered[(start + end) // 2]) / 2 if end > start else None
        for start, end in zip(starts, ends, strict=True)
    ]


def _alpha(sentence: Counts, reply: Counts, question: str) -> tuple[str, str, int]:
    given = reply != NO_CHOICE
    try:
        alpha = f"{krippendorff_alpha(_counts(sentence[given], reply[given])):.3f}"
    except UndefinedMetric:
        alpha = "undefined"
    return question, alpha, int(given.sum())


def _counts(unit: Counts, reply: Counts) -> Counts:
    """Return how many gave each reply, by unit."""
    width = int(reply.max(initial=0)) + 1
    return np.bincount(unit * width + reply, minlength=(int(unit.max(initial=-1)) + 1) * width).reshape(-1, width)


def krippendorff_alpha(counts: NDArray[Any]) -> float:
    """Return Krippendorff's alpha for nominal answers: 1 is full agreement, 0 is chance, below 0 is worse than chance.

    `counts[unit, answer]` is the number of raters who gave that answer; units with fewer than two answers are left out.
    alpha = 1 - observed / expected disagreement (Krippendorff 2004). Undefined if no unit has two answers, or if all
    answers are equal.
    """
    counts = np.asarray(counts, dtype=np.float64)
    counts = counts[counts.sum(axis=1) >= 2]
    sizes, totals = counts.sum(axis=1), counts.sum(axis=0)
    n = float(totals.sum())
    if n == 0:
        raise UndefinedMetric("Krippendorff's alpha needs a question that two raters have answered")
    expected = n * n - float((totals * totals).sum())
    if expected == 0:
        raise UndefinedMetric("Krippendorff's alpha is undefined where all answers are equal")
    same = (counts * (counts - 1)).sum(axis=1)
    observed = float(((sizes * (sizes - 1) - same) / (sizes - 1)).sum())
    return 1.0 - (n - 1) * observed / expected


def agreement_with_others(unit: Counts, rater: Counts, reply: Counts, raters: int) -> tuple[Counts, Counts]:
    """Return, for each rater, the answers that agree with the most frequent one of the others, and those that count.

    One entry per answer: `unit`, `rater` and `reply` are codes from 0. Units where the others are split or absent do
    not count.
    """
    if not len(unit):
        return np.zeros(raters, dtype=np.int64), np.zeros(raters, dtype=np.int64)
    others = _counts(unit, reply)[unit]
    entry = np.arange(len(unit))
    others[entry, reply] -= 1
    most = others.max(axis=1)
    counts = (most > 0) & ((others == most[:, None]).sum(axis=1) == 1)
    agrees = counts & (others[entry, reply] == most)
    return np.bincount(rater[agrees], minlength=raters), np.bincount(rater[counts], minlength=raters)
