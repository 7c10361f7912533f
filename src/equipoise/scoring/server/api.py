"""The few questions that Equipoise asks a server, in OpenAI's protocol and the extensions of vLLM and llama.cpp.

Answers are checked for their form here; whether they are true is for the probe to find out.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...records import Floats, Message
from ...records.thinking import THINK, THOUGHT
from ..conversation import End
from .http_client import Client, Refused, ServerError, Unusable

Ids = Sequence[int]


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply to one message: text, why it stopped, the model that the server names, token counts, time, attempts."""

    text: str
    finish_reason: str
    model: str
    fingerprint: str
    usage: Mapping[str, int]
    seconds: float
    attempts: int


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """A server's chat template as its source, and what it calls the special tokens."""

    text: str
    tokens: Mapping[str, str]

    def render(self, messages: Sequence[Message], end: End, time: str, variables: Mapping[str, Any]) -> str:
        """Return a conversation as text, at that time."""
        from ..huggingface.templates import render_template

        return render_template(self.text, {**self.tokens, **variables}, messages, end, time)


class Api:
    """A model on a server."""

    def __init__(self, client: Client, model: str) -> None:
        self.client = client
        self.model = model
        self._one_at_a_time = False

    async def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Return the text as token ids, with what the tokenizer puts before it if `special`."""
        # vLLM reads prompt and add_special_tokens, llama.cpp content and add_special.
        body = {"prompt": text, "add_special_tokens": special, "content": text, "add_special": special}
        answer = await self.client.post(f"{self.client.root}/tokenize", {"model": self.model, **body})
        return _ids(answer)

    async def apply_template(self, messages: Sequence[Message], end: End, **settings: Any) -> str:
        """Return a conversation as text, by the server's chat template (llama.cpp)."""
        body = {**self._turns(messages, end), **settings}
        answer = await self.client.post(f"{self.client.root}/apply-template", body)
        try:
            return str(answer["prompt"])
        except (KeyError, TypeError):
            raise ServerError("the server's answer has no prompt") from None

    async def template_source(self) -> TemplateSource | None:
        """Return the server's chat template as its source, None where it does not show it (llama.cpp does)."""
        try:
            shown = await self.client.get(f"{self.client.root}/props")
            names = {name: shown[name] for name in ("bos_token", "eos_token") if isinstance(shown.get(name), str)}
            return TemplateSource(shown["chat_template"], names) if isinstance(shown["chat_template"], str) else None
        except (ServerError, KeyError, TypeError, AttributeError):
            return None

    async def chat_tokens(self, messages: Sequence[Message], end: End, **settings: Any) -> list[int]:
        """Return a conversation as token ids, by the server's chat template (vLLM)."""
        body = {**self._turns(messages, end), "continue_final_message": end == "continued", **settings}
        return _ids(await self.client.post(f"{self.client.root}/tokenize", body))

    async def detokenize(self, ids: Ids) -> str:
        """Return token ids as text, special tokens included."""
        answer = await self.client.post(f"{self.client.root}/detokenize", {"model": self.model, "tokens": list(ids)})
        try:  # vLLM says prompt, llama.cpp content.
            return str(answer["prompt"] if "prompt" in answer else answer["content"])
        except (KeyError, TypeError):
            raise ServerError("the server's answer has no text of the token ids") from None

    def _turns(self, messages: Sequence[Message], end: End) -> dict[str, Any]:
        turns = [message._asdict() for message in messages]
        return {"model": self.model, "messages": turns, "add_generation_prompt": end == "answer"}

    async def next_tokens(self, ids: Ids, k: int, *, temperature: float = 0.0) -> dict[int, float]:
        """Return the log-probabilities of up to k tokens that may follow, the most probable ones."""
        body = {"prompt": list(ids), "max_tokens": 1, "logprobs": k, "temperature": temperature}
        (choice,) = await self._complete({**body, "return_tokens_as_token_ids": True})
        return _top(choice)

    async def given_tokens(self, rows: Sequence[Ids]) -> list[list[float]]:
        """Return the log-probability of every token but the first of each row, given those before it."""
        body = {"prompt": [list(row) for row in rows], "max_tokens": 1, "logprobs": 1, "echo": True, "temperature": 0.0}
        if len(rows) == 1:
            body["prompt"] = list(rows[0])
        choices = await self._complete({**body, "return_tokens_as_token_ids": True})
        if len(choices) != len(rows):
            raise ServerError(f"{len(rows)} prompts were sent, and {len(choices)} answers came back")
        return [_echoed(choice, row) for choice, row in zip(choices, rows, strict=True)]

    async def chat_top(self, messages: Sequence[Message], k: int) -> dict[str, float]:
        """Return the log-probabilities of up to k tokens that may begin the answer, by their text."""
        body = {"messages": [m._asdict() for m in messages], "max_tokens": 1, "temperature": 0.0}
        body |= {"model": self.model, "logprobs": True, "top_logprobs": k}
        answer = await self.client.post(f"{self.client.url}/chat/completions", body)
        try:
            entries = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
            return {str(entry["token"]): _logprob(entry["logprob"]) for entry in entries}
        except (KeyError, IndexError, TypeError):
            raise ServerError("the chat answer has no top_logprobs") from None

    async def write(
        self, context: Ids | Sequence[Message], *, tokens: int, temperature: float, count: int = 1
    ) -> list[str]:
        """Return texts that continue the ids or answer the conversation; reasoning comes first, in a think block."""
        body: dict[str, Any] = {"max_tokens": tokens, "temperature": temperature}
        if count > 1 and not self._one_at_a_time:
            try:
                return await self._write(context, {**body, "n": count})
            except ServerError as error:  # llama.cpp writes at most as many as it has slots
                if error.status not in (400, 422):
                    raise
                self._one_at_a_time = True
        texts = await asyncio.gather(*(self._write(context, {**body, "n": 1}) for _ in range(count)))
        return [text for (text, *_) in texts]

    async def _write(self, context: Ids | Sequence[Message], body: dict[str, Any]) -> list[str]:
        if context and isinstance(context[0], Message):
            body |= {"model": self.model, "messages": [m._asdict() for m in context if isinstance(m, Message)]}
            answer = await self.client.post(f"{self.client.url}/chat/completions", body)
            return [_written(choice) for choice in _choices(answer)]
        choices = await self._complete({**body, "prompt": list(context)})
        return [str(choice["text"] or "") for choice in choices]

    async def reply(self, prompt: str, *, seed: int, temperature: float, tokens: int) -> Reply:
        """Return the reply to one message; an empty one is asked for again, Refused where it was filtered."""
        began = time.monotonic()
        body = {"messages": [{"role": "user", "content": prompt}], "seed": seed, "temperature": temperature}
        body |= {"model": self.model, "max_tokens": tokens}
        answer, attempts = await self.client.ask("POST", f"{self.client.url}/chat/completions", body, _check_reply)
        choice, usage = answer["choices"][0], answer.get("usage")
        counts = usage.items() if isinstance(usage, dict) else ()
        return Reply(
            text=_text(choice["message"].get("content")),
            finish_reason=str(choice.get("finish_reason") or ""),
            model=str(answer.get("model") or self.model),
            fingerprint=str(answer.get("system_fingerprint") or ""),
            usage={name: count for name, count in counts if isinstance(count, int)},
            seconds=round(time.monotonic() - began, 3),
            attempts=attempts,
        )

    async def embed(self, texts: Sequence[str]) -> Floats:
        """Return a vector for each text, in order."""
        answer = await self.client.post(f"{self.client.url}/embeddings", {"model": self.model, "input": list(texts)})
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            vectors = np.array([row["embedding"] for row in rows], dtype=np.float64)
        except (KeyError, TypeError, ValueError):
            raise ServerError("the server's answer has no embeddings") from None
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise ServerError(f"the server gave {len(rows)} embeddings for {len(texts)} texts")
        return vectors

    async def _complete(self, body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        answer = await self.client.post(f"{self.client.url}/completions", {"model": self.model, **body})
        return _choices(answer)


async def served_models(client: Client) -> list[str]:
    """Return the names of the models that the server lists."""
    answer = await client.get(f"{client.url}/models")
    try:
        return [str(entry["id"]) for entry in answer["data"]]
    except (KeyError, TypeError):
        raise ServerError(f"{client.url}/models does not list models; is this an OpenAI-compatible server?") from None


def _choices(answer: Any) -> list[Mapping[str, Any]]:
    try:
        return sorted(answer["choices"], key=lambda choice: choice.get("index", 0))
    except (KeyError, TypeError, AttributeError):
        raise ServerError("the server's answer has no choices") from None


def _written(choice: Mapping[str, Any]) -> str:
    """Return a chat answer as the model wrote it; servers that parse reasoning return it beside the answer."""
    try:
        message = choice["message"]
        content = _text(message.get("content"))
        reasoning = message.get("reasoning_content") or message.get("reasoning")
    except (KeyError, TypeError, AttributeError):
        raise ServerError("the server's answer has no message") from None
    if not reasoning:
        return content
    # Without an answer it is not known whether the reasoning came to its end.
    return f"{THINK}\n{reasoning}\n" + (f"{THOUGHT}\n\n{content}" if content else "")


def _check_reply(answer: dict[str, Any]) -> None:
    """Raise Refused for a reply that was filtered, Unusable for one without text."""
    if isinstance(answer.get("error"), dict | str) and "choices" not in answer:
        raise Unusable("its answer is an error with status 200")
    try:
        choice = answer["choices"][0]
        message = choice["message"]
        text = _text(message.get("content")).strip()
    except (KeyError, IndexError, TypeError, AttributeError):
        raise Unusable("its answer has no choices[0].message") from None
    if choice.get("finish_reason") == "content_filter":
        raise Refused("the server's content filter stopped the reply")
    if message.get("refusal") and not text:
        raise Refused(f"the model refused: {str(message['refusal'])[:200]}")
    if not text:
        raise Unusable("its reply is empty")


def _text(content: object) -> str:
    """Return the text of a message: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, dict | str)]
    return "".join(text for text in texts if isinstance(text, str))


def _ids(answer: Any) -> list[int]:
    try:
        tokens = answer["tokens"]
        return [int(token["id"] if isinstance(token, Mapping) else token) for token in tokens]
    except (KeyError, TypeError, ValueError):
        raise ServerError("the server's answer has no token ids") from None


def _top(choice: Mapping[str, Any]) -> dict[int, float]:
    """Return the next-token table of an answer: llama.cpp's `content`, or vLLM's `top_logprobs` by `token_id:N`."""
    try:
        table = choice["logprobs"]
        if "content" in table:
            return {int(entry["id"]): _logprob(entry["logprob"]) for entry in table["content"][0]["top_logprobs"]}
        return {_token_id(token): _logprob(value) for token, value in table["top_logprobs"][0].items()}
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise ServerError("the server's answer has no next-token log-probabilities by token id") from None


def _echoed(choice: Mapping[str, Any], row: Ids) -> list[float]:
    try:
        tokens, values = choice["logprobs"]["tokens"], choice["logprobs"]["token_logprobs"]
        echoed = [_token_id(token) for token in tokens[: len(row)]]
        given = [_logprob(value) for value in values[1 : len(row)]]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ServerError("the server's answer has no log-probabilities of the prompt") from None
    if echoed != list(row) or len(given) != len(row) - 1:
        raise ServerError("the server's answer is about other tokens than the prompt's")
    return given


def _token_id(token: str) -> int:
    return int(token.removeprefix("token_id:"))


def _logprob(value: Any) -> float:
    number = float(value)
    # 1e-3: rounding of a log-softmax in low precision.
    if not -math.inf < number <= 1e-3:
        raise ValueError(f"{value} is not a log-probability")
    return min(number, 0.0)
