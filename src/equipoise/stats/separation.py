"""Which groups differ from the rest: a permutation test of every group at once, corrected for their number.

Each group's mean is compared with the mean of all other units, in units of the standard error. The corrected p-value of
a group is how often, with the group names exchanged at random, the *largest* of all these distances is at least as
large as the group's (Westfall and Young's maxT). So the chance of naming any group wrongly stays below the p-value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..records import Floats, Integers

FEWEST_UNITS = 3
"""A group of fewer units is not tested: hardly anything could tell it apart."""


@dataclass(frozen=True)
class Separation:
    """A group beside the rest: means, the number of units, and the p-value corrected for the number of groups."""

    group: str
    mean: float
    rest: float
    n: int
    corrected: float


def separations(
    values: Floats, groups: NDArray[np.object_], *, permutations: int = 2000, seed: int = 0
) -> list[Separation]:
    """Return each group of at least three units beside the rest, lowest mean first; [] for fewer than two groups."""
    names, numbers = np.unique(groups.astype(str), return_inverse=True)
    sizes = np.bincount(numbers, minlength=len(names))
    tested = (sizes >= FEWEST_UNITS) & (sizes < len(values))
    if tested.sum() < 2:
        return []
    moments = float(values.sum()), float(values.std())  # those of every order of the values
    observed = _distances(values, moments, numbers, sizes)
    rng = np.random.default_rng([seed, len(values)])
    exceeding = np.zeros(len(names), dtype=np.int64)
    for _ in range(permutations):
        largest = np.abs(_distances(rng.permutation(values), moments, numbers, sizes)[tested]).max()
        # 1e-9: equal distances that were summed in another order count as equally large.
        exceeding += largest >= np.abs(observed) - 1e-9
    sums = np.bincount(numbers, values, minlength=len(names))
    rest = (values.sum() - sums) / np.maximum(len(values) - sizes, 1)
    rows = [
        Separation(
            str(names[g]), float(sums[g] / sizes[g]), float(rest[g]), int(sizes[g]), (1 + e) / (1 + permutations)
        )
        for g, e in enumerate(exceeding.tolist())
        if tested[g]
    ]
    return sorted(rows, key=lambda row: row.mean)


def _distances(values: Floats, moments: tuple[float, float], numbers: Integers, sizes: Integers) -> Floats:
    """Return each group's mean less that of the rest, in units of its standard error (0 where all values are equal).

    `moments` are the sum and the standard deviation of the values.
    """
    (total, spread), n = moments, len(values)
    if spread < 1e-12:
        return np.zeros(len(sizes))
    sums = np.bincount(numbers, values, minlength=len(sizes))
    others = np.maximum(n - sizes, 1)
    apart = sums / sizes - (total - sums) / others
    return np.asarray(apart / (spread * np.sqrt(1 / sizes + 1 / others)), dtype=np.float64)
