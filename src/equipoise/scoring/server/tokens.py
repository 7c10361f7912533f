"""Prompts as token ids of a server's tokenizer: the same rules as `encoding.py`, one request at a time."""

from __future__ import annotations

import asyncio

from ...records import Context, ModelError, Prompt
from ..encoding import SPLIT_JOIN, Question, is_joined
from .api import Api
from .http_client import ServerError
from .template import Rendered, ServerTemplate


class ServerTokens:
    """A server's tokenizer. `front`: what is put before a text; `template`: its chat template, where it has one."""

    def __init__(self, api: Api, front: tuple[int, ...], template: ServerTemplate | None) -> None:
        self._api = api
        self.front = front
        self.template = template

    @classmethod
    async def open(cls, api: Api, *, bos: str) -> ServerTokens:
        """Return the tokenizer with its beginning-of-text rule found out."""
        plain, whole = await asyncio.gather(api.tokenize("a", special=False), api.tokenize("a", special=True))
        if whole[len(whole) - len(plain) :] != plain:
            raise ModelError("the server's tokenizer changes the text when it adds special tokens; not supported")
        leading = tuple(whole[: len(whole) - len(plain)])
        if bos == "always" and not leading:
            raise ModelError("bos is always, but the server's tokenizer puts no beginning-of-text token before a text")
        template = await ServerTemplate.open(api, leading)
        return cls(api, () if bos == "never" else leading, template)

    @property
    def thinks(self) -> bool:
        """Whether the model reasons before it answers, as far as the server's chat template tells."""
        return self.template is not None and self.template.thinks

    def takes(self, context: Context) -> bool:
        """Return whether a context can be had as token ids: a conversation needs a chat template."""
        return isinstance(context, str) or self.template is not None

    async def context(self, context: Context) -> list[int]:
        """Return a context as token ids, with what is put before it."""
        return (await self._rendered(context)).ids

    async def question(self, prompt: Prompt) -> Question:
        """Return the prompt as token ids, one sequence for each continuation."""
        context = await self._rendered(prompt.context)
        if not context.ids:
            raise ModelError(f"the prompt of {prompt.example_id} has no token before its answer; try bos always")
        parts = await asyncio.gather(*(self._joined(context, c) for c in prompt.continuations))
        split = any(apart for _, apart in parts)
        sequences = tuple(tuple(ids) for ids, _ in parts)
        return Question(sequences, (len(context.ids),) * len(sequences), (SPLIT_JOIN,) if split else ())

    async def _rendered(self, context: Context) -> Rendered:
        if isinstance(context, str):
            ids = await self._api.tokenize(context, special=False) if context else []
            return Rendered([*self.front, *ids], context, self.front)
        if self.template is None:
            raise ServerError("the server has no chat template that turns a conversation into tokens")
        return await self.template.rendered(context)

    async def _joined(self, context: Rendered, continuation: str) -> tuple[list[int], bool]:
        """Return context and continuation as ids, and whether they had to be tokenised separately."""
        ids: list[int] = []
        if context.text is not None:
            ids = [*context.front, *await self._api.tokenize(context.text + continuation, special=False)]
        apart = not is_joined(context.ids, ids)
        if apart:
            ids = [*context.ids, *await self._api.tokenize(continuation, special=False)]
        if len(ids) == len(context.ids):
            raise ModelError(f"the server's tokenizer has no tokens for the candidate {continuation!r}")
        return ids, apart
