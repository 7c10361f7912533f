"""The survey's tables on SQLite and PostgreSQL: handing out, settling, withdrawing, migrating."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import sqlalchemy as sa
from survey_raters import YES, Person, answer, answer_all, new_sqlite, rater, vote

from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.database.tables import LOCK_SENTENCE
from equipoise.builder.survey.database.work import OTHER, REPEATED, STALE, STORED, Asking


def test_it_is_asked_as_long_as_the_criteria_could_still_keep_it(database_url: str, some_sentences) -> None:
    database = SurveyDatabase(database_url)
    agreed, disputed = [sentence for sentence in some_sentences(40) if sentence.type == "type2"][:2]
    database.load([agreed, disputed])
    for number in range(12):
        wavering = vote(True, number < 2, True)  # 7 of 9 is the first share over 75%
        answer_all(database, rater(database), lambda text, said=wavering: said if text == disputed.text else YES)
    votes = Counter(answer.sentence for answer in database.results.answers())
    assert votes == {agreed.id: 4, disputed.id: 9}
    assert database.results.counts() == (2, 2)
    database.close()


def test_near_decision_first(database_url: str, some_sentences) -> None:
    database = SurveyDatabase(database_url)
    database.load(some_sentences(5))
    for _ in range(3):
        who = rater(database)
        answer(database, who, database.work.question(who.id).ticket)
    (only,) = {answer.sentence for answer in database.results.answers()}
    fourth = database.work.question(rater(database).id)
    assert fourth.text == next(one.text for one in some_sentences(5) if one.id == only)
    database.close()


def test_a_sentence_is_held_by_no_more_people_than_it_needs(database_url: str, some_sentences) -> None:
    database = SurveyDatabase(database_url)
    database.load(some_sentences(1))
    raters = [rater(database) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        held = list(pool.map(database.work.question, [who.id for who in raters]))
    assert sum(question is not None for question in held) == 4
    database.close()


def test_who_goes_away_loses_the_sentence_to_others(database_url: str, some_sentences) -> None:
    now = [0.0]
    database = SurveyDatabase(database_url, Asking(lease_s=60), clock=lambda: now[0])
    database.load(some_sentences(1))
    gone = [rater(database) for _ in range(4)]
    tickets = [database.work.question(who.id).ticket for who in gone]
    late = rater(database)
    assert database.work.question(late.id) is None
    now[0] = 61.0
    assert database.work.question(late.id) is not None
    assert not answer(database, gone[0], tickets[0])
    assert answer_all(database, late) == 1
    database.close()


def test_the_same_form_twice_is_one_answer_and_another_is_refused(database_url: str, some_sentences) -> None:
    database = SurveyDatabase(database_url)
    database.load(some_sentences(5))
    who = rater(database)
    held = database.work.question(who.id)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: database.work.answer(who.session, held.ticket, YES).result, range(8)))
    assert Counter(results) == {STORED: 1, REPEATED: 7}
    assert database.work.answer(who.session, held.ticket, vote(False)).result == OTHER
    assert database.work.answer(who.session, "made up", YES).result == STALE
    assert [one.vote for one in database.results.answers()] == [YES]
    # Late, from an old tab: the next question is where it was.
    following = database.work.question(who.id)
    assert database.work.answer(who.session, held.ticket, YES).result == REPEATED
    assert database.work.question(who.id) == following
    database.close()


def test_a_check_is_counted_once_however_often_it_is_sent(database_url: str, some_sentences) -> None:
    database = SurveyDatabase(database_url, Asking(check_every=1))
    database.load(some_sentences(5))
    database.work.checks = ["k1", "k2"]
    who = rater(database)
    while not (held := database.work.question(who.id)).check:
        answer(database, who, held.ticket)
    with ThreadPoolExecutor(8) as pool:
        send = lambda _: database.work.answer(who.session, held.ticket, YES, judge=lambda key, said: False)  # noqa: E731
        results = Counter(progress.result for progress in pool.map(send, range(8)))
    assert results == {STORED: 1, REPEATED: 7}
    (record,) = database.raters.all()
    assert (record.checks_right, record.checks_wrong) == (0, 1)
    # An honest rater who slipped may correct it, as any last answer.
    assert database.work.last_answer(who.id).question.check == held.check
    assert database.work.correct(who.id, held.ticket, YES, judge=lambda key, said: True)
    (record,) = database.raters.all()
    assert (record.checks_right, record.checks_wrong) == (1, 0)
    database.close()


def test_nothing_is_stranded_when_many_send_twice(database_url: str, some_sentences) -> None:
    database = SurveyDatabase(database_url)
    database.load(some_sentences(8))
    raters = [rater(database) for _ in range(10)]

    def work(who: Person) -> None:
        while question := database.work.question(who.id):
            form = (who.session, question.ticket, vote(True, hash(question.text) % 3 > 0, True))
            with ThreadPoolExecutor(2) as tabs:
                list(tabs.map(database.work.answer, *zip(form, form, strict=True)))

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(work, raters))
    assert database.tidy() == 0  # what is stored of each sentence follows from its answers
    assert database.results.counts() == (8, 8)
    answers = database.results.answers()
    assert len(answers) == len({(one.sentence, one.rater) for one in answers})
    database.close()


def test_a_deadlock_is_tried_again(postgres: Callable[[], str], some_sentences) -> None:
    database = SurveyDatabase(postgres())
    one, other = (sentence.id for sentence in some_sentences(2))
    database.load(some_sentences(2))
    both, tries = threading.Barrier(2), []

    def job(first: str, second: str) -> None:
        def locking(connection: sa.Connection) -> None:
            tries.append(first)
            connection.execute(LOCK_SENTENCE, {"which": first})
            if len(tries) <= 2:
                both.wait(timeout=10)
            connection.execute(LOCK_SENTENCE, {"which": second})

        database.store.write(locking)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(job, (one, other), (other, one)))
    assert len(tries) == 3  # one of them was the deadlock's victim, and was done again
    database.close()


def test_many_at_once(database_url: str, some_sentences) -> None:
    database = SurveyDatabase(database_url)
    database.load(some_sentences(12))
    raters = [rater(database) for _ in range(12)]

    def work(place: int) -> int:
        return answer_all(database, raters[place], lambda text: vote(True, (place + len(text)) % 2 == 0, True))

    with ThreadPoolExecutor(12) as pool:
        stored = sum(pool.map(work, range(12)))
    answers = database.results.answers()
    assert len(answers) == stored == len({(one.sentence, one.rater) for one in answers})
    assert max(Counter(one.sentence for one in answers).values()) <= 10
    database.close()


def test_a_quota(tmp_path: Path, some_sentences) -> None:
    database = SurveyDatabase(new_sqlite(tmp_path / "s.sqlite"), Asking(quota=2))
    database.load(some_sentences(5))
    assert answer_all(database, rater(database)) == 2
