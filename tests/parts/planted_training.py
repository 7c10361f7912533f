"""A network without a language model, and answers that depend on the question alone: losses of it are exact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tiny import make_tokenizer

from equipoise.training import Questions, leash, step_loss, understanding, validation
from equipoise.training.decided import decided_sets
from equipoise.training.grammar import grammar_dataset, marker_sets
from equipoise.training.leash import NeutralText
from equipoise.training.training_sets import TrainingSet, sets_of


class Bigram(torch.nn.Module):
    """Predicts each token by the one before it; `adapted` moves its weights as an adapter does."""

    def __init__(self, vocabulary: int, *, seed: int = 0, moved: float = 0.3) -> None:
        super().__init__()
        drawn = torch.Generator().manual_seed(seed)
        self.base = torch.nn.Parameter(torch.randn(vocabulary, vocabulary, generator=drawn, dtype=torch.float64))
        self.moved = torch.nn.Parameter(
            moved * torch.randn(vocabulary, vocabulary, generator=drawn, dtype=torch.float64)
        )
        self.base.requires_grad_(False)
        self.adapted = True

    def forward(self, input_ids: torch.Tensor, use_cache: bool = True) -> Any:
        """Return the logits, as a model of transformers does."""
        assert not use_cache, "a cache of keys is not needed, and takes memory"
        return SimpleNamespace(logits=(self.base + self.moved if self.adapted else self.base)[input_ids])

    @contextmanager
    def disable_adapter(self) -> Iterator[None]:
        """Be the base for as long as the block lasts."""
        self.adapted = False
        try:
            yield
        finally:
            self.adapted = True


def planted_logprobs(model: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Return log-probabilities of candidates that follow from each question's number and the model's weights."""
    rows, width = len(batch["gold"]), int(batch["width"][0])
    numbers = torch.arange(rows * width, dtype=torch.float64).view(rows, width)
    base = -1 - 2 * torch.sin(1.7 * numbers + batch["gold"][:, None] + len(batch["tokens"])) ** 2
    return base + (model.moved[0, 0] * torch.cos(2.3 * numbers) if model.adapted else 0)


def plant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every part of the training ask planted answers."""
    for module in (leash, step_loss, understanding, validation):
        monkeypatch.setattr(module, "candidate_logprobs", planted_logprobs)


@cache
def few_sets() -> tuple[TrainingSet, ...]:
    """Return some sets of every kind: with an answer, without one, with markers, and decided by the group word."""
    dataset = grammar_dataset(seed=5, resolvable=14, ambiguous=7)
    marked = [TrainingSet(members[0].set_id, members, "marked") for members in marker_sets(dataset, seed=5, count=3)]
    decided = [TrainingSet(m[0].set_id, m, m[0].cluster_id) for m in decided_sets(seed=5, count=9)]
    return (*sets_of(dataset), *marked, *decided)


@cache
def questions() -> Questions:
    """Return the questions of a tiny tokenizer."""
    return Questions(make_tokenizer())


def neutral(rows: int = 3) -> NeutralText:
    """Return that many rows of neutral text."""
    return NeutralText(make_tokenizer(), ["One bright day the river rose. " * 20 * rows], tokens=40)
