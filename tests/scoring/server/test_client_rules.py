"""The rules of requests one by one: waits, pauses, statuses, addresses and what is given up."""

from __future__ import annotations

import asyncio
import re
import time
from email.utils import formatdate
from typing import Any

import httpx
import pytest
from threads import apart

from equipoise.records import ModelError
from equipoise.scoring.server import http_client
from equipoise.scoring.server.http_client import (
    Client,
    Gone,
    Limits,
    OutOfBudget,
    Refused,
    ServerError,
    Unanswered,
    Unusable,
    _checked_address,
    _content,
    _raise_for_status,
    _retry_after,
    _words,
)
from equipoise.scoring.server.keys import Key


def ran(work: Any) -> Any:
    """Return what a coroutine returns, in a thread of its own: a browser's tests have a loop in this one."""
    return apart(lambda: asyncio.run(work))


URL = "http://127.0.0.1:9/v1"


class Scripted:
    """A client whose answers are given: a fault, or an object; its clock moves by what it sleeps."""

    def __init__(self, *answers: Any, **limits: Any) -> None:
        self.now, self.slept, self.answers = 100.0, [], list(answers)  # type: ignore[var-annotated]
        self.client = Client(URL, Limits(**limits), sleep=self._sleep, clock=lambda: self.now)
        self.client._attempt = self._attempt  # type: ignore[method-assign]
        self.client._pause = lambda attempt: float(attempt)  # type: ignore[method-assign]

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def _attempt(self, *asked: Any) -> Any:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def ask(self, **choices: Any) -> tuple[Any, int]:
        return ran(self.client.ask("GET", URL, **choices))


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EQUIPOISE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_what_fails_is_asked_again_after_growing_pauses() -> None:
    asked = Scripted(Unusable("a"), Unusable("b", 500), {"x": 1}, attempts=3)
    assert asked.ask() == ({"x": 1}, 3) and asked.slept == [1.0, 2.0]
    with pytest.raises(Unanswered, match=rf"^{URL} failed 2 times: HTTP 500$") as given_up:
        Scripted(Unusable("a"), Unusable("HTTP 500", 500), attempts=2).ask()
    assert given_up.value.status == 500 and not isinstance(given_up.value, Gone)

    def check(answer: dict[str, Any]) -> None:
        if not answer["x"]:
            raise Unusable("empty")

    assert Scripted({"x": 0}, {"x": 2}).ask(check=check) == ({"x": 2}, 2)


def test_waits_that_a_server_asks_for_hold_all_requests_back() -> None:
    asked = Scripted(Unusable("slow", 429), Unusable("slow", 429, 9.0), Unusable("slow", 429, 0.4), {}, attempts=1)
    assert asked.ask() == ({}, 4) and asked.slept == [1.0, 9.0, 3.0], "a short wait is not taken at its word"
    busy = Scripted(Unusable("busy", 503, 0.5), {}, first_pause=0.5)
    assert busy.ask() == ({}, 2) and busy.slept == [0.5]
    budget = Scripted(Unusable("later", 429, 8.0), Unusable("later", 429, 8.0), {}, wait_budget=16.0)
    assert budget.ask() == ({}, 3) and budget.slept == [8.0, 8.0]
    with pytest.raises(
        OutOfBudget, match=rf"^{URL} answers later; waiting would take more than the budget of 15 s$"
    ) as e:
        Scripted(Unusable("later", 429, 8.0), Unusable("later", 429, 8.0), {}, wait_budget=15.0).ask()
    assert e.value.status == 429


def test_only_what_is_added_to_a_wait_counts() -> None:
    client = Scripted(wait_budget=10.0).client
    for wait in (6.0, 6.0, 8.0):
        client._hold_back(URL, Unusable("x"), wait)
    assert client._waited == 8.0 and client._not_before == 108.0
    client._hold_back(URL, Unusable("x"), 10.0)
    with pytest.raises(OutOfBudget):
        client._hold_back(URL, Unusable("x"), 10.1)


