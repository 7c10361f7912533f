"""Proves that a server still is the one that was tested: known questions, asked as the audit asks, get known answers.

They are asked before the first prompt, at counted intervals and at the end. Nothing is kept that is not followed by a
proof that held.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...records import Context, Message, ModelError
from .api import Api, Known, distance, how_far
from .http_client import ServerError
from .methods import Method

SHARE = 0.03
"""The largest share of requests that repeat known questions, the last proof of a run apart."""

TOLERANCE = 0.05
"""Nats by which answers to one question may always differ; another model, text or place differs by far more."""

NOISY = 0.01, 0.25
"""Nats of noise above which answers may differ by this much: logits in bfloat16 have steps of 0.125."""

MOST_NOISE = 0.25
"""Nats by which answers to one question may differ at most, when the server is tested."""

TIMES = 3
"""Times that both questions are asked, all at once: noise grows with what else a server computes, and answers that are
given to another request than theirs are found."""

COMPARED = 8

WORK = "Last week her brother came by train, and they talked for a long time about the weather and their old school."
BEGINNINGS = ("Maria sells bread at the market in Rome.", "Maria sells fish at the market in Rome.")
"""Known questions differ in one early word, as sentences of one set do; the answer must depend on it.

Some caches give the answer to a prompt that is much the same.
"""

TEXTS = tuple(f"{beginning} {WORK} Asked about her work, she said that she sells" for beginning in BEGINNINGS)
CHATS = tuple(
    (Message("user", f"{beginning} {WORK} What does she sell?"), Message("assistant", "She sells"))
    for beginning in BEGINNINGS
)
FORMS: Mapping[str, tuple[Context, Context]] = {"text": (TEXTS[0], TEXTS[1]), "chat": (CHATS[0], CHATS[1])}
"""The two known questions for each form of a prompt."""


@dataclass(frozen=True)
class Reference:
    """Known questions with their answers, what may differ by noise, and how many requests it takes to ask them."""

    answers: Sequence[tuple[Context, Mapping[Any, float]]]
    tolerance: float
    cost: int


async def learn(api: Api, method: Method, form: str) -> Reference:
    """Return the answers to known questions; ServerError where they vary, or do not depend on how these begin."""
    contexts = FORMS[form]
    before = api.client.sent
    tables = [await method.known(context) for context in contexts]
    await method.check_drawn(contexts[0])
    cost = api.client.sent - before
    again = await asyncio.gather(*map(method.known, contexts * TIMES))
    values = [most_probable(table) for table in tables]
    noise = max(distance(known, answer) for known, answer in zip(values * TIMES, again, strict=True))
    if noise > MOST_NOISE:
        raise ServerError(f"the same question gets {how_far(noise)} when it is asked again")
    if distance(values[0], tables[1]) <= 2 * noise + 1e-9:
        raise ServerError("the answer does not depend on the beginning of the question")
    return Reference(list(zip(contexts, values, strict=True)), tolerance_of(noise), cost)


def most_probable(values: Mapping[Any, float]) -> dict[Any, float]:
    """Return the values that are compared: the upper half, as the last of a table may be another one's next time."""
    ranked = sorted(values, key=lambda name: -values[name])
    return {name: values[name] for name in ranked[: max(1, min(COMPARED, len(ranked) // 2))]}


def tolerance_of(noise: float) -> float:
    """Return how far two answers may be apart, given how far they were when the server was tested."""
    least, usual = NOISY
    return TOLERANCE if noise < least else max(usual, 4 * noise)


class Proof:
    """Known questions by form, asked again when they are due. `missing` says why a form cannot be proven."""

    def __init__(
        self, api: Api, method: Method, references: Mapping[str, Reference], missing: Mapping[str, str]
    ) -> None:
        self._api, self._method = api, method
        self._references, self._missing = references, missing
        self._mark = self._opened = api.client.sent
        self.asked = 0
        """Requests that repeated known questions."""

    def form(self, context: Context) -> str:
        """Return the form in which a context is asked; ModelError where that cannot be proven."""
        form = "text" if isinstance(context, str) and "text" in (*self._references, *self._missing) else "chat"
        if form in self._references:
            return form
        reason = self._missing.get(form, "the server has no chat template that turns a conversation into tokens")
        raise ModelError(f"the server cannot be asked in this way ({form}): {reason}")

    def nearest_form(self, context: Context) -> str:
        """Return the form of a context that is answered in writing, or another one that can be proven."""
        try:
            return self.form(context)
        except ModelError:
            return next(iter(self._references))

    def is_due(self, forms: set[str]) -> bool:
        """Return whether as much was asked since the last proof that the next one is a small share of it."""
        return (self._api.client.sent - self._mark) * SHARE >= self._cost(forms)

    async def prove(self, forms: set[str]) -> None:
        """Ask the known questions of these forms again; Changed where an answer is another one.

        There is no second chance: where one answer of many is wrong, a question that gets it shows that there are such.
        """
        for form in sorted(forms):
            reference = self._references[form]
            self.asked += reference.cost
            # Both at once: a server may mix up what it computes at the same time.
            tables = await asyncio.gather(*(self._method.known(context) for context, _ in reference.answers))
            for (_, values), answer in zip(reference.answers, tables, strict=True):
                Known((), values, reference.tolerance).check(answer)
            await self._method.check_drawn(reference.answers[0][0])
        self._mark = self._api.client.sent

    @property
    def note(self) -> str:
        """What the proof has cost so far, in words."""
        total = self._api.client.sent - self._opened
        share = f" ({self.asked / total:.1%})" if total else ""
        asked = f"{self.asked:,} of {total:,} requests{share} asked known questions again, with the same answers"
        again = self._api.asked_again
        return asked + (f"; {again:,} answers were not usable and were asked for again" if again else "")

    def _cost(self, forms: set[str]) -> int:
        return sum(self._references[form].cost for form in forms)
