"""The guard before the survey: limits on size, time and rate, and strict headers. Plain ASGI."""

from __future__ import annotations

import asyncio
import ipaddress
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from ....serving import STRICT, App, Gone, Message, Receive, Scope, Send, handing_on, refuse, whole_body

POLICY = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
HEADERS = [
    (name.encode(), value.encode())
    for name, value in {**STRICT, "content-security-policy": POLICY, "referrer-policy": "same-origin"}.items()
]
ADDRESS = "equipoise.address"
"""Where the guard leaves the client's address in the scope."""

SHARING = 50
"""Raters who may be behind one address at the same time."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Size of a form, seconds to send it, and requests per second after a burst."""

    body_bytes: int = 16_384
    body_seconds: float = 10.0
    rate: float = 10.0
    burst: int = 40
    doors_rate: float = 0.5
    doors_burst: int = 20


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
    """Failed logins by address: after a few, each makes the next wait longer. They never hold up the right token."""

    FREE = 5
    LONGEST_S = 3600.0

    def __init__(self, *, most: int = 20_000, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._failures: dict[str, tuple[int, float]] = {}
        self._lock = threading.Lock()

    def failed(self, address: str) -> bool:
        """Count a failure; return whether it came after the wait that earlier ones from this address have earned.

        The wait is 2 seconds after five failures and doubles with each more; after an hour without any it is over.
        """
        with self._lock:
            now = self._clock()
            count, since = self._failures.pop(address, (0, now))
            if now - since > self.LONGEST_S:
                count = 0
            wait = min(self.LONGEST_S, 2.0 ** (count - self.FREE + 1)) if count >= self.FREE else 0.0
            in_time = now - since >= wait
            self._failures[address] = (min(count + 1, 60), now)
            if len(self._failures) > self._most:
                self._failures.pop(next(iter(self._failures)))
            return in_time


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
                body = await whole_body(receive, self._limits.body_bytes)
        except TimeoutError:
            await _refuse(send_strictly, 408, "The form did not arrive in time. Send it again.")
            return
        except Gone:
            return
        if body is None:
            await _refuse(send_strictly, 413, "The form is too large.")
            return
        await self._app(scope, handing_on(body, receive), send_strictly)

    def _may_pass(self, scope: Scope) -> bool:
        """Count by session where there is one, else by address; the doors (entering) by address alone.

        The administrator's door counts failures by itself: somebody else's guesses must not close it.
        """
        address, path = str(scope[ADDRESS]), str(scope["path"])
        if path in ("/health", "/admin/login"):
            return self._addresses.take(address)
        if scope["method"] == "POST" and path.startswith(("/enter", "/panel")):
            return self._doors.take(address)
        session = next((value for name, value in scope["headers"] if name == b"cookie"), b"")
        return self._addresses.take(address) and self._everywhere.take(session.decode("latin-1")[:200] or address)


async def _refuse(send: Send, status: int, text: str) -> None:
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Survey</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/survey.css">'
        f'</head><body><main><h1>{text}</h1><p><a href="/work">Back to the survey</a></p></main></body></html>'
    )
    wait = [(b"retry-after", b"2")] if status in (408, 429) else []
    await refuse(send, status, page, *wait)
