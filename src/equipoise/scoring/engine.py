"""What an engine is. `opening.py` opens one from what the user typed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..records import Context, Example, ModelError, Prompt, Sampling, Score

DEFAULT_MODEL = "smollm2"

DEVICES = ("auto", "all", "cpu", "cuda", "mps")
DTYPES = ("auto", "float32", "bfloat16", "float16")

FIRST_PROMPTS = 512

BATCH_PROMPTS = 4096
"""Prompts in a batch of an engine that does not choose its batches."""


class Engine(Protocol):
    """A model, or whatever else says how likely a continuation is. `EngineDefaults` has most of these methods."""

    @property
    def name(self) -> str:
        """The model's name in tables and files."""
        ...

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that could change an answer; it is part of the key under which a score is kept."""
        ...

    @property
    def description(self) -> Mapping[str, Any]:
        """What the manifest records about the engine beyond its identity."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """What the user should know about how the engine worked, a sentence each."""
        ...

    def prepare(self, examples: Iterable[Example]) -> None:
        """Take note of the examples that prompts will be made from; called before any of them is scored."""
        ...

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        """Return groups of prompts to score together; the same prompts always give the same groups."""
        ...

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        """Yield the scores of each batch, in order."""
        ...

    @property
    def texts_at_once(self) -> int:
        """How many contexts to hand to `generate` together: what a crash can lose."""
        ...

    def generate(self, contexts: Sequence[Context], max_new_tokens: int, sampling: Sampling | None = None) -> list[str]:
        """Return what the model writes after each context: token by token the most probable, or drawn (`sampling`).

        An engine that cannot write raises ModelError.
        """
        ...


class EngineDefaults:
    """What most engines leave as it is: an engine that subclasses this needs `name`, `identity` and `score`."""

    name: str

    @property
    def description(self) -> Mapping[str, Any]:
        return {}

    @property
    def notes(self) -> Sequence[str]:
        return ()

    @property
    def texts_at_once(self) -> int:
        return 16

    def prepare(self, examples: Iterable[Example]) -> None:
        """Do nothing: the prompts are all that the engine needs."""

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        return in_order(len(prompts), size=BATCH_PROMPTS)

    def generate(self, contexts: Sequence[Context], max_new_tokens: int, sampling: Sampling | None = None) -> list[str]:
        raise ModelError(f"{self.name} cannot write text; use a task that only scores, such as next-word or mcq")


@dataclass(frozen=True)
class EngineOptions:
    """How to load a model."""

    device: str = "auto"
    dtype: str = "auto"
    bos: str = "auto"
    trust_remote_code: bool = False
    allow_pickle: bool = False
    revision: str | None = None
    reductions: bool = False
    adapter: str | None = None
    merge_adapter: bool = False
    quantize: str | None = None
    server: str | None = None
    samples: int = 0
    concurrency: int = 16
    timeout: float = 120.0
    cluster: str | None = None
    workers: int = 0
    worker_cores: int = 1
    dropout: float = 0.0
    passes: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.dropout < 1 or self.passes < 1:
            raise ModelError("dropout must be at least 0 and less than 1, and passes at least 1")
        if self.dropout and self.server:
            raise ModelError("a server cannot put dropout into its model; load the model here")
        if self.samples < 0:
            raise ModelError(f"samples must not be negative, it is {self.samples}")
        if self.concurrency < 1 or not self.timeout > 0:
            raise ModelError("concurrency must be at least 1, and timeout more than 0 seconds")
        if self.workers < 0 or self.worker_cores < 1:
            raise ModelError("workers must not be negative, and worker_cores must be at least 1")
        if self.cluster and self.server:
            raise ModelError("a server needs no cluster: it answers many requests at once (concurrency)")
        if (self.workers or self.worker_cores != 1) and not self.cluster:
            raise ModelError("workers and worker_cores are for a cluster: set cluster, too")
        if self.samples and not self.server:
            raise ModelError("samples is for servers; a model that is loaded here needs none")


def in_order(count: int, *, size: int) -> list[list[int]]:
    """Return batches of that size over `count` prompts, in their order."""
    return [list(range(start, min(start + size, count))) for start in range(0, count, size)]


def neighbours(prompts: Sequence[Prompt], *, size: int) -> list[list[int]]:
    """Return batches of prompts that are neighbours in the order of their texts: these share the longest prefixes."""
    order = sorted(range(len(prompts)), key=lambda i: (str(prompts[i].context), i))
    # The first batch is small, so that the device has work while the next ones are planned.
    first = min(size, FIRST_PROMPTS)
    rest = [order[start : start + size] for start in range(first, len(order), size)]
    return [order[:first]] * bool(order) + rest


def identity_key(engine: Engine) -> str:
    """Return the engine's identity as one string: the first part of every score's key."""
    content = json.dumps(dict(engine.identity), sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()
