"""Pages escape what is put into them, and forms carry the token of their session."""

from __future__ import annotations

import hmac

import pytest
from fastapi import HTTPException
from kept_texts import assert_kept
from survey_browser import SHORT, SITE, passed, site

from equipoise.builder.steps import BuildError, Sentence
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.web.pages import SurveyOptions, check_csrf, check_token, csrf_of, hiding_rules
from equipoise.builder.survey.web.texts import read_texts
from equipoise.builder.verdict.questions import questions_of


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


@pytest.mark.parametrize(
    ("token", "weak"), [("abcdefghij" * 2 + "ab", False), ("abcdefghij" * 2 + "a", True), ("abcdefghi" * 3, True)]
)
def test_a_token_has_22_characters_of_10_kinds(token: str, weak: bool) -> None:
    if not weak:
        check_token(token)
        return
    with pytest.raises(BuildError) as error:
        SurveyOptions(SHORT, token)
    assert str(error.value) == (
        "the administrator's token must have at least 128 bits: 22 random characters or more, such as "
        "`openssl rand -base64 24` prints"
    )


def test_a_question_is_hidden_unless_its_reply_is_chosen() -> None:
    assert_kept("builder/hiding", hiding_rules(read_texts("en")))
    texts = read_texts("en")
    texts.questions = questions_of(
        "mine",
        [
            {"name": "more", "choices": ["first", "second", "same"]},
            {"name": "sure", "choices": ["yes", "no"], "when": {"more": "second"}},
        ],
    )
    chosen = ", ".join(
        f"form:has([name=more][value={value}]:checked) .if-sure" for value in ("first", "same", "unsure")
    )
    assert hiding_rules(texts) == f"{chosen} {{ display: none; }}\n"


def test_a_form_token_is_of_its_session() -> None:
    right = hmac.new(b"session", b"csrf", "sha256").hexdigest()
    assert csrf_of("session") == right
    check_csrf("session", right, read_texts("en"))
    with pytest.raises(HTTPException) as error:
        check_csrf("other", right, read_texts("en"))
    assert (error.value.status_code, error.value.detail) == (403, read_texts("en")("problem.csrf"))
