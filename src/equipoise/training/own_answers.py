"""The base model's own answers as targets: what it says of a set on average, whatever the group word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from .neutral import Reference
from .questions import candidate_logprobs


class OwnAnswers(NamedTuple):
    """The base's answers to a batch: `shares` (n, k), averaged within sets, and `log_mass` (n,) of all candidates."""

    shares: Tensor
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
    return OwnAnswers((sums / counts[:, None])[numbers], torch.logsumexp(logprobs, dim=1))


def divergence(logprobs: Tensor, shares: Tensor) -> Tensor:
    """Return the KL divergence of each row's distribution over the candidates from the target shares, in nats."""
    wanted = shares.clamp(min=1e-12)
    return (shares * (wanted.log() - torch.log_softmax(logprobs, dim=1))).sum(dim=1)
