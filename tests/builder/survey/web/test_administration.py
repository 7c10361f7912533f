"""What the administrator sees and does, and nobody else."""

from __future__ import annotations

import re
import statistics
import time
from pathlib import Path
from typing import Any

import pytest
import survey_load
from survey_browser import SITE, TOKEN, heading_of, passed, site
from survey_raters import new_sqlite

from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.web import administration
from equipoise.builder.survey.web.administration import Rejection, Sessions
from equipoise.builder.survey.web.pages import csrf_of
from equipoise.builder.verdict.summary import RaterSummary, Summary

SENTENCES = 6
"""So many are in the database of each test."""


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
    assert ",person,0,yes,yes,yes," in exported[1] and ",'=1+1," in exported[1]
    admin.post("/admin/logout", data={"csrf": csrf})
    assert "Token" in admin.get("/admin").text


def test_raters_are_rejected_by_speed_or_agreement_after_a_preview(database: SurveyDatabase) -> None:
    lines = [
        RaterSummary("fast", "passed", 1.0, "", 50, 1.2, 0.9),
        RaterSummary("apart", "passed", 1.0, "", 50, 9.0, 0.4),
        RaterSummary("new", "passed", 1.0, "", 2, 0.5, 0.0),
        RaterSummary("good", "passed", 1.0, "", 50, 9.0, 0.9),
    ]
    summary = Summary(1, 0, 152, 0, 1.0, 5.0, (), tuple(lines))
    assert [line.id for line in Rejection(seconds=2.0).raters(summary)] == ["fast"]
    assert [line.id for line in Rejection(agreement=0.5).raters(summary)] == ["apart"]
    make = site(database)
    browser = passed(database, make())
    browser.answer()
    admin = make()
    csrf = admin.log_in()
    page = admin.get("/admin/reject", params={"seconds": "9999", "least_answers": "1"}).text
    assert "1 rater, 1 answers that count now" in page
    assert not database.results.answers()[0].withdrawn  # a preview changes nothing
    (record,) = database.raters.all()
    admin.post("/admin/withdraw", data={"csrf": csrf, "rater": record.id})
    assert database.results.answers()[0].withdrawn
    nobody = admin.get("/admin/reject", params={"seconds": "0.0001"}).text
    assert heading_of(nobody) == "No rater is rejected by these rules"


def test_pages_with_simulated_answers_say_so_first(database: SurveyDatabase) -> None:
    make = site(database)
    browser = make()
    browser.enter(database.raters.invite(1, origin="simulated")[0])
    browser.take_test()
    browser.answer()
    assert [answer.origin for answer in database.results.answers()] == ["simulated"]
    admin = make()
    admin.log_in()
    body = admin.get("/admin").text.partition("<body")[2]
    assert body.index("Rehearsal with simulated raters") < body.index("<h1")
    assert admin.get("/admin/answers.csv").text.startswith("# SIMULATED RATERS")
    rehearsal = site(database, simulated=True)().get("/").text
    assert "Rehearsal with simulated raters" in rehearsal


@pytest.mark.slow
def test_the_administration_page_is_fast_with_many_answers(tmp_path: Path) -> None:
    url = new_sqlite(tmp_path / "s.sqlite")
    database = SurveyDatabase(url)
    made = survey_load.sentences(2000)
    database.load(made)
    survey_load.fill(url, made, 20_000)
    admin = site(database)()
    admin.log_in()
    times = []
    for _ in range(3):
        database.results.forget()
        start = time.process_time()
        assert "20,000</b> answers" in admin.get("/admin").text
        times.append(time.process_time() - start)
    assert statistics.median(times) < 0.3  # of the processor; benchmarks/survey_load.py measures 70,000
    database.close()


def line(id: str, **facts: Any) -> RaterSummary:
    usual = {"state": "passed", "score": 1.0, "locale": "", "answers": 5, "median_seconds": 10.0, "agreement": 0.8}
    return RaterSummary(id, **{**usual, **facts})


LINES = (
    line("usual"),
    line("fast", median_seconds=4.9),
    line("no time", median_seconds=None),
    line("apart", agreement=0.59),
    line("alone", agreement=None),
    line("few", answers=4, median_seconds=1.0, agreement=0.1),
    line("one", answers=1, median_seconds=1.0),
    line("none", answers=0, median_seconds=1.0),
    line("asleep", checks_wrong=2, answers=0),
    line("blinked", checks_wrong=1),
    line("gone", state="withdrawn", median_seconds=1.0, agreement=0.0, checks_wrong=9),
)


