"""An engine that is less sure of some identities by amounts of known size: the check on every metric of identities."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from equipoise.records import Example, ModelError, Prompt, Score, marked_slot
from equipoise.scoring.engine import EngineDefaults, identity_key
from equipoise.scoring.planted import _normal as normal


@dataclass(frozen=True)
class PlantedIdentities(EngineDefaults):
    """Leads with the referent by `confidence`, less the penalties of the referent's marker and gender.

    The two candidates share `mass`; of what a marked candidate gets, the share `echo` goes to naming it with its
    marker ("young nurse"). So confidence with markers counted is confidence - penalties exactly, and raw confidence
    lower by echo x P(referent) where the referent is marked. `noise` is the standard deviation of a normal disturbance,
    one a sentence and one, half as large, an item.
    """

    confidence: float = 0.4
    penalties: Mapping[str, float] = field(default_factory=dict)
    genders: Mapping[str, float] = field(default_factory=dict)
    mass: float = 0.9
    echo: float = 0.0
    noise: float = 0.0
    name = "planted-identities"
    truth: dict[str, Example] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 < self.mass <= 1 or not 0 <= self.echo < 1 or self.noise < 0:
            raise ModelError("planted: mass must be in (0, 1], echo in [0, 1), and noise must not be negative")

    @property
    def identity(self) -> Mapping[str, Any]:
        plain = {name: getattr(self, name) for name in ("confidence", "mass", "echo", "noise")}
        return {"engine": self.name, **plain, "penalties": dict(self.penalties), "genders": dict(self.genders)}

    def prepare(self, examples: Iterable[Example]) -> None:
        """Learn the referents of these examples."""
        self.truth.update((example.id, example) for example in examples)

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        identity = identity_key(self)
        for batch in batches:
            yield [Score(prompt.key(identity), self._logprobs(prompt)) for prompt in batch]

    def lead(self, example: Example) -> float:
        """Return the planted confidence of an example, its markers counted."""
        groups = example.groups
        penalty = self.genders.get(groups.get("gender", ""), 0.0)
        if groups.get("augmentation") in ("R", "C"):
            penalty += self.penalties.get(groups.get("marker", ""), 0.0)
        value = self.confidence - penalty
        if self.noise:
            value += self.noise * (normal(example.cluster_id) + 0.5 * normal(example.id))
        return min(max(value, -0.99 * self.mass), 0.99 * self.mass)

    def _logprobs(self, prompt: Prompt) -> tuple[tuple[float], ...]:
        example = self.truth.get(prompt.example_id)
        if example is None or example.gold is None:
            raise ModelError(f"the planted engine was not prepared with the referent of example {prompt.example_id}")
        lead = self.lead(example)
        shares = [(self.mass + (lead if index == example.gold else -lead)) / 2 for index in range(2)]
        marked = [index for index in range(2) if example.slots.get(marked_slot(index))]
        echoed = dict.fromkeys(marked, self.echo) if len(prompt.continuations) > 2 else {}
        probs = [shares[index] * (1 - echoed.get(index, 0.0)) for index in range(2)]
        # 1e-12: a candidate that is never named with its marker still has a log-probability.
        probs += [max(shares[index] * echo, 1e-12) for index, echo in echoed.items()]
        return tuple((math.log(prob),) for prob in probs)
