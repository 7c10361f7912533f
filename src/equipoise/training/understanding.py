"""Whether a tuned model still understands the group word: `gendered`, whose sentences only the word settles.

All other validation sentences are ones in which the word must not matter, so a model that ignores it does best there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from ..datasets.gendered import MARKERS
from ..records import Floats
from ..records.outcomes import Booleans
from .batches import Questions, candidate_logprobs
from .leash import Reference
from .training_sets import TrainingSet

CHANCE = 0.5
"""What a model gets that ignores the group word: within a set the right answer changes with it."""


@dataclass(frozen=True)
class Understanding:
    """The share of right answers where the group word decides, its interval, and the change from the base's.

    `male`, `female` and `other` are the shares for he, for she, and for they and markers; those named `marker` are over
    the sets in which a marker ("the old one") decides. A value over no sets is NaN.
    """

    accuracy: float = float("nan")
    low: float = float("nan")
    male: float = float("nan")
    female: float = float("nan")
    other: float = float("nan")
    change_low: float = float("nan")
    change_high: float = float("nan")
    marker: float = float("nan")
    marker_low: float = float("nan")
    marker_change_low: float = float("nan")
    marker_change_high: float = float("nan")

    def row(self) -> dict[str, float]:
        """Return the values by their names in the table of validations."""
        return {f"word_{name}": value for name, value in asdict(self).items()}


def mean_interval(values: Floats) -> tuple[float, float]:
    """Return the 95% interval of the mean over sets; equal values have one as well, from two sets half a point apart.

    The betting intervals of audits hold at any number of sets, but exclude a loss of 2 points only from thousands on.
    """
    n, mean = len(values), float(values.mean())
    spread = math.sqrt((float(((values - mean) ** 2).sum()) + 0.5) / n)
    return mean - 1.96 * spread / math.sqrt(n), mean + 1.96 * spread / math.sqrt(n)


class Control:
    """Asks a model the sentences that only the group word settles, and compares it with its base, set by set."""

    def __init__(self, sets: Sequence[TrainingSet], questions: Questions, reference: Reference | None) -> None:
        self._reference = reference
        self._batches = [questions.batch(sets[start : start + 32]) for start in range(0, len(sets), 32)]
        self._groups = np.array([m.groups.get("gender", "") for item in sets for m in item.members])
        self._sets = np.array([number for number, item in enumerate(sets) for _ in item.members])
        self._marked = np.array([item.members[0].groups.get("clue") in MARKERS for item in sets], dtype=bool)
        self._base: Floats | None = None

    @torch.no_grad()
    def run(self, model: Any) -> Understanding:
        """Return how well the model understands the group word."""
        if not len(self._sets):
            return Understanding()
        right = self._right(model)
        by_set = self._by_set(right)
        groups = {
            "male": self._groups == "male",
            "female": self._groups == "female",
            "other": ~np.isin(self._groups, ("male", "female")),
        }
        shares = {name: float(right[rows].mean()) if rows.any() else float("nan") for name, rows in groups.items()}
        every = np.full(len(by_set), fill_value=True)
        values = {**self._of_sets("", by_set, every), **self._of_sets("marker_", by_set, self._marked)}
        if self._marked.any():
            shares["marker"] = float(by_set[self._marked].mean())
        return Understanding(float(by_set.mean()), **shares, **values)

    def _of_sets(self, part: str, by_set: Floats, chosen: Booleans) -> dict[str, float]:
        """Return the lower end of the interval over the chosen sets, and the interval of the change from the base."""
        if not chosen.any():
            return {}
        values = {f"{part}low": mean_interval(by_set[chosen])[0]}
        if self._reference is not None:
            if self._base is None:
                with self._reference.model() as base:
                    self._base = self._by_set(self._right(base))
            low, high = mean_interval((by_set - self._base)[chosen])
            values |= {f"{part}change_low": low, f"{part}change_high": high}
        return values

    def _right(self, model: Any) -> Floats:
        """Return 1 for each sentence whose most probable candidate is the right one, else 0."""
        right = [
            (candidate_logprobs(model, batch).argmax(dim=1).cpu() == batch["gold"]).double().numpy()
            for batch in self._batches
        ]
        return np.concatenate(right)

    def _by_set(self, right: Floats) -> Floats:
        return np.bincount(self._sets, right) / np.bincount(self._sets)