@pytest.mark.parametrize(
    ("rule", "rejected"),
    [
        (Rejection(), []),
        (Rejection(seconds=5.0), ["fast", "no time"]),
        (Rejection(seconds=4.9), ["no time"]),
        (Rejection(agreement=0.6), ["apart"]),
        (Rejection(agreement=0.59), []),
        (Rejection(agreement=0.8), ["apart"]),
        (Rejection(seconds=5.0, least_answers=4), ["fast", "no time", "few"]),
        (Rejection(seconds=5.0, least_answers=0), ["fast", "no time", "few", "one"]),
        (Rejection(wrong_checks=2), ["asleep"]),
        (Rejection(wrong_checks=1), ["asleep", "blinked"]),
        (Rejection(wrong_checks=0), ["asleep", "blinked"]),
        (Rejection(seconds=5.0, agreement=0.6, wrong_checks=2), ["fast", "no time", "apart", "asleep"]),
    ],
)
def test_each_rule_rejects_those_it_is_about(rule: Rejection, rejected: list[str]) -> None:
    summary = Summary(1, 1, 1, 0, 1.0, 1.0, (), LINES)
    assert [rater.id for rater in rule.raters(summary)] == rejected


def test_a_session_of_the_administrator_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("equipoise.builder.survey.web.administration.time.monotonic", lambda: now[0])
    sessions = Sessions()
    first, second = sessions.begin(), sessions.begin()
    assert first != second and first in sessions and second in sessions and "other" not in sessions
    sessions.end(first)
    sessions.end("other")
    assert first not in sessions and second in sessions
    now[0] += 12 * 3600 - 0.1
    assert second in sessions
    now[0] += 0.1
    assert second not in sessions


def test_rules_that_reject_are_handed_on_and_are_numbers(
    database: SurveyDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    class Noted:
        def __init__(self, *given: Any) -> None:
            asked.append(given)

        def raters(self, summary: Any) -> list[RaterSummary]:
            return []

    admin = site(database)()
    admin.log_in()
    for words in ("seconds=x", "agreement=x", "wrong_checks=1.5", "least_answers="):
        page = admin.get(f"/admin/reject?{words}")
        assert page.status_code == 422 and "The rules are numbers." in page.text
    monkeypatch.setattr(administration, "Rejection", Noted)
    page = admin.get("/admin/reject?seconds=1.5&agreement=60&wrong_checks=2&least_answers=7")
    assert heading_of(page.text) == "No rater is rejected by these rules" and 'href="/admin"' in page.text
    admin.get("/admin/reject?seconds=+&agreement=+&wrong_checks=+")
    assert asked == [(1.5, 0.6, 2, 7), (None, None, None, 5)]


def test_a_survey_has_one_of_three_states_and_a_decision_is_about_a_known_rater(database: SurveyDatabase) -> None:
    admin = site(database)()
    csrf = admin.log_in()
    page = admin.post("/admin/status", data={"csrf": csrf, "status": "over"})
    assert page.status_code == 422 and "A survey is open, paused or closed." in page.text
    for status in ("paused", "closed", "open"):
        assert admin.post("/admin/status", data={"csrf": csrf, "status": status}).status_code == 200
        assert database.status == status
    page = admin.get(f"/admin/withdraw?rater={'x' * 50}")
    assert page.status_code == 404 and f"Unknown rater &#39;{'x' * 40}&#39;." in page.text
    assert admin.get("/admin/payments.csv").status_code == 404


def test_what_is_decided_is_seen_at_once(database: SurveyDatabase) -> None:
    rater = passed(database, site(database)())
    rater.answer()
    admin = site(database)()
    csrf = admin.log_in()
    (record,) = database.raters.all()
    before = admin.get("/admin").text
    assert f"withdraw?rater={record.id}" in before
    after = admin.post("/admin/withdraw", data={"csrf": csrf, "rater": record.id}).text
    assert f"restore?rater={record.id}" in after and f"withdraw?rater={record.id}" not in after
