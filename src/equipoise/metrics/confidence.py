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
    return _lead(gold, np.exp(logprobs))


def pair_confidence(gold: Integers, logprobs: Floats) -> Floats:
    """Return (p_r - p_n) / (p_r + p_n) of each item, in [-1, 1]; higher is better: CC given that a candidate is said.

    Unlike CC it does not fall when the model merely turns to other words, such as the marker in "the young nurse".
    """
    return _lead(gold, renormalise(logprobs))


def _lead(gold: Integers, probs: Floats) -> Floats:
    rows = np.arange(len(gold))
    labelled = gold != ABSENT
    others = probs.copy()
    others[rows[labelled], gold[labelled]] = -np.inf
    lead: Floats = np.where(labelled, probs[rows, np.where(labelled, gold, 0)] - others.max(axis=1), np.nan)
    return lead
