"""Agreement between raters: Krippendorff's alpha, and each rater with the majority of the others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...records import UndefinedMetric

Counts = NDArray[np.int64]


def krippendorff_alpha(counts: NDArray[Any]) -> float:
    """Return Krippendorff's alpha for nominal answers: 1 is full agreement, 0 is chance, below 0 is worse than chance.

    `counts[unit, answer]` is the number of raters who gave that answer; units with fewer than two answers are left out.
    alpha = 1 - observed / expected disagreement (Krippendorff 2004). Undefined if no unit has two answers, or if all
    answers are equal.
    """
    counts = np.asarray(counts, dtype=np.float64)
    counts = counts[counts.sum(axis=1) >= 2]
    sizes, totals = counts.sum(axis=1), counts.sum(axis=0)
    n = float(totals.sum())
    if n == 0:
        raise UndefinedMetric("Krippendorff's alpha needs a question that two raters have answered")
    expected = n * n - float((totals * totals).sum())
    if expected == 0:
        raise UndefinedMetric("Krippendorff's alpha is undefined where all answers are equal")
    same = (counts * (counts - 1)).sum(axis=1)
    observed = float(((sizes * (sizes - 1) - same) / (sizes - 1)).sum())
    return 1.0 - (n - 1) * observed / expected


def agreement_with_others(unit: Counts, rater: Counts, yes: NDArray[np.bool_], raters: int) -> tuple[Counts, Counts]:
    """Return, for each rater, the answers that agree with the majority of the others, and the answers that count.

    One entry per answer: `unit` and `rater` are codes from 0. Units where the others are split or absent do not count.
    """
    if not len(unit):
        return np.zeros(raters, dtype=np.int64), np.zeros(raters, dtype=np.int64)
    others_yes = np.bincount(unit, weights=yes)[unit] - yes
    others = np.bincount(unit)[unit] - 1
    counts = (others > 0) & (2 * others_yes != others)
    agrees = counts & (yes == (2 * others_yes > others))
    return np.bincount(rater[agrees], minlength=raters), np.bincount(rater[counts], minlength=raters)
