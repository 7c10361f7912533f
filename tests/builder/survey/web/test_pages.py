"""Pages escape what is put into them, and forms carry the token of their session."""

from __future__ import annotations

import pytest
from survey_browser import SITE, passed, site

from equipoise.builder.steps import BuildError, Sentence
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.web.pages import check_token, csrf_of


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


@pytest.mark.parametrize("token", ["", "short", "x" * 40, "password1234", "0123456789" * 2])
def test_weak_tokens_are_refused(token: str) -> None:
    with pytest.raises(BuildError, match="128 bits"):
        check_token(token)
