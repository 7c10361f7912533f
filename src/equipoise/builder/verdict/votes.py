"""The records a survey leaves: votes, answers and raters."""

from __future__ import annotations

from dataclasses import dataclass

INVITED, TESTING, PASSED, FAILED, WITHDRAWN = "invited", "testing", "passed", "failed", "withdrawn"
PERSON, SIMULATED = "person", "simulated"
"""Where an answer comes from."""

Vote = tuple[str, ...]
"""One rater's replies, in the order of the questions: a choice, UNSURE, or NOT_ASKED."""

UNSURE, NOT_ASKED = "unsure", ""


@dataclass(frozen=True, slots=True)
class Answer:
    """One stored answer of one rater to one sentence; `number` counts the rater's answers from 0."""

    sentence: str
    rater: str
    number: int
    vote: Vote
    seconds: float
    withdrawn: bool
    origin: str = PERSON
    at: float | None = None
    comment: str = ""


@dataclass(frozen=True, slots=True)
class RaterRecord:
    """One rater: state, score in the entrance test, locale ("" if not given), origin, and attention checks."""

    id: str
    state: str
    score: float | None
    locale: str
    origin: str = PERSON
    withdrawn_by: str = ""
    checks_right: int = 0
    checks_wrong: int = 0
