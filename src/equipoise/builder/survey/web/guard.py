"""What stands before the survey: limits on size and rate, and headers that keep browsers strict. Plain ASGI."""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)


SHARING = 50
"""Raters who may be behind one address at the same time."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a form may be, and how many requests a second somebody may make, after so many at once."""

    body_bytes: int = 16_384
    rate: float = 10.0
    burst: int = 40
    doors_rate: float = 0.5
    doors_burst: int = 20


class Buckets:
    """A bucket of tokens for each key, kept in memory only; the fullest are forgotten first."""

    def __init__(self, rate: float, burst: int, *, most: int = 20_000, clock: Callable[[], float] = time.monotonic):
        self._rate, self._burst, self._most, self._clock = rate, burst, most, clock
        self._levels: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def take(self, key: str) -> bool:
        """Return whether this key may go on, taking a token if so."""
        with self._lock:
            now = self._clock()
            level, since = self._levels.pop(key, (float(self._burst), now))
            level = min(float(self._burst), level + (now - since) * self._rate)
            allowed = level >= 1
            # Put back last: the first key is then the one heard of longest ago.
            self._levels[key] = (level - allowed, now)
            if len(self._levels) > self._most:
                self._levels.pop(next(iter(self._levels)))
            return allowed


class Guard:
    """An ASGI app around another: refuses what is too large or too frequent, and sets the headers of every answer."""

    def __init__(self, app: App, limits: Limits) -> None:
        self._app, self._limits = app, limits
        self._everywhere = Buckets(limits.rate, limits.burst)
        self._doors = Buckets(limits.doors_rate, limits.doors_burst)
        # Many raters may share an address, but nobody gets round the limit by making cookies up.
        self._addresses = Buckets(limits.rate * SHARING, limits.burst * SHARING)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_strictly(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        if scope["method"] not in ("GET", "HEAD") and _from_elsewhere(scope):
            await _refuse(send_strictly, 403, b"This form was sent from another site.")
            return
        if not self._may_pass(scope):
            await _refuse(send_strictly, 429, b"Too many requests: wait a moment, then go on.")
            return
        body = await self._body(scope, receive)
        if body is None:
            await _refuse(send_strictly, 413, b"That is more than this form takes.")
            return

        async def receive_whole() -> Message:
            nonlocal body
            if body is None:
                return await receive()
            message, body = {"type": "http.request", "body": body, "more_body": False}, None
            return message

        await self._app(scope, receive_whole, send_strictly)

    def _may_pass(self, scope: Scope) -> bool:
        """Count by session where there is one, else by address; the doors (entering, logging in) by address alone."""
        address = (scope.get("client") or ("unknown", 0))[0]
        at_a_door = scope["method"] == "POST" and str(scope["path"]).startswith(("/enter", "/panel", "/admin/login"))
        if at_a_door:
            return self._doors.take(address)
        session = next((value for name, value in scope["headers"] if name == b"cookie"), b"")
        return self._addresses.take(address) and self._everywhere.take(session.decode("latin-1")[:200] or address)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """Return the whole body, or None once it is too large, whatever its length claims to be."""
        body: bytes = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return body
            body += message.get("body", b"")
            if len(body) > self._limits.body_bytes:
                return None
            if not message.get("more_body"):
                return body


def _from_elsewhere(scope: Scope) -> bool:
    """Return whether the browser says that another site sent this; programs say nothing, and need the cookie anyway."""
    headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
    if headers.get(b"sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = headers.get(b"origin")
    return origin is not None and origin.partition("://")[2] != headers.get(b"host", "")


async def _refuse(send: Send, status: int, text: bytes) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
