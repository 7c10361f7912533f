"""How fast models answered on this machine before: the times that `--dry-run` tells come from here."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..cache import cache_folder
from ..files import write_file
from ..options import EngineOptions, SeedOption, TextOptions, options_of
from ..progress import Progress

FEWEST = 100
"""Prompts or texts from which a rate is worth remembering."""


@dataclass
class Meter:
    """Passes progress on, and measures how many prompts or texts a second were done of each thing."""

    report: Progress
    clock: Callable[[], float] = time.monotonic
    _first: dict[str, tuple[int, float]] = field(default_factory=dict)
    _last: dict[str, tuple[int, float]] = field(default_factory=dict)

    def __call__(self, what: str, done: int, total: int) -> None:
        """Pass it on, and note when it came."""
        moment = self.clock()
        self._first.setdefault(what, (done, moment))
        self._last[what] = (done, moment)
        self.report(what, done, total)

    @property
    def rates(self) -> dict[str, float]:
        """How many were done in a second, by what they were; too few to tell are left out."""
        rates = {}
        for what, (before, begun) in self._first.items():
            done, ended = self._last[what]
            if done - before >= FEWEST and ended > begun:
                rates[what] = (done - before) / (ended - begun)
        return rates


def remember(model: str, options: EngineOptions, meter: Meter) -> None:
    """Keep the rates of an audit, whose progress speaks of "DATASET · TASK" and "DATASET · TASK, reasoning"."""
    measured = {}
    for what, rate in meter.rates.items():
        _, parted, rest = what.rpartition(" · ")
        task, _, reasoning = rest.partition(", ")
        if parted:
            measured[_key(model, options, task, "texts" if reasoning else "prompts")] = rate
    if measured:
        try:
            write_file(_place(), json.dumps({**_rates(), **measured}, indent=1).encode())
        except OSError:
            return  # A cache that cannot be written costs an estimate, not an audit.


def seconds(model: str, options: EngineOptions, task: str, *, prompts: int, texts: int) -> float | None:
    """Return how long the prompts and texts take at the rate measured here; None where none was measured."""
    rates = _rates()
    needed = {"prompts": prompts, "texts": texts}
    keys = {kind: _key(model, options, task, kind) for kind, count in needed.items() if count}
    if not set(keys.values()) <= rates.keys():
        return None
    return sum(needed[kind] / rates[key] for kind, key in keys.items())


def _key(model: str, options: EngineOptions, task: str, kind: str) -> str:
    # How the model is loaded and reached: texts and seeds are counted, or do not matter.
    usual, others = EngineOptions(), options_of(TextOptions, SeedOption)
    chosen = {name: str(value) for name, value in vars(options).items() if name not in others}
    return json.dumps([model, task, kind, {n: value for n, value in chosen.items() if value != str(getattr(usual, n))}])


def _place() -> Path:
    return cache_folder() / "rates.json"


def _rates() -> dict[str, float]:
    try:
        kept = json.loads(_place().read_text(encoding="utf-8"))
        return {str(key): float(rate) for key, rate in kept.items() if float(rate) > 0}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