def test_a_server_that_is_silent_is_gone_for_a_while() -> None:
    asked = Scripted(Unusable("no answer", silent=True), {"x": 1}, attempts=1)
    with pytest.raises(Gone, match="failed 1 times: no answer"):
        asked.ask()
    asked.now += 4.9
    with pytest.raises(Gone, match=rf"^{URL} is not asked: the server is gone$"):
        asked.ask()
    asked.now += 0.2
    assert asked.ask() == ({"x": 1}, 1)
    other = Scripted(attempts=1)
    error = other.client._given_up("s", Unusable("x", silent=True), answered=0)
    assert type(error) is Gone
    other.client._answered = 1
    assert type(other.client._given_up("s", Unusable("x", silent=True), answered=0)) is Unanswered


def test_pauses_double_up_to_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(URL, Limits(first_pause=0.5, longest_pause=3.0))
    ends: list[tuple[float, float]] = []
    monkeypatch.setattr(http_client.random, "uniform", lambda low, high: ends.append((low, high)) or 1.0)
    assert [client._pause(attempt) for attempt in (1, 2, 3, 4, 9)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert set(ends) == {(0.5, 1.0)}


STATUSES = [
    *((status, ServerError) for status in (401, 402, 403, 404, 405)),
    *((status, Unusable) for status in (408, 409, 425, 429, 500, 502, 503, 504, 505, 529)),
    *((status, ServerError) for status in (300, 307, 399)),
    *((status, Refused) for status in (201, 299, 400, 413, 418, 422, 501)),
]


@pytest.mark.parametrize(("status", "kind"), STATUSES)
def test_every_status_is_of_its_kind(status: int, kind: type[Exception]) -> None:
    with pytest.raises((ServerError, Unusable)) as raised:
        _raise_for_status(URL, httpx.Response(status, headers={"retry-after": "3"}), "why", Key())
    assert type(raised.value) is kind and raised.value.status == status
    if kind is Unusable:
        assert raised.value.after == 3.0 and str(raised.value) == f"HTTP {status}: why"
    _raise_for_status(URL, httpx.Response(200), "fine", Key())


def test_a_used_up_quota_is_not_waited_for() -> None:
    with pytest.raises(ServerError, match=rf"^{URL} answers HTTP 429: insufficient_quota$") as error:
        _raise_for_status(URL, httpx.Response(429), "insufficient_quota", Key())
    assert type(error.value) is ServerError
    with pytest.raises(Unusable):
        _raise_for_status(URL, httpx.Response(429), "x" * 5000 + "insufficient_quota", Key())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "HTTP 400"),
        ("  a\n b ", "HTTP 400: a b"),
        ('{"error": "bad"}', "HTTP 400: bad"),
        ('{"error": {"message": "worse"}}', "HTTP 400: worse"),
        ('{"error": {"code": 3}}', 'HTTP 400: {"error": {"code": 3}}'),
        ('{"other": 1}', 'HTTP 400: {"other": 1}'),
        ("x" * 300, f"HTTP 400: {'x' * 200}"),
        ("[1]", "HTTP 400: [1]"),
    ],
)
def test_what_a_server_says_is_told_in_short(text: str, words: str) -> None:
    assert _words(400, text) == words


def test_how_long_a_server_asks_to_wait() -> None:
    def after(value: str) -> float | None:
        return _retry_after(httpx.Response(429, headers={"retry-after": value}))

    assert (after("7"), after("0.5"), after("-3"), after("nan"), after("soon"), after("")) == (
        7,
        0.5,
        0,
        None,
        None,
        None,
    )
    assert after(formatdate(time.time() + 60, usegmt=True)) == pytest.approx(60, abs=3)
    assert after(formatdate(time.time() - 60, usegmt=True)) == 0
    assert _retry_after(httpx.Response(429)) is None


