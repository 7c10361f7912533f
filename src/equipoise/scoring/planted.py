"""An engine with a bias of known size: for tests, for the docs, and for planning how much data an audit needs."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from ..records import BASELINE, Example, ModelError, Prompt, Score
from ..uncertainty import P_TRUE
from .engine import EngineDefaults, identity_key


@dataclass(frozen=True)
class PlantedEngine(EngineDefaults):
    """Prefers the right candidate by `strength` logits, and the stereotypical one by `bias` more.

    With two candidates P(right) is sigmoid(strength + bias) for pro- and sigmoid(strength - bias) for
    anti-stereotypical items; without a right answer P(stereotypical) is sigmoid(bias). `other` is the logit of every
    further candidate, `noise` the standard deviation of a normal disturbance (fixed for each text), and `mass`
    the raw probability of all candidates together. `male` multiplies the logits of sentences about a man: above 1 the
    model is more certain of them. `wording` is the standard deviation of a normal number that each wording of the
    question adds to `strength`. `seed` draws other noise. Two engines are equal when their numbers are, whatever they
    were prepared with.
    """

    strength: float = 2.0
    bias: float = 0.5
    other: float = -4.0
    noise: float = 0.0
    mass: float = 0.9
    male: float = 1.0
    wording: float = 0.0
    seed: float = 0.0
    name = "planted"
    truth: dict[str, Example] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 < self.mass <= 1 or min(self.noise, self.male, self.wording) < 0:
            raise ModelError("planted: mass must be in (0, 1], and noise, male and wording must not be negative")

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"engine": self.name, **{number: getattr(self, number) for number in _numbers()}}

    def prepare(self, examples: Iterable[Example]) -> None:
        """Learn the right and the stereotypical answers of these examples."""
        self.truth.update((example.id, example) for example in examples)

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        identity = identity_key(self)
        for batch in batches:
            if any(prompt.variant == BASELINE for prompt in batch):
                raise ModelError("a planted engine has no probabilities for words without their sentence, so not pmi")
            yield [Score(prompt.key(identity), self._logprobs(prompt)) for prompt in batch]

    def _logprobs(self, prompt: Prompt) -> tuple[tuple[float], ...]:
        """Return the log-probability of each continuation, as one token."""
        name, _, proposed = prompt.variant.partition("=")
        if name == P_TRUE:  # it calls an answer true as often as it would give it among two
            true, false = (min(int(proposed), 1), 1 - min(int(proposed), 1))
            values = self._of_candidates(prompt)
            return values[true], values[false]
        return self._of_candidates(prompt)

    def _of_candidates(self, prompt: Prompt) -> tuple[tuple[float], ...]:
        example = self.truth.get(prompt.example_id)
        if example is None:
            raise ModelError(f"the planted engine was not prepared with example {prompt.example_id}")
        logits = [0.0, 0.0] + [self.other] * (len(prompt.continuations) - 2)
        if example.gold is not None and example.answerable:
            logits[example.gold] += self.strength + self.wording * _of_wording(prompt.variant, self.seed)
        if example.stereotype is not None:
            for index in range(len(example.candidates)):
                logits[index] += self.bias / 2 if index == example.stereotype else -self.bias / 2
        if self.noise:
            drawn = (prompt.context, prompt.continuations, *([self.seed] if self.seed else []))
            logits[0] += self.noise * _normal(repr(drawn))
        if example.groups.get("gender") == "male":
            logits = [self.male * logit for logit in logits]
        top = max(logits)  # taken off first: exp of a large strength overflows
        total = top + math.log(math.fsum(math.exp(logit - top) for logit in logits)) - math.log(self.mass)
        return tuple((min(logit - total, 0.0),) for logit in logits)


def _normal(text: str) -> float:
    """Return a standard normal number that depends on the text alone (Box-Muller on its hash)."""
    digest = hashlib.sha256(text.encode()).digest()
    u, v = (int.from_bytes(digest[i : i + 8], "big") / 2**64 for i in (0, 8))
    return math.sqrt(-2 * math.log(1 - u)) * math.cos(2 * math.pi * v)


def _of_wording(variant: str, seed: float) -> float:
    """Return the number of the wording that a variant names; 0 where there is one wording only."""
    names = [part for part in variant.split(",") if part.startswith("wording=")]
    return _normal(names[0] + (f" {seed:g}" if seed else "")) if names else 0.0


def _numbers() -> list[str]:
    """Return the names of the numbers of a planted engine."""
    return [field.name for field in fields(PlantedEngine) if field.name != "truth"]


def open_planted(settings: str) -> PlantedEngine:
    """Return the planted engine of `strength=2,bias=0.5,…`; an unknown or unreadable setting is an error."""
    known = _numbers()
    values: dict[str, Any] = {}
    for part in filter(None, settings.split(",")):
        name, _, value = part.partition("=")
        if name.strip() not in known:
            raise ModelError(f"planted: unknown setting {name.strip()!r}; the settings are: {', '.join(known)}")
        try:
            values[name.strip()] = float(value)
        except ValueError:
            raise ModelError(f"planted: {name.strip()} must be a number, not {value!r}") from None
        if not math.isfinite(values[name.strip()]):
            raise ModelError(f"planted: {name.strip()} must be finite, not {value!r}")
    return PlantedEngine(**values)
