"""Walks through the survey: every page that a rater, a panel's visitor and the administrator get, as it was sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kept_texts import assert_kept
from survey_browser import NO, SHORT, TOKEN, YES, Walk, code_in, panel, passed, site
from survey_raters import new_sqlite

from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.database.work import Asking
from equipoise.builder.survey.entrance import read_checks
from equipoise.builder.survey.panel import signature_of
from equipoise.builder.survey.web.texts import read_texts

WRONG = NO if SHORT.pool[0].answer[0] == "yes" else YES


@pytest.fixture
def survey(tmp_path: Path, some_sentences: Any) -> Iterator[SurveyDatabase]:
    """Return a survey of three sentences with a quota of two."""
    made = SurveyDatabase(new_sqlite(tmp_path / "quota.sqlite"), Asking(quota=2))
    made.load(some_sentences(3))
    yield made
    made.close()


def answer(walk: Walk, vote: tuple[str, ...] = YES, action: str = "/answer", **more: str) -> Any:
    page = walk.browser.get("/last" if action == "/last" else "/work").text
    ticket = re.search(r'name="ticket" value="(.*?)"', page)
    return walk.post(action, walk.browser.form(ticket[1] if ticket else "none", vote, **more))


def answer_all(walk: Walk, vote: tuple[str, ...] = YES, **more: str) -> None:
    """Answer what is left, off the record: at most as much as there can be."""
    for _ in range(9):
        if "ticket" in walk.browser.get("/work").text:
            walk.browser.answer(vote, **more)


def test_a_rater_gets_the_pages_that_were_kept(survey: SurveyDatabase) -> None:
    walk = Walk(site(survey, asks_locale=True, allows_unsure=True, secure_cookie=False)())
    invitation = survey.raters.invite(1)[0]
    for path in ("/", "/nowhere", "/enter/unknown", "/work", "/last", "/leave", f"/enter/{invitation}"):
        walk.get(path)
    walk.post("/health", {})
    walk.get("/health")
    walk.post("/answer", {})
    walk.post("/enter/unknown", {"agree": "yes"})
    walk.post(f"/enter/{invitation}", {"locale": "Kenya"})
    walk.post(f"/enter/{invitation}", {"agree": "yes", "locale": "Mars"})
    walk.post(f"/enter/{invitation}", {"agree": "yes"})
    for path in ("/", f"/enter/{invitation}", "/last"):
        walk.get(path)
    answer(walk, ("yes", "", ""), "/test")
    walk.post("/test", walk.browser.form("x", YES))
    walk.post("/test", walk.browser.form("7", YES))
    walk.post("/answer", walk.browser.form("x", YES))
    answer(walk, SHORT.pool[0].answer, "/test")
    walk.post("/test", walk.browser.form("0", WRONG))
    walk.post("/test", walk.browser.form("0", SHORT.pool[0].answer))
    answer(walk, ("yes", "no", ""))
    answer(walk, ("unsure", "", ""), comment=" too <long> ")
    answer(walk, ("yes", "no", ""), "/last")
    answer(walk, ("yes", "no", "yes"), "/last", comment="short")
    walk.post("/last", walk.browser.form("other", YES))
    walk.get("/last")
    walk.post("/answer", walk.browser.form("stale", YES))
    answer(walk)
    for path in ("/work", "/work?notice=taken", "/work?notice=other", "/leave", "/last"):
        walk.get(path)
    walk.post("/leave", {"csrf": "wrong"})
    walk.post("/leave", walk.browser.form("", NO))
    for path in ("/leave", "/work", f"/enter/{invitation}", "/last", "/survey.css"):
        walk.get(path)
    assert_kept("builder/walks/rater", walk.pages)
    assert survey.results.answers() == []


def test_how_a_survey_ends_is_as_it_was_kept(database: SurveyDatabase) -> None:
    texts = read_texts("de")
    open_site = site(database, texts=texts, allows_comments=False, secure_cookie=True)
    walk = Walk(open_site())
    walk.browser.base_url = "https://survey.test"
    walk.browser.enter(database.raters.invite(1)[0])
    walk.get("/work")
    walk.browser.take_test(right=0)
    walk.get("/work")
    other = Walk(site(database, simulated=True)())
    other.get("/")
    passed(database, other.browser)
    for status in ("paused", "closed"):
        database.set_status(status)
        other.get("/work")
    database.set_status("open")
    answer_all(other, comment="kept")
    other.get("/work")
    database.set_status("closed")
    other.get("/work")
    assert_kept("builder/walks/endings", walk.pages, other.pages)


def test_a_visitor_of_a_panel_gets_the_pages_that_were_kept(tmp_path: Path, database: SurveyDatabase) -> None:
    opened, payments = panel(tmp_path, database, allowed=frozenset({"ann", "tom"}), key="secret")
    walk, again = Walk(opened()), Walk(opened())
    walk.get("/panel")
    walk.get("/panel?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE")
    walk.post("/panel", {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"})
    for path in ("/panel?id=eve", "/panel?id=%2F", f"/panel?id=eve&sig={signature_of('secret', 'eve')}"):
        walk.get(path)
    code = code_in(walk.get("/panel?PROLIFIC_PID=ANN&STUDY_ID=s&SESSION_ID=t").text)
    about = {"PROLIFIC_PID": "ANN", "STUDY_ID": "s", "SESSION_ID": "t"}
    walk.post("/panel", {**about, **code})
    walk.post("/panel", {**about, **code, "agree": "yes"})
    walk.get("/panel?PROLIFIC_PID=ANN&STUDY_ID=s&SESSION_ID=t")
    again.get("/panel?PROLIFIC_PID=ann&STUDY_ID=s&SESSION_ID=t")
    again.post("/panel", about)
    again.post("/panel", {**about, "code": "wrong"})
    again.get(f"/panel?id=ann&sig={signature_of('secret', 'ann')}")
    again.post("/panel", {**about, "sig": signature_of("secret", "ann")})
    walk.browser.take_test()
    answer_all(walk)
    walk.get("/work")
    failing = Walk(opened())
    page = failing.get("/panel?workerId=tom&hitId=h&assignmentId=a").text
    failing.post("/panel", {"workerId": "tom", "hitId": "h", "assignmentId": "a", "agree": "yes", **code_in(page)})
    failing.browser.take_test(right=0)
    failing.get("/work")
    failing.get("/panel?workerId=tom&hitId=h&assignmentId=a")
    people = [(person[1:5], isinstance(person[5], float)) for person in payments.people()]
    assert_kept("builder/walks/panel", walk.pages, again.pages, failing.pages, people)
    payments.close()


def test_the_administrator_gets_the_pages_that_were_kept(tmp_path: Path, some_sentences: Any) -> None:
    database = SurveyDatabase(new_sqlite(tmp_path / "still.sqlite"), clock=lambda: 1000.0)
    database.load(some_sentences(3))
    opened, payments = panel(tmp_path, database)
    for vote in (YES, YES, NO):
        answer_all(Walk(passed(database, opened())), vote, comment="=1+1" if vote is NO else "")
    walk = Walk(opened())
    for path in ("/admin", "/admin/answers.csv", "/admin/withdraw?rater=x"):
        walk.get(path)
    walk.post("/admin/login", {"token": "wrong"})
    walk.get("/admin/answers.csv", headers={"authorization": "Bearer wrong"})
    walk.get("/admin/payments.csv", headers={"authorization": f"Bearer {TOKEN}"})
    walk.get("/admin/payments.csv", headers={"authorization": TOKEN})
    walk.post("/admin/login", {"token": TOKEN})
    csrf = walk.browser.log_in()
    (first,) = {answer.rater for answer in database.results.answers() if answer.vote == NO}
    others = {line.id for line in database.raters.all()} - {first}
    for path in (
        "/admin/reject",
        "/admin/reject?seconds=99&agreement=&least_answers=3",
        "/admin/reject?agreement=60&least_answers=3",
        "/admin/reject?agreement=60&least_answers=4",
        "/admin/reject?agreement=x",
        "/admin/reject?wrong_checks=1",
        f"/admin/withdraw?rater={first}",
        "/admin/withdraw?rater=nobody",
        "/admin/withdraw",
    ):
        walk.get(path)
    walk.post("/admin/withdraw", {"csrf": "wrong", "rater": first})
    walk.post("/admin/withdraw", {"csrf": csrf, "rater": "nobody"})
    walk.post("/admin/withdraw", {"csrf": csrf, "rater": [first]})
    assert {line.id: line.state for line in database.raters.all()} == {
        first: "withdrawn",
        **dict.fromkeys(others, "passed"),
    }
    walk.get(f"/admin/restore?rater={first}")
    walk.post("/admin/restore", {"csrf": csrf, "rater": [first]})
    for count in ("0", "2", "201"):
        walk.post("/admin/invite", {"csrf": csrf, "count": count})
    for status in ("paused", "over", "closed"):
        walk.post("/admin/status", {"csrf": csrf, "status": status})
    sheet = walk.browser.get("/admin/answers.csv")
    rows = [re.sub(r",[\d.]+,[\d.]+,", ",N,N,", line) for line in sheet.text.splitlines()]
    shown = sorted(re.sub(r"\b[0-9a-f]{12}\b", "RATER", row) for row in rows)
    walk.post("/admin/logout", {"csrf": "wrong"})
    walk.post("/admin/logout", {"csrf": csrf})
    walk.get("/admin")
    plain = Walk(site(database)())
    plain.browser.log_in()
    plain.get("/admin/payments.csv")
    assert_kept("builder/walks/administrator", walk.pages, shown, sheet.headers["content-type"], plain.pages)
    payments.close()
    database.close()


def test_a_check_is_shown_like_a_sentence(tmp_path: Path, some_sentences: Any) -> None:
    database = SurveyDatabase(new_sqlite(tmp_path / "checks.sqlite"), Asking(quota=3, check_every=1))
    database.load(some_sentences(3))
    walk = Walk(site(database, checks=read_checks(None)[:1])())
    passed(database, walk.browser)
    for _ in range(3):
        answer(walk)
    answer(walk, NO, "/last")
    assert_kept("builder/walks/checks", walk.pages)
    database.close()
