"""A model behind a server that speaks OpenAI's protocol, as an engine."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

from ...options import EngineOptions
from ...records import Context, EquipoiseError, Message, ModelError, Prompt, Sampling, Score
from ...records.thinking import answer_of
from ..engine import EngineDefaults, identity_key, neighbours
from .answers import Malformed
from .api import Api, Changed, served_models
from .fingerprint import fingerprint
from .http_client import Client, Gone, Limits, ServerError
from .methods import LEFT_OUT, UNFINISHED, check_task
from .probe import Findings, has_thinking_template, probe
from .proof import Proof

BATCH = 16
"""Prompts that are kept together: with those under way, the most that a killed client has to ask again."""

TEXTS_AT_ONCE = 64
SHOWN_FAILURES = 3

MOST_FAILURES = 16
"""Prompts that may fail in a row: then the server is not asked any further."""

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
        self._unfinished = self._left_out = 0
        self._api, self._findings, self._proof = self._loop.run(self._open(url, model, options))
        self.name = self._api.model.rstrip("/").rpartition("/")[2]
        self._fingerprint = fingerprint(self._api.model, self._findings.answers)

    async def _open(self, url: str, model: str, options: EngineOptions) -> tuple[Api, Findings, Proof]:
        self._client = Client(url, Limits(concurrency=options.concurrency, seconds=options.timeout))
        # Prompts begin in turn. Without this, all would wait for their first requests, and none would end early.
        self._prompts_at_once = asyncio.Semaphore(options.concurrency)
        self._batches_at_once = 2 + options.concurrency // BATCH
        api = Api(self._client, await _served_name(self._client, model))
        return api, *await probe(api, options)

    @property
    def identity(self) -> Mapping[str, Any]:
        tokens = self._findings.tokens
        return {
            "engine": "server",
            "model": self._api.model,
            "fingerprint": self._fingerprint,
            "method": self._method.name,
            "leading_ids": list(tokens.front) if tokens else None,
            **(tokens.template.identity if tokens and tokens.template else {"chat_template": None}),
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
    def tasks(self) -> Sequence[str]:
        return tuple(self._method.tasks)

    @property
    def notes(self) -> Sequence[str]:
        notes = [f"scored by a server: {self._method.name}", f"proof of the server: {self._proof.note}"]
        if self._left_out:
            notes.append(
                f"{self._left_out:,} sampled or written answers were empty or stopped by the server's filter; they are "
                "not counted as answers"
            )
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
        """Yield the scores of each batch once they are proven; prompts that failed are named in an error at the end."""
        failures = _Failures()
        stream = self._proven(iter(batches), failures)
        while (scores := self._loop.run(anext(stream, None))) is not None:
            self._unfinished += sum(UNFINISHED in score.flags for score in scores)
            self._left_out += sum(
                self._method.count - sum(score.limits.counts)
                for score in scores
                if score.limits is not None and LEFT_OUT in score.flags
            )
            yield scores
        failures.tell()

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
            # The same tokens as for scoring. A server's own chat may print another time, or take reasoning apart.
            if tokens is not None and tokens.takes(context):
                ids = await tokens.context(context)
                (text,) = await self._api.write(ids, tokens=max_new_tokens, temperature=temperature)
                return counted(text)
            turns = (Message("user", context),) if isinstance(context, str) else context
            (text,) = await self._api.write(turns, tokens=max_new_tokens + reasoning, temperature=temperature)
            return (answer_of(counted(text)) or "") if reasoning else counted(text)

        def counted(text: str | None) -> str:
            self._left_out += not text
            return (text or "").strip()

        try:
            texts = list(await asyncio.gather(*map(write, contexts)))
            await self._check_clock()
            await self._proof.prove({self._proof.nearest_form(context) for context in contexts})
        except ServerError as error:
            raise _stopped(error, f"{len(contexts):,} texts") from None
        return texts

    async def _check_clock(self) -> None:
        if self._findings.tokens is not None:
            await self._findings.tokens.check_clock()

    async def _proven(self, batches: Iterator[Sequence[Prompt]], failures: _Failures) -> AsyncIterator[list[Score]]:
        """Yield the scores of each batch; they are held back until the server has proven itself after them."""
        held: list[list[Score]] = []
        forms: set[str] = set()
        try:
            # Closed at once: what is under way is not asked of a server that is another one.
            async with aclosing(self._stream(batches, forms, failures)) as stream:
                async for scores in stream:
                    held.append(scores)
                    if any(held) and self._proof.is_due(forms):
                        await self._check_clock()
                        await self._proof.prove(forms)
                        while held:
                            yield held.pop(0)
            if any(held):
                await self._check_clock()
                await self._proof.prove(forms)
            while held:
                yield held.pop(0)
        except ServerError as error:
            raise _stopped(error, f"{sum(map(len, held)):,} scores") from None

    async def _stream(
        self, batches: Iterator[Sequence[Prompt]], forms: set[str], failures: _Failures
    ) -> AsyncGenerator[list[Score]]:
        """Yield the scores of each batch in order; a few batches are under way at once."""
        identity = identity_key(self)
        tasks: deque[asyncio.Task[list[Score]]] = deque()
        try:
            for batch in batches:
                check_task(self._method, batch, name=self.name, why=self._findings.lacks)
                forms |= {self._proof.form(prompt.context) for prompt in batch}
                tasks.append(asyncio.create_task(self._score(batch, identity, failures)))
                if len(tasks) == self._batches_at_once:
                    yield await tasks.popleft()
                if failures.are_too_many:
                    break
            while tasks:
                yield await tasks.popleft()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _score(self, batch: Sequence[Prompt], identity: str, failures: _Failures) -> list[Score]:
        """Return the scores of a batch; what shows that the server is another one, or gone, ends all."""

        async def score(prompt: Prompt) -> Score | None:
            async with self._prompts_at_once:
                if failures.are_too_many:
                    return None
                try:
                    answer: Score = await self._method.score(prompt, prompt.key(identity))
                except (Changed, Gone):
                    raise
                except EquipoiseError as error:
                    failures.add(prompt, error)
                    return None
                failures.in_a_row = 0
                return answer

        tasks = [asyncio.create_task(score(prompt)) for prompt in batch]
        try:
            return [answer for answer in await asyncio.gather(*tasks) if answer is not None]
        finally:
            for task in tasks:
                task.cancel()


class _Failures:
    """Prompts on which the server failed, and how many of them since one that it answered."""

    def __init__(self) -> None:
        self._prompts: list[tuple[Prompt, EquipoiseError]] = []
        self.in_a_row = 0

    def add(self, prompt: Prompt, error: EquipoiseError) -> None:
        """Remember a prompt."""
        self._prompts.append((prompt, error))
        self.in_a_row += 1

    @property
    def are_too_many(self) -> bool:
        """Whether the server is not to be asked any further."""
        return self.in_a_row >= MOST_FAILURES

    def tell(self) -> None:
        """Raise one error that names the first prompts, where there are any."""
        if self._prompts:
            named = "; ".join(f"{prompt.example_id}: {error}" for prompt, error in self._prompts[:SHOWN_FAILURES])
            more = f", {self.in_a_row} of them in a row, and is not asked any further" if self.are_too_many else ""
            raise ModelError(f"the server failed on {len(self._prompts)} prompts{more}; the others are saved ({named})")


def _stopped(error: ServerError, lost: str) -> ModelError:
    """Return why an audit ends in its middle, and what becomes of the answers that were not proven."""
    if isinstance(error, Changed):
        why, then = f"the server's answers changed during the audit ({error})", "check which model it serves"
    elif isinstance(error, Malformed):
        why, then = f"a known question got no usable answer ({error})", "check the server"
    else:
        why, then = f"the server does not answer any more ({error})", "start it again"
    return ModelError(
        f"{why}; {lost} since the last proof were dropped, the others are saved; {then} and repeat the command"
    )


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
    if model:
        # An empty list is that of a server which loads models as they are asked for, such as transformers serve.
        if models and model not in models:
            raise ModelError(f"{client.url} does not serve {model!r}, but: {', '.join(models)}")
        return model
    if not models:
        raise ModelError(f"{client.url} serves 0 models, name the one that it should load")
    if len(models) != 1:
        raise ModelError(f"{client.url} serves {len(models)} models, name one of them: {', '.join(models)}")
    (only,) = models
    return only


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
