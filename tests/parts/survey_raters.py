"""Raters of a survey without its pages, for tests of the database."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from equipoise.builder.steps import Sentence
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.database.tables import ANSWERS, RATERS
from equipoise.builder.survey.database.work import STORED
from equipoise.builder.verdict.questions import published
from equipoise.builder.verdict.votes import Answer, Vote


def vote(coherent: bool | None, first: bool | None = None, second: bool | None = None) -> Vote:
    """Return the replies to the paper's questions; None is unsure, or not asked."""
    words = {True: "yes", False: "no", None: "unsure"}
    return (words[coherent], words[first], words[second]) if coherent else (words[coherent], "", "")


YES = vote(True, True, True)


@cache
def _made() -> bytes:
    """Return an empty database of SQLite with all tables: making them takes longer than most tests of a survey."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.sqlite"
        SurveyDatabase(f"sqlite:///{path}").close()
        return path.read_bytes()


def new_sqlite(path: Path) -> str:
    """Return the address of an empty survey, made here."""
    path.write_bytes(_made())
    return f"sqlite:///{path}"


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


def votes_for(sentence: Sentence, *, flipped: bool = False, count: int = 4, origin: str = "person") -> list[Answer]:
    first = sentence.type == "type1" or (sentence.target == sentence.first) is not flipped
    second = sentence.type == "type1" or (sentence.target == sentence.second) is not flipped
    return [Answer(sentence.id, f"r{n}", 0, vote(True, first, second), 5.0, False, origin) for n in range(count)]


def survey_of(path: Path, sentences: list[Sentence], answers: list[Answer]) -> str:
    """Make a database with these answers, as if raters had given them; return its address."""
    url = new_sqlite(path)
    database = SurveyDatabase(url)
    database.load(sentences)
    ids = {answer.rater for answer in answers}

    def fill(connection: sa.Connection) -> None:
        for id in sorted(ids):
            row = {"id": id, "entry_hash": id, "state": "passed", "locale": "", "withdrawn_by": "", "questions": ""}
            row |= {"previous_state": "", "origin": "person", "code_hash": ""}
            connection.execute(RATERS.insert().values(row))
        for answer in answers:
            row = {"sentence": answer.sentence, "rater": answer.rater, "number": 0, "ticket": ""}
            row |= {"seconds": 1.0, "withdrawn": False, "origin": answer.origin, "comment": ""}
            row["replies"] = published().as_text(answer.vote)
            connection.execute(ANSWERS.insert().values(row))

    database.store.write(fill)
    database.close()
    return url
