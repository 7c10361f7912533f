"""Serving an app: its address, slow clients, and addresses that are taken."""

from __future__ import annotations

import socket
import time

import httpx
import pytest

from equipoise import serving as served
from equipoise.serving import Message, Receive, Scope, Send, listening, serving


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
