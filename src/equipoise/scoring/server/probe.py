"""Finds out what a server can do: no capability is assumed, each is tried and checked against another.

Given text is checked against the next-token distribution of the same text. So an ignored `echo`, log-probabilities
that are shifted by one token, nulls and other tokens than the prompt's are all found. Each way of asking has known
questions, which are asked again while it is used (proof.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ...options import EngineOptions
from ...records import Message, ModelError
from ...records.thinking import THINK, THOUGHT
from .api import Api, Known, distance
from .http_client import ServerError
from .methods import KNOWN_PLACES, ChatLetter, GivenText, Method, NextToken, Samples
from .proof import TOLERANCE, Proof, Reference, learn, most_probable
from .tokens import ServerTokens

TEXTS = (
    "The nurse told the driver that she was late because",
    "In 1997 the small town by the river had",
    "1, 2, 3, 4, 5, 6,",
    "Die Ärztin sagte, dass",
)
"""Fixed texts: the probe's, and the fingerprint's."""

QUESTION = "Choose the right option. Which is a colour?\n A.blue\n B.seven\n C.None of the above\n Answer: "

STEPS = 3
"""Tokens after each text that are compared."""

BESIDE = "Anna, whom Maria met at school, sells fish in Rome, and"
"""The known prompt that is part of every request, where a server answers lists: short, and of no use elsewhere."""

THOUGHT_TOKENS = 512
"""Tokens within which the reasoning about the fixed question is expected to end."""

SMALLEST_VOCABULARY = 256
"""Tokens of the smallest vocabulary: one of bytes."""

ALL = 1e-5
"""How near to 1 the most probable tokens after an open text add up only where all others were left out first."""

WHOLE = 10**6
"""Asked for as the number of next tokens, to get the whole vocabulary."""


@dataclass
class Findings:
    """What the probe found: the method to use, and for each capability "yes" or why not."""

    method: Method | None = None
    references: dict[str, Reference] = field(default_factory=dict)
    """Known questions for each form in which the method can be asked."""
    tokens: ServerTokens | None = None
    capabilities: dict[str, str] = field(default_factory=dict)
    answers: dict[str, float] = field(default_factory=dict)
    chat_reasoning: int = 0
    """Tokens for the reasoning before each answer of the server's own chat; 0 where its model does not think there."""

    @property
    def lacks(self) -> str:
        """What the server cannot do, and why."""
        return "; ".join(f"{name}: {state}" for name, state in self.capabilities.items() if state.startswith("no"))

    @property
    def thinks(self) -> bool:
        """Whether the model reasons before it answers, in a conversation that we can write the reasoning into."""
        return self.tokens is not None and self.tokens.thinks


async def probe(api: Api, options: EngineOptions) -> tuple[Findings, Proof]:
    """Return the best method that the server supports, and how it is proven; ModelError says why there is none."""
    findings = Findings()
    try:
        findings.tokens = await ServerTokens.open(api, bos=options.bos, time=options.chat_time)
        findings.capabilities["token ids"] = "yes"
    except ServerError as error:
        findings.capabilities["token ids"] = f"no: {error}"
    if findings.tokens is not None:
        await _probe_tokens(api, findings)
    chats = findings.tokens is not None and findings.tokens.template is not None
    asks_chat = not chats and (options.samples > 0 or findings.method is None)
    if asks_chat and await _thinks_in_chat(api, findings):
        findings.chat_reasoning = options.reasoning_tokens
    if findings.method is None:
        await _probe_chat(api, findings)
    if options.samples:
        findings.method = Samples(api, findings.tokens, options.samples, reasoning=findings.chat_reasoning)
        findings.references = {}
        if not findings.answers:
            await _remember_text(api, findings)
    if findings.method is None:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in findings.capabilities.items())
        raise ModelError(
            f"the server returns no log-probabilities that can be trusted ({reasons}); set samples, such as 32, to "
            "estimate probabilities from sampled answers"
        )
    return findings, await _proof(api, findings, findings.method)


