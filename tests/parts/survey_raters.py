"""Raters of a survey without its pages, for tests of the database."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.database.work import STORED
from equipoise.builder.verdict.votes import Vote


def vote(coherent: bool | None, first: bool | None = None, second: bool | None = None) -> Vote:
    """Return the replies to the paper's questions; None is unsure, or not asked."""
    words = {True: "yes", False: "no", None: "unsure"}
    return (words[coherent], words[first], words[second]) if coherent else (words[coherent], "", "")


YES = vote(True, True, True)


class Person(NamedTuple):
    """A rater who has passed the entrance test."""

    id: str
    session: str


def rater(database: SurveyDatabase) -> Person:
    session = database.raters.enter(database.raters.invite(1)[0])
    assert session is not None
    found = database.raters.in_session(session)
    assert found is not None
    database.raters.set_questions(found.id, ["q"])
    assert database.raters.take_trial(found.id, 0, True, asked=("q", "{}"), pass_share=0.8)
    return Person(found.id, session)


def answer(database: SurveyDatabase, who: Person, ticket: str, said: Vote = YES) -> bool:
    progress = database.work.answer(who.session, ticket, said)
    return progress is not None and progress.result == STORED


def answer_all(database: SurveyDatabase, who: Person, say: Callable[[str], Vote] = lambda text: YES) -> int:
    answered = 0
    while question := database.work.question(who.id):
        answered += answer(database, who, question.ticket, say(question.text))
    return answered
