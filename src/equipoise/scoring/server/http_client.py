"""Requests to a server that speaks OpenAI's protocol: one set of rules for keys, redirects, retries, limits and errors.

The key is read from the environment once, before the first request (keys.py). What a server answers is bounded in size
and time, and is read without the key.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Self

import httpx

from ...records import ModelError
from .keys import KEYS, Key

TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""Statuses that may pass, as may every one above 504: the request is sent again."""

FATAL = frozenset({401, 402, 403, 404, 405})
"""Statuses that every other request would get as well: a wrong key, no credit, an unknown model or address."""

LARGEST = 2**28
"""Bytes of the largest answer: the probabilities of a whole vocabulary take about a tenth of it."""

GONE_SECONDS = 5.0
"""For so long after a server was found gone, no request waits for it again."""


@dataclass(frozen=True)
class Limits:
    """How a server is treated: requests at once, seconds for each, attempts, and the pauses between attempts.

    `wait_budget` are the seconds, in total, that may be spent on waits which the server asks for, and on rate limits.
    `requests_per_minute` 0 means no limit.
    """

    concurrency: int = 16
    seconds: float = 120.0
    attempts: int = 6
    first_pause: float = 0.5
    longest_pause: float = 60.0
    wait_budget: float = 3600.0
    requests_per_minute: float = 0.0


class ServerError(ModelError):
    """A request that failed for good, as all others would; `status` is its HTTP status, None where no answer came."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Refused(ServerError):
    """Raised when the server refuses this one request for good: a bad request, or a content filter."""


class Unanswered(ServerError):
    """Raised when a request got no usable answer after all attempts; it can be sent again later."""


class OutOfBudget(ServerError):
    """Raised when the server asks for more waiting than the budget has."""


class Gone(Unanswered):
    """Raised when nobody answers any more: connections are refused, cut or silent, this one's and all others."""


class Unusable(Exception):
    """An answer that may be better next time; `after` is the wait that the server asks for, in seconds.

    `silent` says that no answer came at all.
    """

    def __init__(
        self, reason: str, status: int | None = None, after: float | None = None, *, silent: bool = False
    ) -> None:
        super().__init__(reason)
        self.status, self.after, self.silent = status, after, silent


def _nothing_to_check(answer: dict[str, Any]) -> None:
    pass


