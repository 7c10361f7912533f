"""What the administrator sees of a survey: how far it is, how far people agree, and who answers how."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from ...records import UndefinedMetric
from ..verdict.agreement import agreement_with_others, krippendorff_alpha
from ..verdict.consensus import QUESTIONS
from .database import FAILED, INVITED, PASSED, WITHDRAWN, Answer, SurveyDatabase


@dataclass(frozen=True, slots=True)
class RaterSummary:
    """One rater: answers that count, seconds a question, and the share that agrees with the others' majority."""

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
        """Raters who passed the entrance test."""
        return sum(rater.state in (PASSED, WITHDRAWN) for rater in self.raters)

    @property
    def failed(self) -> int:
        """Raters who did not."""
        return sum(rater.state == FAILED for rater in self.raters)

    @property
    def entered(self) -> int:
        """Raters who followed their invitation."""
        return sum(rater.state != INVITED for rater in self.raters)

    @property
    def locales(self) -> dict[str, int]:
        """Answers by the locale that raters gave."""
        counts: Counter[str] = Counter()
        for rater in self.raters:
            counts[rater.locale or "not given"] += rater.answers
        return {locale: count for locale, count in counts.most_common() if count}


def summarise(database: SurveyDatabase) -> Summary:
    """Return how the survey stands; withdrawn answers count nowhere."""
    answers = [answer for answer in database.answers() if not answer.withdrawn]
    sentences, done = database.counts()
    asked = len({answer.sentence for answer in answers})
    questions = _by_question(answers)
    agreeing = agreement_with_others(questions)
    times: dict[str, list[float]] = defaultdict(list)
    for answer in answers:
        times[answer.rater].append(answer.seconds)
    raters = tuple(
        RaterSummary(
            id=id,
            state=state,
            score=score,
            locale=locale,
            answers=len(times[id]),
            median_seconds=statistics.median(times[id]) if times[id] else None,
            agreement=agreeing[id][0] / agreeing[id][1] if agreeing.get(id, (0, 0))[1] else None,
        )
        for id, state, score, locale in database.raters()
    )
    return Summary(
        sentences=sentences,
        settled=done,
        answers=len(answers),
        answers_a_sentence=len(answers) / asked if asked else 0.0,
        median_seconds=statistics.median(answer.seconds for answer in answers) if answers else None,
        alphas=tuple(_alpha(answers, question) for question in QUESTIONS),
        raters=tuple(sorted(raters, key=lambda rater: -rater.answers)),
    )


def _by_question(answers: Sequence[Answer]) -> dict[Hashable, dict[str, bool]]:
    """Return each question of each sentence with everybody's answer to it."""
    questions: dict[Hashable, dict[str, bool]] = defaultdict(dict)
    for answer in answers:
        for name, said in answer.vote._asdict().items():
            if said is not None:
                questions[answer.sentence, name][answer.rater] = said
    return questions


def _alpha(answers: Sequence[Answer], question: str) -> tuple[str, str, int]:
    units: dict[str, list[bool]] = defaultdict(list)
    for answer in answers:
        said = getattr(answer.vote, question)
        if said is not None:
            units[answer.sentence].append(said)
    try:
        alpha = f"{krippendorff_alpha(units.values()):.3f}"
    except UndefinedMetric:
        alpha = "undefined"
    return question, alpha, sum(map(len, units.values()))
