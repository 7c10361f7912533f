"""Prompts of a dataset, their scores in order, and how many tokens they have at least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equipoise.datasets import Dataset
from equipoise.garbage import existing_kept
from equipoise.records import Prompt, Score
from equipoise.scoring.packing.prefix_tree import Sequences, shared_prefixes
from equipoise.tasks import Task, open_task


def prompts_of(dataset: Dataset, task: Task | None = None) -> list[Prompt]:
    """Return what a task, by default next word, asks about a dataset."""
    asks = task or open_task("next-word")
    return [prompt for example in dataset.examples for prompt in asks.prompts(example)]  # type: ignore[attr-defined]


def scores_of(engine: Any, prompts: Sequence[Prompt]) -> list[Score]:
    """Return the scores of all prompts, in their order; planning is part of the work."""
    scores: list[Any] = [None] * len(prompts)
    order = engine.batches(prompts)
    with existing_kept():  # as a run's store does
        for places, batch in zip(order, engine.score([prompts[i] for i in part] for part in order), strict=True):
            for place, score in zip(places, batch, strict=True):
                scores[place] = score
    return scores


def distinct_tokens(engine: Any, prompts: Sequence[Prompt]) -> int:
    """Return how many tokens a prefix tree of all prompts has (the last token of a candidate is not computed)."""
    questions = engine._encoder.questions(prompts)
    sequences = Sequences.of(
        [(*sequence[:-1], 0) for question in questions for sequence in question.sequences],
        [start for question in questions for start in question.starts],
    )
    ordered = sequences.take(np.lexsort(sequences.tokens.T[::-1]))
    computed = ordered.lengths - 1
    return int((computed - shared_prefixes(ordered.tokens, computed)).sum())
