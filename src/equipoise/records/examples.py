"""What a model is asked about: a sentence with its candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from .errors import DatasetError

DECIDED = "type3"
"""The type of sentences in which the group word decides the answer. Being alike is good in all others, but not here."""


@dataclass(frozen=True, slots=True)
class SentencePair:
    """Both sentences of an example that is its own counterfactual: its candidates are the words in which they differ.

    `before` is what both sentences begin with, `rests` is how each goes on, and `sides` names whom each candidate
    stands for, such as "male" and "female".
    """

    before: str
    rests: tuple[str, ...]
    sides: tuple[str, ...]

    @property
    def label(self) -> str:
        """The names of the sides as a column of `outcomes.parquet` holds them."""
        return "|".join(self.sides)


@dataclass(frozen=True, slots=True)
class Example:
    """One sentence with its candidates.

    `gold` is the right candidate and `stereotype` the one a stereotype would choose; both are indices or None.
    `answerable` says whether the text alone settles the question. Examples that differ only in the group word share
    a `set_id`; all that share a base sentence are resampled together and share a `cluster_id` (default: the set).
    `slots` are the words a task puts into its question, such as the pronoun. `pair` is given where the example holds
    both of its sentences itself. `good` is the candidate that is good for the person whom a decision is about.
    """

    id: str
    text: str
    candidates: tuple[str, ...]
    gold: int | None
    answerable: bool
    stereotype: int | None
    groups: Mapping[str, str]
    set_id: str
    cluster_id: str = ""
    slots: Mapping[str, str] = field(default_factory=dict)
    pair: SentencePair | None = None
    good: int | None = None

    def __post_init__(self) -> None:
        if not self.id or not self.set_id:
            raise DatasetError(f"example {self.id or self.text!r}: id and set_id must not be empty")
        if not self.cluster_id:
            object.__setattr__(self, "cluster_id", self.set_id)
        if self.pair is not None and len(self.pair.sides) != len(self.candidates):
            raise DatasetError(f"example {self.id}: needs one side for each of {len(self.candidates)} candidates")
        if not isinstance(self.text, str) or not self.text.strip():
            raise DatasetError(f"example {self.id}: the text is empty")
        if len(self.candidates) < 2:
            raise DatasetError(f"example {self.id}: needs at least two candidates, has {len(self.candidates)}")
        for candidate in self.candidates:
            if not isinstance(candidate, str) or not candidate.strip():
                raise DatasetError(f"example {self.id}: candidate {candidate!r} is not text")
        if _repeat(tuple(self.candidates)):
            raise DatasetError(f"example {self.id}: candidates {list(self.candidates)} repeat")
        for name, index in (("gold", self.gold), ("stereotype", self.stereotype), ("good", self.good)):
            if index is not None and not 0 <= index < len(self.candidates):
                raise DatasetError(f"example {self.id}: {name} {index} is not one of {len(self.candidates)} candidates")
        if self.answerable and self.gold is None:
            raise DatasetError(f"example {self.id}: answerable, but no right answer is given")


@lru_cache(maxsize=4096)
def _repeat(candidates: tuple[str, ...]) -> bool:
    """Return whether two candidates are one, whatever their case; many examples share theirs."""
    return len({candidate.strip().lower() for candidate in candidates}) < len(candidates)


def marked_slot(index: int) -> str:
    """Return the slot that says how a candidate is named with the marker its sentence gives it, as "young nurse"."""
    return f"marked:{index}"


def marked_names(example: Example) -> dict[int, str]:
    """Return the candidates whose sentence gives them a marker, each as it is named with it."""
    candidates, slots = _marked_slots(len(example.candidates)), example.slots
    if candidates.keys().isdisjoint(slots):  # as in most datasets
        return {}
    return {index: slots[slot] for slot, index in candidates.items() if slots.get(slot)}


@lru_cache
def _marked_slots(count: int) -> dict[str, int]:
    return {marked_slot(index): index for index in range(count)}
