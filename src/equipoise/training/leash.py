"""What ties a tuned model to its base: the base's own answers, and what it predicts of ordinary text without people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .. import packaged
from ..scoring.encoding import Encoder
from .batches import candidate_logprobs
from .objective import TrainingError


class Reference:
    """The base model: the tuned one without its adapter, or a frozen copy where all weights are tuned."""

    def __init__(self, model: Any, frozen: Any | None = None) -> None:
        self._model, self._frozen = model, frozen

    @contextmanager
    def model(self) -> Iterator[Any]:
        """Give the base model for as long as the block lasts."""
        if self._frozen is not None:
            yield self._frozen
            return
        with self._model.disable_adapter():
            yield self._model


class OwnAnswers(NamedTuple):
    """The base's answers to a batch: `shares` (n, k), `averaged` within sets, and `log_mass` (n,) of all candidates."""

    shares: Tensor
    averaged: Tensor
    log_mass: Tensor


@torch.no_grad()
def own_answers(reference: Reference, batch: Mapping[str, Tensor]) -> OwnAnswers:
    """Return what the base answers to a batch of sets."""
    with reference.model() as base:
        logprobs = candidate_logprobs(base, batch)
    shares = torch.softmax(logprobs, dim=1)
    numbers = batch["sets"].to(shares.device)
    counts = torch.bincount(numbers).clamp(min=1)
    sums = shares.new_zeros(len(counts), shares.shape[1]).index_add(0, numbers, shares)
    return OwnAnswers(shares, (sums / counts[:, None])[numbers], torch.logsumexp(logprobs, dim=1))


def divergence(logprobs: Tensor, shares: Tensor) -> Tensor:
    """Return the KL divergence of each row's distribution over the candidates from the target shares, in nats."""
    wanted = shares.clamp(min=1e-12)
    return (shares * (wanted.log() - torch.log_softmax(logprobs, dim=1))).sum(dim=1)


def neutral_paragraphs() -> list[str]:
    """Return the paragraphs that ship with the package: written for Equipoise, CC0, about no people."""
    return packaged.text(__package__, "neutral.txt").strip().split("\n\n")


class NeutralText:
    """Paragraphs as rows of token ids, all of one length, so that nothing is padded."""

    def __init__(self, tokenizer: Any, paragraphs: Sequence[str], *, tokens: int = 64) -> None:
        encoder = Encoder(tokenizer)
        front = encoder.identity["leading_ids"]
        ids = [token for row in encoder.ids(paragraphs) for token in row]
        # Some models say nothing sensible without their beginning-of-text token, so each row begins with it.
        length = tokens - len(front)
        count = len(ids) // length
        if count < 1:
            raise TrainingError(f"the neutral text has {len(ids)} tokens; it needs at least {length}")
        rows = torch.tensor(ids[: count * length], dtype=torch.long).view(count, length)
        self.rows = torch.cat([torch.tensor([front] * count, dtype=torch.long).view(count, -1), rows], dim=1)

    def batch(self, step: int, *, size: int) -> Tensor:
        """Return the rows of a step: each in turn, around and around."""
        places = (torch.arange(size) + step * size) % len(self.rows)
        return self.rows[places]

    @torch.no_grad()
    def perplexity(self, model: Any, *, rows: int = 16) -> float:
        """Return exp of the mean negative log-probability of every token but the first of each row."""
        device = next(model.parameters()).device
        total, count = 0.0, 0
        for start in range(0, len(self.rows), rows):
            ids = self.rows[start : start + rows].to(device)
            logits = model(input_ids=ids, use_cache=False).logits[:, :-1].float()
            targets = ids[:, 1:]
            losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
            total, count = total + float(losses), count + targets.numel()
        return float(torch.tensor(total / count).exp())


def leash_loss(model: Any, reference: Reference, tokens: Tensor) -> Tensor:
    """Return the mean KL divergence of the tuned model's next-token distribution from the base's, in nats."""
    ids = tokens.to(next(model.parameters()).device)
    with torch.no_grad(), reference.model() as base:
        expected = torch.log_softmax(base(input_ids=ids, use_cache=False).logits.float(), dim=-1)
    predicted = torch.log_softmax(model(input_ids=ids, use_cache=False).logits.float(), dim=-1)
    return (expected.exp() * (expected - predicted)).sum(dim=-1).mean()
