"""What an engine is asked, and its answer."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from json.encoder import encode_basestring
from typing import Any, NamedTuple

from .errors import DatasetError, ModelError
from .limits import ScoreLimits


class Message(NamedTuple):
    """One turn of a conversation."""

    role: str
    content: str


Context = str | tuple[Message, ...]


class Sampling(NamedTuple):
    """How a text is drawn instead of taking the most probable one; the same seed draws the same text."""

    temperature: float
    seed: int


MEANINGS = ("both", "neither", "refused", "unclear")  # what an open answer can mean besides one of the candidates
OPEN_ANSWER = "open-answer"  # the flag of a free answer: its last classes are these meanings
BOTH_OFFERED = "both-offered"  # the flag of a multiple choice whose last option is "Both of them"
SPLIT_JOIN = "split-join"  # the flag of a prompt whose last token would merge with a continuation: tokenised apart
NESTED = "nested"  # the flag of a prompt with a continuation that begins another: "police" and "police officer"
BASELINE = "baseline"  # the variant of a prompt that asks for an example's words without its sentence
SECOND_READER = "second-reader"  # the variant of a prompt that asks whom an open answer names

SECOND_READING, SECOND_PROBABILITY = "second_reading", "second_reading_probability"
"""The columns of what the second reader says: the candidate by number, and its probability."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What an engine is asked: how likely is each continuation after the context?

    An empty text is a context too, that of a sentence's first word; it takes a model with a beginning-of-text token.
    """

    example_id: str
    task: str
    variant: str
    context: Context
    continuations: tuple[str, ...]
    _known: tuple[str, str] = field(default=("", ""), init=False, repr=False, compare=False)
    """The identity that a key was asked for last, and that key: a store and its engine ask for the same one."""

    def __post_init__(self) -> None:
        if self.context == () or not self.continuations or not all(self.continuations):
            raise DatasetError(f"prompt of {self.example_id}: context and continuations must not be empty")

    def key(self, identity: str) -> str:
        """Return the content address of this question to the engine of that identity: the hash of both as JSON."""
        known, key = self._known
        if known != identity or not key:
            key = self._hashed(identity)
            object.__setattr__(self, "_known", (identity, key))
        return key

    def _hashed(self, identity: str) -> str:
        quoted, asked = encode_basestring, self.context
        context = quoted(asked) if isinstance(asked, str) else json.dumps(asked, ensure_ascii=False)
        digest = _begun(identity).copy()
        digest.update(f"{context}, {_written(tuple(self.continuations))}]".encode("utf-8", "surrogatepass"))
        return str(digest.hexdigest()[:32])


@lru_cache(maxsize=16)
def _begun(identity: str) -> Any:
    """Return the hash of the beginning of the JSON of all prompts to an engine."""
    return hashlib.sha256(f"[{encode_basestring(identity)}, ".encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=4096)
def _written(continuations: tuple[str, ...]) -> str:
    """Return the end of the JSON of prompts with these continuations, which many have."""
    apart = f', "{NESTED}"' if is_nested(continuations) else ""
    return f"[{', '.join(map(encode_basestring, continuations))}]{apart}"


def is_nested(texts: Sequence[str]) -> bool:
    """Return whether one of the texts begins another one."""
    ordered = sorted(texts)
    # What begins another text is right before the first of those that it begins.
    return any(longer.startswith(text) for text, longer in pairwise(ordered))


MOST_LOGPROB = 1e-4
"""The largest log-probability of an engine: a log-softmax in low precision rounds to a little above zero."""

_LEAST = -math.inf


NO_REDUCTIONS: Mapping[str, float] = {}
"""Of scores without any, which share it: a million mappings of nothing would take 64 MB."""


@dataclass(frozen=True, slots=True)
class Score:
    """An engine's answer: natural-log probabilities of every token of every continuation.

    `stops` are given where a continuation begins another one: the log-probability that each one does not go on into a
    longer one, so that no two of them count the same text. `flags` name what had to be done differently for this
    prompt, such as "split-join" (see docs/engines.md). `limits` say what is known where the engine could not see a
    probability itself.
    """

    prompt_key: str
    token_logprobs: tuple[tuple[float, ...], ...]
    reductions: Mapping[str, float] = field(default_factory=lambda: NO_REDUCTIONS)
    flags: tuple[str, ...] = ()
    limits: ScoreLimits | None = None
    stops: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for tokens in (*self.token_logprobs, self.stops) if self.stops else self.token_logprobs:
            for value in tokens:
                # NaN fails both comparisons.
                if not _LEAST < value <= MOST_LOGPROB:
                    raise ModelError(
                        f"the engine gave {value} as a log-probability; the model's weights or dtype may be broken"
                    )
            if not tokens:
                raise ModelError("the engine gave no log-probability for a candidate")
        if self.limits is not None:
            self.limits.check(len(self.token_logprobs))

    @property
    def logprobs(self) -> tuple[float, ...]:
        """The log-probability of each continuation: the sum over its tokens, and of not going on into another one."""
        if not self.stops:
            return tuple([math.fsum(tokens) for tokens in self.token_logprobs])
        return tuple([math.fsum((*tokens, end)) for tokens, end in zip(self.token_logprobs, self.stops, strict=True)])
