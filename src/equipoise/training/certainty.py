"""Certainty in [0, 1] of a distribution over candidates, in torch: the differentiable twin of `equipoise.uncertainty`.

Everything is computed from log-probabilities, so that a probability near 0 has a finite gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from ..records import EquipoiseError


def entropy(logprobs: Tensor) -> Tensor:
    """Return the Shannon entropy of each row in nats, from normalised log-probabilities."""
    return -(logprobs.exp() * logprobs).sum(dim=-1)


def _perplexity(logprobs: Tensor) -> Tensor:
    k = logprobs.shape[-1]
    return (k - entropy(logprobs).exp()) / (k - 1)


def _entropy(logprobs: Tensor) -> Tensor:
    return 1 - entropy(logprobs) / math.log(logprobs.shape[-1])


def _renyi(logprobs: Tensor) -> Tensor:
    k = logprobs.shape[-1]
    total = torch.logsumexp(logprobs / 2, dim=-1) - math.log(k) / 2
    return -2 * total / math.log(k)


def _fisher_rao(logprobs: Tensor) -> Tensor:
    k = logprobs.shape[-1]
    # The chord between the two points of the sphere: arccos of their product has no gradient where they meet.
    chord = length((logprobs / 2).exp() - 1 / math.sqrt(k))
    return 2 * torch.asin(chord / 2) / math.acos(1 / math.sqrt(k))


def _margin(logprobs: Tensor) -> Tensor:
    best = logprobs.exp().topk(2, dim=-1).values
    return best[..., 0] - best[..., 1]


def _top_probability(logprobs: Tensor) -> Tensor:
    k = logprobs.shape[-1]
    return (k * logprobs.exp().amax(dim=-1) - 1) / (k - 1)


CERTAINTIES: Mapping[str, Callable[[Tensor], Tensor]] = {
    "perplexity": _perplexity,
    "entropy": _entropy,
    "renyi": _renyi,
    "fisher-rao": _fisher_rao,
    "margin": _margin,
    "top-probability": _top_probability,
}
"""Name -> function of normalised log-probabilities (n, k), with the names of `uncertainty.ESTIMATORS`."""


def certainty(logprobs: Tensor, *, estimator: str = "perplexity") -> Tensor:
    """Return the certainty of each row in [0, 1], from raw or normalised log-probabilities (n, k)."""
    if estimator not in CERTAINTIES:
        raise EquipoiseError(f"estimator {estimator!r} is not one of {', '.join(CERTAINTIES)}")
    return CERTAINTIES[estimator](torch.log_softmax(logprobs, dim=-1))


def length(vectors: Tensor) -> Tensor:
    """Return the Euclidean length of each row; its gradient at zero is zero instead of NaN."""
    squares = (vectors**2).sum(dim=-1)
    zero = squares == 0
    return torch.where(zero, 0.0, torch.where(zero, 1.0, squares).sqrt())
