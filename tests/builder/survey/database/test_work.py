"""The survey's tables on SQLite and PostgreSQL: handing out, settling, withdrawing, migrating."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from survey_raters import YES, Person, answer, answer_all, new_sqlite, rater, vote

from equipoise.builder.steps import Sentence
from equipoise.builder.survey.database import tables
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.database.tables import LEASES, LOCK_SENTENCE, best_sentence
from equipoise.builder.survey.database.work import OTHER, REFUSED, REPEATED, STALE, STORED, Asking, hash_order
from equipoise.builder.verdict.consensus import Coverage, Rule


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


class Clock:
    """A clock that is set by hand."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def make(tmp_path: Path, some_sentences: Callable[[int], list[Sentence]]) -> Iterator[Callable[..., SurveyDatabase]]:
    """Return a function that opens a survey of some sentences with a clock set by hand."""
    made: list[SurveyDatabase] = []

    def survey(asking: Asking, count: int = 3, *, twins: bool = False) -> SurveyDatabase:
        url = new_sqlite(tmp_path / f"{len(made)}.sqlite")
        made.append(SurveyDatabase(url, asking, clock=Clock()))
        made[-1].load(some_sentences(count), twins=twins)
        return made[-1]

    yield survey
    for one in made:
        one.close()


def clock_of(survey: SurveyDatabase) -> Clock:
    clock = survey.store.clock
    assert isinstance(clock, Clock)
    return clock


@pytest.mark.parametrize(
    ("quota", "every", "checks", "length"),
    [(0, 0, 3, 0), (10, 0, 3, 10), (10, 4, 3, 12), (10, 3, 3, 13), (10, 2, 3, 13), (10, 11, 3, 10), (10, 10, 3, 11)],
)
def test_a_quota_counts_its_checks(quota: int, every: int, checks: int, length: int) -> None:
    assert Asking(quota=quota, check_every=every).length(checks) == length


def test_an_answer_is_stored_with_all_that_is_known_of_it(make: Callable[..., SurveyDatabase]) -> None:
    survey = make(Asking())
    who = rater(survey)
    first = survey.work.question(who.id)
    assert first is not None and survey.work.question(who.id) == first
    clock_of(survey).now = 1012.3456
    progress = survey.work.answer(who.session, first.ticket, vote(True, True, False), "a note")
    assert progress is not None and (progress.result, progress.state, progress.answered) == (STORED, "passed", 1)
    assert progress.question == survey.work.question(who.id) and progress.question != first
    clock_of(survey).now = 1020.0
    survey.work.answer(who.session, progress.question.ticket if progress.question else "", YES)
    one, two = sorted(survey.results.answers(), key=lambda answer: answer.number)
    assert (one.rater, one.number, one.vote, one.seconds, one.at) == (
        who.id,
        0,
        vote(True, True, False),
        12.346,
        1012.3456,
    )
    assert (one.comment, one.withdrawn, one.origin) == ("a note", False, "person")
    assert (two.number, two.seconds, two.comment) == (1, 7.654, "")
    last = survey.work.last_answer(who.id)
    assert last is not None and last.vote == YES and last.question.ticket != first.ticket
    assert survey.work.last_answer("nobody") is None


def test_a_late_form_is_known_for_what_it_is(make: Callable[..., SurveyDatabase]) -> None:
    survey = make(Asking())
    who = rater(survey)
    first = survey.work.question(who.id)
    assert first is not None
    survey.work.answer(who.session, first.ticket, YES, "note")

    def result(ticket: str, said: tuple[str, ...], comment: str) -> str:
        progress = survey.work.answer(who.session, ticket, said, comment)
        return progress.result if progress else "none"

    assert result(first.ticket, YES, "note") == REPEATED
    assert result(first.ticket, YES, "other") == result(first.ticket, vote(False), "note") == OTHER
    assert result("unknown", YES, "") == result("", YES, "") == STALE
    assert survey.work.answer("no session", first.ticket, YES) is None
    survey.raters.withdraw(who.id)
    refused = survey.work.answer(who.session, first.ticket, YES)
    assert refused is not None and (refused.result, refused.state, refused.question) == (REFUSED, "withdrawn", None)


def test_the_last_answer_is_corrected_and_counted_anew(make: Callable[..., SurveyDatabase]) -> None:
    survey = make(Asking(Rule(Coverage(1, 1))), 1)
    who = rater(survey)
    question = survey.work.question(who.id)
    assert question is not None and survey.work.answer(who.session, question.ticket, vote(False), "x")
    assert survey.results.counts() == (1, 1) and survey.work.question(who.id) is None
    for ticket in ("", "other"):
        assert not survey.work.correct(who.id, ticket, YES)
    assert not survey.work.correct("nobody", question.ticket, YES)
    assert survey.work.correct(who.id, question.ticket, YES, "y")
    (stored,) = survey.results.answers()
    assert (stored.vote, stored.comment) == (YES, "y")
    survey.raters.withdraw(who.id)
    assert not survey.work.correct(who.id, question.ticket, vote(False))


def test_a_sentence_comes_back_when_its_time_is_over(make: Callable[..., SurveyDatabase]) -> None:
    survey = make(Asking(Rule(Coverage(1, 1)), lease_s=100.0), 1)
    first, second = rater(survey), rater(survey)
    assert survey.work.question(first.id) is not None and survey.work.question(second.id) is None
    clock_of(survey).now = 1100.0
    assert survey.work.sweep() == 0 and survey.work.question(second.id) is None
    clock_of(survey).now = 1100.1
    assert survey.work.question(second.id) is not None and survey.work.sweep() == 0
    assert survey.work.question(first.id) is None and survey.work.question("nobody") is None


