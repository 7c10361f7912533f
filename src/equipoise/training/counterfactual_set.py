"""A counterfactual set to train on; nothing here needs a dataset or a table."""

from __future__ import annotations

from dataclasses import dataclass

from ..records import Example
from .objective import TrainingError


@dataclass(frozen=True)
class TrainingSet:
    """Examples that differ only in a group word; `template` is their sentence without occupations and group words."""

    id: str
    members: tuple[Example, ...]
    template: str

    def __post_init__(self) -> None:
        if len(self.members) < 2:
            raise TrainingError(f"set {self.id} has one member; a counterfactual set needs at least two")
        if len({example.answerable for example in self.members}) > 1:
            raise TrainingError(f"set {self.id} mixes answerable and unanswerable sentences")
        if len({example.candidates for example in self.members}) > 1:
            raise TrainingError(f"set {self.id} has members with different candidates")

    @property
    def answerable(self) -> bool:
        """Whether the sentences have a right answer."""
        return self.members[0].answerable

    @property
    def candidates(self) -> tuple[str, ...]:
        """The candidates, which are the same for all members."""
        return self.members[0].candidates
