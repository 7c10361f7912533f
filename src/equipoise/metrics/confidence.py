"""Coreference confidence (Arif Khan et al. 2025, eq. 1): how far the referent is ahead, in raw probability.

Pure functions of arrays; NaN marks items without a referent on record. Its disparity (eq. 2) is `groups.gap` of the
subgroups' means, with the interval of stats/maximum.py. Definitions: docs/identity.md.
"""

from __future__ import annotations

import numpy as np

from ..records import ABSENT, Floats, Integers
from ..uncertainty import renormalise


def coreference_confidence(gold: Integers, logprobs: Floats) -> Floats:
    """Return CC = P(referent) - P(the most probable other) of each item, in [-1, 1]; higher is better.

    The probabilities are raw: what the model would say instead of any candidate lowers |CC|. Given two candidates
    this is the paper's eq. 1; CC > 0 where, and only where, the referent is the most probable candidate.
    """
    referent, other = _two(gold, np.exp(logprobs))
    return referent - other


def pair_confidence(gold: Integers, logprobs: Floats) -> Floats:
    """Return (p_r - p_n) / (p_r + p_n) of each item, in [-1, 1]; higher is better: CC of the two alone.

    Unlike CC it does not fall when the model merely turns to other words, such as the marker in "the young nurse".
    """
    # Renormalised first: raw probabilities may underflow, their ratio does not.
    referent, other = _two(gold, renormalise(logprobs))
    return (referent - other) / (referent + other)


def _two(gold: Integers, probs: Floats) -> tuple[Floats, Floats]:
    """Return the probability of the referent and of the most probable other, NaN without a referent on record."""
    rows, labelled = np.arange(len(gold)), gold != ABSENT
    others = probs.copy()
    others[rows[labelled], gold[labelled]] = -np.inf
    referent = np.where(labelled, probs[rows, gold], np.nan)
    return referent, np.where(labelled, others.max(axis=1), np.nan)
