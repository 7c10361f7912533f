"""The survey over HTTP: the way through it, and what a rater must not be able to do."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from survey_browser import SITE, TOKEN, heading_of, passed, site

from equipoise.builder.steps import Sentence
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.database.work import Asking
from equipoise.builder.survey.web.guard import Buckets, Limits
from equipoise.builder.survey.web.pages import csrf_of
from equipoise.builder.verdict.votes import Vote

SENTENCES = 6
"""So many are in the database of each test."""


def test_the_way_through(database: SurveyDatabase) -> None:
    browser = site(database)()
    invitation = database.raters.invite(1)[0]
    assert "Begin" in browser.get(f"/enter/{invitation}").text
    browser.enter(invitation)
    assert heading_of(browser.get("/work").text) == "Entrance test: question 1 of 20"
    assert "Sentence 1" in browser.take_test()
    seen = set()
    for _ in range(6):
        ticket, text = browser.shown()
        assert browser.shown() == (ticket, text)  # reloading asks the same
        seen.add(text)
        assert browser.post("/answer", data=browser.form(ticket)).status_code == 200
    assert len(seen) == 6
    assert "You have answered 6 sentences" in browser.get("/work").text


def test_16_of_20_pass_and_15_fail_with_one_try(database: SurveyDatabase) -> None:
    make = site(database)
    first, second = make(), make()
    first.enter(database.raters.invite(1)[0])
    assert "Sentence 1" in first.take_test(right=16)
    invitation = database.raters.invite(1)[0]
    second.enter(invitation)
    assert "75% of the entrance test right; 80% are needed" in second.take_test(right=15)
    second.enter(invitation)
    assert "80% are needed" in second.get("/work").text


def test_nobody_votes_without_passing_the_test(database: SurveyDatabase) -> None:
    make = site(database)
    assert make().get("/work").status_code == 403
    assert make().post("/answer", data={"ticket": "x"}).status_code == 403
    testing, failed = make(), make()
    testing.enter(database.raters.invite(1)[0])
    assert testing.post("/answer", data=testing.form("x")).status_code == 403
    failed.enter(database.raters.invite(1)[0])
    failed.take_test(right=0)
    assert failed.post("/answer", data=failed.form("x")).status_code == 403
    assert database.results.answers() == []


def test_a_replayed_vote_counts_once(database: SurveyDatabase) -> None:
    browser = passed(database, site(database)())
    ticket, _ = browser.shown()
    for _ in range(3):
        browser.post("/answer", data=browser.form(ticket))
    assert len(database.results.answers()) == 1


def test_a_question_of_the_test_is_answered_once(database: SurveyDatabase) -> None:
    browser = site(database)()
    browser.enter(database.raters.invite(1)[0])
    for ticket in ("0", "0", "5"):  # once, and not out of turn
        browser.post("/test", data=browser.form(ticket))
    assert "question 2 of 20" in browser.get("/work").text


def test_anothers_ticket_is_worth_nothing(database: SurveyDatabase) -> None:
    make = site(database)
    one, other = passed(database, make()), passed(database, make())
    ticket, _ = one.shown()
    response = other.post("/answer", data=other.form(ticket))
    assert "was answered already" in html.unescape(response.text)
    assert database.results.answers() == []
    assert one.shown()[0] == ticket


def test_a_rater_sees_nobodys_answers(database: SurveyDatabase) -> None:
    make = site(database)
    one, other = passed(database, make()), passed(database, make())
    one.post("/answer", data=one.form(one.shown()[0], Vote(True, False, True)))
    pages = [other.get(path) for path in ("/work", "/", "/admin", "/admin/answers.csv", "/answers.csv", "/answer")]
    (rater,) = {answer.rater for answer in database.results.answers()}
    assert all(rater not in page.text for page in pages)
    assert [page.status_code for page in pages] == [200, 200, 200, 403, 404, 405]
    assert "Token" in pages[2].text  # the login, nothing else


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/admin/answers.csv"), ("POST", "/admin/withdraw"), ("POST", "/admin/invite")]
)
def test_raters_do_not_reach_administration(database: SurveyDatabase, method: str, path: str) -> None:
    browser = passed(database, site(database)())
    fields = {"csrf": csrf_of(browser.cookies["session"]), "rater": "x", "count": "1"}
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": TOKEN}):
        assert (
            browser.request(method, path, data=fields if method == "POST" else None, headers=headers).status_code == 403
        )


def test_the_administrator(database: SurveyDatabase) -> None:
    make = site(database)
    rater = passed(database, make())
    rater.answer(comment="=1+1")
    admin = make()
    assert admin.post("/admin/login", data={"token": "wrong"}).status_code == 403
    csrf = admin.log_in()
    assert "0</b> of 6 sentences settled" in admin.get("/admin").text
    links = admin.post("/admin/invite", data={"csrf": csrf, "count": "2"}, headers={"host": "evil.test"}).text
    assert len(re.findall(rf"{SITE}/enter/[\w-]{{43}}", links)) == 2 and "evil" not in links
    assert admin.post("/admin/withdraw", data={"csrf": "wrong", "rater": "x"}).status_code == 403
    (answer,) = database.results.answers()
    confirm = admin.get("/admin/withdraw", params={"rater": answer.rater}).text
    assert "1 rater, 1 answers" in confirm and not database.results.answers()[0].withdrawn
    admin.post("/admin/withdraw", data={"csrf": csrf, "rater": answer.rater})
    assert database.results.answers()[0].withdrawn
    assert "This survey is over for you" in rater.get("/work").text
    assert rater.post("/answer", data=rater.form("x")).status_code == 403
    admin.post("/admin/restore", data={"csrf": csrf, "rater": answer.rater})
    assert not database.results.answers()[0].withdrawn
    assert heading_of(rater.get("/work").text) == "Sentence 2"
    exported = make().get("/admin/answers.csv", headers={"authorization": f"Bearer {TOKEN}"}).text.splitlines()
    assert exported[0].startswith("sentence,text,rater,origin,number") and len(exported) == 2
    assert ",person,0,True,True,True," in exported[1] and ",'=1+1," in exported[1]
    admin.post("/admin/logout", data={"csrf": csrf})
    assert "Token" in admin.get("/admin").text


def test_forms_need_their_csrf_token(database: SurveyDatabase) -> None:
    browser = passed(database, site(database)())
    form = browser.form(browser.shown()[0])
    for wrong in ("", "0" * 64, csrf_of("another session")):
        assert browser.post("/answer", data=form | {"csrf": wrong}).status_code == 403
    for headers in ({"origin": "http://evil.test"}, {"sec-fetch-site": "cross-site"}, {"origin": "null"}):
        assert browser.post("/answer", data=form, headers=headers).status_code == 403
    assert database.results.answers() == []
    assert browser.post("/answer", data=form, headers={"origin": SITE}).status_code == 200


def test_text_is_escaped(database: SurveyDatabase) -> None:
    nasty = '<script>alert("1")</script>'
    database.load([Sentence("x", "type1", nasty, "he", "subject", '"><b>cook', "nurse", "nurse", "male", ())])
    browser = passed(database, site(database)())
    pages = ""
    pages += browser.get("/work").text
    browser.answer(comment=nasty)
    pages += browser.get("/last").text
    assert "&lt;script&gt;alert" in pages
    assert "<script" not in pages and '"><b>' not in pages


def test_headers_are_strict_and_the_cookie_is_not_for_scripts(database: SurveyDatabase) -> None:
    browser = site(database, secure_cookie=True)()
    form = {"agree": "yes"}
    response = browser.post(f"/enter/{database.raters.invite(1)[0]}", data=form, follow_redirects=False)
    cookie = response.headers["set-cookie"].lower()
    assert all(part in cookie for part in ("httponly", "samesite=lax", "secure"))
    policy = browser.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "script" not in policy


def test_invitations_are_unguessable_and_stored_hashed(database: SurveyDatabase, tmp_path: Path) -> None:
    tokens = database.raters.invite(20)
    assert all(len(token) == 43 for token in tokens) and len(set(tokens)) == 20
    browser = site(database)()
    browser.enter(tokens[0])
    session = browser.cookies["session"]
    database.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("survey.sqlite*"))
    assert all(secret.encode() not in stored for secret in (*tokens, session))
    assert browser.get("/enter/guess").status_code == 404


def test_nothing_is_stored_of_a_person_but_what_was_asked(database: SurveyDatabase, tmp_path: Path) -> None:
    fields = {"locale": "Kenya", "agree": "yes"}
    headers = {"user-agent": "TellTale/1.0", "accept-language": "sw-KE"}
    site(database)().post(f"/enter/{database.raters.invite(1)[0]}", data=fields, headers=headers)
    assert {rater.locale for rater in database.raters.all()} == {""}
    asking = site(database, asks_locale=True)
    asking().post(f"/enter/{database.raters.invite(1)[0]}", data=fields, headers=headers)
    asking().post(
        f"/enter/{database.raters.invite(1)[0]}", data={"locale": "my street 5", "agree": "yes"}, headers=headers
    )
    assert sorted(rater.locale for rater in database.raters.all()) == ["", "", "Kenya"]
    database.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("survey.sqlite*"))
    assert all(word not in stored for word in (b"TellTale", b"sw-KE", b"testclient", b"127.0.0.1", b"my street"))


def test_requests_are_limited_in_size_and_rate(database: SurveyDatabase) -> None:
    make = site(database, limits=Limits(body_bytes=2000, rate=0.001, burst=5, doors_rate=0.001, doors_burst=3))
    browser = make()
    assert browser.post("/answer", data={"ticket": "x" * 3000}).status_code == 413
    assert browser.post("/answer", content=iter([b"x" * 1500] * 3)).status_code == 413  # chunked, of unknown length
    assert [make().get("/").status_code for _ in range(5)] == [200, 200, 200, 429, 429]
    invented = [make().get("/", headers={"cookie": f"session=made-up-{n}"}).status_code for n in range(260)]
    assert invented[0] == 200 and invented[-1] == 429
    assert [make().post("/enter/guess").status_code for _ in range(4)] == [404, 404, 404, 429]
    assert make().post("/admin/login", data={"token": "guess"}).status_code == 429


def test_a_bucket_fills_again() -> None:
    now = [0.0]
    buckets = Buckets(rate=2.0, burst=2, clock=lambda: now[0])
    assert [buckets.take("a") for _ in range(3)] == [True, True, False]
    assert buckets.take("b")
    now[0] = 0.5
    assert [buckets.take("a") for _ in range(2)] == [True, False]


@pytest.mark.parametrize(
    "fields", [{}, {"coherent": "yes"}, {"coherent": "yes", "first": "yes"}, {"coherent": "maybe"}]
)
def test_a_half_answered_form_is_refused(database: SurveyDatabase, fields: dict[str, str]) -> None:
    browser = passed(database, site(database)())
    form = browser.form(browser.shown()[0]) | {"coherent": "", "first": "", "second": ""} | fields
    assert "Please answer every question" in browser.post("/answer", data=form).text
    assert database.results.answers() == []


def test_twins_are_never_shown_to_one_person_or_far_apart(tmp_path: Path, some_sentences) -> None:
    for gap, answered in ((None, 6), (4, 12)):
        store = SurveyDatabase(f"sqlite:///{tmp_path / str(gap)}.sqlite", Asking(twin_gap=gap))
        store.load(some_sentences(6), twins=True)
        browser = passed(store, site(store)())
        while "That is all" not in browser.get("/work").text:
            browser.post("/answer", data=browser.form(browser.shown()[0]))
        order = [
            one.sentence.removesuffix("-twin") for one in sorted(store.results.answers(), key=lambda one: one.number)
        ]
        assert len(order) == answered
        places = {id: [place for place, other in enumerate(order) if other == id] for id in order}
        assert all(len(at) == 1 or at[1] - at[0] > (gap or 0) for at in places.values())
        store.close()
