"""The few questions that Equipoise asks a server, in OpenAI's protocol and the extensions of vLLM and llama.cpp.

Answers are checked for their form (answers.py). One that is malformed, or that comes from another model, is asked for
once more; whether the values are true is for the probe and the proof to find out.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ...records import Floats, Message
from ..conversation import End
from . import answers
from .answers import HalfCharacter, Malformed
from .http_client import Client, ServerError

Ids = Sequence[int]
Read = TypeVar("Read")

WHOLE: Sequence[Mapping[str, Any]] = tuple({"top_k": none, "min_p": 0.0, "repetition_penalty": 1.0} for none in (0, -1))
"""Turns off what llama.cpp (`min_p` 0.05) and vLLM (a model's `generation_config.json`) do before they draw a token.

0 is "all tokens" for llama.cpp and vLLM, -1 for SGLang. OpenAI's own API refuses them, and needs none.
"""


CERTAIN = 100
"""The bias with which a token is written whatever the model says."""


class Changed(ServerError):
    """Raised when a server is no longer the one that was tested: its answers, or the model that they name, differ."""


@dataclass(frozen=True)
class Known:
    """A prompt whose values were learned when the server was tested, to be asked beside others.

    `values` are compared by name, within `tolerance` nats.
    """

    ids: tuple[int, ...]
    values: Mapping[Any, float]
    tolerance: float

    def check(self, values: Mapping[Any, float]) -> None:
        """Raise Changed where the same prompt has other values now."""
        differs = distance(self.values, values)
        if differs > self.tolerance:
            raise Changed(f"{how_far(differs)} for a known prompt, at most {self.tolerance:.2g} are its noise")


def distance(before: Mapping[Any, float], after: Mapping[Any, float]) -> float:
    """Return the largest difference of the values that were known before; infinite where one is missing."""
    return max((abs(value - after.get(name, float("inf"))) for name, value in before.items()), default=0.0)


def nearly_one() -> float:
    """Return a number just below 1, another one each time: in single precision it is 1, so it leaves out no token."""
    return 1.0 - random.randrange(1, 10**7) * 1e-15


def how_far(nats: float) -> str:
    """Return a distance in words."""
    return "another answer" if nats == float("inf") else f"a difference of {nats:.2g} nats"


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
        self.asked_again = 0
        """Answers that were malformed, or another model's, and were asked for once more."""
        self.draws_whole: bool | None = None
        """Whether the server takes WHOLE, and so draws from all tokens; None before it has written."""
        self._one_at_a_time = self._several_at_once = False
        self._whole_token: int | None = None
        self._sources: dict[str, str] = {}
        self._taken: dict[tuple[str, bool], int] = {}

    async def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Return the text as token ids, with what the tokenizer puts before it if `special`."""
        # vLLM reads prompt and add_special_tokens, llama.cpp content and add_special.
        body = {"prompt": text, "add_special_tokens": special, "content": text, "add_special": special}
        url = f"{self.client.root}/tokenize"
        return await self._asked(url, {"model": self.model, **body}, answers.token_ids, "token ids")

    async def apply_template(self, messages: Sequence[Message], end: End, **settings: Any) -> str:
        """Return a conversation as text, by the server's chat template (llama.cpp)."""
        url, body = f"{self.client.root}/apply-template", {**self._turns(messages, end), **settings}
        return await self._asked(url, body, lambda a: _text(a["prompt"]), "prompt")

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
        return await self._asked(f"{self.client.root}/tokenize", body, answers.token_ids, "token ids")

    async def detokenize(self, ids: Ids) -> str:
        """Return token ids as text, special tokens included."""
        url, body = f"{self.client.root}/detokenize", {"model": self.model, "tokens": list(ids)}

        def text(answer: Any) -> str:  # vLLM says prompt, llama.cpp content.
            return _text(answer["prompt"] if "prompt" in answer else answer["content"])

        return await self._asked(url, body, text, "text of the token ids")

    def _turns(self, messages: Sequence[Message], end: End) -> dict[str, Any]:
        turns = [message._asdict() for message in messages]
        return {"model": self.model, "messages": turns, "add_generation_prompt": end == "answer"}

    async def next_tokens(
        self,
        ids: Ids,
        k: int,
        *,
        temperature: float = 0.0,
        least: int = 1,
        known: Known | None = None,
        same: Known | None = None,
    ) -> dict[int, float]:
        """Return the log-probabilities of up to k tokens that may follow, the most probable ones, at least `least`.

        `known` is asked in the same request, and must get its known answer. `same` is what is known of these ids.
        """
        prompt: list[Any] = list(ids) if known is None else [list(ids), list(known.ids)]
        body = {"prompt": prompt, "max_tokens": 1, "logprobs": k, "temperature": temperature}
        is_best = temperature == 0

        def table(answer: Any) -> dict[int, float]:
            answers.check_read(answer, [ids] if known is None else [ids, known.ids])
            rows = answers.choices(answer, 1 if known is None else 2)
            first, *others = [answers.next_table(row, least, k, is_best=is_best) for row in rows]
            self._whole_token = answers.whole_token(rows[0]) if self._whole_token is None else self._whole_token
            if known is not None:
                (beside,) = others
                known.check(beside)
                if beside == first:
                    raise Changed("two prompts of one list have the same answer")
            if same is not None:
                same.check(first)
            return first

        what = "next-token log-probabilities by token id"
        try:
            return await self._complete(body, table, what)
        except HalfCharacter:
            # What is written does not change what might be: known values, here or before, show it.
            if self._whole_token is None or (known is None and same is None):
                raise
            is_best = False
            return await self._complete({**body, "logit_bias": {str(self._whole_token): CERTAIN}}, table, what)

    async def given_tokens(
        self, rows: Sequence[Ids], *, has_entries: bool = False, known: Known | None = None
    ) -> list[list[float]]:
        """Return the log-probability of every token but the first of each row, given those before it.

        `known` is asked in the same request, and must get its known answer; each row is asked twice then, unless its
        answer `has_entries` to compare it with.
        """
        asked = [list(row) for row in rows]
        if known is not None:
            # Neither first nor last: where a list's rows are mixed, or all get one row's values, it gets other ones.
            asked = [asked[0], list(known.ids), *asked[1:], *([] if has_entries else asked[::-1])]
        prompt = asked if len(asked) > 1 else asked[0]
        body = {"prompt": prompt, "max_tokens": 1, "logprobs": 1, "echo": True, "temperature": 0.0}

        def given(answer: Any) -> list[list[float]]:
            answers.check_read(answer, asked)
            pairs = zip(answers.choices(answer, len(asked)), asked, strict=True)
            values = [answers.echoed(choice, row, has_entries=has_entries) for choice, row in pairs]
            if known is None:
                return values
            known.check(dict(enumerate(values.pop(1))))
            answers.check_rows([*asked[:1], *asked[2:]], values, known.tolerance)
            return values[: len(rows)]

        return await self._complete(body, given, "log-probabilities of the prompt")

    async def has_entries(self, ids: Ids) -> bool:
        """Return whether an echo holds an entry for every token beside its log-probability."""
        body = {"prompt": list(ids), "max_tokens": 1, "logprobs": 1, "echo": True, "temperature": 0.0}
        return await self._complete(body, lambda a: answers.has_entries(answers.choices(a, 1)[0]), "tokens")

    async def chat_top(self, messages: Sequence[Message], k: int, *, temperature: float = 0.0) -> dict[str, float]:
        """Return the log-probabilities of up to k tokens that may begin the answer, by their text."""
        body = {"messages": [m._asdict() for m in messages], "max_tokens": 1, "temperature": temperature}
        body |= {"logprobs": True, "top_logprobs": k}

        def table(answer: Any) -> dict[str, float]:
            return answers.chat_table(answers.choices(answer, 1)[0], k, is_best=temperature == 0)

        return await self._chat(body, table, "top_logprobs")

    async def write(
        self, context: Ids | Sequence[Message], *, tokens: int, temperature: float, count: int = 1
    ) -> list[str | None]:
        """Return texts that continue the ids or answer the conversation, from one to `count`; None where filtered.

        Reasoning comes first, in a think block.
        """
        body: dict[str, Any] = {"max_tokens": tokens, "temperature": temperature}
        if count > 1 and not self._one_at_a_time:
            try:
                texts = await self._write(context, {**body, "n": count})
                self._several_at_once = True
                return texts
            except ServerError as error:  # llama.cpp writes at most as many as it has slots
                if error.status not in (400, 422) or self._several_at_once:
                    raise
                self._one_at_a_time = True
        answered = await asyncio.gather(*(self._write(context, {**body, "n": 1}) for _ in range(count)))
        return [text for (text,) in answered]

    async def _write(self, context: Ids | Sequence[Message], body: dict[str, Any]) -> list[str | None]:
        most = body["n"]
        if context and isinstance(context[0], Message):
            body |= {"messages": [m._asdict() for m in context if isinstance(m, Message)]}
            return await self._chat(body, lambda a: [answers.replied(c) for c in answers.choices(a, 1, most)], "text")
        ids = [token for token in context if isinstance(token, int)]

        def texts(answer: Any) -> list[str | None]:
            answers.check_read(answer, [ids])
            return [answers.written(choice) for choice in answers.choices(answer, 1, most)]

        return await self._complete({**body, "prompt": ids}, texts, "text")

    async def reply(self, prompt: str, *, seed: int, temperature: float, tokens: int) -> Reply:
        """Return the reply to one message; an empty one is asked for again, Refused where it was filtered."""
        began = time.monotonic()
        body = {"messages": [{"role": "user", "content": prompt}], "seed": seed, "temperature": temperature}
        body |= {"model": self.model, "max_tokens": tokens}
        url = f"{self.client.url}/chat/completions"
        answer, attempts = await self.client.ask("POST", url, body, answers.check_reply)
        choice, usage = answer["choices"][0], answer.get("usage")
        counts = usage.items() if isinstance(usage, dict) else ()
        return Reply(
            text=answers.text_of(choice["message"].get("content")),
            finish_reason=str(choice.get("finish_reason") or ""),
            model=str(answer.get("model") or self.model),
            fingerprint=str(answer.get("system_fingerprint") or ""),
            usage={name: count for name, count in counts if isinstance(count, int)},
            seconds=round(time.monotonic() - began, 3),
            attempts=attempts,
        )

    async def embed(self, texts: Sequence[str]) -> Floats:
        """Return a vector for each text, in order."""
        url, body = f"{self.client.url}/embeddings", {"model": self.model, "input": list(texts)}
        return await self._asked(url, body, lambda answer: answers.vectors(answer, len(texts)), "embeddings")

    async def _complete(self, body: Mapping[str, Any], reader: Callable[[Any], Read], what: str) -> Read:
        more = {"return_tokens_as_token_ids": True} if "logprobs" in body else {}
        return await self._answered("completions", {**body, **more}, reader, what)

    async def _chat(self, body: Mapping[str, Any], reader: Callable[[Any], Read], what: str) -> Read:
        return await self._answered("chat/completions", body, reader, what)

    async def _answered(self, path: str, body: Mapping[str, Any], reader: Callable[[Any], Read], what: str) -> Read:
        """Ask the model, with all settings that the server takes: it may refuse what it does not know."""
        url, writes = f"{self.client.url}/{path}", "logprobs" not in body
        # A cache on the way would give old answers of another model, but has never seen this number.
        fresh = {"top_p": nearly_one()}
        ways: list[Mapping[str, Any]] = [*({**fresh, **whole} for whole in WHOLE if writes), fresh, {}]
        taken = self._taken.get((path, writes))
        for place, settings in enumerate(ways) if taken is None else [(taken, ways[taken])]:
            try:
                answer = await self._asked(url, {"model": self.model, **body, **settings}, reader, what)
            except ServerError as error:
                if error.status not in (400, 422) or not settings or taken is not None:
                    raise
                continue
            self._taken.setdefault((path, writes), place)
            if writes and self.draws_whole is None:
                self.draws_whole = place < len(WHOLE)
            return answer
        raise AssertionError("the last way has no settings")

    async def _asked(self, url: str, body: Mapping[str, Any], reader: Callable[[Any], Read], what: str) -> Read:
        """Return what the reader finds in the answer; where that is not to be believed, in a second answer."""
        try:
            return self._read(url, await self.client.post(url, body), reader, what)
        except (Malformed, Changed):
            self.asked_again += 1
        return self._read(url, await self.client.post(url, body), reader, what)

    def _read(self, url: str, answer: Mapping[str, Any], reader: Callable[[Any], Read], what: str) -> Read:
        for field in ("model", "system_fingerprint"):
            name = answer.get(field)
            if isinstance(name, str) and name:
                before = self._sources.setdefault(f"{field} {url}", name)
                if name != before:
                    raise Changed(f"its answers name the {field} {name[:80]!r} now, {before[:80]!r} before")
        return answers.read(answer, reader, what)


async def served_models(client: Client) -> list[str]:
    """Return the names of the models that the server lists."""
    answer = await client.get(f"{client.url}/models")
    try:
        return answers.read(answer, lambda a: [_text(entry["id"]) for entry in a["data"]], "models")
    except Malformed:
        raise ServerError(f"{client.url}/models does not list models; is this an OpenAI-compatible server?") from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return answers.text_of(value)
