"""A small model behind a real HTTP server on the loopback device, whose answers can be made wrong in known ways."""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

BOS = 256
SIZE = 300

HALVES = range(290, 300)
"""Tokens that are no whole character, if a server has such."""

SOURCE = {"model": "toy", "system_fingerprint": "fp-1"}
"""What every answer says of the model that gave it."""


@lru_cache(100_000)
def _distribution(seed: int, context: int) -> np.ndarray:
    logits = np.random.default_rng([seed, context]).normal(size=SIZE) * 2
    return logits - np.log(np.exp(logits).sum())


def distribution(ids: Sequence[int], seed: int = 0) -> np.ndarray:
    """Return the log-probabilities of the next token, which depend on all tokens before."""
    return _distribution(seed, zlib.crc32(np.array(ids, dtype="<u2").tobytes()))


def truth(ids: list[int], seed: int = 0) -> list[float]:
    """Return the log-probability of every token but the first."""
    return [float(distribution(ids[:i], seed)[ids[i]]) for i in range(1, len(ids))]


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """Say nothing: clients that are killed, or give up, cut their connections."""


class Listening:
    """Something that listens on loopback, at `url`, in threads of its own until it is closed."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self._server = _Quiet(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Loopback(Listening):
    """The server. `faults` name what it does wrong; `refuse` maps a path to the statuses of its first answers.

    `script` are its answers to the first requests, whatever they ask for: statuses, bodies and headers.
    `template` is how it shows its chat template, that of a thinking model: "text" as llama.cpp, "ids" as vLLM.
    After `die_after(n)` it answers n more requests for completions, and then cuts every connection without a word;
    with `hang` it first keeps silent until `revive()`.
    """

    def __init__(self, *faults: str, seed: int = 0, bos: bool = False, top: int = 10**9, template: str = "") -> None:
        self.faults, self.seed, self.bos, self.top, self.template = set(faults), seed, bos, top, template
        self.refuse: dict[str, list[int]] = {}
        self.script: list[tuple[int, Any, dict[str, str]]] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: Counter[str] = Counter()
        self._left: int | None = None
        self._hang = threading.Event()
        self._hang.set()
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"loopback": self})
        super().__init__(handler)

    def die_after(self, requests: int, *, hang: bool = False) -> None:
        self._left = requests
        if hang:
            self._hang.clear()

    def revive(self) -> None:
        self._left = None
        self._hang.set()

    def alive(self, path: str) -> bool:
        """Return whether a request for this path is still answered."""
        with self._lock:
            if self._left is None:
                return True
            self._left -= path == "/v1/completions"
            if self._left >= 0:
                return True
        self._hang.wait()
        return False

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        if path == "/v1/models":
            if "no list" in self.faults:
                return 200, {"data": []}
            return 200, {"data": [{"id": "toy"}] + [{"id": "other"}] * ("two models" in self.faults)}
        if path == "/tokenize" and "no tokenize" not in self.faults and "prompt" in body:
            front = [BOS] if self.bos and body["add_special_tokens"] else []
            return 200, {"tokens": front + list(body["prompt"].encode())}
        if path == "/tokenize" and self.template == "ids":
            return 200, {"tokens": [BOS] * self.bos + list(self.rendered(body).encode())}
        if path == "/detokenize" and "no tokenize" not in self.faults:
            text = bytes(token for token in body["tokens"] if token != BOS).decode()
            return 200, {"prompt": text + " " * ("odd text" in self.faults)}
        if path == "/apply-template" and self.template == "text":
            return 200, {"prompt": self.rendered(body)}
        if path == "/v1/completions" and "chat only" not in self.faults:
            return self.complete(body)
        if path == "/v1/chat/completions":
            return 200, {"choices": [self.chat(body, place) for place in range(body.get("n", 1))], **SOURCE}
        return 404, {"error": "no such path"}

    def rendered(self, body: dict[str, Any]) -> str:
        """Return a conversation as a thinking model's template writes it: earlier reasoning is dropped."""
        turns = [f"<{turn['role']}>{turn['content'].split('</think>')[-1]}" for turn in body["messages"]]
        return "".join(turns) + "<assistant><think>\n" * body["add_generation_prompt"]

    def complete(self, body: dict[str, Any]) -> tuple[int, Any]:
        rows = body["prompt"] if isinstance(body["prompt"][0], list) else [body["prompt"]]
        if any(b"POISON" in bytes(t for t in row if t < 256) for row in rows):
            return 500, {"error": "poisoned"}
        if body.get("logprobs", 0) > self.top:
            return 400, {"error": f"logprobs must be at most {self.top}"}
        answers = [self.choice(row, body, place) for row in rows for place in range(body.get("n", 1))]
        return 200, {"choices": [{"index": i, **answer} for i, answer in enumerate(answers)], **SOURCE}

    def choice(self, ids: list[int], body: dict[str, Any], place: int) -> dict[str, Any]:
        table = self.next(ids, body["temperature"])
        best = int(table.argmax())
        if "no logprobs" in self.faults or not body.get("logprobs"):
            return {"text": self.text(ids, body, place), "logprobs": None}
        if "half characters" in self.faults:  # as llama.cpp, whose table is of the model, whatever is written
            forced = [] if "takes no bias" in self.faults else body.get("logit_bias", [])
            best = int(next(iter(forced), best))
            if best in HALVES:
                return {"text": "\ufffd", "logprobs": None}
        ranked = np.argsort(-table)[: body["logprobs"]]
        top: Any = {f"token_id:{t}": float(table[t]) for t in ranked}
        tokens, values = [f"token_id:{best}"], [float(table[best])]
        if body.get("echo") and "echo ignored" not in self.faults:
            given = truth(ids, self.seed)
            if "shifted" in self.faults:
                given = [*given[1:], values[0]]
            if "nulls" in self.faults:
                given = [None] * len(given)
            if "own answers" in self.faults:
                given = [float(self.next(ids[:i], 0.0).max()) for i in range(1, len(ids))]
            if "plain echo" not in self.faults:  # OpenAI's protocol: an entry for every token, its own and the best
                entries = [{f"token_id:{t}": v} for t, v in zip(ids[1:], given, strict=True)]
                top = [None, *entries, {f"token_id:{best}": float(table[best])}]
            tokens = [f"token_id:{t}" for t in ([BOS, *ids[:-1]] if "other tokens" in self.faults else ids)] + tokens
            values = [None, *given, *values]
        entries = top if isinstance(top, list) else [top]
        return {"text": chr(best), "logprobs": {"tokens": tokens, "token_logprobs": values, "top_logprobs": entries}}

    def text(self, ids: list[int], body: dict[str, Any], place: int) -> str:
        """Return a few tokens: the most probable ones, or drawn; the same request always draws the same."""
        rng, text = np.random.default_rng([self.seed, place, *ids]), ""
        for _ in range(min(body["max_tokens"], 4)):
            table = distribution(ids, self.seed)
            token = int(rng.choice(SIZE, p=np.exp(table))) if body["temperature"] else int(table.argmax())
            ids, text = [*ids, token], text + chr(token)
        return text

    def next(self, ids: list[int], temperature: float) -> np.ndarray:
        table = distribution(ids, self.seed)
        if "sharpened" in self.faults and temperature == 0:
            table = table * 3 - np.log(np.exp(table * 3).sum())
        if "too much mass" in self.faults:
            table = table + 1.0
        return np.minimum(table, 0.0)

    def chat(self, body: dict[str, Any], place: int) -> dict[str, Any]:
        key = sum(body["messages"][-1]["content"].encode())
        probs = np.random.default_rng([self.seed, key]).dirichlet(np.ones(6))
        words = [" A", "A", "B", "C", "The", "\n"]
        table = {word: float(np.log(prob)) for word, prob in zip(words, probs, strict=True)}
        ranked = sorted(table.items(), key=lambda entry: -entry[1])
        top = [{"token": word, "logprob": value} for word, value in ranked]
        kept = top[: min(body.get("top_logprobs", 0), 4 if "few" in self.faults else 6)]
        hidden = "no logprobs" in self.faults or not body.get("logprobs")
        rng = np.random.default_rng([self.seed, key, place if body["temperature"] else 0])
        text = str(rng.choice(words, p=probs)) if body["temperature"] else top[0]["token"]
        if body["max_tokens"] > 8:
            text += f" {rng.integers(10**9)}"
        if "seed" in body:  # `build generate`
            text = "1. [The cook] met [the nurse] before [he] left town."
        if "thinks" in self.faults:
            text = f"so it is</think>\n\n{text}" if body["max_tokens"] > 8 else "so it is"
        first = {**top[0], "top_logprobs": kept}
        return {"message": {"content": text}, "logprobs": None if hidden else {"content": [first]}}


