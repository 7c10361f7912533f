"""Sampled answers as if fewer had been drawn: what half of them would have measured shows what all of them bias."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...records import Floats, Integers, Limits, Outcomes
from ...records.limits import NO_CLASS, PSEUDOCOUNT

THINNINGS = 16
"""How often half of the answers are drawn; their mean is what counts."""


def thinned(outcomes: Outcomes, limits: Limits, *, seed: int) -> Iterator[Outcomes]:
    """Yield the outcomes as half of each item's answers give them, drawn without replacement."""
    assert limits.counts is not None
    rng = np.random.default_rng(seed)
    for _ in range(THINNINGS):
        yield with_counts(outcomes, _half(limits.counts, rng))


def _half(counts: Integers, rng: np.random.Generator) -> Integers:
    drawn = np.where(counts == NO_CLASS, NO_CLASS, 0)
    present = np.maximum(counts, 0)
    wanted = present.sum(axis=1) // 2
    rest = present.sum(axis=1)
    for place in range(counts.shape[1]):
        rest = rest - present[:, place]
        number = rng.hypergeometric(present[:, place], rest, wanted)
        drawn[:, place] = np.where(counts[:, place] == NO_CLASS, NO_CLASS, number)
        wanted = wanted - number
    return drawn


def with_counts(outcomes: Outcomes, counts: Integers) -> Outcomes:
    """Return the outcomes as these counts of answers give them."""
    present = counts != NO_CLASS
    total = np.where(present, counts, 0).sum(axis=1) + PSEUDOCOUNT * present.sum(axis=1)
    probs: Floats = np.where(present, counts + PSEUDOCOUNT, 0.0) / total[:, None]
    k = outcomes.k
    logprobs = np.log(probs[:, :k])
    with_marker = outcomes.logprobs_with_marker
    if with_marker is not None:
        marked = probs[:, k : 2 * k] if counts.shape[1] == 2 * k + 1 else 0.0
        with_marker = np.minimum(np.log(probs[:, :k] + marked), 0.0)
    shares = probs[:, :k] / probs[:, :k].sum(axis=1, keepdims=True)
    return replace(outcomes, probs=shares, logprobs=logprobs, logprobs_with_marker=with_marker, limits=None)
