"""HTTP requests to a model server: bounded concurrency, retries with back-off, and a time limit for each request.

The API key comes from the environment only. It is never written to a file, a message or a manifest.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

import httpx

from ...records import ModelError

KEYS = ("EQUIPOISE_API_KEY", "OPENAI_API_KEY")
"""Environment variables that may hold the API key, in the order in which they are tried."""

RETRIED = {408, 425, 429, 500, 502, 503, 504}


@dataclass(frozen=True)
class Limits:
    """How a server is treated: requests at once, seconds for each, attempts, and the longest pause between them."""

    concurrency: int = 16
    seconds: float = 120.0
    attempts: int = 6
    first_pause: float = 0.5
    longest_pause: float = 60.0


class ServerError(ModelError):
    """A request that failed for good; `status` is its HTTP status, None where no answer came."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Client:
    """One server. Call it from one event loop only."""

    def __init__(self, url: str, limits: Limits | None = None) -> None:
        self.url = url.rstrip("/")
        if not self.url.startswith(("http://", "https://")):
            raise ModelError(f"server must be an http address such as http://127.0.0.1:8000/v1, not {url!r}")
        if "@" in self.url.split("/")[2]:
            raise ModelError(f"server must not hold a password; set {KEYS[0]} in the environment instead")
        self.limits = limits or Limits()
        key = next((os.environ[name] for name in KEYS if os.environ.get(name)), None)
        self._http = httpx.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=self.limits.seconds,
            limits=httpx.Limits(max_connections=self.limits.concurrency),
        )
        self._slots = asyncio.Semaphore(self.limits.concurrency)

    @property
    def root(self) -> str:
        """The server's address without `/v1`, where its own endpoints are."""
        return self.url.removesuffix("/v1")

    async def get(self, url: str) -> Any:
        """Return the JSON at that address."""
        return await self._ask("GET", url, None)

    async def post(self, url: str, body: Mapping[str, Any]) -> Any:
        """Return the JSON answer to a request; ServerError where it failed for good."""
        return await self._ask("POST", url, body)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _ask(self, method: str, url: str, body: Mapping[str, Any] | None) -> Any:
        async with self._slots:
            for attempt in range(1, self.limits.attempts + 1):
                try:
                    return await self._attempt(method, url, body)
                except _Retry as retry:
                    if attempt == self.limits.attempts:
                        raise ServerError(f"{url} failed {attempt} times: {retry}", retry.status) from None
                    await asyncio.sleep(self._pause(attempt, retry.after))
        raise AssertionError("unreachable")

    async def _attempt(self, method: str, url: str, body: Mapping[str, Any] | None) -> Any:
        try:
            # The total: httpx's own limit starts again with every byte that arrives.
            async with asyncio.timeout(self.limits.seconds):
                response = await self._http.request(method, url, json=body)
        except TimeoutError:
            raise _Retry(f"no complete answer within {self.limits.seconds:g} s") from None
        except httpx.TransportError as error:
            raise _Retry(f"{type(error).__name__} {error}".strip()) from None
        if response.status_code in RETRIED:
            raise _Retry(_message(response), response.status_code, _retry_after(response))
        if response.status_code != 200:
            raise ServerError(f"{url} answers {_message(response)}", response.status_code)
        try:
            return response.json()
        except (json.JSONDecodeError, UnicodeDecodeError):
            raise _Retry("its answer is not JSON") from None

    def _pause(self, attempt: int, after: float | None) -> float:
        """Return how long to wait: as long as the server asks for, else twice as long each time, with jitter."""
        if after is not None:
            return min(after, self.limits.longest_pause)
        pause: float = min(self.limits.first_pause * 2 ** (attempt - 1), self.limits.longest_pause)
        return pause * random.uniform(0.5, 1.0)


class _Retry(Exception):
    """A request that may succeed later."""

    def __init__(self, message: str, status: int | None = None, after: float | None = None) -> None:
        super().__init__(message)
        self.status, self.after = status, after


def _message(response: httpx.Response) -> str:
    text = " ".join(response.text.split())
    return f"HTTP {response.status_code}: {text[:200]}" if text else f"HTTP {response.status_code}"


def _retry_after(response: httpx.Response) -> float | None:
    """Return the seconds of a Retry-After header, which holds a number or a date."""
    value = response.headers.get("retry-after", "")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except (ValueError, TypeError):
        return None
