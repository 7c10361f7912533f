"""Split-conformal sets: the candidates that cannot be ruled out at a level, however good the model's probabilities are.

Half of the clusters calibrate a threshold for the other half, and the reverse. One item of each calibrating cluster is
drawn, so that clusters may hold items that are alike (Dunn, Wasserman & Ramdas 2022): for an item of a new cluster the
set holds the right candidate with at least the probability of the level.
"""

from __future__ import annotations

import math

import numpy as np

from ..records import Booleans, Floats, Integers, UndefinedMetric

LEVEL = 0.9
FEWEST = 20
"""Calibrating clusters in each half: with fewer the sets would hold nearly everything."""


def threshold(right: Floats, *, level: float = LEVEL) -> float:
    """Return the probability that a candidate needs to be in the set, given those of the right candidates elsewhere."""
    place = math.ceil((len(right) + 1) * level)
    # The place-th lowest score 1 - p of the right candidates; beyond the last, nothing is ruled out.
    return float(np.sort(right)[::-1][place - 1]) if place <= len(right) else 0.0


def halves(clusters: Integers, seed: int = 0) -> Booleans:
    """Return whether each item is in the first half; all items of a cluster are in the same."""
    count = int(clusters.max(initial=-1)) + 1
    first = np.random.default_rng(seed).permutation(count) < count // 2
    return np.asarray(first[clusters])


def thresholds(right: Floats, clusters: Integers, *, level: float = LEVEL, seed: int = 0) -> Floats:
    """Return the threshold of each item, from the other half; `right` is NaN for items that cannot calibrate."""
    first = halves(clusters, seed)
    rng = np.random.default_rng([seed, 1])
    values = np.empty(len(right))
    for half in (first, ~first):
        usable = np.flatnonzero(~half & ~np.isnan(right))
        drawn = rng.permutation(usable)
        _, places = np.unique(clusters[drawn], return_index=True)
        if len(places) < FEWEST:
            raise UndefinedMetric(f"conformal sets need {2 * FEWEST} sentences with a right answer")
        values[half] = threshold(right[drawn[places]], level=level)
    return values
