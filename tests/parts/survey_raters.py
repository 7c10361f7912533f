"""Raters of a survey without its pages, for tests of the database."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.verdict.votes import Vote

YES = Vote(True, True, True)


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
    assert database.raters.take_trial(found.id, 0, True, question="q", pass_share=0.8)
    return Person(found.id, session)


def answer(database: SurveyDatabase, who: Person, ticket: str, vote: Vote = YES) -> bool:
    progress = database.work.answer(who.session, ticket, vote)
    return progress is not None and progress.stored


def answer_all(database: SurveyDatabase, who: Person, vote: Callable[[str], Vote] = lambda text: YES) -> int:
    answered = 0
    while question := database.work.question(who.id):
        answered += answer(database, who, question.ticket, vote(question.text))
    return answered
