"""One score from those of several members: the mean of their probabilities, and how far they agree."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..records import Floats, ModelError, Score, ScoreLimits
from ..uncertainty import ENSEMBLE_AGREEMENT, entropy, renormalise


def mixture(key: str, scores: Sequence[Score]) -> Score:
    """Return the score of the model whose probability of each continuation is the mean of the members'.

    Members may split a continuation into different tokens, so that only its whole probability has a mean: it is divided
    equally among the first member's tokens. Sums over the vocabulary are means over the members.
    """
    members = np.array([score.logprobs for score in scores])
    top = members.max(axis=0)
    means = top + np.log(np.exp(members - top).mean(axis=0))
    tokens = tuple(
        (float(min(mean, 0.0)) / len(pieces),) * len(pieces)
        for mean, pieces in zip(means, scores[0].token_logprobs, strict=True)
    )
    shared = [name for name in scores[0].reductions if all(name in score.reductions for score in scores)]
    reductions = {name: math.fsum(score.reductions[name] for score in scores) / len(scores) for name in shared}
    if members.shape[1] > 1:
        reductions[ENSEMBLE_AGREEMENT] = agreement(members)
    flags = tuple(dict.fromkeys(flag for score in scores for flag in score.flags))
    return Score(key, tokens, reductions, flags, _limits(scores))


def _limits(scores: Sequence[Score]) -> ScoreLimits | None:
    """Return the limits of the mean; None where every member is exact."""
    if all(score.limits is None for score in scores):
        return None
    if any(score.limits and score.limits.counts for score in scores):
        raise ModelError("an ensemble needs members that return log-probabilities, not sampled answers")
    exact = [tuple(min(1.0, math.exp(value)) for value in score.logprobs) for score in scores]
    ends = [(s.limits.low, s.limits.high) if s.limits else (e, e) for s, e in zip(scores, exact, strict=True)]
    low, high = np.clip(np.mean(ends, axis=0), 0.0, 1.0)
    return ScoreLimits(tuple(low.tolist()), tuple(high.tolist()))


def agreement(logprobs: Floats) -> float:
    """Return 1 - mutual information of answer and member over log2 k, in [0, 1]; `logprobs` are by member.

    A member counts as much as it says one of the continuations, as in the mean. 1: all members answer alike. 0: each
    names one candidate, and all candidates are named equally often.
    """
    # Masses that underflow are compared relative to the largest.
    masses = np.logaddexp.reduce(logprobs, axis=1)
    weights = np.exp(masses - masses.max())
    weights /= weights.sum()
    probs = renormalise(logprobs)
    mean = weights @ probs
    bits = float(entropy(mean[None, :])[0] - weights @ entropy(probs))
    return min(1.0, max(0.0, 1 - bits / math.log2(logprobs.shape[1])))
