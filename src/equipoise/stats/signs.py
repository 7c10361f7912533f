"""A family of claims tested at once: the signs of whole clusters are exchanged, for all differences together.

Where groups are treated alike, a cluster's differences are as likely to have the other sign. So the joint distribution
of all test statistics comes from random signs, and the largest of them corrects each p-value for all (Westfall and
Young's step-down maxT). It is less strict than Holm's method, because differences of the same answers go together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..records import Floats

CHUNK = 4_000_000
"""Signs that are drawn at once."""

TOLERANCE = 1e-6
"""Equal statistics that were summed in another order count as equally large."""


@dataclass(frozen=True)
class SignTests:
    """The p-value of each claim alone, and corrected for all of them."""

    p: Floats
    corrected: Floats


def sign_tests(claims: Sequence[Floats] | Floats, *, draws: int = 4999, seed: int = 0) -> SignTests:
    """Return the test of each claim: that a difference is not 0, or one of several.

    A difference is a sum over clusters: a claim is what each cluster adds, in a row for each of its differences. The
    statistic of a difference is its sum over the root of its sum of squares, that of a claim the largest of its
    differences. One that is 0 in every cluster has p = 1.
    """
    tables = [np.atleast_2d(claim) for claim in claims]
    units, starts = np.concatenate(tables), np.cumsum([0, *(len(table) for table in tables[:-1])])
    clusters = units.shape[1]
    norms = np.sqrt((units**2).sum(axis=1))
    scaled = (units / np.where(norms > 0, norms, 1.0)[:, None]).astype(np.float32)
    observed = np.maximum.reduceat(np.abs(scaled.sum(axis=1, dtype=np.float64)), starts)
    order = np.argsort(-observed, kind="stable")
    alone, together = np.zeros(len(tables)), np.zeros(len(tables))
    rng = np.random.default_rng([seed, clusters])
    width = max(1, CHUNK // max(clusters, 1))
    for start in range(0, draws, width):
        signs = rng.integers(0, 2, size=(clusters, min(width, draws - start)), dtype=np.int8)
        exchanged = signs.astype(np.float32)
        exchanged *= 2
        exchanged -= 1
        sums = np.abs(scaled @ exchanged).astype(np.float64)
        drawn = np.maximum.reduceat(sums, starts, axis=0)
        alone += (drawn >= observed[:, None] - TOLERANCE).sum(axis=1)
        # Of each claim: the largest among it and those that are less sure.
        largest = np.maximum.accumulate(drawn[order][::-1], axis=0)[::-1]
        together[order] += (largest >= observed[order][:, None] - TOLERANCE).sum(axis=1)
    p, steps = ((exceeding + 1) / (draws + 1) for exceeding in (alone, together[order]))
    corrected = np.empty(len(tables))
    corrected[order] = np.maximum.accumulate(steps)
    return SignTests(p, corrected)
