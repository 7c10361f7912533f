"""A planted engine for tests whose answers depend on what an example says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from equipoise.records import Example, Prompt
from equipoise.scoring.planted import PlantedEngine


@dataclass(frozen=True)
class KnowingEngine(PlantedEngine):
    """A planted engine that keeps its examples, and may answer some of them as another one does."""

    known: dict[str, Example] = field(default_factory=dict, init=False, repr=False, compare=False)

    def prepare(self, examples: Sequence[Example]) -> None:
        super().prepare(examples)
        self.known.update({example.id: example for example in examples})

    def like(self, other: PlantedEngine, prompt: Prompt) -> tuple[tuple[float], ...]:
        """Return what another engine would answer."""
        other.prepare([self.known[prompt.example_id]])
        return other._logprobs(prompt)
