"""The guard: strict headers, and limits on size, rate and guesses."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Sequence
from typing import Any

import pytest
from survey_browser import SHORT, SITE, TOKEN, Browser, site

from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.web.app import survey_app
from equipoise.builder.survey.web.guard import ADDRESS, HEADERS, SHARING, Attempts, Buckets, Guard, Limits, Site
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


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_holds_its_burst_and_fills_at_its_rate() -> None:
    clock = Clock()
    buckets = Buckets(2.0, 3, clock=clock)
    assert [buckets.take("a") for _ in range(4)] == [True, True, True, False]
    assert not buckets.has("a") and buckets.has("b")
    clock.now = 0.49
    assert not buckets.has("a") and not buckets.take("a")
    clock.now = 0.5
    assert buckets.has("a") and buckets.take("a") and not buckets.take("a")
    clock.now = 100
    assert [buckets.take("a") for _ in range(4)] == [True, True, True, False]


def test_the_key_used_longest_ago_is_forgotten_first() -> None:
    buckets = Buckets(0.0, 1, most=2, clock=Clock())
    for key in ("a", "b", "a", "c"):
        buckets.take(key)
    assert [buckets.has(key) for key in ("a", "b", "c")] == [False, True, False]


def test_each_failure_beyond_five_doubles_the_wait() -> None:
    clock = Clock()
    attempts = Attempts(clock=clock)
    assert [attempts.failed("a") for _ in range(5)] == [True] * 5
    for wait in (2.0, 4.0, 8.0):
        clock.now += wait
        assert attempts.failed("a")
    clock.now += 15.9
    assert not attempts.failed("a") and attempts.failed("b")
    clock.now += 3600.5
    assert [attempts.failed("a") for _ in range(5)] == [True] * 5 and not attempts.failed("a")


def test_the_wait_is_an_hour_at_most_and_old_addresses_are_forgotten() -> None:
    clock = Clock()
    attempts = Attempts(most=1, clock=clock)
    for _ in range(80):
        attempts.failed("a")
    clock.now = 3600.0
    assert attempts.failed("a")
    attempts.failed("b")
    assert attempts.failed("a")


def scope(client: str | None, **headers: str) -> dict[str, Any]:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"client": (client, 1) if client else None, "headers": pairs}


@pytest.mark.parametrize(
    ("client", "forwarded", "expected"),
    [
        ("9.9.9.9", "1.2.3.4", "9.9.9.9"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "1.2.3.4", "1.2.3.4"),
        ("10.0.0.1", "6.6.6.6, 1.2.3.4 , 10.0.0.2", "1.2.3.4"),
        ("10.0.0.1", "10.0.0.3,10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "garbage", "garbage"),
        (None, "1.2.3.4", "unknown"),
    ],
)
def test_only_a_trusted_proxy_names_the_client(client: str | None, forwarded: str, expected: str) -> None:
    site = Site(proxies=[ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("fd00::/8")])
    assert site.client_of(scope(client, x_forwarded_for=forwarded)) == expected


@pytest.mark.parametrize(
    ("headers", "elsewhere"),
    [
        ({}, False),
        ({"sec_fetch_site": "same-origin"}, False),
        ({"sec_fetch_site": "none"}, False),
        ({"sec_fetch_site": "same-site"}, True),
        ({"origin": "https://survey.test"}, False),
        ({"origin": "https://evil.test"}, True),
        ({"origin": "null"}, True),
    ],
)
def test_a_form_from_another_site_is_known(headers: dict[str, str], elsewhere: bool) -> None:
    assert Site("https://survey.test").is_from_elsewhere(scope("a", **headers)) is elsewhere
    assert Site().is_from_elsewhere(scope("a", host="survey.test", **headers)) is elsewhere


def sent(
    guard: Guard,
    *,
    method: str = "GET",
    path: str = "/",
    cookie: str = "",
    chunks: Sequence[bytes] = (b"",),
    wait: float = 0,
) -> tuple[int, dict[bytes, bytes], bytes]:
    """Return status, headers and body that a guard sends."""
    messages: list[Any] = []
    left = [{"type": "http.request", "body": part, "more_body": at + 1 < len(chunks)} for at, part in enumerate(chunks)]

    async def receive() -> Any:
        await asyncio.sleep(wait)
        return left.pop(0) if left else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        messages.append(message)

    about = {"type": "http", "method": method, "path": path, "client": ("1.1.1.1", 1)}
    asyncio.run(guard({**about, "headers": [(b"cookie", cookie.encode())] if cookie else []}, receive, send))
    if not messages:
        return 0, {}, b""
    body = b"".join(message.get("body", b"") for message in messages[1:])
    return messages[0]["status"], dict(messages[0]["headers"]), body


async def echo(scope: Any, receive: Any, send: Any) -> None:
    message = await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x", b"y")]})
    await send({"type": "http.response.body", "body": message["body"] + scope[ADDRESS].encode()})


def test_what_is_too_large_too_slow_or_cut_off_is_refused() -> None:
    guard = Guard(echo, Limits(body_bytes=5, body_seconds=0.05))
    assert sent(guard, chunks=[b"ab", b"cde"]) == (200, {b"x": b"y", **dict(HEADERS)}, b"abcde1.1.1.1")
    status, headers, body = sent(guard, chunks=[b"ab", b"cdef"])
    assert status == 413 and b"<h1>The form is too large.</h1>" in body and b"retry-after" not in headers
    assert dict(HEADERS).items() <= headers.items()
    status, headers, body = sent(guard, wait=0.2)
    assert (status, headers[b"retry-after"]) == (
        408,
        b"2",
    ) and b"The form did not arrive in time. Send it again." in body
    assert sent(guard, chunks=[])[0] == 0


def test_requests_are_counted_by_session_by_address_and_at_the_doors() -> None:
    limits = Limits(rate=0.0, burst=2, doors_rate=0.0, doors_burst=1)
    guard = Guard(echo, limits)
    assert [sent(guard, cookie="a")[0] for _ in range(3)] == [200, 200, 429]
    assert sent(guard, cookie="b")[0] == 200 and sent(guard)[0] == 200
    assert [sent(guard, method="POST", path=path)[0] for path in ("/enter/x", "/panel")] == [200, 429]
    assert sent(guard, path="/enter/x")[0] == 200  # reading is not entering
    status, headers, body = sent(guard, cookie="a")
    assert (status, headers[b"retry-after"]) == (429, b"2") and b"Too many requests. Wait a moment, then go on." in body
    # Fifty raters may share an address.
    taken = sum(sent(guard, path="/health")[0] == 200 for _ in range(2 * SHARING))
    assert 80 <= taken < 2 * SHARING and sent(guard, path="/admin/login")[0] == 429


def test_a_form_from_elsewhere_is_refused_as_such_before_it_is_counted() -> None:
    class Elsewhere(Site):
        def is_from_elsewhere(self, scope: Any) -> bool:
            return True

    guard = Guard(echo, Limits(rate=0.0, burst=0, doors_rate=0.0, doors_burst=0), Elsewhere())
    status, _, body = sent(guard, method="POST", path="/panel", cookie="a")
    assert status == 403 and b"This form was sent from another site." in body
    assert sent(guard, cookie="a")[0] == 429, "what is only read may come from anywhere"


def test_other_messages_go_through() -> None:
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    asyncio.run(Guard(app, Limits())({"type": "lifespan"}, None, None))  # type: ignore[arg-type]
    assert seen == ["lifespan"]