class _Handler(BaseHTTPRequestHandler):
    loopback: Loopback
    protocol_version = "HTTP/1.1"
    wbufsize = 2**16  # a header and a body sent apart wait for each other's receipt

    def do_GET(self) -> None:
        self.respond({})

    def do_POST(self) -> None:
        self.respond(json.loads(self.rfile.read(int(self.headers["content-length"]))))

    def respond(self, body: dict[str, Any]) -> None:
        loop = self.loopback
        if not loop.alive(self.path):
            self.close_connection = True
            return
        loop.paths[self.path] += 1
        loop.bodies.append(body)
        loop.headers.append(dict(self.headers))
        refusals = loop.refuse.get(self.path, [])
        headers = {}
        if loop.script:
            status, answer, headers = loop.script.pop(0)
        else:
            told: Any = (refusals.pop(0), {"error": "later"}) if refusals else loop.answer(self.path, body)
            status, answer, headers = (*told, {})[:3]
        content = answer if isinstance(answer, bytes) else answer if isinstance(answer, str) else json.dumps(answer)
        content = content.encode() if isinstance(content, str) else content
        self.send_response(200 if status in (0, 1) else status)
        for name, value in ({"retry-after": "0.05"} if status == 429 and not headers else headers).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        if status == 0:  # cut off in the middle
            self.wfile.write(content[:5])
            self.wfile.flush()
            self.close_connection = True
            return
        if status == 1:  # a byte every 0.2 s
            with suppress(OSError):  # the client has given up
                for byte in content:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    time.sleep(0.2)
            return
        with suppress(OSError):  # the client was killed, or has given up
            self.wfile.write(content)
            self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        pass
