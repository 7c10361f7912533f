"""A statistic that is made of means, taken apart: the units under each mean, and its value at other means.

Most metrics are sums, differences and products of means over subsets. Run with a tape, such a function tells which
columns it averages; run again, it can be given any means instead. So intervals of its means give one for the metric.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..records import Estimate, Floats, Integers
from . import bounded
from .resampling import ClusterWeights, NeedsRows, Statistic, takes_weights

STEPS = 9
"""Values of each mean that are tried between the ends of its interval."""
MOST_MEANS = 4
"""A metric of more means than this has too many combinations to try."""


class _Recorder:
    """Keeps the (sum, count) columns of every mean, by cluster; then answers with the means it is given."""

    def __init__(self, clusters: int, *, exact: bool = False) -> None:
        self.clusters, self.exact = clusters, exact
        self.tables: list[Floats] = []
        self.means: Sequence[Floats] | None = None
        self._next = 0

    def sums(self, table: Floats, clusters: Integers | None) -> Floats:
        if clusters is None:
            assert self.means is not None
            mean = self.means[self._next]
            self._next += 1
            return np.stack([mean, np.ones_like(mean)])
        self.tables.append(np.stack([np.bincount(clusters, column, self.clusters) for column in table]))
        return np.ones((len(table), 1))


def units(recorded: Sequence[Floats]) -> list[Floats]:
    """Return the values of the clusters under each mean of `tables`."""
    return [total[count > 0] / count[count > 0] for total, count in recorded]


def item_size(recorded: Sequence[Floats]) -> float:
    """Return the size of an item in clusters, under the mean of `tables` where it is largest."""
    return max(float((count > 0).sum() / count.sum()) for _, count in recorded)


def tables(statistic: Statistic, *, exact: bool = False) -> list[Floats]:
    """Return the sums and counts of each mean by cluster; [] if the statistic is not made of means.

    `exact`: the sums are those of the values themselves; else they are taken from an unknown origin.
    """
    recorder = _Recorder(int(statistic.clusters.max()) + 1, exact=exact)
    if not takes_weights(statistic.function):
        return []
    try:
        with np.errstate(all="ignore"):
            statistic.function(*statistic.arrays, weights=statistic.weights(recorder))
    except NeedsRows:
        return []
    return recorder.tables if all(len(table) == 2 for table in recorder.tables) else []


class KnownTables:
    """The `tables` of statistics that are held, computed once for those of the same function, columns and rows."""

    def __init__(self) -> None:
        self._by_identity: dict[tuple[int, ...], list[Floats]] = {}

    def of(self, statistic: Statistic) -> list[Floats]:
        """Return the tables of a statistic."""
        if statistic.identity not in self._by_identity:
            self._by_identity[statistic.identity] = tables(statistic)
        return self._by_identity[statistic.identity]


def at_means(statistic: Statistic, means: Sequence[Floats], *, exact: bool = False) -> Floats:
    """Return the statistic at other means of what it averages, given from the same origin as `tables`."""
    recorder = _Recorder(0, exact=exact)
    recorder.means = means
    return np.asarray(statistic.function(*statistic.arrays, weights=ClusterWeights(recorder)), dtype=np.float64)


def joint_interval(
    statistic: Statistic, averaged: Sequence[Floats], width: float, *, level: float, seed: int = 0
) -> Estimate | None:
    """Return the statistic with an interval from intervals of all its means that hold together; None if it has many.

    `averaged` are its `units`. Each averaged variable lies in an interval of that width, whose ends are not known.
    """
    if not averaged or len(averaged) > MOST_MEANS:
        return None
    level_of_each = 1 - (1 - level) / len(averaged)
    ends = []
    for values in averaged:
        bounds = (float(values.max()) - width, float(values.min()) + width)
        ends.append(bounded.mean_interval(values, bounds, level=level_of_each, seed=seed).ends)
    low, high = within_ends(statistic, ends)
    return Estimate(float(statistic.value), low, high, level, min(map(len, averaged)), bounded.JOINT)


def within_ends(
    statistic: Statistic, ends: Sequence[tuple[float, float]], *, exact: bool = False
) -> tuple[float, float]:
    """Return the smallest and largest value of a statistic whose means lie within these ends."""
    lattice = np.meshgrid(*(np.linspace(low, high, STEPS) for low, high in ends), indexing="ij")
    with np.errstate(invalid="ignore", divide="ignore"):
        values = at_means(statistic, [places.ravel() for places in lattice], exact=exact)
    # An absolute difference may be 0 between two values that were tried.
    step = max((high - low) / (STEPS - 1) for low, high in ends)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    return 0.0 if 0 < low < step else low, high