class Client:
    """One server. Call it from one event loop only; an async context manager, which closes the connections.

    `key_variable` names the environment variable with the key, where it is not one of `KEYS`.
    """

    def __init__(
        self,
        url: str,
        limits: Limits | None = None,
        *,
        key_variable: str = "",
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.url = _checked_address(url)
        self.limits = limits or Limits()
        if key_variable and not os.environ.get(key_variable):
            raise ModelError(f"the environment variable {key_variable}, named for the key, is not set")
        self._key = Key.from_environment((key_variable,) if key_variable else KEYS)
        self.sent = 0
        """Requests so far, repeated ones included."""
        self._sleep, self._clock = sleep, clock
        self._slots = asyncio.Semaphore(self.limits.concurrency)
        self._next_start = self._not_before = self._waited = 0.0
        self._answered, self._gone_until = 0, -1.0
        connections = httpx.Limits(max_connections=self.limits.concurrency)
        self._http = httpx.AsyncClient(timeout=self.limits.seconds, limits=connections)

    @property
    def root(self) -> str:
        """The server's address without `/v1`, where its own endpoints are."""
        return self.url.removesuffix("/v1")

    async def get(self, url: str) -> dict[str, Any]:
        """Return the JSON object at that address."""
        return (await self.ask("GET", url))[0]

    async def post(self, url: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON object that answers a request; ServerError where it failed for good."""
        return (await self.ask("POST", url, body))[0]

    async def ask(
        self,
        method: str,
        url: str,
        body: Mapping[str, Any] | None = None,
        check: Callable[[dict[str, Any]], None] = _nothing_to_check,
    ) -> tuple[dict[str, Any], int]:
        """Return the answer and the number of attempts; a rate limit is waited out and does not count as a failure.

        `check` raises Unusable for an answer that is to be asked for again.
        """
        failures = attempts = 0
        async with self._slots:
            answered = self._answered
            while True:
                await self._wait_for_turn()
                if self._clock() < self._gone_until:
                    raise Gone(f"{url} is not asked: the server is gone")
                attempts += 1
                try:
                    answer = await self._attempt(method, url, body)
                    check(answer)
                    return answer, attempts
                except Unusable as error:
                    failures += error.status != 429
                    if failures >= self.limits.attempts:
                        raise self._given_up(f"{url} failed {failures} times: {error}", error, answered) from None
                    if error.status == 429 or error.after is not None:
                        # A server that asks for no wait is not asked for ever: the pauses grow.
                        is_short = error.after is None or error.after < self.limits.first_pause
                        self._hold_back(url, error, self._pause(attempts) if is_short else error.after or 0.0)
                    else:
                        await self._sleep(self._pause(attempts))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def _given_up(self, sentence: str, error: Unusable, answered: int) -> Unanswered:
        """Return the error of a request that failed every time: Gone where no other was answered meanwhile either."""
        if not error.silent or self._answered > answered:
            return Unanswered(sentence, error.status)
        self._gone_until = self._clock() + GONE_SECONDS
        return Gone(sentence)

    async def _attempt(self, method: str, url: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        self.sent += 1
        try:
            # The total: httpx's own limit starts again with every byte that arrives.
            async with (
                asyncio.timeout(self.limits.seconds),
                self._http.stream(method, url, json=body, auth=self._key) as response,
            ):
                self._answered += 1
                content = await _content(response)
        except (TimeoutError, httpx.TimeoutException):
            raise Unusable(f"no complete answer within {self.limits.seconds:g} s", silent=True) from None
        except httpx.TransportError as error:
            words = self._key.hidden(f"{type(error).__name__} {error}".strip(), shortest=1)
            raise Unusable(words, silent=True) from None
        except httpx.DecodingError as error:
            raise Unusable(f"its answer cannot be decoded: {error}") from None
        except UnicodeEncodeError:
            raise Refused(f"{url} is not asked: the text holds half of a character") from None
        text = self._key.hidden(content.decode("utf-8", "replace"))
        _raise_for_status(url, response, text, self._key)
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            raise Unusable("its answer is not JSON") from None
        if not isinstance(answer, dict):
            raise Unusable("its answer is not a JSON object")
        if "choices" not in answer and isinstance(answer.get("error") or None, dict | str):
            raise Unusable(f"its answer is an error, {_words(200, self._key.hidden(text, shortest=1))}")
        return answer

    def _pause(self, attempt: int) -> float:
        """Return how long to wait after that many attempts: twice as long each time, with jitter."""
        pause: float = min(self.limits.first_pause * 2.0 ** (attempt - 1), self.limits.longest_pause)
        return pause * random.uniform(0.5, 1.0)

    def _hold_back(self, url: str, error: Unusable, wait: float) -> None:
        """Let no request start for that long; OutOfBudget where that is too long."""
        now = self._clock()
        # Requests under way at the same time get the same answer: only what they add to the pause is waiting.
        added = max(0.0, now + wait - max(now, self._not_before))
        if self._waited + added > self.limits.wait_budget:
            budget = f"the budget of {self.limits.wait_budget:g} s"
            raise OutOfBudget(f"{url} answers {error}; waiting would take more than {budget}", error.status)
        self._waited += added
        self._not_before = max(self._not_before, now + wait)

    async def _wait_for_turn(self) -> None:
        rate = self.limits.requests_per_minute
        while (start := max(now := self._clock(), self._next_start, self._not_before)) > now:
            await self._sleep(start - now)
        self._next_start = start + (60.0 / rate if rate > 0 else 0.0)


async def _content(response: httpx.Response) -> bytes:
    """Return the bytes of an answer, which may be endless."""
    content = bytearray()
    async for part in response.aiter_bytes():
        content += part
        if len(content) > LARGEST:
            raise Unusable(f"its answer is larger than {LARGEST >> 20} MiB")
    return bytes(content)


def _checked_address(url: str) -> str:
    """Return the address without a slash at its end; one that may hold a secret is refused, and not repeated."""
    instead = f"set {KEYS[0]} in the environment instead"
    if "@" in url.partition("//")[2].partition("/")[0]:
        raise ModelError(f"server must not hold a password; {instead}")
    if "?" in url or "#" in url:
        raise ModelError(
            f"server must be an address without a query (?…) or fragment (#…); if that is a key, {instead}"
        )
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL:
        address = httpx.URL()
    if address.scheme not in ("http", "https") or not address.host:
        raise ModelError(f"server must be an http address such as http://127.0.0.1:8000/v1, not {url!r}")
    return url.rstrip("/")


def _raise_for_status(url: str, response: httpx.Response, text: str, key: Key) -> None:
    status = response.status_code
    if status == 200:
        return
    words = _words(status, key.hidden(text, shortest=1))
    # A used-up quota is a 429 as well, but waiting does not help.
    for_good = status in FATAL or (status == 429 and "insufficient_quota" in text[:5000])
    if for_good:
        raise ServerError(f"{url} answers {words}", status)
    if status in TRANSIENT or status > 504:
        raise Unusable(words, status, _retry_after(response))
    if 300 <= status < 400:
        # Without what may be a password or a token.
        target = re.sub(r"//[^/@]*@", "//", response.headers.get("location", "").partition("?")[0])
        target = key.hidden(target, shortest=1)
        raise ServerError(f"{url} answers HTTP {status}: it redirects to {target!r}, which is not followed", status)
    raise Refused(f"{url} answers {words}", status)


def _words(status: int, text: str) -> str:
    """Return the status and the beginning of what the server says of it."""
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        error = json.loads(text)["error"]
        text = str(error["message"] if isinstance(error, dict) else error)
    text = " ".join(text[:5000].split())
    return f"HTTP {status}: {text[:200]}" if text else f"HTTP {status}"


def _retry_after(response: httpx.Response) -> float | None:
    """Return the seconds of a Retry-After header, which holds a number or a date; None without a readable one."""
    value = response.headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError):
            return None
    return max(0.0, seconds) if seconds == seconds else None
