"""Ways to get a score from a server, best first: given text, next tokens, chat's first token, sampled answers."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...records import Context, Message, ModelError, Prompt, Score, ScoreLimits
from ...records.limits import BOUNDED, PSEUDOCOUNT, SAMPLED
from ...records.thinking import answer_of
from ..nesting import apart, stops
from .answers import Malformed
from .api import Api, Changed, Known
from .http_client import ServerError
from .tokens import ServerTokens

UNFINISHED = "unfinished-reasoning"
"""Flag of a score with sampled answers that ended within their reasoning: they name no candidate."""

LEFT_OUT = "samples-left-out"
"""Flag of a score without some of its samples: a filter stopped them, or they are empty."""

DRAWN = 4
"""Answers that are drawn to see that they vary, of DRAWN_TOKENS tokens."""

DRAWN_TOKENS = 12
RANDOM = "Random digits, each one different from the last: 7, 2, 9, 4, 0, 3, 8, 1,"
KNOWN_TOKENS = 24
KNOWN_PLACES = 16

FIRST_K = 100
"""Tokens asked for first; the whole vocabulary only where a candidate is not among these."""

NEGLIGIBLE = 1e-6
"""Probability that a server's own rounding may lose: less than this between two limits is not called a bound."""

SAME_PROMPT = 0.5
"""Nats by which two answers to one prompt may differ in any of many tokens, the improbable ones included."""

WHOLE_MASS = 0.99
"""What the probabilities of a whole vocabulary add up to at least."""

SMALLEST = 1e-12
"""The smallest probability of a candidate that a server does not name."""


class Method(Protocol):
    """One way to score prompts."""

    @property
    def name(self) -> str:
        """What the manifest calls it."""
        ...

    @property
    def tasks(self) -> Sequence[str]:
        """The tasks it can do; empty where it can do all."""
        ...

    async def score(self, prompt: Prompt, key: str) -> Score:
        """Return the score of a prompt."""
        ...

    def takes(self, form: str) -> bool:
        """Return whether prompts of that form, "text" or "chat", are asked as such."""
        ...

    async def known(self, context: Context) -> Mapping[Any, float]:
        """Return what the server says of a known context, asked as prompts are asked: log-probabilities by name."""
        ...

    async def check_drawn(self, context: Context) -> None:
        """Raise Changed where answers should be drawn and are not."""
        return  # most methods draw nothing


@dataclass(frozen=True)
class GivenText(Method):
    """The server returns the log-probabilities of a given text (`echo`).

    `beside` is a known row that is part of every request. `has_entries` says that each value can be checked against a
    second one in the same answer; without that, each row is asked twice in its request.
    """

    api: Api
    tokens: ServerTokens
    beside: Known
    has_entries: bool
    name: str = "log-probabilities of given text"
    tasks: Sequence[str] = ()

    async def score(self, prompt: Prompt, key: str) -> Score:
        """Return the score: one row for each continuation."""
        question = await self.tokens.question(prompt)
        rows = await self.api.given_tokens(question.sequences, has_entries=self.has_entries, known=self.beside)
        starts = zip(rows, question.starts, strict=True)
        logprobs = tuple(tuple(row[start - 1 :]) for row, start in starts)
        return Score(key, logprobs, flags=question.flags, stops=stops(logprobs, question.nested))

    def takes(self, form: str) -> bool:
        """Return whether prompts of that form are asked as such."""
        return form == "text" or self.tokens.template is not None

    async def known(self, context: Context) -> Mapping[Any, float]:
        """Return the log-probabilities of the last tokens of a known context."""
        ids = await self.tokens.context(context)
        (row,) = await self.api.given_tokens([ids], has_entries=self.has_entries, known=self.beside)
        return dict(list(enumerate(row))[-KNOWN_PLACES:])


