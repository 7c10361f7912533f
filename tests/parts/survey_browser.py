"""A browser for tests of the survey: what a rater and the administrator see and do, over the real app."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from fastapi.testclient import TestClient

from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.entrance import EntranceTest, read_test
from equipoise.builder.survey.panel import Ending, PanelOptions, PaymentMap
from equipoise.builder.survey.rehearsal import UNLIMITED
from equipoise.builder.survey.web.app import survey_app
from equipoise.builder.survey.web.guard import Site
from equipoise.builder.survey.web.pages import SurveyOptions, csrf_of
from equipoise.builder.verdict.votes import Vote

TOKEN = "an administrator's token of 128 bits"
TEST = read_test(None)
SHORT = EntranceTest(TEST.pool[:1])
"""One question: what most surveys of tests begin with."""
YES, NO = ("yes", "yes", "yes"), ("no", "", "")
NAMES = ("coherent", "first", "second")
SITE = "http://survey.test"


class Browser(TestClient):
    """A browser of its own."""

    def enter(self, invitation: str, **fields: str) -> Any:
        return self.post(f"/enter/{invitation}", data={"agree": "yes", **fields})

    def take_test(self, test: EntranceTest = SHORT, *, right: int = 1000) -> str:
        """Answer the entrance test, the first questions right; return the page after it."""
        answers = {question.text: question.answer for question in test.pool}
        number, page = 0, self.get("/work").text
        while 'action="/test"' in page:
            ticket, text = shown_in(page)
            vote = answers[text] if number < right else NO if answers[text][0] == "yes" else YES
            page = self.post("/test", data=self.form(ticket, vote)).text
            number += 1
        return page

    def form(self, ticket: str, vote: Vote = YES, **more: str) -> dict[str, str]:
        fields = {"csrf": csrf_of(self.cookies.get("session") or ""), "ticket": ticket, **more}
        return fields | {name: reply for name, reply in zip(NAMES, vote, strict=True) if reply}

    def shown(self) -> tuple[str, str]:
        """Return the ticket and the sentence of the question that is shown."""
        return shown_in(self.get("/work").text)

    def answer(self, vote: Vote = YES, **more: str) -> Any:
        return self.post("/answer", data=self.form(self.shown()[0], vote, **more))

    def log_in(self) -> str:
        """Log in as the administrator, and return the token of the forms."""
        page = self.post("/admin/login", data={"token": TOKEN}).text
        match = re.search(r'name="csrf" value="(.*?)"', page)
        assert match is not None, page
        return match[1]


def shown_in(page: str) -> tuple[str, str]:
    ticket = re.search(r'name="ticket" value="(.*?)"', page)
    sentence = re.search(r'id="sentence" lang="en">(.*?)<', page)
    assert ticket is not None and sentence is not None, page
    return ticket[1], html.unescape(sentence[1])


def heading_of(page: str) -> str:
    headings = re.findall(r"<h1[^>]*>(.*?)</h1>", page)
    assert len(headings) == 1, f"a page has one h1, not {len(headings)}"
    return html.unescape(headings[0])


def site(database: SurveyDatabase, payments: PaymentMap | None = None, **options: Any) -> Callable[[], Browser]:
    """Return a function that opens a new browser at the survey."""
    settings = {"limits": UNLIMITED, "site": Site(SITE), "test": SHORT, "admin_token": TOKEN} | options
    app = survey_app(database, SurveyOptions(**settings), payments)
    return lambda: Browser(app, base_url=SITE)


def passed(database: SurveyDatabase, browser: Browser, test: EntranceTest = SHORT) -> Browser:
    """Return the browser of a rater who has passed the entrance test."""
    browser.enter(database.raters.invite(1)[0])
    browser.take_test(test)
    return browser


ENDINGS = {
    "completed": Ending("DONE42", "https://panel.test/end?cc={code}&who={id}"),
    "screened_out": Ending("OUT7"),
    "no_work": Ending("NONE1"),
}


def panel(tmp_path: Path, database: SurveyDatabase, **options: Any) -> tuple[Callable[[], Browser], PaymentMap]:
    """Return a survey that a panel may enter, and the map of its ids."""
    payments = PaymentMap(tmp_path / "panel.sqlite")
    return site(database, payments, panel=PanelOptions(True, **{**ENDINGS, **options})), payments


def come(browser: Browser, address: str) -> int:
    """Come from a panel: read the page, agree, and begin."""
    page = browser.get(address)
    if page.status_code != 200:
        return page.status_code
    parameters = dict(parse_qsl(address.partition("?")[2]))
    return browser.post("/panel", data={**parameters, **code_in(page.text), "agree": "yes"}).status_code


def code_in(page: str) -> dict[str, str]:
    """Return the code that the form of the first page carries, as a field."""
    found = re.search(r'name="code" value="(.*?)"', page)
    return {"code": found[1]} if found else {}


HIDDEN = (
    (re.compile(r"\b[0-9a-f]{64}\b"), "CSRF"),
    (re.compile(r"(?<=[/=\"'])[\w-]{43}(?![\w-])"), "TOKEN"),
    (re.compile(r"\b[2-9a-z]{4}-[2-9a-z]{4}-[2-9a-z]{4}\b"), "CODE"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "RATER"),
    (re.compile(r'(?<=name="ticket" value=")[^"]{8,}'), "TICKET"),
    (re.compile(r"\b\d+(\.\d+)? s\b"), "N s"),
)
"""What differs from one walk through the survey to the next."""


class Walk:
    """A walk through the survey: each page that a browser gets, as it was sent, without what is drawn at random."""

    def __init__(self, browser: Browser) -> None:
        self.browser, self.pages = browser, dict[str, str]()
        self._guidelines = ""

    def get(self, path: str, **given: Any) -> Any:
        return self._keep(f"GET {path}", self.browser.get(path, **given))

    def post(self, path: str, data: Any, **given: Any) -> Any:
        told = {name: value for name, value in data.items() if name not in ("csrf", "ticket", "token")}
        return self._keep(f"POST {path} {told}", self.browser.post(path, data=data, **given))

    def _keep(self, name: str, response: Any) -> Any:
        steps = [(step.status_code, step.headers.get("location", "")) for step in response.history]
        body = re.sub(r"\s+", " ", re.sub(r"(?s).*<main[^>]*>|</main>.*", "", response.text))
        guidelines = re.search(r"<dl.*</dl>", body)
        if guidelines:
            again = guidelines[0] == self._guidelines
            self._guidelines = guidelines[0]
            body = body.replace(guidelines[0], "THE SAME LIST") if again else body
        shown = [f"{steps} {response.status_code}", *re.split(r"(?<=>) (?=<)", body)]
        more = ("set-cookie", "retry-after", "content-type")
        shown += [f"{field}: {response.headers[field]}" for field in more if field in response.headers]
        text = "\n".join(shown)
        for pattern, put in HIDDEN:
            text, name = pattern.sub(put, text), pattern.sub(put, name)
        # Raters are in the order of their ids, which are drawn.
        lines = [(not line.startswith("<tr><td>"), line) for line in text.split("\n")]
        groups = (list(group) for _, group in itertools.groupby(lines, key=lambda line: line[0]))
        ordered = [line for group in groups for _, line in (group if group[0][0] else sorted(group))]
        self.pages[f"{len(self.pages) + 1} {name}"] = "\n".join(ordered)
        return response
