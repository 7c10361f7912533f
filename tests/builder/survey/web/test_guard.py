"""The guard: strict headers, and limits on size, rate and guesses."""

from __future__ import annotations

import ipaddress

from survey_browser import SHORT, SITE, TOKEN, Browser, site

from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.web.app import survey_app
from equipoise.builder.survey.web.guard import Attempts, Buckets, Limits, Site
from equipoise.builder.survey.web.pages import SurveyOptions


def test_headers_are_strict_and_the_cookie_is_not_for_scripts(database: SurveyDatabase) -> None:
    browser = site(database, secure_cookie=True)()
    form = {"agree": "yes"}
    response = browser.post(f"/enter/{database.raters.invite(1)[0]}", data=form, follow_redirects=False)
    cookie = response.headers["set-cookie"].lower()
    assert all(part in cookie for part in ("httponly", "samesite=lax", "secure"))
    policy = browser.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "script" not in policy


def test_requests_are_limited_in_size_and_rate(database: SurveyDatabase) -> None:
    make = site(database, limits=Limits(body_bytes=2000, rate=0.001, burst=5, doors_rate=0.001, doors_burst=3))
    browser = make()
    assert browser.post("/answer", data={"ticket": "x" * 3000}).status_code == 413
    assert browser.post("/answer", content=iter([b"x" * 1500] * 3)).status_code == 413  # chunked, of unknown length
    assert [make().get("/").status_code for _ in range(5)] == [200, 200, 200, 429, 429]
    invented = [make().get("/", headers={"cookie": f"session=made-up-{n}"}).status_code for n in range(260)]
    assert invented[0] == 200 and invented[-1] == 429
    assert [make().post("/enter/guess").status_code for _ in range(4)] == [404, 404, 404, 429]
    # Who knocked too often at the raters' doors has not closed the administrator's.
    fresh = site(database, limits=Limits(doors_rate=0.001, doors_burst=1))
    assert [fresh().post("/enter/guess").status_code for _ in range(2)] == [404, 429]
    assert fresh().post("/admin/login", data={"token": TOKEN}).status_code == 200


def test_a_bucket_fills_again() -> None:
    now = [0.0]
    buckets = Buckets(rate=2.0, burst=2, clock=lambda: now[0])
    assert [buckets.take("a") for _ in range(3)] == [True, True, False]
    assert buckets.take("b")
    now[0] = 0.5
    assert [buckets.take("a") for _ in range(2)] == [True, False]


def test_guesses_are_limited_by_address_and_the_right_token_always_works(database: SurveyDatabase) -> None:
    proxies = [ipaddress.ip_network("192.0.2.1")]
    app = survey_app(database, SurveyOptions(SHORT, TOKEN, site=Site(SITE, proxies)))

    def log_in(address: str, token: str = "guess", **headers: str) -> int:
        browser = Browser(app, base_url=SITE, client=(address, 1))
        return browser.post("/admin/login", data={"token": token}, headers=headers).status_code

    assert [log_in("198.51.100.7") for _ in range(7)] == [403] * 5 + [429] * 2
    # A client that is no trusted proxy gains nothing by naming other addresses.
    assert log_in("198.51.100.7", **{"x-forwarded-for": "203.0.113.9"}) == 429
    # Behind the trusted proxy the last address counts, not the one that the client claims.
    proxied = [log_in("192.0.2.1", **{"x-forwarded-for": f"10.0.0.{n}, 203.0.113.9"}) for n in range(7)]
    assert proxied == [403] * 5 + [429] * 2
    # From many addresses, and from the administrator's own: the right token works.
    assert {log_in(f"203.0.113.{n}") for n in range(20, 90)} == {403}
    assert log_in("203.0.113.200", TOKEN) == 200 and log_in("198.51.100.7", TOKEN) == 200
    bearer = Browser(app, base_url=SITE, client=("198.51.100.7", 1))
    assert bearer.get("/admin/answers.csv", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert bearer.get("/admin/answers.csv", headers={"authorization": "Bearer guess"}).status_code == 429


def test_the_wait_after_failures_grows_and_ends() -> None:
    now = [0.0]
    attempts = Attempts(clock=lambda: now[0])
    assert [attempts.failed("a") for _ in range(6)] == [True] * 5 + [False]
    waits = []
    for _ in range(4):
        begun = now[0]
        while True:
            now[0] += 1.0
            trial = Attempts(clock=lambda: now[0])
            trial._failures = dict(attempts._failures)
            if trial.failed("a"):
                break
        waits.append(now[0] - begun)
        attempts.failed("a")
    assert waits == sorted(waits) and waits[-1] >= 2 * waits[0]
    now[0] += Attempts.LONGEST_S + 1
    assert [attempts.failed("a") for _ in range(6)] == [True] * 5 + [False]
    assert attempts.failed("b")