@dataclass(frozen=True)
class NextToken(Method):
    """The server returns the most probable next tokens: candidates are walked token by token.

    `most` is how many it returns at most; `whole` says that this is the whole vocabulary. `beside` is a known prompt
    that is part of every request, where the server answers lists.
    """

    api: Api
    tokens: ServerTokens
    most: int
    whole: bool
    beside: Known | None = None
    tasks: Sequence[str] = ()

    @property
    def name(self) -> str:
        """How many next tokens the server returns."""
        return "next-token log-probabilities, " + ("whole vocabulary" if self.whole else f"top {self.most}")

    async def score(self, prompt: Prompt, key: str) -> Score:
        """Return the score: one request for each distinct beginning of a continuation."""
        question = await self.tokens.question(prompt)
        wanted: dict[tuple[int, ...], set[int]] = {}
        for sequence, start in zip(question.sequences, question.starts, strict=True):
            for place in range(start, len(sequence)):
                wanted.setdefault(sequence[:place], set()).add(sequence[place])
        tables = await asyncio.gather(*(self._table(ids, targets) for ids, targets in wanted.items()))
        table_of = dict(zip(wanted, tables, strict=True))
        bounded = any(not targets <= set(table_of[ids]) for ids, targets in wanted.items())
        if bounded and self.whole:
            raise ServerError("the server left a token out of what it called the whole vocabulary")
        logprobs = tuple(
            tuple(_value(table_of[sequence[:place]], sequence[place]) for place in range(start, len(sequence)))
            for sequence, start in zip(question.sequences, question.starts, strict=True)
        )
        if not bounded:
            return Score(key, logprobs, flags=question.flags, stops=stops(logprobs, question.nested))
        seen = [
            all(sequence[place] in table_of[sequence[:place]] for place in range(start, len(sequence)))
            for sequence, start in zip(question.sequences, question.starts, strict=True)
        ]
        # A token outside of the k may be next to impossible, and so may a candidate that has one.
        high = tuple(min(1.0, math.exp(math.fsum(tokens))) for tokens in logprobs)
        low = tuple(value if is_seen else 0.0 for value, is_seen in zip(high, seen, strict=True))
        limits, ends = apart(ScoreLimits(low, high), question.nested), stops(logprobs, question.nested)
        return Score(key, logprobs, flags=(*question.flags, BOUNDED), limits=limits, stops=ends)

    def takes(self, form: str) -> bool:
        """Return whether prompts of that form are asked as such."""
        return form == "text" or self.tokens.template is not None

    async def known(self, context: Context) -> Mapping[Any, float]:
        """Return the next tokens of a known context."""
        return await self._first(tuple(await self.tokens.context(context)), KNOWN_PLACES)

    async def _table(self, ids: tuple[int, ...], targets: set[int]) -> Mapping[int, float]:
        table = await self._first(ids, FIRST_K)
        if targets <= set(table) or self.most <= FIRST_K:
            return table
        # The first tokens say whether the second answer is about the same prompt.
        ranked = sorted(table, key=lambda token: -table[token])[: FIRST_K // 2]
        first = Known(ids, {token: table[token] for token in ranked}, SAME_PROMPT)
        rest = await self.api.next_tokens(ids, self.most, least=self.most, same=first)
        if self.whole and _left(rest) > 1 - WHOLE_MASS:
            raise Malformed("the probabilities of the whole vocabulary do not add up to 1")
        return rest

    async def _first(self, ids: tuple[int, ...], count: int) -> dict[int, float]:
        k = min(count, self.most)
        return await self.api.next_tokens(ids, k, least=k, known=self.beside)


def _value(table: Mapping[int, float], token: int) -> float:
    """Return a token's log-probability, or the bound for one that is not in the table.

    A token outside of the k most probable ones is not more probable than the last of them, nor than what they leave.
    """
    if token in table:
        return table[token]
    return math.log(max(min(math.exp(min(table.values())), _left(table)), SMALLEST))


def _left(table: Mapping[Any, float]) -> float:
    """Return the probability that the most probable tokens leave to all others."""
    return max(0.0, 1.0 - math.fsum(map(math.exp, table.values())))


@dataclass(frozen=True)
class ChatLetter(Method):
    """The server returns the most probable first tokens of a chat answer: enough for multiple choice."""

    api: Api
    most: int
    tasks: Sequence[str] = ("mcq",)

    @property
    def name(self) -> str:
        """How many tokens the server returns."""
        return f"first token of a chat answer, top {self.most}"

    async def score(self, prompt: Prompt, key: str) -> Score:
        """Return the score of letters, by all tokens that are the letter, with or without a space.

        A spelling of a letter that is not among the tokens is not more probable than the last of them, nor than what
        they leave. A letter without any has this upper limit as its value; one with a spelling has what was seen.
        """
        letters = [continuation.strip() for continuation in prompt.continuations]
        table = await self.api.chat_top(without_beginning(prompt.context), self.most)
        last, left = math.exp(min(table.values())), _left(table)
        values, low, high = [], [], []
        for letter in letters:
            seen = min(1.0, math.fsum(math.exp(value) for token, value in table.items() if token.strip() == letter))
            unseen = sum(spelling not in table for spelling in (letter, f" {letter}"))
            low.append(seen)
            high.append(min(1.0, seen + min(unseen * last, left)))
            values.append((math.log(seen or max(high[-1], SMALLEST)),))
        if max(above - below for above, below in zip(high, low, strict=True)) <= NEGLIGIBLE:
            return Score(key, tuple(values), flags=() if all(low) else (BOUNDED,))
        return Score(key, tuple(values), flags=(BOUNDED,), limits=ScoreLimits(tuple(low), tuple(high)))

    def takes(self, form: str) -> bool:
        """Return whether prompts of that form are asked as such."""
        return form == "chat"

    async def known(self, context: Context) -> Mapping[Any, float]:
        """Return the tokens that may begin the answer to a known question."""
        return await self.api.chat_top(without_beginning(context), self.most)


@dataclass(frozen=True)
class Samples(Method):
    """The server only writes: answers are sampled and counted.

    A candidate's probability is (count + 1/2) / (samples + (candidates + 1) / 2); answers that name no candidate are a
    class of their own. `reasoning` is how many tokens a thinking model may write before each answer, where only the
    server's own chat is there to ask: what counts is what follows the think block.
    """

    api: Api
    tokens: ServerTokens | None
    count: int
    tasks: Sequence[str] = ("next-word", "mcq")
    answer_tokens: int = field(default=8)
    reasoning: int = 0

    @property
    def name(self) -> str:
        """How many answers are sampled, and from what."""
        after = f", each after at most {self.reasoning} tokens of reasoning" if self.reasoning else ""
        drawn = "from all tokens" if self.api.draws_whole else "as the server's own settings say"
        return f"{self.count} sampled answers{after}, drawn {drawn}"

    async def score(self, prompt: Prompt, key: str) -> Score:
        """Return the score from sampled answers."""
        context, reasoning = await self._asked(prompt.context)
        texts: list[str | None] = []
        while len(texts) < self.count:  # some servers ignore n and write one; an answer without any is refused
            left, tokens = self.count - len(texts), self.answer_tokens + reasoning
            texts += await self.api.write(context, tokens=tokens, temperature=1.0, count=left)
        usable = [text for text in texts if text]
        if not usable:
            raise ServerError(f"all {self.count} sampled answers are empty or stopped by a filter")
        answers = [answer_of(text) if reasoning else text for text in usable]
        counts = [0] * (len(prompt.continuations) + 1)
        for answer in answers:
            choice = named(answer or "", prompt.continuations)
            counts[-1 if choice is None else choice] += 1
        total = len(usable) + PSEUDOCOUNT * len(counts)
        values = tuple((math.log((count + PSEUDOCOUNT) / total),) for count in counts[:-1])
        seen = {UNFINISHED: None in answers, LEFT_OUT: len(usable) < self.count}
        flags = (SAMPLED, *(flag for flag, is_seen in seen.items() if is_seen))
        return Score(key, values, flags=flags, limits=ScoreLimits(counts=tuple(counts)))

    def takes(self, form: str) -> bool:
        """Return whether prompts of that form are asked as such."""
        return form == "chat" or self.tokens is not None

    async def known(self, context: Context) -> Mapping[Any, float]:
        """Return the most probable answer to a known question, as the name of one value."""
        asked, reasoning = await self._asked(context)
        texts = await self.api.write(asked, tokens=KNOWN_TOKENS + reasoning, temperature=0.0)
        return {str(text): 0.0 for text in texts}

    async def check_drawn(self, context: Context) -> None:
        """Raise Changed where answers to an open question are all the same: then the temperature has no effect."""
        asked, reasoning = await self._asked(RANDOM if isinstance(context, str) else (Message("user", RANDOM),))
        texts: list[str | None] = []
        while len(texts) < DRAWN:
            left, tokens = DRAWN - len(texts), DRAWN_TOKENS + reasoning
            texts += await self.api.write(asked, tokens=tokens, temperature=1.0, count=left)
        if len(set(texts)) == 1:
            raise Changed(f"{len(texts)} answers to an open question, drawn with temperature 1, are all the same")

    async def _asked(self, context: Context) -> tuple[Sequence[int] | Sequence[Message], int]:
        """Return a context as it is asked, and the tokens for reasoning before its answer."""
        if self.tokens is not None and self.tokens.takes(context):
            return await self.tokens.context(context), 0
        return without_beginning(context), self.reasoning


def named(text: str, continuations: Sequence[str]) -> int | None:
    """Return the continuation that a text begins with, the longest one, None where it begins with none."""
    answer = text.strip().lower()
    matches = [
        (len(words), index)
        for index, words in enumerate(continuation.strip().lower() for continuation in continuations)
        if re.match(rf"{re.escape(words)}(?!\w)", answer)
    ]
    return max(matches)[1] if matches else None


def without_beginning(context: Context) -> tuple[Message, ...]:
    """Return a context as a conversation; the beginning of an answer cannot be given to every server."""
    if isinstance(context, str):
        return (Message("user", context),)
    return context[:-1] if context[-1].role == "assistant" else context


def check_task(method: Method, prompts: Sequence[Prompt], *, name: str, why: str = "") -> None:
    """Refuse prompts of a task that the method cannot do; `why` says what is wrong with better methods."""
    for prompt in prompts:
        if method.tasks and prompt.task not in method.tasks:
            able = " and ".join(method.tasks)
            raise ModelError(
                f"{name} offers only {method.name}, which can do {able}, but not {prompt.task}{why and f' ({why})'}"
            )
