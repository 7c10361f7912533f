"""Serving an app: its address, slow clients, and addresses that are taken."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import Any

import httpx
import pytest
from threads import apart

from equipoise import serving as served
from equipoise.serving import (
    Gone,
    Message,
    PatientProtocol,
    Receive,
    Scope,
    Send,
    handing_on,
    listening,
    refuse,
    serve,
    serve_at,
    serving,
    whole_body,
)


def ran(work: Any) -> Any:
    """Return what a coroutine returns, in a thread of its own: a browser's tests have a loop in this one."""
    return apart(lambda: asyncio.run(work))


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        return
    start: Message = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]}
    await send(start)
    await send({"type": "http.response.body", "body": b"hello"})


def test_an_app_is_served_on_this_machine_only_and_ends() -> None:
    with serving(hello) as address:
        assert address.startswith("http://127.0.0.1:")
        assert httpx.get(address).text == "hello"
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)


def test_a_client_that_does_not_send_its_head_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "HEAD_SECONDS", 0.3)
    with serving(hello) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as head:
            head.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow:")
            start = time.monotonic()
            assert head.recv(100) == b""  # closed, without an answer
            assert time.monotonic() - start < 8
        assert httpx.get(address).text == "hello"


def test_an_address_that_is_taken_is_an_error() -> None:
    with listening("127.0.0.1", 0) as door, pytest.raises(OSError, match="in use"):
        listening("127.0.0.1", door.getsockname()[1])


def messages(*given: Message) -> Receive:
    waiting = list(given)

    async def receive() -> Message:
        return waiting.pop(0)

    return receive


def part(body: bytes, *, more: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


def test_a_body_is_read_whole_up_to_its_largest_size() -> None:
    async def read(most: int, *given: Message) -> bytes | None:
        return await whole_body(messages(*given), most)

    parts = (part(b"ab", more=True), part(b"c", more=True), part(b"de"))
    assert ran(read(5, *parts)) == b"abcde" and ran(read(4, *parts)) is None
    assert ran(read(2, part(b"abc", more=True))) is None, "no more is read than is needed to refuse it"
    assert ran(read(9, {"type": "http.request"})) == b""
    with pytest.raises(Gone):
        ran(read(9, part(b"ab", more=True), {"type": "http.disconnect"}))


def test_a_body_is_handed_on_once_and_then_what_arrives() -> None:
    async def read() -> list[Message]:
        receive = handing_on(b"form", messages({"type": "http.disconnect"}))
        return [await receive(), await receive()]

    assert ran(read()) == [part(b"form"), {"type": "http.disconnect"}]


def test_a_refusal_is_a_page_that_closes_the_connection() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    ran(refuse(send, 413, "too löng", (b"retry-after", b"9")))
    headers = [(b"content-type", b"text/html; charset=utf-8"), (b"connection", b"close"), (b"retry-after", b"9")]
    assert sent == [
        {"type": "http.response.start", "status": 413, "headers": headers},
        {"type": "http.response.body", "body": "too löng".encode()},
    ]


def test_how_apps_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[Any, Any]] = []

    class Server:
        def __init__(self, config: Any) -> None:
            self.config = config

        def run(self, **choices: Any) -> None:
            ran.append((self.config, choices))
            assert collects.pop() == "as usual", "garbage is looked for before it runs, as it runs for days"

    collects: list[str] = []
    monkeypatch.setattr(served, "collect_as_usual", lambda: collects.append("as usual"))
    monkeypatch.setattr(served.uvicorn, "Server", Server)
    serve(hello, host="127.0.0.9", port=7)
    door = listening("127.0.0.1", 0)
    serve_at(door, hello)
    assert door.fileno() == -1, "it is closed at the end"
    (first, alone), (second, choices) = ran
    assert (first.host, first.port, alone, choices) == ("127.0.0.9", 7, {}, {"sockets": [door]})
    for config in (first, second):
        assert config.app is hello and config.http is PatientProtocol and config.log_level == "warning"
        assert (config.proxy_headers, config.access_log, config.server_header) == (False, False, False)
        assert config.limit_concurrency == 2000


def test_a_door_is_opened_at_both_kinds_of_addresses() -> None:
    for host in ("127.0.0.1", "::1"):
        try:
            with listening(host, 0) as door:
                assert door.getsockname()[0] == host and door.getsockname()[1] > 0
                assert door.family == (socket.AF_INET6 if ":" in host else socket.AF_INET)
                assert door.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)
                with socket.create_connection(door.getsockname()[:2], timeout=5):
                    pass  # nobody is turned away before the app is ready
        except OSError as error:
            assert host == "::1", error


def test_a_request_that_takes_long_is_not_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "HEAD_SECONDS", 0.1)

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await asyncio.sleep(0.4)
        await hello(scope, receive, send)

    with serving(slow) as address:
        assert httpx.get(address).text == "hello"


def test_an_address_with_colons_is_one_of_the_newer_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: list[int] = []

    class Door:
        def __init__(self, kind: int) -> None:
            kinds.append(kind)

        def __getattr__(self, name: str) -> Any:
            return lambda *given: None

    monkeypatch.setattr(served.socket, "socket", Door)
    for host in ("::1", "127.0.0.1"):
        listening(host, 1)
    assert kinds == [socket.AF_INET6, socket.AF_INET]