async def _proof(api: Api, findings: Findings, method: Method) -> Proof:
    """Return what proves the method, in every form in which it can be asked."""
    missing: dict[str, str] = {}
    for form in ("text", "chat"):
        if form in findings.references or not method.takes(form):
            continue
        try:
            findings.references[form] = await learn(api, method, form)
        except ServerError as error:
            missing[form] = str(error)
    if not findings.references:
        raise ModelError(f"the server cannot be tested: {'; '.join(missing.values())}")
    return Proof(api, method, findings.references, missing)


async def has_thinking_template(api: Api, *, bos: str) -> bool:
    """Return whether the server's chat template is that of a thinking model; not where it shows none."""
    try:
        return (await ServerTokens.open(api, bos=bos)).thinks
    except ServerError:
        return False


async def _probe_tokens(api: Api, findings: Findings) -> None:
    tokens = findings.tokens
    assert tokens is not None
    try:
        most, whole = await _most(api, [*await tokens.context(TEXTS[0])])
        walks = [await _walk(api, tokens, text, findings) for text in TEXTS]
        beside = await tokens.context(BESIDE)
        method = NextToken(api, tokens, most, whole)
        findings.references["text"] = await learn(api, method, "text")
        findings.method = await _beside(api, method, (walks[0].ids, beside), findings)
        findings.capabilities["next tokens"] = "whole vocabulary" if whole else f"top {most}"
    except ServerError as error:
        findings.references.clear()
        findings.capabilities["next tokens"] = f"no: {error}"
        return
    try:
        given = await _given(api, tokens, walks, beside)
        findings.references["text"] = await learn(api, given, "text")
        findings.method = given
        findings.capabilities["given text"] = "yes"
    except ServerError as error:
        findings.capabilities["given text"] = f"no: {error}"


async def _beside(api: Api, method: NextToken, pair: tuple[list[int], list[int]], findings: Findings) -> NextToken:
    """Return the method with a known prompt beside every other, where the server answers lists of two."""
    ids, beside = pair
    k = min(KNOWN_PLACES, method.most)
    tolerance = findings.references["text"].tolerance
    known = Known(tuple(beside), most_probable(await api.next_tokens(beside, k, least=k)), tolerance)
    try:
        alone = await api.next_tokens(ids, k, least=k)
        first = most_probable(alone)
        if distance(first, await api.next_tokens(ids, k, least=k, known=known)) > tolerance:
            raise ServerError("a list of prompts is not answered as single ones are")
        findings.capabilities["lists"] = "yes"
        return replace(method, beside=known)
    except ServerError as error:
        findings.capabilities["lists"] = f"no: {error}"
        return method


async def _given(api: Api, tokens: ServerTokens, walks: list[Walk], beside: list[int]) -> GivenText:
    """Return given text as a method, after its values agree with next tokens, and those of lists with single ones."""
    single = []
    for walk in walks:
        (given,) = await api.given_tokens([walk.ids])
        single.append(given)
        worst = max(abs(a - b) for a, b in zip(given[walk.start - 1 :], walk.values, strict=True))
        if worst > TOLERANCE:
            raise ServerError(f"they differ from the next-token distribution by {worst:.2g} nats")
    has_entries = await api.has_entries(walks[0].ids)
    (row,) = await api.given_tokens([beside], has_entries=has_entries)
    known = Known(tuple(beside), most_probable(dict(list(enumerate(row))[-KNOWN_PLACES:])), TOLERANCE)
    for walk, given in zip(walks, single, strict=True):
        # Two rows that share a beginning, as those of a prompt do.
        rows = [walk.ids, walk.ids[:-1]]
        listed = await api.given_tokens(rows, has_entries=has_entries, known=known)
        pairs = zip((given, given[:-1]), listed, strict=True)
        if max(abs(a - b) for alone, row in pairs for a, b in zip(alone, row, strict=True)) > TOLERANCE:
            raise ServerError("a list of prompts is not answered as single ones are")
    return GivenText(api, tokens, known, has_entries)


