"""Sentences from outside the training data, which show whether a model has learned more than a rule of that data.

The built-in sentences are never trained on, and the right person is mentioned first as often as second. A model that
learns "always name the first person" gains on one half and loses on the other.
"""

from __future__ import annotations

from ..datasets import open_dataset
from .counterfactual_set import TrainingSet
from .training_sets import sets_of
from .validation import spread

OUTSIDE = "builtin"


def outside_sets(count: int = 0) -> list[TrainingSet]:
    """Return at most that many answerable built-in sets, half of them about each person; 0 for all."""
    sets = [item for item in sets_of(open_dataset(OUTSIDE)) if item.answerable]
    halves = [[item for item in sets if item.members[0].gold == position] for position in (0, 1)]
    return [item for half in halves for item in spread(half, max(1, count // 2) if count else 0)]
