"""The survey's tables on SQLite and PostgreSQL: handing out, settling, withdrawing, migrating."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from equipoise.builder.steps import BuildError, Sentence
from equipoise.builder.survey.database.connection import with_driver
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.database.tables import SETTINGS
from equipoise.builder.survey.database.work import Asking
from equipoise.builder.verdict.votes import Vote

YES = Vote(True, True, True)


def rater(database: SurveyDatabase) -> str:
    session = database.raters.enter(database.raters.invite(1)[0])
    assert session is not None
    found = database.raters.in_session(session)
    assert found is not None
    database.raters.set_questions(found.id, ["q"])
    assert database.raters.take_trial(found.id, 0, True, question="q", pass_share=0.8)
    return found.id


def answer_all(database: SurveyDatabase, id: str, vote: Callable[[str], Vote] = lambda text: YES) -> int:
    answered = 0
    while question := database.work.question(id):
        answered += database.work.answer(id, question.ticket, vote(question.text))
    return answered


def test_four_who_agree_settle_it_and_ten_end_it(database_url: str, some_sentences) -> None:
    database = SurveyDatabase(database_url)
    agreed, disputed = some_sentences(2)
    database.load([agreed, disputed])
    for number in range(12):
        wavering = Vote(True, number % 2 == 0, True)
        answer_all(database, rater(database), lambda text, said=wavering: said if text == disputed.text else YES)
    votes = Counter(answer.sentence for answer in database.results.answers())
    assert votes == {agreed.id: 4, disputed.id: 10}
    assert database.results.counts() == (2, 2)
    database.close()


def test_near_decision_first(database_url: str, some_sentences) -> None:
    database = SurveyDatabase(database_url)
    database.load(some_sentences(5))
    for _ in range(3):
        id = rater(database)
        question = database.work.question(id)
        database.work.answer(id, question.ticket, YES)
    (only,) = {answer.sentence for answer in database.results.answers()}
    fourth = database.work.question(rater(database))
    assert fourth.text == next(one.text for one in some_sentences(5) if one.id == only)
    database.close()


def test_a_sentence_is_held_by_no_more_people_than_it_needs(database_url: str, some_sentences) -> None:
    database = SurveyDatabase(database_url)
    database.load(some_sentences(1))
    raters = [rater(database) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        held = list(pool.map(database.work.question, raters))
    assert sum(question is not None for question in held) == 4
    database.close()


def test_who_goes_away_loses_the_sentence_to_others(database_url: str, some_sentences) -> None:
    now = [0.0]
    database = SurveyDatabase(database_url, Asking(lease_s=60), clock=lambda: now[0])
    database.load(some_sentences(1))
    gone = [rater(database) for _ in range(4)]
    tickets = [database.work.question(id).ticket for id in gone]
    late = rater(database)
    assert database.work.question(late) is None
    now[0] = 61.0
    assert database.work.question(late) is not None
    assert not database.work.answer(gone[0], tickets[0], YES)
    assert answer_all(database, late) == 1
    database.close()


def test_a_withdrawn_rater_counts_nowhere(database_url: str, some_sentences) -> None:
    database = SurveyDatabase(database_url)
    database.load(some_sentences(3))
    raters = [rater(database) for _ in range(4)]
    for id in raters:
        answer_all(database, id)
    assert database.results.counts() == (3, 3)
    assert database.raters.withdraw(raters[0]) == 3
    assert database.results.counts() == (3, 0)
    assert database.results.summary().answers == 9
    assert database.work.question(raters[0]) is None or not database.work.answer(raters[0], "x", YES)
    assert answer_all(database, rater(database)) == 3
    assert database.results.counts() == (3, 3)
    with pytest.raises(BuildError, match="unknown rater"):
        database.raters.withdraw("nobody")
    database.close()


def test_many_at_once(database_url: str, some_sentences) -> None:
    database = SurveyDatabase(database_url)
    database.load(some_sentences(12))
    raters = [rater(database) for _ in range(12)]

    def work(place: int) -> int:
        return answer_all(database, raters[place], lambda text: Vote(True, (place + len(text)) % 2 == 0, True))

    with ThreadPoolExecutor(12) as pool:
        stored = sum(pool.map(work, range(12)))
    answers = database.results.answers()
    assert len(answers) == stored == len({(one.sentence, one.rater) for one in answers})
    assert max(Counter(one.sentence for one in answers).values()) <= 10
    database.close()


def test_jobs_that_share_a_transaction_fail_alone(database_url: str) -> None:
    database = SurveyDatabase(database_url)

    def write(number: int) -> int:
        def job(connection: sa.Connection) -> int:
            connection.execute(SETTINGS.insert().values(name=f"n{number}", value="x"))
            if number % 5 == 0:
                raise ValueError("this one only")
            return number

        return database.store.write(job)

    def attempt(number: int) -> int | None:
        try:
            return write(number)
        except ValueError:
            return None

    with ThreadPoolExecutor(20) as pool:
        results = list(pool.map(attempt, range(40)))
    expected = [None if number % 5 == 0 else number for number in range(40)]
    assert results == expected
    stored = {number for number in range(40) if database.setting(f"n{number}")}
    assert stored == {number for number in expected if number is not None}
    database.close()


def test_a_quota(tmp_path: Path, some_sentences) -> None:
    database = SurveyDatabase(f"sqlite:///{tmp_path / 's.sqlite'}", Asking(quota=2))
    database.load(some_sentences(5))
    assert answer_all(database, rater(database)) == 2


def older_database(url: str, version: str) -> sa.Engine:
    """Make the tables as an earlier Equipoise made them."""
    engine = sa.create_engine(with_driver(url))
    config = Config()
    config.set_main_option("script_location", str(resources.files("equipoise.builder.survey.database") / "migrations"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, version)
    return engine


@pytest.mark.parametrize("version", ["0001", "0002"])
def test_an_older_database_is_brought_up_to_date(database_url: str, version: str) -> None:
    engine = older_database(database_url, version)
    with engine.begin() as old:
        old.execute(
            sa.text("INSERT INTO sentences VALUES ('s', 's', 'A text.', 'he', 'cook', 'nurse', 0.5, 2, 1, false)")
        )
        for number, name in enumerate(("a", "b", "gone")):
            state = "withdrawn" if name == "gone" else "passed"
            old.execute(sa.text(f"INSERT INTO raters VALUES ('{name}', '{name}', '{name}', '{state}', 0.9, '')"))
            values = f"'s', '{name}', {number}, {name == 'a'}, {name == 'a' or 'NULL'}, {name == 'a' or 'NULL'}"
            old.execute(sa.text(f"INSERT INTO answers VALUES ({values}, 5.0, {name == 'gone'})"))
    engine.dispose()
    database = SurveyDatabase(database_url)
    assert [answer.vote for answer in database.results.answers()][:2] == [YES, Vote(False, None, None)]
    assert {answer.origin for answer in database.results.answers()} == {"person"}
    with database.store.reading() as connection:
        row = connection.execute(sa.text("SELECT coherent_yes, coherent_no, first_yes, second_no, held FROM sentences"))
        assert tuple(row.one()) == (1, 1, 1, 0, 0)
        assert connection.scalar(sa.text("SELECT answers FROM raters WHERE id = 'a'")) == 1
    assert answer_all(database, rater(database)) == 1
    with database.store.writing() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    database.close()
    with pytest.raises(BuildError, match="newer Equipoise"):
        SurveyDatabase(database_url)


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
