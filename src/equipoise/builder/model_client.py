"""A client for servers that speak OpenAI's protocol: chat replies and embeddings, with retries and limits.

The key is read from the environment for each request. It is never stored, printed or part of an error.
"""

from __future__ import annotations

import asyncio
import email.utils
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import httpx
import numpy as np

from ..records import Floats, ModelError

TRANSIENT = frozenset({408, 409, 425, 500, 502, 503, 504, 529})
"""Answers that may pass: the request is sent again, at most `attempts` times."""

FATAL = frozenset({401, 402, 403, 404, 405})
"""Answers that every other request would get as well: a wrong key, no credit, an unknown model or address."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Limits: requests per minute (0: none), seconds per request in total, attempts, and seconds spent waiting."""

    requests_per_minute: float = 0.0
    timeout_s: float = 120.0
    attempts: int = 6
    longest_wait_s: float = 60.0
    wait_budget_s: float = 3600.0
    key_variable: str = "OPENAI_API_KEY"


@dataclass(frozen=True, slots=True)
class Reply:
    """A chat reply: text, why it stopped, token counts, and the model that the server names."""

    text: str
    finish_reason: str
    model: str
    fingerprint: str
    usage: Mapping[str, int]
    seconds: float
    attempts: int


class Refused(ModelError):
    """Raised when the server refuses this prompt for good (a bad request, a content filter)."""


class Unanswered(ModelError):
    """Raised when a request got no usable reply after all attempts; it can be sent again later."""


class OutOfBudget(ModelError):
    """Raised when the server is still busy after `wait_budget_s` seconds of waiting."""


class _Transient(Exception):
    """A failure that may pass; `wait_s` is what the server asks for, `limited` marks a rate limit."""

    def __init__(self, reason: str, wait_s: float | None = None, *, limited: bool = False) -> None:
        super().__init__(reason)
        self.wait_s, self.limited = wait_s, limited


