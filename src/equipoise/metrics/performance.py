"""Performance functions of FP (eq. 6) besides accuracy: one value an item in [0, 1], higher is better."""

from __future__ import annotations

import numpy as np

from ..records import Booleans, Floats, Integers


def desirability_performance(desirability: Floats, answerable: Booleans) -> Floats:
    """Return (D + 1)/2: certainty and correctness in one number; NaN where nothing is right."""
    return np.where(answerable, (desirability + 1) / 2, np.nan)


def brier_performance(probs: Floats, gold: Integers, answerable: Booleans) -> Floats:
    """Return 1 - the Brier score over the candidates, 1 - sum (p_i - y_i)^2 / 2; NaN where nothing is right."""
    truth = np.arange(probs.shape[1])[None, :] == gold[:, None]
    return np.where(answerable, 1 - ((probs - truth) ** 2).sum(axis=1) / 2, np.nan)
