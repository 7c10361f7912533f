"""Prompts as token ids, by a server's tokenizer and chat template: the same rules as in `encoding.py`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...files import sha256
from ...records import Context, Message, ModelError, Prompt
from ...records.thinking import THINK, THOUGHT, continued, has_thought, is_open
from ..conversation import CLOCK, MARKED, QUESTION, WITH_SYSTEM, End, answer_header, end_of, local_time
from ..encoding import Question, is_joined
from .api import Api, TemplateSource
from .http_client import ServerError

REASONED = "xyz"
THERE_AND_BACK = "Die Ärztin sagte: in 1997 she sold 3 fish."
LATER = (Message("assistant", f"{THINK}\n{REASONED}\n{THOUGHT}\n\nb"), Message("user", "c"))
"""Turns after a question: an answer with reasoning, and the next question."""

_DATES = re.compile(r"\d+|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\b")


@dataclass(frozen=True)
class Rendered:
    """A context as token ids, of which `front` come before the text.

    `text` is None where tokenising the text does not give the ids of the server's own template.
    """

    ids: list[int]
    text: str | None
    front: tuple[int, ...] = ()


class ServerTemplate:
    """A server's chat template. `leading`: the tokens that its tokenizer puts before every text.

    A template that prints the time is rendered here, with `time`, where the server shows its source (llama.cpp). Where
    it does not, what the template prints must not change while the model is asked (`check_clock`).
    """

    def __init__(self, api: Api, leading: tuple[int, ...], *, as_text: bool, time: str) -> None:
        self._api = api
        self._leading = leading
        self._as_text = as_text
        self._time = time
        self._source: TemplateSource | None = None
        self._header = ""
        self._question: tuple[Message, ...] = QUESTION
        self._opened = ""
        self.thinks = False
        self.digest = ""

    @classmethod
    async def open(cls, api: Api, leading: tuple[int, ...], time: str) -> ServerTemplate | None:
        """Return the template, None where the server turns no conversation into tokens."""
        for as_text in (True, False):  # llama.cpp, vLLM
            template = cls(api, leading, as_text=as_text, time=time)
            for question in (QUESTION, WITH_SYSTEM):
                if await template._shown(question) is not None:
                    await template._look(question)
                    return template
        return None

    @property
    def identity(self) -> Mapping[str, Any]:
        """What could change an answer: the template, and the time or date that it prints."""
        if self._source:
            return {"chat_template": self.digest, "chat_time": self._time}
        dated = {"chat_shown": sha256(self._opened)} if _DATES.search(self._opened) else {}
        return {"chat_template": self.digest, **dated}

    async def check_clock(self) -> None:
        """Refuse a template that printed another time or date than at the beginning: the prompts would differ."""
        if self._source or not _DATES.search(self._opened) or await self._shown(self._question) == self._opened:
            return
        raise ModelError(
            "the server's chat template prints the time, which has moved on since the run began, so that its prompts"
            " would differ; serve the model with a template that does not print it"
        )

    async def rendered(self, messages: Sequence[Message]) -> Rendered:
        """Return a conversation; one that ends in the assistant's turn is continued there."""
        if not has_thought(messages):
            return (await self._conversation(messages))[0]
        (prompt, shown), answer = await self._conversation(messages[:-1]), messages[-1].content
        if prompt.text is not None:
            return await self._tokenised(continued(prompt.text, answer), prompt.front)
        rest = answer.removeprefix(THINK).lstrip() if is_open(shown) else answer
        return Rendered([*prompt.ids, *await self._api.tokenize(rest, special=False)], None)

    async def _conversation(self, messages: Sequence[Message]) -> tuple[Rendered, str]:
        """Return a conversation up to where the model goes on, and its text; no turn is missing, no answer closed."""
        end = end_of(messages)
        if end == "continued" and self._header and self._as_text:
            # llama.cpp puts a last answer right after what the template calls its beginning, which is nothing here.
            before, text = await self._conversation(messages[:-1])
            text += messages[-1].content
            return await self._tokenised(text, before.front), text
        rendered, text = await self._rendered(messages, end)
        if _lack(text, messages):
            rendered, text = await self._rendered(messages, end)
        if lack := _lack(text, messages):
            raise ServerError(f"the server's chat template {lack}")
        if end == "continued" or not self._header:
            return rendered, text
        if rendered.text is not None:
            return await self._tokenised(text + self._header, rendered.front), text + self._header
        return Rendered([*rendered.ids, *await self._api.tokenize(self._header, special=False)], None), text

    async def _tokenised(self, text: str, front: tuple[int, ...]) -> Rendered:
        return Rendered([*front, *await self._api.tokenize(text, special=False)], text, front)

    async def _rendered(self, messages: Sequence[Message], end: End, **variables: Any) -> tuple[Rendered, str]:
        """Return a conversation, and its text even where that does not give the same ids."""
        if self._source:
            text = self._source.render(messages, end, self._time, variables)
            text = text.removeprefix(self._source.tokens.get("bos_token", "")) if self._leading else text
            return await self._tokenised(text, self._leading), text
        settings = {"chat_template_kwargs": variables} if variables else {}
        if self._as_text:
            text = await self._api.apply_template(messages, end, **settings)
            # llama.cpp takes the beginning-of-text token out of its template, because its tokenizer adds it.
            return await self._tokenised(text, self._leading), text
        ids = await self._api.chat_tokens(messages, end, **settings)
        try:
            text = await self._api.detokenize(ids)
        except ServerError:
            return Rendered(ids, None), ""
        for _ in range(2):  # a wrong answer of the tokenizer is not taken for a text that does not give its ids back
            if await self._api.tokenize(text, special=False) == ids:
                return Rendered(ids, text), text
        return Rendered(ids, None), text

    async def _shown(self, messages: Sequence[Message], end: End = "answer", **variables: Any) -> str | None:
        """Return a conversation as text, None where the server fails."""
        try:
            return (await self._rendered(messages, end, **variables))[1]
        except (ServerError, ModelError):
            return None

    async def _look(self, question: tuple[Message, ...]) -> None:
        """See what the template does: as `Encoder` does from its source."""
        source = await self._api.template_source() if self._as_text else None
        self._source = source if source and CLOCK in source.text else None
        shown = await self._shown(question) or ""
        later = await self._shown((*question, *LATER)) or ""
        closed = await self._shown(question, enable_thinking=False) or ""
        drops = "b" in later and REASONED not in later
        self.thinks = THOUGHT not in shown and (is_open(shown) or drops or THOUGHT in closed)
        without, marked = await self._shown(question, "closed"), await self._shown((*question, *MARKED), "closed")
        self._header = answer_header(shown, without or "", marked or "")
        self._question, self._opened = question, shown
        # Some templates tell the date, which does not make another template.
        self.digest = sha256("\0".join(_DATES.sub("", part) for part in (shown, later, closed)))


