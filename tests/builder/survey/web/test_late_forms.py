"""Forms of raters who are unknown, were asked something else since, or have left."""

from __future__ import annotations

from pathlib import Path

import pytest
from survey_browser import heading_of, passed, site
from survey_raters import new_sqlite

from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.database.work import Asking
from equipoise.builder.survey.entrance import read_checks
from equipoise.builder.verdict.consensus import Coverage, Rule


def test_who_is_unknown_is_told_so_and_not_to_take_the_test(database: SurveyDatabase) -> None:
    browser = site(database)()
    browser.cookies.set("session", "invented")
    answer = browser.post("/answer", data=browser.form("x"))
    assert answer.status_code == 403 and "You have not entered this survey in this browser." in answer.text
    testing = site(database)()
    testing.enter(database.raters.invite(1)[0])
    answer = testing.post("/answer", data=testing.form("x"))
    assert answer.status_code == 403 and "after you pass the entrance test" in answer.text


def test_a_check_that_is_no_more_is_dropped_without_counting(tmp_path: Path, some_sentences) -> None:
    store = SurveyDatabase(new_sqlite(tmp_path / "s.sqlite"), Asking(Rule(Coverage(10)), check_every=1))
    store.load(some_sentences(2))
    checks = read_checks(None)
    browser = passed(store, site(store, checks=checks)())
    while browser.shown()[1] not in {check.text for check in checks}:
        browser.answer()
    (before,) = store.raters.all()
    without = site(store)()
    without.cookies = browser.cookies
    response = without.get("/work", follow_redirects=False)
    assert (response.status_code, response.headers["location"]) == (303, "/work")
    assert store.raters.all() == [before], "it counts neither for nor against the rater"
    assert without.shown()[1] not in {check.text for check in checks}
    store.close()


def test_who_has_left_may_send_the_form_again(database: SurveyDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    browser, left = passed(database, site(database)()), []
    leave = database.raters.leave
    monkeypatch.setattr(database.raters, "leave", lambda who: left.append(who) or leave(who))
    for _ in range(2):
        assert heading_of(browser.post("/leave", data=browser.form("")).text) == "You have withdrawn"
    assert len(left) == 1
    assert heading_of(browser.get("/leave").text) == "You have withdrawn"