@dataclass
class ModelClient:
    """One model at one address (`http://host/v1`); an async context manager, for many requests at once."""

    address: str
    model: str
    options: ServerOptions = field(default_factory=ServerOptions)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        if not self.address.startswith(("http://", "https://")):
            raise ModelError(f"{self.address!r} is not the address of a server: it must start with http:// or https://")
        self.address = self.address.rstrip("/")
        self._client: httpx.AsyncClient | None = None
        self._next_start = self._not_before = self._waited = 0.0

    async def __aenter__(self) -> Self:
        self._client = httpx.AsyncClient(timeout=self.options.timeout_s, limits=httpx.Limits(max_connections=None))
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def chat(self, prompt: str, *, seed: int, temperature: float, max_tokens: int) -> Reply:
        """Return the reply to one user message; raise a ModelError if the server refuses or does not answer."""
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
            "seed": seed,
            "temperature": temperature,
            "max_tokens": max_tokens,
        }
        start = self.clock()
        answer, attempts = await self._post("/chat/completions", body, _check_reply)
        choice = answer["choices"][0]
        usage = answer.get("usage")
        counts = usage.items() if isinstance(usage, dict) else ()
        return Reply(
            text=_text(choice["message"].get("content")),
            finish_reason=str(choice.get("finish_reason") or ""),
            model=str(answer.get("model") or self.model),
            fingerprint=str(answer.get("system_fingerprint") or ""),
            usage={name: count for name, count in counts if isinstance(count, int)},
            seconds=round(self.clock() - start, 3),
            attempts=attempts,
        )

    async def embed(self, texts: Sequence[str]) -> Floats:
        """Return one vector per text, in order."""
        answer, _ = await self._post("/embeddings", {"model": self.model, "input": list(texts)}, lambda answer: None)
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            vectors = np.array([row["embedding"] for row in rows], dtype=np.float64)
        except (KeyError, TypeError, ValueError):
            raise ModelError(f"{self.address} does not answer like an embedding server: no data") from None
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise ModelError(f"{self.address} gave {len(rows)} embeddings for {len(texts)} texts")
        return vectors

    async def _post(
        self, path: str, body: Mapping[str, Any], check: Callable[[dict[str, Any]], None]
    ) -> tuple[dict[str, Any], int]:
        """Return the answer and the number of attempts; a rate limit is waited out and costs no attempt."""
        failures = attempts = 0
        while True:
            await self._wait_for_turn()
            attempts += 1
            try:
                answer = await self._post_once(path, body)
                check(answer)
                return answer, attempts
            except _Transient as error:
                failures += not error.limited
                if failures >= self.options.attempts:
                    raise Unanswered(f"{self.address} {error}, {failures} times") from None
                backoff = min(2.0 ** (attempts - 1), self.options.longest_wait_s)
                if error.limited or error.wait_s is not None:
                    self._hold_back(error, backoff if error.wait_s is None else error.wait_s)
                else:
                    await self.sleep(backoff)

    def _hold_back(self, error: _Transient, wait: float) -> None:
        """Let no request start for that long, as the server asks; raise OutOfBudget if that is too long."""
        now = self.clock()
        # Requests under way at the same time get the same answer: only what they add to the pause is waiting.
        added = max(0.0, now + wait - max(now, self._not_before))
        if self._waited + added > self.options.wait_budget_s:
            budget = f"{self.options.wait_budget_s:g} s"
            raise OutOfBudget(f"{self.address} {error}; waiting would take more than the budget of {budget}")
        self._waited += added
        self._not_before = max(self._not_before, now + wait)

    async def _wait_for_turn(self) -> None:
        interval = 60.0 / self.options.requests_per_minute if self.options.requests_per_minute > 0 else 0.0
        while True:
            now = self.clock()
            start = max(now, self._next_start, self._not_before)
            if start <= now:
                self._next_start = start + interval
                return
            await self.sleep(start - now)

    async def _post_once(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        if self._client is None:
            raise ModelError("a model client is used inside `async with`")
        key = os.environ.get(self.options.key_variable)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            # In total: httpx's own time limits start anew with every byte.
            async with asyncio.timeout(self.options.timeout_s):
                response = await self._client.post(self.address + path, json=body, headers=headers)
        except (TimeoutError, httpx.TimeoutException):
            raise _Transient(f"did not answer within {self.options.timeout_s:g} s") from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise _Transient(f"cannot be reached ({type(error).__name__})") from None
        self._raise_for_status(path, response, key)
        try:
            answer = response.json()
        except ValueError:
            raise _Transient("answered with text that is not JSON") from None
        if not isinstance(answer, dict):
            raise _Transient("answered with JSON that is not an object")
        return answer

    def _raise_for_status(self, path: str, response: httpx.Response, key: str | None) -> None:
        status = response.status_code
        if status == 429:
            # "insufficient_quota" is a 429 as well, but waiting does not help.
            if "insufficient_quota" in response.text[:5000]:
                raise ModelError(f"{self.address}{path} answered 429: {_message(response, key)}")
            raise _Transient("answered 429", _retry_after(response), limited=True)
        if status in TRANSIENT or status > 504:
            raise _Transient(f"answered {status}", _retry_after(response))
        if 300 <= status < 400 or status in FATAL:
            raise ModelError(f"{self.address}{path} answered {status}: {_message(response, key)}")
        if status >= 400:
            raise Refused(f"{self.address}{path} answered {status}: {_message(response, key)}")


def _check_reply(answer: dict[str, Any]) -> None:
    """Raise Refused for a filtered reply, _Transient for a reply without text."""
    if isinstance(answer.get("error"), dict | str) and "choices" not in answer:
        raise _Transient("answered 200 with an error")
    try:
        choice = answer["choices"][0]
        message = choice["message"]
        content = message.get("content")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise _Transient("does not answer like a chat server: no choices[0].message") from None
    if choice.get("finish_reason") == "content_filter":
        raise Refused("the server's content filter stopped the reply")
    if message.get("refusal") and not _text(content).strip():
        raise Refused(f"the model refused: {str(message['refusal'])[:200]}")
    if not _text(content).strip():
        raise _Transient("sent an empty reply")


def _text(content: object) -> str:
    """Return the text of a message: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, dict | str)]
    return "".join(text for text in texts if isinstance(text, str))


def _retry_after(response: httpx.Response) -> float | None:
    """Return the seconds of a Retry-After header, which is a number or a date; None without a readable one."""
    value = response.headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError):
            return None
    return max(0.0, seconds) if seconds == seconds else None


def _message(response: httpx.Response, key: str | None) -> str:
    try:
        error = response.json()["error"]
        message = error["message"] if isinstance(error, dict) else error
    except (ValueError, KeyError, TypeError):
        message = response.text or response.reason_phrase
    # Some servers quote the key in their error.
    return str(message).replace(key or "\0", "…")[:200]
