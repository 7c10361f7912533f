"""An engine that kills processes at given moments: the moments are counted in a file, never timed.

`faulty:events=FILE,kill=3+8,parent=5,driver=7,driver_file=FILE,poison=word,size=4,cost=0.001`: every batch adds a byte
to FILE. At the third and the eighth batch the process kills itself (-9), at the fifth its parent, at the seventh the
process whose number is in the driver's file; a prompt with the word kills it every time. `cost` is how many seconds
each prompt takes. With `model=smollm2` that model answers, else a planted engine. `pipes=FOLDER` is for a node that is
lost: a process with FAULTY_NODE=lost writes to the pipe FOLDER/begun and waits to be killed, any other reads from the
pipe FOLDER/lost before its first batch.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from equipoise.options import EngineOptions
from equipoise.records import Prompt, Score
from equipoise.scoring.engine import Engine, EngineDefaults, identity_key, in_order
from equipoise.scoring.opening import open_engine
from equipoise.scoring.planted import PlantedEngine


@dataclass(frozen=True)
class Faults:
    """When to kill whom."""

    events: str = ""
    kill: tuple[int, ...] = ()
    parent: tuple[int, ...] = ()
    driver: tuple[int, ...] = ()
    driver_file: str = ""
    poison: str = ""
    size: int = 4
    cost: float = 0.0
    pipes: str = ""

    def strike(self, batch: Sequence[Prompt]) -> None:
        """Count the batch, and kill where it is time to."""
        number = self._count()
        if self.pipes:
            _meet(Path(self.pipes))
        if number in self.kill or any(self.poison and self.poison in str(prompt.context) for prompt in batch):
            os.kill(os.getpid(), signal.SIGKILL)
        if number in self.parent:
            os.kill(os.getppid(), signal.SIGKILL)
        if number in self.driver:
            os.kill(int(Path(self.driver_file).read_text()), signal.SIGKILL)
        time.sleep(self.cost * len(batch))

    def _count(self) -> int:
        if not self.events:
            return 0
        handle = os.open(self.events, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(handle, b".")
            return os.fstat(handle).st_size
        finally:
            os.close(handle)


@cache
def _meet(pipes: Path) -> None:
    """Wait for the loss of the node, once in each process."""
    if os.environ.get("FAULTY_NODE") == "lost":
        (pipes / "begun").write_bytes(b".")
        signal.pause()
    with open(pipes / "lost", "rb") as pipe:
        pipe.read(1)


@dataclass(frozen=True)
class FaultyEngine(PlantedEngine):
    """A planted engine with faults; its answers and its identity are the same whatever they are."""

    faults: Faults = field(default_factory=Faults)
    name = "faulty"

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"engine": "planted, faulty", "noise": self.noise}

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        return in_order(len(prompts), size=self.faults.size)

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        identity = identity_key(self)
        for batch in batches:
            self.faults.strike(batch)
            yield [Score(prompt.key(identity), self._logprobs(prompt)) for prompt in batch]


class FaultyModel(EngineDefaults):
    """A real model with faults; name, identity and answers are the model's own."""

    def __init__(self, model: Engine, faults: Faults) -> None:
        self._model, self._faults = model, faults
        self.name = model.name

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._model.identity

    @property
    def description(self) -> Mapping[str, Any]:
        return self._model.description

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        return in_order(len(prompts), size=self._faults.size)

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        for batch in batches:
            self._faults.strike(batch)
            yield from self._model.score([batch])


def open_faulty(settings: str, options: EngineOptions) -> Engine:
    """An engine that kills processes."""
    values: dict[str, Any] = dict(part.split("=", 1) for part in settings.split(",") if part)
    model = values.pop("model", "")
    for name in ("kill", "parent", "driver"):
        if name in values:
            values[name] = tuple(int(number) for number in values[name].split("+"))
    kinds = {"size": int, "cost": float}
    faults = Faults(**{name: kinds.get(name, lambda text: text)(value) for name, value in values.items()})
    return FaultyModel(open_engine(model, options), faults) if model else FaultyEngine(noise=0.7, faults=faults)
