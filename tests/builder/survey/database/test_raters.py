"""A withdrawn rater counts nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from survey_raters import answer, answer_all, new_sqlite, rater

from equipoise.builder.steps import BuildError, Sentence
from equipoise.builder.survey.database.connection import hashed
from equipoise.builder.survey.database.raters import Rater, UnknownRater, code_hash, panel_hash
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.database.tables import CHECKS, LEASES, RATERS, TRIALS
from equipoise.builder.verdict.votes import RaterRecord


def test_a_withdrawn_rater_counts_nowhere(database_url: str, some_sentences) -> None:
    database = SurveyDatabase(database_url)
    database.load(some_sentences(3))
    raters = [rater(database) for _ in range(4)]
    for who in raters:
        answer_all(database, who)
    assert database.results.counts() == (3, 3)
    assert database.raters.withdraw(raters[0].id) == 3
    assert database.results.counts() == (3, 0)
    assert database.results.summary().answers == 9
    assert database.work.question(raters[0].id) is None and not answer(database, raters[0], "x")
    assert answer_all(database, rater(database)) == 3
    assert database.results.counts() == (3, 3)
    with pytest.raises(BuildError, match="unknown rater"):
        database.raters.withdraw("nobody")
    database.close()


@pytest.fixture
def survey(tmp_path: Path, some_sentences: Callable[[int], list[Sentence]]) -> Iterator[SurveyDatabase]:
    """Return a survey whose clock says 1000."""
    made = SurveyDatabase(new_sqlite(tmp_path / "survey.sqlite"), clock=lambda: 1000.0)
    made.load(some_sentences(3))
    yield made
    made.close()


def row_of(survey: SurveyDatabase, id: str) -> dict[str, Any]:
    with survey.store.reading() as connection:
        return dict(connection.execute(sa.select(RATERS).where(RATERS.c.id == id)).one()._mapping)


def test_an_invitation_opens_sessions_and_only_its_own(survey: SurveyDatabase) -> None:
    first, second = survey.raters.invite(2)
    assert survey.raters.invite(0) == [] and len({first, second}) == 2
    assert (survey.raters.state_of(first), survey.raters.state_of("other")) == ("invited", None)
    session = survey.raters.enter(first, locale="Kenya")
    again = survey.raters.enter(first, locale="Peru")
    assert session and again and session != again and survey.raters.enter("other") is None
    assert survey.raters.state_of(first) == "testing" and survey.raters.state_of(second) == "invited"
    assert survey.raters.is_session_of(session, first) and survey.raters.is_session_of(again, first)
    assert not survey.raters.is_session_of(session, second) and not survey.raters.is_session_of("other", first)
    found = survey.raters.in_session(session)
    assert found == survey.raters.in_session(again) and survey.raters.in_session("other") is None
    assert found == Rater(found.id if found else "", "testing", None, (), 0, 0)
    row = row_of(survey, found.id if found else "")
    assert (row["locale"], row["entered"], row["consented"], row["code_hash"]) == ("Kenya", 1000.0, 1000.0, "")
    assert row["entry_hash"] == hashed(first) != first


def test_who_comes_from_a_panel_needs_the_code_to_come_again(survey: SurveyDatabase) -> None:
    assert survey.raters.has_entered("p") is None
    session = survey.raters.enter_from_panel("p", "panel-1", locale="Peru", code="Ab-12")
    assert session and tuple(survey.raters.has_entered("p")) == ("panel-1", "testing")
    assert survey.raters.enter_from_panel("p", "panel-1") is None
    assert survey.raters.enter_from_panel("p", "panel-1", code="ab13") is None
    assert survey.raters.enter_from_panel("p", "panel-1", code=" aB 1-2")
    assert survey.raters.enter_from_panel("p", "panel-1", again=True)
    row = row_of(survey, "panel-1")
    assert (row["entry_hash"], row["code_hash"], row["locale"]) == (panel_hash("p"), code_hash("AB12"), "Peru")
    assert survey.raters.enter_from_panel("q", "panel-1") is None  # the id is taken by another panel
    assert survey.raters.enter_from_panel("r", "panel-2") and row_of(survey, "panel-2")["code_hash"] == ""
    assert survey.raters.enter_from_panel("r", "panel-2", code="") is None


@pytest.mark.parametrize(
    ("rights", "share", "state", "score"),
    [
        ((True, True), 1.0, "passed", 1.0),
        ((True, False), 0.5, "passed", 0.5),
        ((False, True), 0.51, "failed", 0.5),
        ((False, False), 0.1, "failed", 0.0),
    ],
)
def test_the_last_question_decides_the_entrance_test(
    survey: SurveyDatabase, rights: tuple[bool, ...], share: float, state: str, score: float
) -> None:
    session = survey.raters.enter(survey.raters.invite(1)[0]) or ""
    found = survey.raters.in_session(session)
    assert found is not None
    assert survey.raters.take_trial(found.id, 0, True, asked=("a", "x"), pass_share=share)  # there is no question yet
    assert (
        survey.raters.set_questions(found.id, ["a", "b"]) == ("a", "b") == survey.raters.set_questions(found.id, ["c"])
    )
    assert survey.raters.take_trial(found.id, 1, True, asked=("b", "y"), pass_share=share)  # not yet its turn
    for number, right in enumerate(rights):
        now = survey.raters.in_session(session)
        assert now is not None and (now.state, now.trials, now.questions) == ("testing", number, ("a", "b"))
        assert survey.raters.take_trial(found.id, number, right, asked=("ab"[number], "x"), pass_share=share)
        assert survey.raters.take_trial(found.id, number, not right, asked=("ab"[number], "x"), pass_share=share)
        assert not survey.raters.take_trial(found.id, number, right, asked=("ab"[number], "y"), pass_share=share)
    now = survey.raters.in_session(session)
    assert now is not None and (now.state, now.score, now.trials) == (state, score, 2)
    assert survey.raters.take_trial(found.id, 2, True, asked=("c", "x"), pass_share=share)
    with survey.store.reading() as connection:
        rows = [tuple(row) for row in connection.execute(sa.select(TRIALS).order_by(TRIALS.c.number))]
    assert [row[:2] for row in rows] == [(found.id, 0), (found.id, 1)] and len(rows) == 2


def test_only_those_in_the_middle_of_a_test_begin_again(survey: SurveyDatabase) -> None:
    done = rater(survey)
    begun, fresh = (survey.raters.in_session(survey.raters.enter(token) or "") for token in survey.raters.invite(2))
    assert begun is not None and fresh is not None
    for who in (begun, fresh):
        survey.raters.set_questions(who.id, ["a", "b"])
    survey.raters.take_trial(begun.id, 0, True, asked=("a", "x"), pass_share=1.0)
    assert survey.raters.restart_tests() == 1
    assert [row_of(survey, who)["questions"] for who in (done.id, begun.id, fresh.id)] == ['["q"]', "", ""]
    with survey.store.reading() as connection:
        assert connection.scalars(sa.select(TRIALS.c.rater)).all() == [done.id]
    assert survey.raters.restart_tests() == 0


def test_an_administrator_withdraws_and_restores_and_a_rater_leaves_for_good(survey: SurveyDatabase) -> None:
    raters = [rater(survey) for _ in range(4)]
    for who in raters:
        answer_all(survey, who)
    first = raters[0].id
    assert survey.raters.restore(first) == 0
    assert survey.raters.withdraw(first) == 3 and survey.raters.withdraw(first) == 0
    row = row_of(survey, first)
    assert (row["state"], row["previous_state"], row["withdrawn_by"]) == ("withdrawn", "passed", "administrator")
    assert survey.results.counts() == (3, 0) and sum(a.withdrawn for a in survey.results.answers()) == 3
    assert survey.raters.restore(first) == 3 and survey.results.counts() == (3, 3)
    row = row_of(survey, first)
    assert (row["state"], row["previous_state"], row["withdrawn_by"]) == ("passed", "", "")
    assert survey.raters.leave(first) == 3 and survey.results.counts() == (3, 0)
    row = row_of(survey, first)
    assert (row["state"], row["withdrawn_by"], row["locale"]) == ("withdrawn", "rater", "")
    assert survey.raters.restore(first) == 0 and len(survey.results.answers()) == 9
    assert {answer.rater for answer in survey.results.answers()} == {who.id for who in raters[1:]}
    with survey.store.reading() as connection:
        assert first not in connection.scalars(sa.select(TRIALS.c.rater)).all()
    for undone in (survey.raters.withdraw, survey.raters.restore, survey.raters.leave):
        with pytest.raises(UnknownRater, match=r"^unknown rater 'nobody'$"):
            undone("nobody")


def test_who_holds_a_sentence_gives_it_back_on_leaving(survey: SurveyDatabase) -> None:
    for go in (survey.raters.withdraw, survey.raters.leave):
        who = rater(survey)
        assert survey.work.question(who.id) is not None
        go(who.id)
        with survey.store.reading() as connection:
            assert connection.scalar(sa.select(sa.func.count()).select_from(LEASES)) == 0


def test_all_raters_are_listed_with_their_checks(survey: SurveyDatabase) -> None:
    survey.raters.invite(2, origin="simulated")
    who = rater(survey)

    def job(connection: sa.Connection) -> None:
        for number, right in enumerate((True, True, False)):
            row = {"rater": who.id, "number": number, "right": right, "question": "q", "replies": "{}", "ticket": ""}
            connection.execute(CHECKS.insert().values({**row, "seconds": 1.0, "at": 1.0}))

    survey.store.write(job)
    listed = survey.raters.all()
    assert [one.id for one in listed] == sorted(one.id for one in listed) and len(listed) == 3
    (passed,) = (one for one in listed if one.id == who.id)
    assert passed == RaterRecord(who.id, "passed", 1.0, "", "person", "", 2, 1)
    assert {(one.state, one.origin) for one in listed if one.id != who.id} == {("invited", "simulated")}
    found = survey.raters.in_session(who.session)
    assert found is not None and (found.checks, found.answers, found.trials) == (3, 0, 1)
