"""The guard before the survey: limits on size, time and rate, and strict headers. Plain ASGI."""

from __future__ import annotations

import asyncio
import ipaddress
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

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
    (b"cross-origin-opener-policy", b"same-origin"),
)
ADDRESS = "equipoise.address"
"""Where the guard leaves the client's address in the scope."""

SHARING = 50
"""Raters who may be behind one address at the same time."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Size of a form, seconds to send it, requests per second after a burst, and failed logins per minute."""

    body_bytes: int = 16_384
    body_seconds: float = 10.0
    rate: float = 10.0
    burst: int = 40
    doors_rate: float = 0.5
    doors_burst: int = 20
    failures_a_minute: float = 2.0
    failures_burst: int = 5
    account_failures_a_minute: float = 20.0
    account_failures_burst: int = 50


class Buckets:
    """A bucket of tokens for each key, in memory only; the keys that were used longest ago are forgotten first."""

    def __init__(self, rate: float, burst: int, *, most: int = 20_000, clock: Callable[[], float] = time.monotonic):
        self._rate, self._burst, self._most, self._clock = rate, burst, most, clock
        self._levels: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def _level(self, key: str, now: float) -> float:
        level, since = self._levels.get(key, (float(self._burst), now))
        return min(float(self._burst), level + (now - since) * self._rate)

    def has(self, key: str) -> bool:
        """Return whether this key has a token left."""
        with self._lock:
            return self._level(key, self._clock()) >= 1

    def take(self, key: str) -> bool:
        """Return whether this key may go on, taking a token if so."""
        with self._lock:
            now = self._clock()
            level = self._level(key, now)
            allowed = level >= 1
            # Put back at the end: the first key is then the one used longest ago.
            self._levels.pop(key, None)
            self._levels[key] = (level - allowed, now)
            if len(self._levels) > self._most:
                self._levels.pop(next(iter(self._levels)))
            return allowed


class Attempts:
    """Failed logins, limited for each address and for the account as a whole: many addresses do not help."""

    def __init__(self, limits: Limits) -> None:
        self._addresses = Buckets(limits.failures_a_minute / 60, limits.failures_burst)
        self._account = Buckets(limits.account_failures_a_minute / 60, limits.account_failures_burst)

    def allowed(self, address: str) -> bool:
        """Return whether somebody at this address may try now."""
        return self._addresses.has(address) and self._account.has("administrator")

    def failed(self, address: str) -> None:
        """Count a failure."""
        self._addresses.take(address)
        self._account.take("administrator")


@dataclass(frozen=True)
class Site:
    """Where the survey is: its public address, and the proxies whose word about addresses is believed."""

    public: str = ""
    proxies: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network] = ()

    def client_of(self, scope: Scope) -> str:
        """Return the client's address: what a trusted proxy says, else who is connected."""
        address = str((scope.get("client") or ("unknown", 0))[0])
        if not self._trusts(address):
            return address
        forwarded = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for")
        # From the end: what a client claims comes first, what our proxies add comes last.
        for hop in reversed([hop.strip() for hop in forwarded.decode("latin-1").split(",") if hop.strip()]):
            address = hop
            if not self._trusts(hop):
                break
        return address

    def _trusts(self, address: str) -> bool:
        try:
            return any(ipaddress.ip_address(address) in network for network in self.proxies)
        except ValueError:
            return False

    def is_from_elsewhere(self, scope: Scope) -> bool:
        """Return whether the browser says that another site sent this; programs say nothing, and need a cookie."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if headers.get(b"sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return True
        origin = headers.get(b"origin")
        expected = urlsplit(self.public).netloc if self.public else headers.get(b"host", "")
        return origin is not None and origin.partition("://")[2] != expected


class Guard:
    """An ASGI app around another: refuses what is too large, too slow or too frequent, and sets all headers."""

    def __init__(self, app: App, limits: Limits, site: Site | None = None) -> None:
        self._app, self._limits, self._site = app, limits, site or Site()
        self._everywhere = Buckets(limits.rate, limits.burst)
        self._doors = Buckets(limits.doors_rate, limits.doors_burst)
        # Many raters may share an address, but nobody gets round the limit with invented cookies.
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

        scope[ADDRESS] = self._site.client_of(scope)
        if scope["method"] not in ("GET", "HEAD") and self._site.is_from_elsewhere(scope):
            await _refuse(send_strictly, 403, "This form was sent from another site.")
            return
        if not self._may_pass(scope):
            await _refuse(send_strictly, 429, "Too many requests. Wait a moment, then go on.")
            return
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                body = await self._body(receive)
        except TimeoutError:
            await _refuse(send_strictly, 408, "The form did not arrive in time. Send it again.")
            return
        except _Gone:
            return
        if body is None:
            await _refuse(send_strictly, 413, "The form is too large.")
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
        address = str(scope[ADDRESS])
        if str(scope["path"]) == "/health":
            return self._addresses.take(address)
        at_a_door = scope["method"] == "POST" and str(scope["path"]).startswith(("/enter", "/panel", "/admin/login"))
        if at_a_door:
            return self._doors.take(address)
        session = next((value for name, value in scope["headers"] if name == b"cookie"), b"")
        return self._addresses.take(address) and self._everywhere.take(session.decode("latin-1")[:200] or address)

    async def _body(self, receive: Receive) -> bytes | None:
        """Return the whole body, None once it is too large; raise _Gone if the client leaves half-way."""
        body: bytes = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _Gone
            body += message.get("body", b"")
            if len(body) > self._limits.body_bytes:
                return None
            if not message.get("more_body"):
                return body


class _Gone(Exception):
    """The client left before the form was complete; half a form is not an answer."""


async def _refuse(send: Send, status: int, text: str) -> None:
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Survey</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/survey.css">'
        f'</head><body><main><h1>{text}</h1><p><a href="/work">Back to the survey</a></p></main></body></html>'
    )
    headers = [(b"content-type", b"text/html; charset=utf-8"), (b"connection", b"close")]
    if status in (408, 429):
        headers.append((b"retry-after", b"2"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": page.encode()})
