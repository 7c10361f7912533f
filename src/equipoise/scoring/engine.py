"""What an engine is. `opening.py` opens one from what the user typed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from ..files import at_home, sha256
from ..options import EngineOptions, RunOptions
from ..records import Context, Example, ModelError, Prompt, Sampling, Score, TaskNotPossible

DEFAULT_MODEL = RunOptions.model

DEVICES = ("auto", "all", "cpu", "cuda", "mps")

FIRST_PROMPTS = 8
"""Prompts in the first batch, whose scores are soon there. Small batches fill rows less well, so it is the only one."""

PRONOUNS, EVERY = "pronouns", "examples"
"""What an engine takes note of in `prepare`, where it says so (`prepares`): an example of each pronoun, or all."""

BATCH_PROMPTS = 4096
"""Prompts in a batch of an engine that does not choose its batches."""


Opener = Callable[[str, EngineOptions], "Engine"]
"""Opens an engine by its name; handed to engines that are made of others, which `opening.py` itself opens."""


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

    def prepare(self, examples: Sequence[Example]) -> None:
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

        An engine that cannot write raises TaskNotPossible.
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
    def tasks(self) -> Sequence[str]:
        """The tasks that the model can be asked, the best first; none where it can be asked all."""
        return ()

    @property
    def texts_at_once(self) -> int:
        return 16

    def prepare(self, examples: Sequence[Example]) -> None:
        """Do nothing: the prompts are all that the engine needs."""

    def remember(self) -> None:
        """Keep what was computed of the last prompts for the next ones that begin alike; most engines do nothing.

        It is for prompts that a person changes word by word: their scores then differ by rounding from an audit's.
        """

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        return in_order(len(prompts), size=BATCH_PROMPTS)

    def token_texts(self, prompts: Sequence[Prompt]) -> list[list[list[str]]]:
        """Return the tokens of every continuation of each prompt as text, parallel to its score's."""
        raise TaskNotPossible(f"{self.name} does not show its tokens; a model that is loaded here does")

    def generate(self, contexts: Sequence[Context], max_new_tokens: int, sampling: Sampling | None = None) -> list[str]:
        raise TaskNotPossible(f"{self.name} cannot write text; use a task that only scores, such as next-word or mcq")


class EngineElsewhere:
    """What engines share whose model was opened in other processes: `about` is what `facts_of` says of one there."""

    def __init__(self, about: Mapping[str, Any], processes: int) -> None:
        self._about, self._processes = dict(about), processes
        self._notes: list[str] = []

    @property
    def name(self) -> str:
        return str(self._about["name"])

    @property
    def identity(self) -> Mapping[str, Any]:
        return dict(self._about["identity"])

    @property
    def notes(self) -> Sequence[str]:
        return self._notes

    @property
    def texts_at_once(self) -> int:
        return int(self._about["texts_at_once"]) * self._processes

    def _update(self, description: Mapping[str, Any], notes: Iterable[str]) -> None:
        """Keep what a process says of its work, such as the mode it scored in."""
        self._about["description"] = description
        self._notes += [note for note in notes if note not in self._notes]

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Note which examples cannot be asked: the process that found out may answer nothing more."""
        try:
            yield
        except ModelError as error:
            if error.example_ids:
                self._update(self._about["description"], [left_out(error)])
            raise


def local_path(spec: str) -> Path:
    """Return the path that a model's name may be, without the scheme that says how it is opened."""
    return at_home(spec.removeprefix("hf:").removeprefix("gguf:"))


def left_out(error: ModelError) -> str:
    """Return the note on examples that the model cannot be asked; the audit goes on without their sets."""
    return f"{', '.join(error.example_ids)} left out with the other sentences of the set: {error}"


def facts_of(engine: Any) -> dict[str, Any]:
    """Return what another process has to know of an engine that was opened in this one."""
    return {
        "name": engine.name,
        "identity": dict(engine.identity),
        "description": dict(engine.description),
        "neighbours": getattr(getattr(engine, "shape", None), "prompts", None),
        "in_order": getattr(type(engine), "batches", None) is EngineDefaults.batches,
        "texts_at_once": engine.texts_at_once,
        "prepares": getattr(engine, "prepares", EVERY) if type(engine).prepare is not EngineDefaults.prepare else "",
    }


def noted(examples: Sequence[Example], prepares: str) -> list[Example]:
    """Return the examples that an engine elsewhere takes note of; a million that it does not need are not sent."""
    if prepares == PRONOUNS:
        return list({(e.groups.get("gender", ""), e.slots.get("pronoun", "")): e for e in examples}.values())
    return list(examples) if prepares else []


def in_order(count: int, *, size: int) -> list[list[int]]:
    """Return batches of that size over `count` prompts, in their order."""
    return [list(range(start, min(start + size, count))) for start in range(0, count, size)]


def neighbours(prompts: Sequence[Prompt], *, size: int) -> list[list[int]]:
    """Return batches of prompts that are neighbours in the order of their texts: these share the longest prefixes.

    A batch ends where its texts share least with the next one, so it may be an eighth smaller than `size`, or by four.
    """
    texts = [str(prompt.context) for prompt in prompts]
    order = sorted(range(len(prompts)), key=texts.__getitem__)
    batches, start = [], 0
    most = min(size, FIRST_PROMPTS)
    while start < len(order):
        stop = _border(texts, order, start + most, min(most - 1, max(most // 8, 4)))
        batches.append(order[start:stop])
        start, most = stop, size
    return batches


def _border(texts: Sequence[str], order: Sequence[int], latest: int, reach: int) -> int:
    """Return where a batch ends: at `latest` or up to `reach` before it, where neighbours share the shortest prefix."""
    if latest >= len(order):
        return len(order)
    places = range(latest, latest - reach - 1, -1)
    return min(places, key=lambda place: _shared(texts[order[place - 1]], texts[order[place]]))


def _shared(text: str, other: str) -> int:
    """Return how many characters two texts begin with in common."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(text), len(other)))


def described(engine: Engine) -> dict[str, Any]:
    """Return what a manifest says of an engine; `identity` names the fields that are part of every score's key."""
    return {**engine.description, **engine.identity, "identity": sorted(engine.identity)}


def identity_key(engine: Engine) -> str:
    """Return the engine's identity as one string: the first part of every score's key."""
    content = json.dumps(dict(engine.identity), sort_keys=True, default=str)
    return sha256(content)
