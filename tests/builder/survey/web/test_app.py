"""The app: an outage, requests that are half sent, and the guidelines."""

from __future__ import annotations

import html
import re
import socket
import time
import urllib.request
from collections.abc import Callable

import httpx
import psycopg
import pytest
from fastapi import FastAPI, HTTPException
from fastapi.testclient import TestClient
from survey_browser import SHORT, TEST, TOKEN, YES, heading_of, passed, site

from equipoise.builder.steps import Sentence
from equipoise.builder.survey.database.connection import Unavailable
from equipoise.builder.survey.database.raters import UnknownRater
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.entrance import EntranceTest
from equipoise.builder.survey.rehearsal import UNLIMITED
from equipoise.builder.survey.web.app import _add_problems, survey_app
from equipoise.builder.survey.web.guard import Limits
from equipoise.builder.survey.web.pages import Link, Pages, SurveyOptions
from equipoise.serving import serving

TWO, OTHER = EntranceTest(TEST.pool[:2]), EntranceTest(TEST.pool[2:4])


def test_an_outage_of_the_database_gives_a_page_that_tries_again(
    postgres: Callable[[], str], some_sentences: Callable[[int], list[Sentence]]
) -> None:
    url = postgres()
    database = SurveyDatabase(url)
    database.load(some_sentences(3))
    browser = passed(database, site(database, test=TWO)(), TWO)
    ticket, _ = browser.shown()
    base, _, name = url.rpartition("/")
    with psycopg.connect(f"{base}/postgres", autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        page = browser.get("/work")
        assert page.status_code == 503 and heading_of(page.text) == "One moment, please"
        assert 'http-equiv="refresh" content="5; url=/work"' in page.text and page.headers["retry-after"] == "5"
        assert browser.post("/answer", data=browser.form(ticket)).status_code == 503
        assert browser.get("/health").status_code == 503
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    assert browser.get("/health").json() == {"status": "ok"}
    assert browser.shown()[0] == ticket  # nothing is lost
    browser.answer()
    assert len(database.results.answers()) == 1
    database.close()


def connect(address: str) -> socket.socket:
    host, port = address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def test_half_sent_forms_are_cut_off(database: SurveyDatabase) -> None:
    limits = Limits(body_seconds=0.5, rate=1e6, burst=10**6)
    app = survey_app(database, SurveyOptions(SHORT, TOKEN, limits=limits))
    with serving(app) as address:
        with connect(address) as body:
            body.sendall(b"POST /answer HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\ncoherent=yes")
            assert body.recv(100).startswith(b"HTTP/1.1 408")
        assert httpx.get(f"{address}/health").json() == {"status": "ok"}


def test_a_form_that_breaks_off_is_not_an_answer(database: SurveyDatabase) -> None:
    app = survey_app(database, SurveyOptions(SHORT, TOKEN))
    browser = passed(database, site(database)())
    ticket, _ = browser.shown()
    fields = "&".join(f"{name}={value}" for name, value in browser.form(ticket, YES).items())
    before = len(database.results.answers())
    with serving(app) as address:
        with connect(address) as door:
            cookie = f"session={browser.cookies['session']}"
            head = "POST /answer HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            door.sendall(f"{head}Cookie: {cookie}\r\nContent-Length: {len(fields) + 40}\r\n\r\n{fields}".encode())
            time.sleep(0.1)
        time.sleep(0.3)
    assert len(database.results.answers()) == before


def test_the_guidelines_are_at_hand(database: SurveyDatabase) -> None:
    with serving(survey_app(database, SurveyOptions(TEST, TOKEN, limits=UNLIMITED))) as address:
        (invitation,) = database.raters.invite(1)
        page = urllib.request.urlopen(f"{address}/enter/{invitation}").read().decode()
    assert "80% right answers" in page and "What is stored" in page
    assert len(re.findall("<dt ", page)) == 3 and "Not coherent." in html.unescape(page)


FAILURES = {
    "away": Unavailable("down"),
    "nobody": UnknownRater("rater 9 does not exist"),
    "mine": HTTPException(404, "This invitation does not exist."),
    "plain": HTTPException(403, "Not Found"),
}


@pytest.mark.parametrize(
    ("method", "path", "status", "text"),
    [
        ("GET", "/fail/nobody", 404, "rater 9 does not exist"),
        ("GET", "/fail/mine", 404, "This invitation does not exist."),
        ("GET", "/fail/plain", 403, "Not Found"),
        ("GET", "/missing", 404, "This page does not exist."),
        ("PUT", "/fail/mine", 405, "This page does not exist."),
        ("GET", "/number?n=few", 422, "The form could not be read. Go back and send it again."),
        ("GET", "/fail/away", 503, ""),
        ("POST", "/fail/away", 503, ""),
    ],
)
def test_every_failure_is_a_page_that_says_what_to_do(method: str, path: str, status: int, text: str) -> None:
    app, options = FastAPI(), SurveyOptions(SHORT, TOKEN)
    pages = Pages(options, quota=3)
    _add_problems(app, options, pages)

    @app.api_route("/fail/{name}", methods=["GET", "POST"])
    def fail(name: str) -> None:
        raise FAILURES[name]

    @app.get("/number")
    def number(n: int) -> int:
        return n

    page = TestClient(app).request(method, path)
    if text:
        assert page.text == pages.problem(text, status=status).body.decode() and "retry-after" not in page.headers
    else:
        # A form is not sent again by itself: its page leads on to the work.
        where, t = path if method == "GET" else "/work", options.texts
        told = {"links": [Link(where, t("problem.retry_now"))], "refresh": f"5; url={where}"}
        expected = pages.message(t("problem.retry_heading"), t("problem.retry"), status=503, **told)
        assert page.text == expected.body.decode() and page.headers["retry-after"] == "5"
    assert page.status_code == status


@pytest.mark.parametrize(("alive", "status", "said"), [(True, 200, "ok"), (False, 503, "database unavailable")])
def test_health_says_whether_the_database_answers(
    database: SurveyDatabase, monkeypatch: pytest.MonkeyPatch, alive: bool, status: int, said: str
) -> None:
    monkeypatch.setattr(database.store, "is_alive", lambda: alive)
    page = TestClient(survey_app(database, SurveyOptions(SHORT, TOKEN))).get("/health")
    assert (page.status_code, page.json()) == (status, {"status": said})
