"""Prompts as token ids of a server's tokenizer: the same rules as `encoding.py`, one request at a time."""

from __future__ import annotations

import asyncio

from ...records import Context, ModelError, Prompt
from ..encoding import SPLIT_JOIN, Question, is_joined
from .api import Api


class ServerTokens:
    """A server's tokenizer. `front`: what it puts before a text, such as the beginning-of-text token."""

    def __init__(self, api: Api, front: tuple[int, ...]) -> None:
        self._api = api
        self.front = front

    @classmethod
    async def open(cls, api: Api, *, bos: str) -> ServerTokens:
        """Return the tokenizer with its beginning-of-text rule found out."""
        plain, whole = await asyncio.gather(api.tokenize("a", special=False), api.tokenize("a", special=True))
        if whole[len(whole) - len(plain) :] != plain:
            raise ModelError("the server's tokenizer changes the text when it adds special tokens; not supported")
        leading = tuple(whole[: len(whole) - len(plain)])
        if bos == "always" and not leading:
            raise ModelError("bos is always, but the server's tokenizer puts no beginning-of-text token before a text")
        return cls(api, () if bos == "never" else leading)

    async def context(self, context: Context) -> list[int]:
        """Return a context as token ids, with what is put before it."""
        if isinstance(context, str):
            return [*self.front, *(await self._api.tokenize(context, special=False) if context else [])]
        return await self._api.chat_tokens(context)

    async def question(self, prompt: Prompt) -> Question:
        """Return the prompt as token ids, one sequence for each continuation."""
        context = await self.context(prompt.context)
        if not context:
            raise ModelError(f"the prompt of {prompt.example_id} has no token before its answer; try bos always")
        parts = await asyncio.gather(*(self._joined(prompt.context, context, c) for c in prompt.continuations))
        split = any(apart for _, apart in parts)
        sequences = tuple(tuple(ids) for ids, _ in parts)
        return Question(sequences, (len(context),) * len(sequences), (SPLIT_JOIN,) if split else ())

    async def _joined(self, text: Context, context: list[int], continuation: str) -> tuple[list[int], bool]:
        """Return context and continuation as ids, and whether they had to be tokenised separately."""
        ids: list[int] = []
        if isinstance(text, str):
            ids = [*self.front, *await self._api.tokenize(text + continuation, special=False)]
        apart = not is_joined(context, ids)
        if apart:
            ids = [*context, *await self._api.tokenize(continuation, special=False)]
        if len(ids) == len(context):
            raise ModelError(f"the server's tokenizer has no tokens for the candidate {continuation!r}")
        # A chat template ends in a special token, with which nothing merges.
        return ids, apart and isinstance(text, str)