async def _check_ids(api: Api) -> None:
    """Raise ServerError where token ids stand for another text; some tokenizers change its case or spaces."""
    ids = await api.tokenize(THERE_AND_BACK, special=False)
    try:
        text = await api.detokenize(ids)
    except ServerError:
        return  # not every server has this
    back, given = ("".join(words.split()).casefold() for words in (text, THERE_AND_BACK))
    if given not in back:
        raise ServerError("the server's token ids stand for another text than the one that was given")


def _lack(text: str, messages: Sequence[Message]) -> str:
    """Return what is wrong with a conversation's text; "" where it has all turns and ends with a begun answer."""
    if not text:
        return "cannot be read: the server does not turn token ids into text"
    contents = [message.content.rpartition(THOUGHT)[2].strip() for message in messages]
    if missing := [message.role for message, content in zip(messages, contents, strict=True) if content not in text]:
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
    async def open(cls, api: Api, *, bos: str, time: str = "") -> ServerTokens:
        """Return the tokenizer with its beginning-of-text rule found out."""
        plain, whole = await asyncio.gather(api.tokenize("a", special=False), api.tokenize("a", special=True))
        if whole[len(whole) - len(plain) :] != plain:
            raise ModelError("the server's tokenizer changes the text when it adds special tokens; not supported")
        leading = tuple(whole[: len(whole) - len(plain)])
        if bos == "always" and not leading:
            raise ModelError("bos is always, but the server's tokenizer puts no beginning-of-text token before a text")
        await _check_ids(api)
        template = await ServerTemplate.open(api, leading, time or local_time())
        return cls(api, () if bos == "never" else leading, template)

    @property
    def thinks(self) -> bool:
        """Whether the model reasons before it answers, as far as the server's chat template tells."""
        return self.template is not None and self.template.thinks

    async def check_clock(self) -> None:
        """Refuse to go on where the server's chat template prints another time than at the beginning."""
        if self.template is not None:
            await self.template.check_clock()

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
        return Question.of(sequences, len(context.ids), split=split)

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
        if apart or tail not in tails:
            # What is not as before may be a wrong answer of the tokenizer, so it is asked a second time.
            await self._confirm(context, continuation, ids)
        if apart:
            alone, again = [await self._api.tokenize(continuation, special=False) for _ in range(2)]
            if alone != again:
                raise ServerError("the server's tokenizer has two answers for one text")
            ids = [*context.ids, *alone]
        else:
            tails.add(tail)
        if len(ids) == len(context.ids):
            raise ModelError(f"the server's tokenizer has no tokens for the candidate {continuation!r}")
        return ids, apart

    async def _confirm(self, context: Rendered, continuation: str, ids: list[int]) -> None:
        """Ask for the ids of a context, alone and with its continuation, again; ServerError where they differ."""
        if context.text is None:
            return
        again = await self._api.tokenize(context.text, special=False) if context.text else []
        if [*context.front, *again] != context.ids or await self._whole(context, continuation) != ids:
            raise ServerError("the server's tokenizer has two answers for one text")

    async def _whole(self, context: Rendered, continuation: str) -> list[int]:
        """Return context and continuation, tokenised as one text; nothing where the context has no text."""
        if context.text is None:
            return []
        return [*context.front, *await self._api.tokenize(context.text + continuation, special=False)]
