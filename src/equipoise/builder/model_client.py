"""A server that speaks OpenAI's protocol: chat replies and embeddings, with retries and a rate limit.

The key is read from the environment when a request is made; it is never stored, printed or part of an error.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np
import tenacity

from ..records import Floats, ModelError

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How a server is talked to: how often at most, how long to wait, and how many times to try."""

    requests_per_minute: float = 0.0
    timeout_s: float = 120.0
    attempts: int = 6
    longest_wait_s: float = 60.0
    key_variable: str = "OPENAI_API_KEY"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a chat server answered: the text, why it stopped, the tokens it counted, and the model it says it is."""

    text: str
    finish_reason: str
    model: str
    fingerprint: str
    usage: Mapping[str, int]
    seconds: float
    attempts: int


class Busy(Exception):
    """A refusal or a fault that may pass: too many requests, an error of the server, a time-out."""

    def __init__(self, why: str, wait_s: float | None = None) -> None:
        super().__init__(why)
        self.wait_s = wait_s


@dataclass
class Server:
    """One model behind one address (`http://host/v1`); several threads may ask it at once."""

    address: str
    model: str
    options: ServerOptions = field(default_factory=ServerOptions)
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        if not self.address.startswith(("http://", "https://")):
            raise ModelError(f"{self.address!r} is no address of a server: it starts with http:// or https://")
        self.address = self.address.rstrip("/")
        self._client = httpx.Client(timeout=self.options.timeout_s)
        self._turn = threading.Lock()
        self._next_start = 0.0

    def chat(self, prompt: str, *, seed: int, temperature: float, max_tokens: int) -> Reply:
        """Return the reply to one user message; ModelError when the server refuses or never answers."""
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
            "seed": seed,
            "temperature": temperature,
            "max_tokens": max_tokens,
        }
        start = self.clock()
        answer, attempts = self._post("/chat/completions", body)
        try:
            choice = answer["choices"][0]
            text = choice["message"]["content"] or ""
            usage = {name: int(count) for name, count in (answer.get("usage") or {}).items() if isinstance(count, int)}
        except (KeyError, IndexError, TypeError):
            raise ModelError(f"{self.address} answered, but not as a chat server does: no choices[0].message") from None
        return Reply(
            text=text,
            finish_reason=str(choice.get("finish_reason") or ""),
            model=str(answer.get("model") or self.model),
            fingerprint=str(answer.get("system_fingerprint") or ""),
            usage=usage,
            seconds=round(self.clock() - start, 3),
            attempts=attempts,
        )

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one vector a text, in their order."""
        answer, _ = self._post("/embeddings", {"model": self.model, "input": list(texts)})
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            vectors = np.array([row["embedding"] for row in rows], dtype=np.float64)
        except (KeyError, TypeError, ValueError):
            raise ModelError(f"{self.address} answered, but not as an embedding server does: no data") from None
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise ModelError(f"{self.address} gave {len(rows)} embeddings for {len(texts)} texts")
        return vectors

    def _post(self, path: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
        """Return the answer and the attempts it took; what may pass is tried again, ever more slowly."""
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self.options.attempts),
            wait=self._wait,
            retry=tenacity.retry_if_exception_type(Busy),
            sleep=self.sleep,
            reraise=True,
        )
        try:
            answer: dict[str, Any] = retrying(self._post_once, path, body)
        except Busy as busy:
            raise ModelError(f"{self.address} {busy}, {self.options.attempts} times; try again later") from None
        return answer, int(retrying.statistics.get("attempt_number", 1))

    def _wait(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.wait_s if isinstance(error, Busy) else None
        backoff = tenacity.wait_exponential_jitter(initial=1.0, max=self.options.longest_wait_s)(state)
        # The server knows best when it will have time again, but not for ever.
        return min(asked, 10 * self.options.longest_wait_s) if asked is not None else backoff

    def _post_once(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self._wait_for_turn()
        key = os.environ.get(self.options.key_variable)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            response = self._client.post(self.address + path, json=body, headers=headers)
        except httpx.TimeoutException:
            raise Busy(f"did not answer within {self.options.timeout_s:g} s") from None
        except httpx.TransportError as error:
            raise Busy(f"cannot be reached ({type(error).__name__})") from None
        if response.status_code in RETRIED:
            raise Busy(f"answered {response.status_code}", _retry_after(response))
        if response.status_code >= 400:
            said = _message(response)
            raise ModelError(f"{self.address}{path} answered {response.status_code}: {_hidden(said, key)}")
        try:
            answer = response.json()
        except ValueError:
            raise ModelError(f"{self.address}{path} answered with something that is not JSON") from None
        if not isinstance(answer, dict):
            raise ModelError(f"{self.address}{path} answered with JSON that is no object")
        return answer

    def _wait_for_turn(self) -> None:
        if self.options.requests_per_minute <= 0:
            return
        with self._turn:
            now = self.clock()
            start = max(now, self._next_start)
            self._next_start = start + 60.0 / self.options.requests_per_minute
        if start > now:
            self.sleep(start - now)


def _retry_after(response: httpx.Response) -> float | None:
    try:
        return max(0.0, float(response.headers["retry-after"]))
    except (KeyError, ValueError):
        return None


def _message(response: httpx.Response) -> str:
    try:
        error = response.json()["error"]
        said = error["message"] if isinstance(error, dict) else error
    except (ValueError, KeyError, TypeError):
        said = response.text or response.reason_phrase
    return str(said)[:200]


def _hidden(text: str, key: str | None) -> str:
    """Return the text without the key: some servers quote it back."""
    return text.replace(key, "…") if key else text
