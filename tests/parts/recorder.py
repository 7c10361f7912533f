"""An engine that remembers what it was asked, and a store that is filled with its scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from equipoise.records import Example, Prompt, Score
from equipoise.scoring.engine import EngineDefaults
from equipoise.scoring.planted import PlantedEngine
from equipoise.scoring.score_store import ScoreStore


class Recorder(EngineDefaults):
    """The planted engine in batches of three, which remembers what it was asked."""

    name = "recorder"

    def __init__(self, prompts: Iterable[Prompt], *, bias: float = 0.5, batch: int = 3) -> None:
        known = {prompt.example_id for prompt in prompts}
        examples = [Example(name, "text", ("nurse", "driver"), 0, True, 1, {}, "pair") for name in known]
        self.planted = PlantedEngine(bias=bias, noise=1.0)
        self.planted.prepare(examples)
        self.batch = batch
        self.asked: list[list[str]] = []

    @property
    def identity(self) -> Mapping[str, Any]:
        return self.planted.identity

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        places = list(range(len(prompts)))
        return [places[start : start + self.batch] for start in range(0, len(places), self.batch)]

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        for batch in batches:
            self.asked.append([str(prompt.context) for prompt in batch])
            yield from self.planted.score([batch])


def questions(count: int = 9) -> list[Prompt]:
    return [Prompt(f"e{i}", "task", "", f"Question {i}?", (" nurse", " driver")) for i in range(count)]


def fill(path: Path, prompts: Sequence[Prompt], **settings: Any) -> tuple[list[Score], Recorder, list[str]]:
    engine = Recorder(prompts, **settings)
    with ScoreStore(path) as store:
        return store.scorer(engine)(prompts), engine, store.notes
