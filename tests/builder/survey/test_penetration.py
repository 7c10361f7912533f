"""A penetration checklist: what a hostile rater, outsider or network can try. Every attempt must be refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from survey_browser import SITE, TOKEN, Browser, site
from survey_raters import new_sqlite

from equipoise.builder.steps import Sentence
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.panel import Ending, PanelOptions, PaymentMap
from equipoise.builder.survey.web.pages import csrf_of

Attempt = Callable[["Scene"], Any]


class Scene:
    """A survey with a rater at work, one in the test, one who failed, and an outsider."""

    def __init__(self, tmp_path: Path, sentences: list[Sentence]) -> None:
        self.database = SurveyDatabase(new_sqlite(tmp_path / "survey.sqlite"))
        self.database.load(sentences)
        self.payments = PaymentMap(tmp_path / "panel.sqlite")
        panel = PanelOptions(True, Ending("DONE"), allowed=frozenset({"alice"}))
        self.make = site(self.database, self.payments, panel=panel, secure_cookie=False)
        self.victim, self.rater = self._rater(), self._rater()
        self.testing = self.make()
        self.testing.enter(self.database.raters.invite(1)[0])
        self.failed = self.make()
        self.failed.enter(self.database.raters.invite(1)[0])
        self.failed.take_test(right=0)
        self.outsider = self.make()
        self.victim.shown(), self.rater.shown()

    def _rater(self) -> Browser:
        browser = self.make()
        browser.enter(self.database.raters.invite(1)[0])
        browser.take_test()
        return browser

    @property
    def rater_id(self) -> str:
        found = self.database.raters.in_session(self.victim.cookies["session"])
        assert found is not None
        return found.id


def post(browser: Browser, path: str, data: dict[str, Any] | None = None, **more: Any) -> Any:
    return browser.post(path, data=data or {}, follow_redirects=False, **more)


FORM = {"csrf": "0" * 64, "coherent": "yes", "first": "yes", "second": "yes"}


REFUSED: dict[str, Attempt] = {
    "read the work page without a session": lambda s: s.outsider.get("/work"),
    "answer without a session": lambda s: post(s.outsider, "/answer", FORM),
    "take the test without a session": lambda s: post(s.outsider, "/test", FORM),
    "correct an answer without a session": lambda s: post(s.outsider, "/last", FORM),
    "withdraw somebody without a session": lambda s: post(s.outsider, "/leave"),
    "a made-up session": lambda s: s.outsider.get("/work", headers={"cookie": "session=AAAA"}),
    "a session of SQL": lambda s: s.outsider.get("/work", headers={"cookie": "session=' OR '1'='1"}),
    "a session of a megabyte": lambda s: s.outsider.get("/work", headers={"cookie": "session=" + "A" * 60_000}),
    "a guessed invitation": lambda s: s.outsider.get("/enter/guess"),
    "an invitation of SQL": lambda s: s.outsider.get("/enter/' OR 1=1 --"),
    "an invitation with a path": lambda s: s.outsider.get("/enter/..%2f..%2fadmin"),
    "enter with a guessed invitation": lambda s: post(s.outsider, "/enter/guess", {"agree": "yes"}),
    "answer before passing the test": lambda s: post(s.testing, "/answer", s.testing.form("x")),
    "answer after failing the test": lambda s: post(s.failed, "/answer", s.failed.form("x")),
    "answer without a form token": lambda s: post(s.rater, "/answer", s.rater.form(s.rater.shown()[0]) | {"csrf": ""}),
    "answer with another's form token": lambda s: post(
        s.rater, "/answer", s.rater.form(s.rater.shown()[0]) | {"csrf": csrf_of(s.victim.cookies["session"])}
    ),
    "correct with a wrong form token": lambda s: post(s.rater, "/last", FORM | {"number": "0"}),
    "withdraw with a wrong form token": lambda s: post(s.rater, "/leave", {"csrf": "x"}),
    "a form from another site (Origin)": lambda s: post(
        s.rater, "/answer", s.rater.form(s.rater.shown()[0]), headers={"origin": "http://evil.test"}
    ),
    "a form from another site (null origin)": lambda s: post(
        s.rater, "/answer", s.rater.form(s.rater.shown()[0]), headers={"origin": "null"}
    ),
    "a form from another site (Sec-Fetch-Site)": lambda s: post(
        s.rater, "/answer", s.rater.form(s.rater.shown()[0]), headers={"sec-fetch-site": "cross-site"}
    ),
    "a form whose Origin fits a forged Host": lambda s: post(
        s.rater,
        "/answer",
        s.rater.form(s.rater.shown()[0]),
        headers={"origin": "http://evil.test", "host": "evil.test"},
    ),
    "a comment of 5,000 characters": lambda s: post(
        s.rater, "/answer", s.rater.form(s.rater.shown()[0], comment="x" * 5000)
    ),
    "a form of 100 kB": lambda s: post(s.rater, "/answer", {"ticket": "x" * 100_000}),
    "a JSON body": lambda s: s.rater.post("/answer", json=FORM),
    "PUT an answer": lambda s: s.rater.put("/answer", data=FORM),
    "DELETE the database": lambda s: s.rater.delete("/admin/answers.csv"),
    "the answers without a token": lambda s: s.rater.get("/admin/answers.csv"),
    "the payments without a token": lambda s: s.rater.get("/admin/payments.csv"),
    "the answers with a wrong token": lambda s: s.rater.get(
        "/admin/answers.csv", headers={"authorization": "Bearer x"}
    ),
    "the answers with the token outside Bearer": lambda s: s.rater.get(
        "/admin/answers.csv", headers={"authorization": TOKEN}
    ),
    "the answers with a made-up admin session": lambda s: s.rater.get(
        "/admin/answers.csv", headers={"cookie": "admin=AAAA"}
    ),
    "the answers with a rater's session as admin": lambda s: s.outsider.get(
        "/admin/answers.csv", headers={"cookie": f"admin={s.rater.cookies['session']}"}
    ),
    "log in with a wrong token": lambda s: post(s.outsider, "/admin/login", {"token": "wrong"}),
    "log in with a prefix of the token": lambda s: post(s.outsider, "/admin/login", {"token": TOKEN[:-1]}),
    "log in with an empty token": lambda s: post(s.outsider, "/admin/login", {"token": ""}),
    "log in with a token of 10 kB": lambda s: post(s.outsider, "/admin/login", {"token": "x" * 10_000}),
    "make invitations as a rater": lambda s: post(s.rater, "/admin/invite", {"csrf": "x", "count": "1"}),
    "withdraw another as a rater": lambda s: post(s.rater, "/admin/withdraw", {"csrf": "x", "rater": s.rater_id}),
    "restore as a rater": lambda s: post(s.rater, "/admin/restore", {"csrf": "x", "rater": s.rater_id}),
    "close the survey as a rater": lambda s: post(s.rater, "/admin/status", {"csrf": "x", "status": "closed"}),
    "the preview of rejections as a rater": lambda s: s.rater.get("/admin/reject?seconds=9999"),
    "a panel id that is not allowed": lambda s: s.outsider.get("/panel?PROLIFIC_PID=mallory"),
    "a panel id of script": lambda s: s.outsider.get("/panel", params={"PROLIFIC_PID": "<script>alert(1)</script>"}),
    "a panel id of SQL": lambda s: s.outsider.get("/panel", params={"id": "alice' OR '1'='1"}),
    "enter from a panel without consent": lambda s: post(s.outsider, "/panel", {"id": "alice"}),
    "the documentation of the API": lambda s: s.outsider.get("/docs"),
    "the schema of the API": lambda s: s.outsider.get("/openapi.json"),
    "a file above the pages": lambda s: s.outsider.get("/..%2f..%2f..%2fetc%2fpasswd"),
    "the database file": lambda s: s.outsider.get("/survey.sqlite"),
}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, some_sentences: Callable[[int], list[Sentence]]) -> Iterator[Scene]:
    made = Scene(tmp_path_factory.mktemp("scene"), some_sentences(4))
    yield made
    made.database.close()


@pytest.mark.parametrize("name", list(REFUSED))
def test_refused(scene: Scene, name: str) -> None:
    answers, raters = scene.database.results.answers(), scene.database.raters.all()
    response = REFUSED[name](scene)
    assert 400 <= response.status_code < 500, response.status_code
    assert scene.database.results.answers() == answers and scene.database.raters.all() == raters
    assert "Traceback" not in response.text and "<script>alert" not in response.text
    assert "set-cookie" not in response.headers
    assert response.headers["content-security-policy"].startswith("default-src 'none'")


def test_at_least_forty_attempts() -> None:
    assert len(REFUSED) >= 40


def test_tickets_of_others_and_replays_change_nothing(scene: Scene) -> None:
    ticket, _ = scene.victim.shown()
    assert "notice=taken" in post(scene.rater, "/answer", scene.rater.form(ticket)).headers["location"]
    assert scene.victim.shown()[0] == ticket
    own, _ = scene.rater.shown()
    before = len(scene.database.results.answers())
    for _ in range(3):
        post(scene.rater, "/answer", scene.rater.form(own))
    assert len(scene.database.results.answers()) == before + 1


def test_unknown_raters_get_404(scene: Scene) -> None:
    admin = scene.make()
    csrf = admin.log_in()
    assert admin.get("/admin/withdraw?rater=nobody").status_code == 404
    for path in ("/admin/withdraw", "/admin/restore"):
        page = admin.post(path, data={"csrf": csrf, "rater": "nobody"})
        assert page.status_code == 404 and "unknown rater" in page.text


def test_links_never_come_from_the_host_header(scene: Scene) -> None:
    admin = scene.make()
    csrf = admin.log_in()
    page = admin.post("/admin/invite", data={"csrf": csrf, "count": "1"}, headers={"host": "evil.test"}).text
    assert f"{SITE}/enter/" in page and "evil.test" not in page
    redirect = scene.rater.get("/", headers={"host": "evil.test"}, follow_redirects=False)
    assert redirect.headers["location"] == "/work"
