"""Summaries of a distribution over the whole vocabulary, from two sums that a device computes; no torch.

The estimators of `equipoise.uncertainty` with k = the size of the vocabulary. Rényi's divergence of order 1/2 and
Fisher and Rao's distance are both functions of one overlap with the uniform distribution, sum sqrt(p_i / k).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

REDUCTIONS = {
    "vocab_bits": "entropy of the next token over the whole vocabulary, in bits",
    "vocab_entropy": "certainty by entropy: 1 - bits / log2 of the vocabulary's size",
    "vocab_renyi": "certainty by Rényi's divergence from uniform, order 1/2, over the whole vocabulary",
    "vocab_fisher_rao": "certainty by Fisher and Rao's distance from uniform, over the whole vocabulary",
    "vocab_mass": "probability that the next token begins one of the continuations",
}


def reductions(nats: float, overlap: float, vocabulary: int, mass: float) -> dict[str, float]:
    """Return the summaries of a distribution from its entropy and its overlap with uniform; all but bits in [0, 1]."""
    overlap = min(max(overlap, 1 / math.sqrt(vocabulary)), 1.0)
    return {
        "vocab_bits": max(nats, 0.0) / math.log(2),
        "vocab_entropy": _share(1 - nats / math.log(vocabulary)),
        "vocab_renyi": _share(-2 * math.log(overlap) / math.log(vocabulary)),
        "vocab_fisher_rao": _share(math.acos(overlap) / math.acos(1 / math.sqrt(vocabulary))),
        "vocab_mass": _share(mass),
    }


def first_token_mass(firsts: Iterable[tuple[int, float]]) -> float:
    """Return the probability of the first tokens, given as (token, log-probability); a repeated token counts once."""
    return math.fsum(math.exp(value) for value in dict(firsts).values())


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)
