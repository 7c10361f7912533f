"""An engine that was asked before: what it answered is in a run's stores, and it answers nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..records import Context, Prompt, RunError, Sampling, Score
from .engine import Engine, EngineDefaults, described
from .score_store import ScoreStore
from .text_store import TextStore


class KeptEngine(EngineDefaults):
    """The engine that a manifest describes; `fields` are what it says of it, `identity` names those of the keys."""

    def __init__(self, name: str, fields: Mapping[str, Any]) -> None:
        self.name, self._fields = name, dict(fields)

    @property
    def identity(self) -> Mapping[str, Any]:
        return {name: self._fields[name] for name in self._fields.get("identity", ())}

    @property
    def description(self) -> Mapping[str, Any]:
        return self._fields

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        missing = [prompt for batch in batches for prompt in batch]
        if missing:
            first = missing[0].example_id
            raise RunError(f"{len(missing):,} prompts have no score in scores.jsonl, the first is of {first}")
        yield from ()

    def generate(self, contexts: Sequence[Context], max_new_tokens: int, sampling: Sampling | None = None) -> list[str]:
        raise RunError("reasoning.jsonl does not have what the model wrote about every question")


def kept_answers(engine: Engine, store: ScoreStore, texts: TextStore) -> dict[str, Any]:
    """Return what scores and what writes for a task, from what an engine has said already; anything else is refused."""
    kept = KeptEngine(engine.name, described(engine))
    return {"scorer": store.scorer(kept), "writer": texts.writer(kept)}