async def _most(api: Api, ids: list[int]) -> tuple[int, bool]:
    """Return how many next tokens the server returns at most, and whether that is the whole vocabulary."""
    table: Mapping[int, float] = {}
    refusal: ServerError | None = None
    for k in (WHOLE, 20, 5):
        try:
            table = await api.next_tokens(ids, k)
            break
        except ServerError as error:
            refusal = error
    if len(table) < 2:
        raise refusal or ServerError("fewer than two next tokens are returned")
    mass = math.fsum(map(math.exp, table.values()))
    if len(table) < SMALLEST_VOCABULARY and abs(mass - 1) < ALL:
        raise ServerError(f"the {len(table)} most probable tokens add up to 1, as if there were no others")
    for fewer in (2, 5):
        if distance(await api.next_tokens(ids, fewer), table) > TOLERANCE:
            raise ServerError("next-token log-probabilities change with their number")
    warm = await api.next_tokens(ids, len(table), temperature=1.0)
    shared = set(warm) & set(table)
    if not shared or max(abs(warm[token] - table[token]) for token in shared) > TOLERANCE:
        raise ServerError("next-token log-probabilities change with the temperature")
    return len(table), mass > 0.999 and len(table) >= SMALLEST_VOCABULARY


@dataclass(frozen=True)
class Walk:
    """A text's ids with likely tokens after it, where these begin, and their next-token log-probabilities."""

    start: int
    ids: list[int]
    values: list[float]


async def _walk(api: Api, tokens: ServerTokens, text: str, findings: Findings) -> Walk:
    """Return a text with likely tokens after it."""
    ids = await tokens.context(text)
    start = len(ids)
    values: list[float] = []
    for step in range(STEPS):
        table = await api.next_tokens(ids, 5)
        ranked = sorted(table, key=lambda token: -table[token])
        for token in ranked[:3]:
            findings.answers[f"{text}|{step}|{token}"] = table[token]
        # Not always the most probable one: a server that returns its own choice would agree with that.
        token = ranked[min(step % 2, len(ranked) - 1)]
        ids, values = [*ids, token], [*values, table[token]]
    return Walk(start, ids, values)


async def _thinks_in_chat(api: Api, findings: Findings) -> bool:
    """Return whether the answers of the server's own chat begin with reasoning, which the server may return apart."""
    try:
        (answer,) = await api.write((Message("user", QUESTION),), tokens=THOUGHT_TOKENS, temperature=0.0)
    except ServerError:
        return False
    text = answer or ""
    thinks = text.lstrip().startswith(THINK) or THOUGHT in text
    if thinks:
        findings.capabilities["thinking"] = "yes, in the server's own chat"
    return thinks


async def _probe_chat(api: Api, findings: Findings) -> None:
    if findings.chat_reasoning:
        # The first token of the text belongs to the reasoning.
        findings.capabilities["chat top_logprobs"] = "no: the model reasons before it answers"
        return
    for k in (20, 5):
        try:
            table = await api.chat_top((Message("user", QUESTION),), k)
            if len(table) < 2:
                raise ServerError(f"{len(table)} token is returned")
            warm = await api.chat_top((Message("user", QUESTION),), k, temperature=1.0)
            if distance(most_probable(table), warm) > TOLERANCE:
                raise ServerError("they change with the temperature")
            for fewer in (2, 5):
                if distance(await api.chat_top((Message("user", QUESTION),), fewer), table) > TOLERANCE:
                    raise ServerError("they change with their number")
            method = ChatLetter(api, len(table))
            findings.references["chat"] = await learn(api, method, "chat")
        except ServerError as error:
            findings.capabilities["chat top_logprobs"] = f"no: {error}"
            continue
        findings.capabilities["chat top_logprobs"] = f"top {len(table)}"
        findings.answers.update({f"chat|{token}": value for token, value in table.items()})
        findings.method = method
        return


async def _remember_text(api: Api, findings: Findings) -> None:
    """Keep the most probable answers as text, for the fingerprint of a server that returns nothing else."""
    for text in TEXTS:
        (answer,) = await api.write((Message("user", text),), tokens=12, temperature=0.0)
        findings.answers[f"text|{text}|{answer}"] = 0.0
