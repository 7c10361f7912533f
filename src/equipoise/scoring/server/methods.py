"""Ways to get a score from a server, best first: given text, next tokens, chat's first token, sampled answers."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...records import Message, ModelError, Prompt, Score, ScoreLimits
from ...records.limits import BOUNDED, PSEUDOCOUNT, SAMPLED
from ...records.thinking import answer_of
from ..nesting import apart, stops
from .api import Api
from .http_client import ServerError
from .tokens import ServerTokens

UNFINISHED = "unfinished-reasoning"
"""Flag of a score with sampled answers that ended within their reasoning: they name no candidate."""

FIRST_K = 100
"""Tokens asked for first; the whole vocabulary only where a candidate is not among these."""

NEGLIGIBLE = 1e-6
"""Probability that a server's own rounding may lose: less than this between two limits is not called a bound."""

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


@dataclass(frozen=True)
class GivenText:
    """The server returns the log-probabilities of a given text (`echo`)."""

    api: Api
    tokens: ServerTokens
    name: str = "log-probabilities of given text"
    tasks: Sequence[str] = ()

    async def score(self, prompt: Prompt, key: str) -> Score:
        """Return the score: one row for each continuation."""
        question = await self.tokens.question(prompt)
        rows = await self.api.given_tokens(question.sequences)
        starts = zip(rows, question.starts, strict=True)
        logprobs = tuple(tuple(row[start - 1 :]) for row, start in starts)
        return Score(key, logprobs, flags=question.flags, stops=stops(logprobs, question.nested))


@dataclass(frozen=True)
class NextToken:
    """The server returns the most probable next tokens: candidates are walked token by token.

    `most` is how many it returns at most; `whole` says that this is the whole vocabulary.
    """

    api: Api
    tokens: ServerTokens
    most: int
    whole: bool
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

    async def _table(self, ids: tuple[int, ...], targets: set[int]) -> Mapping[int, float]:
        table = await self.api.next_tokens(ids, min(FIRST_K, self.most))
        if targets <= set(table) or self.most <= FIRST_K:
            return table
        return await self.api.next_tokens(ids, self.most)


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
class ChatLetter:
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
        table = await self.api.chat_top(as_messages(prompt), self.most)
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


@dataclass(frozen=True)
class Samples:
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
        """How many answers are sampled."""
        after = f", each after at most {self.reasoning} tokens of reasoning" if self.reasoning else ""
        return f"{self.count} sampled answers{after}"

    async def score(self, prompt: Prompt, key: str) -> Score:
        """Return the score from sampled answers."""
        context: Sequence[int] | Sequence[Message] = as_messages(prompt)
        reasoning = self.reasoning
        if self.tokens is not None and self.tokens.takes(prompt.context):
            context, reasoning = await self.tokens.context(prompt.context), 0
        texts: list[str] = []
        while len(texts) < self.count:  # some servers ignore n and write one
            left = self.count - len(texts)
            texts += await self.api.write(context, tokens=self.answer_tokens + reasoning, temperature=1.0, count=left)
        answers = [answer_of(text) if reasoning else text for text in texts[: self.count]]
        counts = [0] * (len(prompt.continuations) + 1)
        for answer in answers:
            choice = named(answer or "", prompt.continuations)
            counts[-1 if choice is None else choice] += 1
        total = self.count + PSEUDOCOUNT * len(counts)
        values = tuple((math.log((count + PSEUDOCOUNT) / total),) for count in counts[:-1])
        flags = (SAMPLED, UNFINISHED) if None in answers else (SAMPLED,)
        return Score(key, values, flags=flags, limits=ScoreLimits(counts=tuple(counts)))


def named(text: str, continuations: Sequence[str]) -> int | None:
    """Return the continuation that a text begins with, the longest one, None where it begins with none."""
    answer = text.strip().lower()
    matches = [
        (len(words), index)
        for index, words in enumerate(continuation.strip().lower() for continuation in continuations)
        if re.match(rf"{re.escape(words)}(?!\w)", answer)
    ]
    return max(matches)[1] if matches else None


def as_messages(prompt: Prompt) -> tuple[Message, ...]:
    """Return a prompt's context as a conversation; the beginning of an answer cannot be given to every server."""
    if isinstance(prompt.context, str):
        return (Message("user", prompt.context),)
    return prompt.context[:-1] if prompt.context[-1].role == "assistant" else prompt.context


def check_task(method: Method, prompts: Sequence[Prompt], *, name: str) -> None:
    """Refuse prompts of a task that the method cannot do."""
    for prompt in prompts:
        if method.tasks and prompt.task not in method.tasks:
            able = " and ".join(method.tasks)
            raise ModelError(f"{name} offers only {method.name}, which can do {able}, but not {prompt.task}")
