"""The survey's tables on SQLite and PostgreSQL: handing out, settling, withdrawing, migrating."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from equipoise.builder.steps import BuildError, Sentence
from equipoise.builder.survey.database.survey import Asking, SurveyDatabase
from equipoise.builder.verdict.votes import Vote

YES = Vote(True, True, True)


def rater(database: SurveyDatabase) -> str:
    session = database.enter(database.invite(1)[0])
    assert session is not None
    found = database.rater(session)
    assert found is not None
    assert database.take_trial(found.id, 0, True, of=1, pass_share=0.8)
    return found.id


def answer_all(database: SurveyDatabase, id: str, vote: Callable[[str], Vote] = lambda text: YES) -> int:
    answered = 0
    while question := database.question(id):
        answered += database.answer(id, question.ticket, vote(question.text))
    return answered


def test_four_who_agree_settle_it_and_ten_end_it(database_url: str, some_sentences) -> None:
    database = SurveyDatabase(database_url)
    agreed, disputed = some_sentences(2)
    database.load([agreed, disputed])
    for number in range(12):
        wavering = Vote(True, number % 2 == 0, True)
        answer_all(database, rater(database), lambda text, said=wavering: said if text == disputed.text else YES)
    votes = Counter(answer.sentence for answer in database.answers())
    assert votes == {agreed.id: 4, disputed.id: 10}
    assert database.counts() == (2, 2)
    database.close()


def test_near_decision_first(database_url: str, some_sentences) -> None:
    database = SurveyDatabase(database_url)
    database.load(some_sentences(5))
    for _ in range(3):
        id = rater(database)
        question = database.question(id)
        database.answer(id, question.ticket, YES)
    (only,) = {answer.sentence for answer in database.answers()}
    fourth = database.question(rater(database))
    assert fourth.text == next(one.text for one in some_sentences(5) if one.id == only)
    database.close()


def test_a_sentence_is_held_by_no_more_people_than_it_needs(database_url: str, some_sentences) -> None:
    database = SurveyDatabase(database_url)
    database.load(some_sentences(1))
    raters = [rater(database) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        held = list(pool.map(database.question, raters))
    assert sum(question is not None for question in held) == 4
    database.close()


def test_who_goes_away_loses_the_sentence_to_others(database_url: str, some_sentences) -> None:
    now = [0.0]
    database = SurveyDatabase(database_url, Asking(lease_s=60), clock=lambda: now[0])
    database.load(some_sentences(1))
    gone = [rater(database) for _ in range(4)]
    tickets = [database.question(id).ticket for id in gone]
    late = rater(database)
    assert database.question(late) is None
    now[0] = 61.0
    assert database.question(late) is not None
    assert not database.answer(gone[0], tickets[0], YES)
    assert answer_all(database, late) == 1
    database.close()


def test_a_withdrawn_rater_counts_nowhere(database_url: str, some_sentences) -> None:
    database = SurveyDatabase(database_url)
    database.load(some_sentences(3))
    raters = [rater(database) for _ in range(4)]
    for id in raters:
        answer_all(database, id)
    assert database.counts() == (3, 3)
    assert database.withdraw(raters[0]) == 3
    assert database.counts() == (3, 0)
    assert database.summary().answers == 9
    assert database.question(raters[0]) is None or not database.answer(raters[0], "x", YES)
    assert answer_all(database, rater(database)) == 3
    assert database.counts() == (3, 3)
    with pytest.raises(BuildError, match="no rater"):
        database.withdraw("nobody")
    database.close()


def test_many_at_once(database_url: str, some_sentences) -> None:
    database = SurveyDatabase(database_url)
    database.load(some_sentences(12))
    raters = [rater(database) for _ in range(12)]

    def work(place: int) -> int:
        return answer_all(database, raters[place], lambda text: Vote(True, (place + len(text)) % 2 == 0, True))

    with ThreadPoolExecutor(12) as pool:
        stored = sum(pool.map(work, range(12)))
    answers = database.answers()
    assert len(answers) == stored == len({(one.sentence, one.rater) for one in answers})
    assert max(Counter(one.sentence for one in answers).values()) <= 10
    database.close()


def test_a_quota(tmp_path: Path, some_sentences) -> None:
    database = SurveyDatabase(f"sqlite:///{tmp_path / 's.sqlite'}", Asking(quota=2))
    database.load(some_sentences(5))
    assert answer_all(database, rater(database)) == 2


def test_an_older_database_is_brought_up_to_date(tmp_path: Path, some_sentences) -> None:
    path = tmp_path / "old.sqlite"
    database = SurveyDatabase(f"sqlite:///{path}")
    database.load(some_sentences(2))
    answer_all(database, rater(database))
    database.close()
    with sqlite3.connect(path) as old:
        old.execute("DROP INDEX next_question")
        old.execute("UPDATE alembic_version SET version_num = '0001'")
    database = SurveyDatabase(f"sqlite:///{path}")
    assert len(database.answers()) == 2
    database.close()
    with sqlite3.connect(path) as new:
        assert new.execute("SELECT version_num FROM alembic_version").fetchall() == [("0002",)]
        assert new.execute("SELECT count(*) FROM sqlite_master WHERE name = 'next_question'").fetchone() == (1,)
        new.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(BuildError, match="newer Equipoise"):
        SurveyDatabase(f"sqlite:///{path}")


@pytest.mark.parametrize(
    "url", ["mysql://x/y", "nonsense", "postgresql://nobody@127.0.0.1:9/x", "sqlite:////no/such/x"]
)
def test_a_database_that_cannot_be_opened(url: str) -> None:
    with pytest.raises(BuildError, match="database"):
        SurveyDatabase(url)


def test_loading_again_adds_only_what_is_new(
    database_url: str, some_sentences: Callable[[int], list[Sentence]]
) -> None:
    database = SurveyDatabase(database_url)
    assert (database.load(some_sentences(2)), database.load(some_sentences(2))) == (2, 0)
    database.close()
