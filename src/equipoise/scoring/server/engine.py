"""A model behind a server that speaks OpenAI's protocol, as an engine."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ...options import EngineOptions
from ...records import Context, EquipoiseError, Message, ModelError, Prompt, Sampling, Score
from ...records.thinking import answer_of
from ..engine import EngineDefaults, identity_key, neighbours
from .api import Api, served_models
from .fingerprint import fingerprint
from .http_client import Client, Limits
from .methods import UNFINISHED, check_task
from .probe import Findings, has_thinking_template, probe

BATCH = 16
"""Prompts that are kept together: with those under way, the most that a killed client has to ask again."""

TEXTS_AT_ONCE = 64
SHOWN_FAILURES = 3

Answer = TypeVar("Answer")


class ServerEngine(EngineDefaults):
    """A served model: scores by the best method that the server was found to support."""

    def __init__(self, url: str, model: str = "", options: EngineOptions | None = None) -> None:
        options = options or EngineOptions()
        if options.whole_vocabulary:
            raise ModelError("whole_vocabulary needs a model that is loaded here, not a server")
        self._loop = _LoopThread()
        self._closed = weakref.finalize(self, self._loop.close)
        self._url = url
        self._unfinished = 0
        self._api, self._findings = self._loop.run(self._open(url, model, options))
        self.name = self._api.model.rstrip("/").rpartition("/")[2]
        self._fingerprint = fingerprint(self._api.model, self._findings.answers)

    async def _open(self, url: str, model: str, options: EngineOptions) -> tuple[Api, Findings]:
        self._client = Client(url, Limits(concurrency=options.concurrency, seconds=options.timeout))
        # Prompts begin in turn. Without this, all would wait for their first requests, and none would end early.
        self._prompts_at_once = asyncio.Semaphore(options.concurrency)
        self._batches_at_once = 2 + options.concurrency // BATCH
        api = Api(self._client, await _served_name(self._client, model))
        return api, await probe(api, bos=options.bos, samples=options.samples, reasoning=options.reasoning_tokens)

    @property
    def identity(self) -> Mapping[str, Any]:
        tokens = self._findings.tokens
        return {
            "engine": "server",
            "model": self._api.model,
            "fingerprint": self._fingerprint,
            "method": self._method.name,
            "leading_ids": list(tokens.front) if tokens else None,
            "chat_template": tokens.template.digest if tokens and tokens.template else None,
        }

    @property
    def description(self) -> Mapping[str, Any]:
        return {
            "server": self._url,
            "scoring": self._method.name,
            "capabilities": self._findings.capabilities,
            **({"thinks": True} if self._findings.thinks else {}),
        }

    @property
    def notes(self) -> Sequence[str]:
        notes = [f"scored by a server: {self._method.name}"]
        if self._unfinished:
            notes.append(
                f"{self._unfinished:,} prompts have sampled answers that ended within their reasoning and name no "
                "candidate; set a larger reasoning_tokens"
            )
        return notes

    @property
    def _method(self) -> Any:
        return self._findings.method

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        return neighbours(prompts, size=BATCH)

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        """Yield the scores of each batch; prompts that failed are left out, and named in an error at the end."""
        failures: list[tuple[Prompt, EquipoiseError]] = []
        stream = self._stream(iter(batches), failures)
        while (scores := self._loop.run(anext(stream, None))) is not None:
            self._unfinished += sum(UNFINISHED in score.flags for score in scores)
            yield scores
        if failures:
            named = "; ".join(f"{prompt.example_id}: {error}" for prompt, error in failures[:SHOWN_FAILURES])
            raise ModelError(f"the server failed on {len(failures)} prompts; the others are saved ({named})")

    @property
    def texts_at_once(self) -> int:
        return TEXTS_AT_ONCE

    def generate(self, contexts: Sequence[Context], max_new_tokens: int, sampling: Sampling | None = None) -> list[str]:
        return self._loop.run(self._generate(contexts, max_new_tokens, sampling))

    def close(self) -> None:
        """Close the connections."""
        self._closed()

    async def _generate(self, contexts: Sequence[Context], max_new_tokens: int, sampling: Sampling | None) -> list[str]:
        # Servers take no seed that all honour; the texts that were drawn are kept, so a run stays as it is.
        temperature = sampling.temperature if sampling else 0.0

        async def write(context: Context) -> str:
            tokens, reasoning = self._findings.tokens, self._findings.chat_reasoning
            # A server's own chat may take the reasoning of a thinking model apart, or leave it out.
            if tokens is not None and (isinstance(context, str) or tokens.thinks):
                ids = await tokens.context(context)
                (text,) = await self._api.write(ids, tokens=max_new_tokens, temperature=temperature)
                return text.strip()
            turns = (Message("user", context),) if isinstance(context, str) else context
            (text,) = await self._api.write(turns, tokens=max_new_tokens + reasoning, temperature=temperature)
            return (answer_of(text) or "") if reasoning else text.strip()

        return list(await asyncio.gather(*map(write, contexts)))

    async def _stream(
        self, batches: Iterator[Sequence[Prompt]], failures: list[tuple[Prompt, EquipoiseError]]
    ) -> AsyncIterator[list[Score]]:
        """Yield the scores of each batch in order; a few batches are under way at once."""
        identity = identity_key(self)
        tasks: deque[asyncio.Task[list[Score]]] = deque()
        for batch in batches:
            check_task(self._method, batch, name=self.name)
            tasks.append(asyncio.create_task(self._score(batch, identity, failures)))
            if len(tasks) == self._batches_at_once:
                yield await tasks.popleft()
        while tasks:
            yield await tasks.popleft()

    async def _score(
        self, batch: Sequence[Prompt], identity: str, failures: list[tuple[Prompt, EquipoiseError]]
    ) -> list[Score]:
        async def score(prompt: Prompt) -> Score:
            async with self._prompts_at_once:
                answer: Score = await self._method.score(prompt, prompt.key(identity))
                return answer

        answers = await asyncio.gather(*map(score, batch), return_exceptions=True)
        scores = []
        for prompt, answer in zip(batch, answers, strict=True):
            if isinstance(answer, Score):
                scores.append(answer)
            elif isinstance(answer, EquipoiseError):
                failures.append((prompt, answer))
            else:
                raise answer
        return scores


class _LoopThread:
    """An event loop in a thread of its own, so that it also works where the caller has one, as in a notebook."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="equipoise-server", daemon=True).start()

    def run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """Return what the coroutine returns."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """End the loop."""
        self._loop.call_soon_threadsafe(self._loop.stop)


async def _served_name(client: Client, model: str) -> str:
    """Return the name of the model to ask for: the one that is wanted, or the only one."""
    models = await served_models(client)
    if not model and not models:
        raise ModelError(f"{client.url} serves 0 models, name the one that it should load")
    if not model and len(models) != 1:
        raise ModelError(f"{client.url} serves {len(models)} models, name one of them: {', '.join(models)}")
    # An empty list is that of a server which loads models as they are asked for, such as transformers serve.
    if model and models and model not in models:
        raise ModelError(f"{client.url} does not serve {model!r}, but: {', '.join(models)}")
    return model or models[0]


def server_thinks(model: str, options: EngineOptions) -> bool | None:
    """Return whether a served model's chat answers follow reasoning that is written first; None where it is not known.

    Only the server's tokenizer and template are asked. Without these, tasks have no reasoning written.
    """

    async def thinks() -> bool:
        client = Client(options.server or "", Limits(seconds=options.timeout, attempts=1, wait_budget=0.0))
        try:
            api = Api(client, await _served_name(client, model))
            return await has_thinking_template(api, bos=options.bos)
        finally:
            await client.close()

    loop = _LoopThread()
    try:
        return loop.run(thinks())
    except ModelError:
        return None
    finally:
        loop.close()


def open_server(model: str, options: EngineOptions) -> ServerEngine:
    """Return the engine of a model on the server that the options name."""
    if not options.server:
        raise ModelError("server must be the address of an OpenAI-compatible server")
    return ServerEngine(options.server, model, options)
