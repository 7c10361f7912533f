"""A planted engine that kills processes at given moments: the moments are counted in a file, never timed.

`faulty:events=FILE,kill=3+8,parent=5,driver=7,driver_file=FILE,poison=word,size=4,cost=0.001`: every batch adds a byte
to FILE. At the third and the eighth batch the process kills itself (-9), at the fifth its parent, at the seventh the
process whose number is in the driver's file; a prompt with the word kills it every time. `cost` is how many seconds
each prompt takes.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from equipoise.records import Prompt, Score
from equipoise.scoring.engine import identity_key, in_order
from equipoise.scoring.planted.stereotype import PlantedEngine


@dataclass(frozen=True)
class FaultyEngine(PlantedEngine):
    """A planted engine with faults; its answers and its identity are the same whatever they are."""

    events: str = ""
    kill: tuple[int, ...] = ()
    parent: tuple[int, ...] = ()
    driver: tuple[int, ...] = ()
    driver_file: str = ""
    poison: str = ""
    size: int = 4
    cost: float = 0.0
    name = "faulty"

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"engine": "planted, faulty", "noise": self.noise}

    def batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        return in_order(len(prompts), size=self.size)

    def score(self, batches: Iterable[Sequence[Prompt]]) -> Iterator[list[Score]]:
        identity = identity_key(self)
        for batch in batches:
            number = self._count()
            if number in self.kill or any(self.poison and self.poison in str(prompt.context) for prompt in batch):
                os.kill(os.getpid(), signal.SIGKILL)
            if number in self.parent:
                os.kill(os.getppid(), signal.SIGKILL)
            if number in self.driver:
                os.kill(int(Path(self.driver_file).read_text()), signal.SIGKILL)
            time.sleep(self.cost * len(batch))
            yield [Score(prompt.key(identity), self._logprobs(prompt)) for prompt in batch]

    def _count(self) -> int:
        if not self.events:
            return 0
        handle = os.open(self.events, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(handle, b".")
            return os.fstat(handle).st_size
        finally:
            os.close(handle)


def open_faulty(settings: str, options: object) -> FaultyEngine:
    """An engine that kills processes."""
    values: dict[str, Any] = dict(part.split("=", 1) for part in settings.split(",") if part)
    for name in ("kill", "parent", "driver"):
        if name in values:
            values[name] = tuple(int(number) for number in values[name].split("+"))
    kinds = {"size": int, "cost": float}
    return replace(FaultyEngine(noise=0.7), **{name: kinds.get(name, lambda v: v)(v) for name, v in values.items()})
