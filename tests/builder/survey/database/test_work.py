"""The survey's tables on SQLite and PostgreSQL: handing out, settling, withdrawing, migrating."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from survey_raters import YES, answer, answer_all, rater

from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.database.work import Asking
from equipoise.builder.verdict.votes import Vote


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


def test_a_quota(tmp_path: Path, some_sentences) -> None:
    database = SurveyDatabase(f"sqlite:///{tmp_path / 's.sqlite'}", Asking(quota=2))
    database.load(some_sentences(5))
    assert answer_all(database, rater(database)) == 2
