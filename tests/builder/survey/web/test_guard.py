"""The guard: strict headers, and limits on size, rate and guesses."""

from __future__ import annotations

import ipaddress
import time

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
    assert make().post("/admin/login", data={"token": "guess"}).status_code == 429


def test_a_bucket_fills_again() -> None:
    now = [0.0]
    buckets = Buckets(rate=2.0, burst=2, clock=lambda: now[0])
    assert [buckets.take("a") for _ in range(3)] == [True, True, False]
    assert buckets.take("b")
    now[0] = 0.5
    assert [buckets.take("a") for _ in range(2)] == [True, False]


def test_guessing_the_token_is_limited_by_address_and_in_total(database: SurveyDatabase) -> None:
    strict = Limits(failures_burst=3, account_failures_burst=8, doors_burst=1000, doors_rate=1000)
    proxies = [ipaddress.ip_network("192.0.2.1")]
    app = survey_app(database, SurveyOptions(SHORT, TOKEN, limits=strict, site=Site(SITE, proxies)))

    def guess(address: str, **headers: str) -> int:
        browser = Browser(app, base_url=SITE, client=(address, 1))
        return browser.post("/admin/login", data={"token": "guess"}, headers=headers).status_code

    assert [guess("198.51.100.7") for _ in range(5)] == [403, 403, 403, 429, 429]
    # A client that is no trusted proxy gains nothing by naming other addresses.
    assert guess("198.51.100.7", **{"x-forwarded-for": "203.0.113.9"}) == 429
    # Behind the trusted proxy the last address counts, not the one that the client claims.
    proxied = [guess("192.0.2.1", **{"x-forwarded-for": f"10.0.0.{n}, 203.0.113.9"}) for n in range(5)]
    assert proxied == [403, 403, 403, 429, 429]
    # Many addresses do not help either: the account as a whole is limited.
    assert [guess(f"203.0.113.{n}") for n in range(20, 24)] == [403, 403, 429, 429]
    bearer = Browser(app, base_url=SITE, client=("203.0.113.99", 1))
    assert bearer.get("/admin/answers.csv", headers={"authorization": "Bearer guess"}).status_code == 429


def test_failures_are_forgiven_with_time() -> None:
    attempts = Attempts(Limits(failures_burst=1, failures_a_minute=60 * 50))
    attempts.failed("a")
    assert not attempts.allowed("a") and attempts.allowed("b")
    time.sleep(0.05)
    assert attempts.allowed("a")
