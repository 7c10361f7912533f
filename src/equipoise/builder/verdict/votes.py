"""The records a survey leaves: votes, answers and raters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

QUESTIONS = ("coherent", "first", "second")
INVITED, TESTING, PASSED, FAILED, WITHDRAWN = "invited", "testing", "passed", "failed", "withdrawn"


class Vote(NamedTuple):
    """One person's answers; `first` and `second` are None where the sentence was called incoherent."""

    coherent: bool
    first: bool | None
    second: bool | None


@dataclass(frozen=True, slots=True)
class Answer:
    """One stored answer of one rater to one sentence; `number` counts the rater's answers from 0."""

    sentence: str
    rater: str
    number: int
    vote: Vote
    seconds: float
    withdrawn: bool


@dataclass(frozen=True, slots=True)
class RaterRecord:
    """One rater: the state, the score in the entrance test, and the locale ("" if not given)."""

    id: str
    state: str
    score: float | None
    locale: str
