"""Prompts as token ids, by a server's tokenizer and chat template: the same rules as in `encoding.py`."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...records import Context, Message, ModelError, Prompt
from ...records.thinking import THINK, THOUGHT, continued, has_thought, is_open
from ..encoding import SPLIT_JOIN, Question, is_joined
from .api import Api
from .http_client import ServerError

QUESTION = (Message("user", "a"),)
REASONED = "xyz"
THERE_AND_BACK = "Die Ärztin sagte: in 1997 she sold 3 fish."
LATER = (*QUESTION, Message("assistant", f"{THINK}\n{REASONED}\n{THOUGHT}\n\nb"), Message("user", "c"))

_DATES = re.compile(r"\d+|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\b")


@dataclass(frozen=True)
class Rendered:
    """A context as token ids, of which `front` come before the text.

    `text` is None where tokenising the text does not give the ids of the server's own template.
    """

    ids: list[int]
    text: str | None
    front: tuple[int, ...] = ()


class ServerTemplate:
    """A server's chat template. `leading`: the tokens that its tokenizer puts before every text."""

    def __init__(self, api: Api, leading: tuple[int, ...], *, as_text: bool) -> None:
        self._api = api
        self._leading = leading
        self._as_text = as_text
        self.thinks = False
        self.digest = ""

    @classmethod
    async def open(cls, api: Api, leading: tuple[int, ...]) -> ServerTemplate | None:
        """Return the template, None where the server turns no conversation into tokens."""
        for as_text in (True, False):  # llama.cpp, vLLM
            template = cls(api, leading, as_text=as_text)
            question = await template._shown(QUESTION)
            if question is not None:
                await template._look(question)
                return template
        return None

    async def rendered(self, messages: Sequence[Message]) -> Rendered:
        """Return a conversation; one that ends in the assistant's turn is continued there."""
        if not has_thought(messages):
            return (await self._complete(messages))[0]
        (prompt, shown), answer = await self._complete(messages[:-1]), messages[-1].content
        if prompt.text is not None:
            text = continued(prompt.text, answer)
            return Rendered([*prompt.front, *await self._api.tokenize(text, special=False)], text, prompt.front)
        rest = answer.removeprefix(THINK).lstrip() if is_open(shown) else answer
        return Rendered([*prompt.ids, *await self._api.tokenize(rest, special=False)], None)

    async def _complete(self, messages: Sequence[Message]) -> tuple[Rendered, str]:
        """Return a conversation and its text, in which no turn is missing and the answer is not closed."""
        rendered, shown = await self._rendered(messages)
        if _lack(shown, messages):
            rendered, shown = await self._rendered(messages)
        if lack := _lack(shown, messages):
            raise ServerError(f"the server's chat template {lack}")
        return rendered, shown

    async def _rendered(self, messages: Sequence[Message], **settings: Any) -> tuple[Rendered, str]:
        """Return a conversation, and its text even where that does not give the same ids."""
        if self._as_text:
            text = await self._api.apply_template(messages, **settings)
            # llama.cpp takes the beginning-of-text token out of its template, because its tokenizer adds it.
            ids = [*self._leading, *await self._api.tokenize(text, special=False)]
            return Rendered(ids, text, self._leading), text
        ids = await self._api.chat_tokens(messages, **settings)
        try:
            text = await self._api.detokenize(ids)
        except ServerError:
            return Rendered(ids, None), ""
        return Rendered(ids, text if await self._api.tokenize(text, special=False) == ids else None), text

    async def _shown(self, messages: Sequence[Message], **settings: Mapping[str, Any]) -> str | None:
        """Return a conversation as text, None where the server fails."""
        try:
            return (await self._rendered(messages, **settings))[1]
        except ServerError:
            return None

    async def _look(self, question: str) -> None:
        """See whether the template knows a think block and leaves it open, as `Encoder.thinks` does from its source."""
        later = await self._shown(LATER) or ""
        closed = await self._shown(QUESTION, chat_template_kwargs={"enable_thinking": False}) or ""
        drops = "b" in later and REASONED not in later
        self.thinks = THOUGHT not in question and (is_open(question) or drops or THOUGHT in closed)
        # Some templates tell the date, which does not make another template.
        parts = [_DATES.sub("", part) for part in (question, later, closed)]
        self.digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()


async def _check_ids(api: Api) -> None:
    """Raise ServerError where token ids stand for another text; some tokenizers change its case or spaces."""
    ids = await api.tokenize(THERE_AND_BACK, special=False)
    try:
        text = await api.detokenize(ids)
    except ServerError:
        return  # not every server has this
    told, asked = ("".join(words.split()).casefold() for words in (text, THERE_AND_BACK))
    if asked not in told:
        raise ServerError("the server's token ids stand for another text than the one that was given")


def _lack(text: str, messages: Sequence[Message]) -> str:
    """Return what is wrong with a conversation's text; "" where it has all turns and ends with a begun answer."""
    if not text:
        return "cannot be read: the server does not turn token ids into text"
    contents = [message.content.rpartition(THOUGHT)[2].strip() for message in messages]
    if missing := [message.role for message, said in zip(messages, contents, strict=True) if said not in text]:
        return f"leaves out what the {missing[0]} says"
    if messages[-1].role == "assistant" and not text.rstrip().endswith(contents[-1]):
        return "closes the turn of the assistant, whose answer is only begun"
    return ""


class ServerTokens:
    """A server's tokenizer. `front`: what is put before a text; `template`: its chat template, where it has one."""

    def __init__(self, api: Api, front: tuple[int, ...], template: ServerTemplate | None) -> None:
        self._api = api
        self.front = front
        self.template = template
        self._tails: dict[str, set[tuple[int, ...]]] = {}

    @classmethod
    async def open(cls, api: Api, *, bos: str) -> ServerTokens:
        """Return the tokenizer with its beginning-of-text rule found out."""
        plain, whole = await asyncio.gather(api.tokenize("a", special=False), api.tokenize("a", special=True))
        if whole[len(whole) - len(plain) :] != plain:
            raise ModelError("the server's tokenizer changes the text when it adds special tokens; not supported")
        leading = tuple(whole[: len(whole) - len(plain)])
        if bos == "always" and not leading:
            raise ModelError("bos is always, but the server's tokenizer puts no beginning-of-text token before a text")
        await _check_ids(api)
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
        ids = await self._whole(context, continuation)
        apart = not is_joined(context.ids, ids)
        tail, tails = tuple(ids[len(context.ids) :]), self._tails.setdefault(continuation, set())
        # What is not as before may be a wrong answer of the tokenizer, so it is asked a second time.
        if (apart or tail not in tails) and await self._whole(context, continuation) != ids:
            raise ServerError("the server's tokenizer has two answers for one text")
        if not apart:
            tails.add(tail)
        else:
            if (
                context.text
                and await self._api.tokenize(context.text, special=False) != context.ids[len(context.front) :]
            ):
                raise ServerError("the server's tokenizer has two answers for one text")
            ids = [*context.ids, *await self._api.tokenize(continuation, special=False)]
        if len(ids) == len(context.ids):
            raise ModelError(f"the server's tokenizer has no tokens for the candidate {continuation!r}")
        return ids, apart

    async def _whole(self, context: Rendered, continuation: str) -> list[int]:
        """Return context and continuation, tokenised as one text; nothing where the context has no text."""
        if context.text is None:
            return []
        return [*context.front, *await self._api.tokenize(context.text + continuation, special=False)]
