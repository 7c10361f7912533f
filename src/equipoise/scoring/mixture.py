"""One score from those of several members: the mean of their probabilities, and how far they agree."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..records import Floats, Score
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
    return Score(key, tokens, reductions, flags)


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