@pytest.mark.parametrize("gap", [None, 0, 1, 2])
def test_twins_are_as_far_apart_as_was_asked(make: Callable[..., SurveyDatabase], gap: int | None) -> None:
    survey = make(Asking(twin_gap=gap), 3, twins=True)
    who = rater(survey)
    answer_all(survey, who)
    order = [a.sentence.removesuffix("-twin") for a in sorted(survey.results.answers(), key=lambda a: a.number)]
    assert len(order) == (3 if gap is None else len(order)) and len(order) <= 6
    for place, pair in enumerate(order):
        if pair in order[place + 1 :]:
            assert gap is not None and order.index(pair, place + 1) - place > gap
    if gap == 0:
        assert len(order) == 6


def test_checks_come_once_in_every_few_sentences_at_a_place_of_the_raters_own(
    make: Callable[..., SurveyDatabase],
) -> None:
    survey = make(Asking(check_every=2), 6)
    survey.work.checks = ["k1", "k2"]
    for _ in range(4):
        who = rater(survey)
        asked = []
        while (question := survey.work.question(who.id)) is not None:
            asked.append(question.check)
            if question.check:
                assert (question.text, question.pronoun, question.first, question.second) == ("", "", "", "")
            survey.work.answer(who.session, question.ticket, YES, "note", lambda key, said: key == "k1")
        keys = sorted(("k1", "k2"), key=lambda key: hash_order(who.id, key))
        assert [check for check in asked if check] == keys
        own = [int(hash_order(who.id, f"place {n}"), 16) % 2 for n in (0, 1)]
        expected = [own[0], 2 + own[1] + 1]
        assert [place for place, check in enumerate(asked) if check] == expected
        record = next(line for line in survey.raters.all() if line.id == who.id)
        assert (record.checks_right, record.checks_wrong) == (1, 1)
    assert hash_order("a", "b") == hashlib.sha256(b"a:b").hexdigest()


def test_a_check_is_corrected_and_dropped(make: Callable[..., SurveyDatabase]) -> None:
    survey = make(Asking(check_every=1), 2)
    survey.work.checks = ["k1", "k2"]
    who = rater(survey)
    check = survey.work.question(who.id)
    assert check is not None and check.check in ("k1", "k2")
    survey.work.drop(who.id, "other")
    assert survey.work.question(who.id) == check
    survey.work.drop(who.id, check.ticket)
    sentence = survey.work.question(who.id)
    assert sentence is not None and not sentence.check and sentence.text
    survey.work.drop(who.id, sentence.ticket)
    assert survey.work.question(who.id) == sentence
    survey.work.answer(who.session, sentence.ticket, YES)
    check = survey.work.question(who.id)
    assert check is not None and check.check
    clock_of(survey).now += 5
    survey.work.answer(who.session, check.ticket, vote(False), "note")
    last = survey.work.last_answer(who.id)
    assert last is not None and (last.question.check, last.vote, last.comment) == (check.check, vote(False), "")
    late = survey.work.answer(who.session, check.ticket, vote(False), "other note")
    assert late is not None and late.result == REPEATED
    assert survey.work.correct(who.id, check.ticket, YES, "", lambda key, said: key == check.check and said == YES)
    record = next(line for line in survey.raters.all() if line.id == who.id)
    assert (record.checks_right, record.checks_wrong) == (1, 0)
    assert survey.work.correct(who.id, check.ticket, YES)
    assert next(line for line in survey.raters.all() if line.id == who.id).checks_wrong == 1


def test_a_sentence_is_looked_for_again_once_where_some_came_free(
    make: Callable[..., SurveyDatabase], monkeypatch: pytest.MonkeyPatch
) -> None:
    survey, looked = make(Asking(), 1), []
    monkeypatch.setattr(survey.work, "_held_or_new", lambda connection, who: looked.append(who))
    monkeypatch.setattr(survey.work, "sweep", lambda: 1)
    assert survey.work.question("ann") is None and looked == ["ann", "ann"]
    monkeypatch.setattr(survey.work, "sweep", lambda: 0)
    assert survey.work.question("bob") is None and looked == ["ann", "ann", "bob"]


@pytest.mark.parametrize("coverage", [Coverage(1, 1), Coverage(1, 3), Coverage(2, 2)])
def test_a_correction_counts_the_sentence_again(make: Callable[..., SurveyDatabase], coverage: Coverage) -> None:
    survey = make(Asking(Rule(coverage)), 1)
    who = rater(survey)
    question = survey.work.question(who.id)
    assert question is not None and survey.work.answer(who.session, question.ticket, vote(False))
    for replies in (vote(True, True, False), vote(True, True, True), vote(True, False, False), vote(False)):
        assert survey.work.correct(who.id, question.ticket, replies)
        assert survey.tidy() == 0, "what is stored of the sentence follows from its answers"


def test_a_sentence_that_others_took_since_the_search_began_is_not_handed_out(
    make: Callable[..., SurveyDatabase], monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = make(Asking(Rule(Coverage(1, 1))), 2)
    first = survey.work.question(rater(survey).id)
    with survey.store.reading() as connection:
        (taken,) = connection.scalars(sa.select(LEASES.c.sentence))
    searches = [sa.select(sa.literal(taken)), best_sentence(False, skip_locked=False)]
    monkeypatch.setattr(tables, "best_sentence", lambda twins, *, skip_locked: searches.pop(0))
    second = survey.work.question(rater(survey).id)
    assert first is not None and second is not None and second.text != first.text and not searches
