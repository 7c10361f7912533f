"""The state of a survey: progress, agreement between raters, and figures for each rater."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from ...records import UndefinedMetric
from .agreement import agreement_with_others, krippendorff_alpha
from .votes import FAILED, INVITED, PASSED, QUESTIONS, WITHDRAWN, Answer, RaterRecord


@dataclass(frozen=True, slots=True)
class RaterSummary:
    """One rater: answers that count, median seconds per sentence, and agreement with the majority of the others."""

    id: str
    state: str
    score: float | None
    locale: str
    answers: int
    median_seconds: float | None
    agreement: float | None


@dataclass(frozen=True, slots=True)
class Summary:
    """The survey as a whole; `alphas` holds (question, alpha as text, answers to it)."""

    sentences: int
    settled: int
    answers: int
    answers_a_sentence: float
    median_seconds: float | None
    alphas: tuple[tuple[str, str, int], ...]
    raters: tuple[RaterSummary, ...]

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


def summarise(answers: Sequence[Answer], raters: Sequence[RaterRecord], counts: tuple[int, int]) -> Summary:
    """Return the state of the survey, without withdrawn answers; `counts` are all sentences and the settled ones."""
    answers = [answer for answer in answers if not answer.withdrawn]
    sentences, settled = counts
    asked = len({answer.sentence for answer in answers})
    questions = _by_question(answers)
    agreeing = agreement_with_others(questions)
    times: dict[str, list[float]] = defaultdict(list)
    for answer in answers:
        times[answer.rater].append(answer.seconds)
    rows = [
        RaterSummary(
            id=rater.id,
            state=rater.state,
            score=rater.score,
            locale=rater.locale,
            answers=len(times[rater.id]),
            median_seconds=statistics.median(times[rater.id]) if times[rater.id] else None,
            agreement=_share(agreeing.get(rater.id, (0, 0))),
        )
        for rater in raters
    ]
    return Summary(
        sentences=sentences,
        settled=settled,
        answers=len(answers),
        answers_a_sentence=len(answers) / asked if asked else 0.0,
        median_seconds=statistics.median(answer.seconds for answer in answers) if answers else None,
        alphas=tuple(_alpha(answers, question) for question in QUESTIONS),
        raters=tuple(sorted(rows, key=lambda rater: -rater.answers)),
    )


def _share(counts: tuple[int, int]) -> float | None:
    part, whole = counts
    return part / whole if whole else None


def _by_question(answers: Sequence[Answer]) -> dict[Hashable, dict[str, bool]]:
    """Return every rater's answer to each question of each sentence."""
    questions: dict[Hashable, dict[str, bool]] = defaultdict(dict)
    for answer in answers:
        for name, reply in answer.vote._asdict().items():
            if reply is not None:
                questions[answer.sentence, name][answer.rater] = reply
    return questions


def _alpha(answers: Sequence[Answer], question: str) -> tuple[str, str, int]:
    units: dict[str, list[bool]] = defaultdict(list)
    for answer in answers:
        reply = getattr(answer.vote, question)
        if reply is not None:
            units[answer.sentence].append(reply)
    try:
        alpha = f"{krippendorff_alpha(units.values()):.3f}"
    except UndefinedMetric:
        alpha = "undefined"
    return question, alpha, sum(map(len, units.values()))
