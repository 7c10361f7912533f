"""Items of one type added up by base sentence and subgroup, and the resamples of base sentences.

A sentence has up to 158 variants. Added up first, a resample is a product of small matrices, whatever their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..metrics import confidence
from ..records import Booleans, Floats, Outcomes
from ..stats import bootstrap
from ..uncertainty import PERPLEXITY

NONE, NEUTRAL = "none", "neutral"
KEYS = ("augmentation", "attribute", "marker", "gender")


class Resampling(Protocol):
    """How to resample."""

    @property
    def resamples(self) -> int: ...
    @property
    def level(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def permutations(self) -> int: ...
    @property
    def intervals(self) -> bool: ...


class SentenceTable:
    """Items of one type, added up by base sentence and subgroup, and the resamples of base sentences."""

    def __init__(self, outcomes: Outcomes, plan: Resampling) -> None:
        labelled = outcomes.take(outcomes.labelled)
        self.values = _values(labelled)
        self.groups = {name: labelled.group(name) for name in (*KEYS, "privilege", "occupation", "stereotype", "side")}
        self.cluster = bootstrap.cluster_numbers(labelled.cluster_id)
        self.clusters = int(self.cluster.max()) + 1
        self.cell = bootstrap.joint_numbers(*(bootstrap.cluster_numbers(self.groups[key]) for key in KEYS))
        first = np.unique(self.cell, return_index=True)[1]
        self.cells = [{name: str(self.groups[name][row]) for name in (*KEYS, "privilege")} for row in first]
        self.share = contrast_shares(labelled)
        chunks = bootstrap.weight_chunks(self.clusters, resamples=plan.resamples, seed=plan.seed)
        self.weights = np.concatenate(list(chunks()), axis=1).astype(np.float64)

    def sums(
        self, name: str, rows: NDArray[Any] | slice = slice(None), *, squared: bool = False
    ) -> tuple[Floats, Floats]:
        """Return (sums, counts) of a value, or of its square, by base sentence and subgroup, over some rows."""
        values, share = self.values[name][rows], self.share[rows]
        values = values**2 if squared else values
        places = self.cluster[rows] * len(self.cells) + self.cell[rows]
        shape = (self.clusters, len(self.cells))
        size = shape[0] * shape[1]
        total: Floats = np.bincount(places, weights=values * share, minlength=size).reshape(shape).astype(np.float64)
        count: Floats = np.bincount(places, weights=share, minlength=size).reshape(shape).astype(np.float64)
        return total, count

    def choose(self, level: Sequence[str]) -> list[tuple[dict[str, str], Booleans]]:
        """Return the groups of that level and which subgroups each holds; neutral markers only count by themselves."""
        groups: dict[tuple[str, ...], list[int]] = {}
        for number, cell in enumerate(self.cells):
            pooled = not {"attribute", "privilege"} & set(level)
            if pooled and cell["privilege"] == NEUTRAL and self._has_sides(cell["augmentation"]):
                continue
            key = tuple(cell[name] for name in level)
            if all(value or name == "gender" for name, value in zip(level, key, strict=True)):
                groups.setdefault(key, []).append(number)
        inside = []
        for key, numbers in groups.items():
            mask = np.zeros(len(self.cells), dtype=bool)
            mask[numbers] = True
            inside.append(({name: value for name, value in zip(level, key, strict=True) if value}, mask))
        return inside

    def _has_sides(self, augmentation: str) -> bool:
        return any(c["privilege"] not in ("", NEUTRAL) for c in self.cells if c["augmentation"] == augmentation)


def _values(outcomes: Outcomes) -> dict[str, Floats]:
    """Return the value of each item by metric."""
    raw = confidence.coreference_confidence(outcomes.gold, outcomes.logprobs)
    values = {
        "confidence": raw,
        "confidence_pair": confidence.pair_confidence(outcomes.gold, outcomes.logprobs),
        "accuracy": (raw > 0).astype(np.float64),
        "candidate_mass": np.exp(outcomes.logprobs).sum(axis=1),
    }
    answered = answered_items(outcomes)
    if answered is not None:
        values["coverage"] = answered
    if outcomes.logprobs_with_marker is not None:
        values["confidence_marked"] = confidence.coreference_confidence(outcomes.gold, outcomes.logprobs_with_marker)
    return values


def answered_items(outcomes: Outcomes) -> Floats | None:
    """Return 1 for items that a model answers which may decline, else 0; None without unmarked sentences.

    It answers where it is at least as certain as on half of the unmarked sentences: who is then declined more often?
    """
    certainty = PERPLEXITY.certainty(outcomes.probs)
    unmarked = outcomes.labelled & (outcomes.group("augmentation") == NONE)
    return (certainty >= np.median(certainty[unmarked])).astype(np.float64) if unmarked.any() else None


def contrast_shares(outcomes: Outcomes) -> Floats:
    """Return what each item counts: a marker with three contrasts has three items for each sentence, a third each."""
    share = np.ones(len(outcomes))
    rows = np.flatnonzero(outcomes.group("contrast") != "")
    if len(rows):
        marker = bootstrap.cluster_numbers(outcomes.group("marker")[rows])
        contrast = bootstrap.cluster_numbers(outcomes.group("contrast")[rows])
        pairs = np.unique(np.stack([marker, contrast]), axis=1)
        share[rows] = 1 / np.bincount(pairs[0])[marker]
    return share