def test_addresses() -> None:
    assert (
        _checked_address("https://host/v1///") == "https://host/v1" and _checked_address("http://h:1") == "http://h:1"
    )
    assert _checked_address("http://host/a@b") == "http://host/a@b"
    for url, sentence in {
        "http://me:word@host/v1": "server must not hold a password; set EQUIPOISE_API_KEY in the environment instead",
        "http://host/v1?key=1": "server must be an address without a query (?…) or fragment (#…); if that is a key",
        "http://host/v1#x": "server must be an address without a query",
        "ftp://host": "server must be an http address such as http://127.0.0.1:8000/v1, not 'ftp://host'",
        "http://": "server must be an http address",
    }.items():
        with pytest.raises(ModelError, match=f"^{re.escape(sentence)}"):
            _checked_address(url)
    client = Client("http://host/v1/")
    assert (client.url, client.root, client.limits) == ("http://host/v1", "http://host", Limits())
    assert Client("http://host/api").root == "http://host/api"


def test_an_answer_may_not_be_endless(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read(size: int) -> bytes:
        async def parts() -> Any:
            for _ in range(size):
                yield b"x"

        response = httpx.Response(200)
        response.aiter_bytes = parts  # type: ignore[method-assign, assignment]
        return await _content(response)

    monkeypatch.setattr(http_client, "LARGEST", 3)
    assert ran(read(3)) == b"xxx"
    with pytest.raises(Unusable, match=r"^its answer is larger than 0 MiB$"):
        ran(read(4))


FAULTS: list[tuple[Any, type[Exception], str, bool]] = [
    (httpx.ReadTimeout("slow"), Unusable, "no complete answer within 5 s", True),
    (TimeoutError(), Unusable, "no complete answer within 5 s", True),
    (httpx.ConnectError("refused"), Unusable, "ConnectError refused", True),
    (httpx.DecodingError("odd"), Unusable, "its answer cannot be decoded: odd", False),
    (UnicodeEncodeError("utf-8", "x", 0, 1, "odd"), Refused, f"{URL} is not asked: the text holds half of a", False),
    (b"[", Unusable, "its answer is not JSON", False),
    (b"[1]", Unusable, "its answer is not a JSON object", False),
    (b'{"error": {"message": "busy"}}', Unusable, "its answer is an error, HTTP 200: busy", False),
    (b'{"error": "busy"}', Unusable, "its answer is an error, HTTP 200: busy", False),
]


@pytest.mark.parametrize(("fault", "kind", "sentence", "silent"), FAULTS)
def test_each_fault_of_a_request_has_its_words(fault: Any, kind: Any, sentence: str, silent: bool) -> None:
    client = Client(URL, Limits(seconds=5.0))

    def handler(request: httpx.Request) -> httpx.Response:
        if isinstance(fault, Exception):
            raise fault
        return httpx.Response(200, content=fault)

    client._http = httpx.AsyncClient(transport=httpx.MockTransport(handler))
    with pytest.raises((ServerError, Unusable)) as raised:
        ran(client._attempt("POST", URL, {}))
    assert type(raised.value) is kind and str(raised.value).startswith(sentence)
    assert getattr(raised.value, "silent", False) is silent
    assert client.sent == 1 and client._answered == (0 if isinstance(fault, Exception) else 1)


def test_a_request_has_its_body_and_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-long-secret")
    client = Client(URL)
    seen: list[Any] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append((request.method, str(request.url), request.content, request.headers["authorization"]))
        return httpx.Response(200, json={"echo": "sk-long-secret"})

    client._http = httpx.AsyncClient(transport=httpx.MockTransport(handler))

    async def both() -> Any:
        async with client:
            return [await client.post(URL, {"a": 1}), await client.get(f"{URL}/models")]

    assert ran(both()) == [{"echo": "…"}] * 2
    bearer = "Bearer sk-long-secret"
    assert seen == [("POST", URL, b'{"a":1}', bearer), ("GET", f"{URL}/models", b"", bearer)]
    assert client._http.is_closed
