"""Intervals for few clusters: a jackknife over clusters, with a little more than was seen added to the data.

Near the ends of a scale a few clusters often show nothing of what is rare, so their spread says too little. As Agresti
and Coull add two successes and two failures to a share, one cluster of mean size is added in the middle of the scale
and one item at each end. Residuals are those of the delete-one jackknife, which counts a large cluster for what it can
move, and the quantile is Student's. Chosen by simulation (docs/decisions/intervals.md, benchmarks/coverage.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records import Booleans, Estimate, Floats, Integers
from .distributions import stdtrit
from .resampling import Statistic, evaluate

FEWEST = 8
"""With fewer clusters only bounds that hold for any values are used."""
PLAIN = "jackknife of clusters"
METHOD = "jackknife of clusters, one added in the middle of the scale and an item at each end"

Bounds = tuple[float, float]


@dataclass(frozen=True)
class Added:
    """What is added to the data: a place on the scale, and what it counts, in clusters."""

    place: float
    size: float


def added(bounds: Bounds, item: float) -> list[Added]:
    """Return what is added on a scale; `item` is the size of one item in clusters.

    A scale with 0 inside is a difference of two shares: each side has half of a cluster, in its own middle.
    """
    low, high = bounds
    middle = (low + high) / 2
    sides = [Added((low + middle) / 2, 0.5), Added((high + middle) / 2, 0.5)] if low < 0 < high else [Added(middle, 1)]
    return [*sides, Added(low, item), Added(high, item)]


def scale_interval(value: float, left_out: Floats, bounds: Bounds, *, item: float, level: float) -> tuple[float, float]:
    """Return the interval of a value on a scale, from the values with each cluster left out; it holds the value."""
    clusters, further = len(left_out), added(bounds, item)
    total = clusters + sum(part.size for part in further)
    centre = (clusters * value + sum(part.size * part.place for part in further)) / total
    moved = (clusters * (value - left_out) + value - centre) / total
    moved_by_added = [part.size * (part.place - centre) / (total - part.size) for part in further]
    low, high = _around(centre, np.concatenate([moved, moved_by_added]), clusters, level)
    return float(min(value, max(bounds[0], low))), float(max(value, min(bounds[1], high)))


def plain_interval(value: float, left_out: Floats, *, level: float) -> tuple[float, float]:
    """Return the interval of a value without a scale, from the values with each cluster left out."""
    clusters = len(left_out)
    return _around(value, (value - left_out) * (clusters - 1) / clusters, clusters, level)


def _around(centre: float, moved: Floats, clusters: int, level: float) -> tuple[float, float]:
    """Return centre ± t standard errors; `moved` is how much each cluster moves the value."""
    freedom = clusters - 1
    error = float(np.sqrt((moved**2).sum() * clusters / freedom))
    radius = float(stdtrit(freedom, (1 + level) / 2)) * error
    return centre - radius, centre + radius


def mean_interval(values: Floats, bounds: Bounds, *, level: float, counts: Floats | None = None) -> Estimate:
    """Return the mean over clusters from the mean of each, which counts by its number of items (one, if not given)."""
    counts = np.ones(len(values)) if counts is None else counts
    totals, total = counts * values, float(counts.sum())
    value = float(totals.sum()) / total
    left_out = (value * total - totals) / (total - counts)
    ends = scale_interval(value, left_out, bounds, item=len(counts) / total, level=level)
    return Estimate(value, *ends, level, len(values), METHOD)


def left_out_values(statistics: Sequence[Statistic], clusters: Integers | None = None) -> Floats:
    """Return the mean of several statistics with each cluster left out: each that any of them has, or those given."""
    known = np.concatenate([statistic.clusters for statistic in statistics])
    present = np.unique(known) if clusters is None else clusters
    # Weights are by the numbers of all clusters, also of those that the statistics take no row of.
    count = max(int(present.max()), *(int(statistic.numbers.max()) for statistic in statistics)) + 1

    def chunks() -> Iterator[NDArray[np.float32]]:
        weights = np.ones((count, len(present)), dtype=np.float32)
        weights[present, np.arange(len(present))] = 0
        yield weights

    return np.asarray(np.mean(evaluate(statistics, chunks, np.float64), axis=0), dtype=np.float64)


def with_signed_items(statistic: Statistic, items: float, first: int) -> Statistic:
    """Return a statistic of a signed first column (1, 0 or -1) with items added; `first` numbers the added clusters.

    The mean of such a column is the share of 1 less that of -1. Each side has half of a cluster, made of items with and
    without it, and one item more; `items` is the mean number of items of a cluster. A second column says whether an
    answer is right: those are that name nobody, as in BBQ's ambiguous questions.
    """
    sides = np.array([1.0, 0.0, -1.0, 0.0, 1.0, -1.0])
    sizes = np.array([items / 4] * 4 + [1.0, 1.0])
    numbers: Integers = first + np.array([0, 0, 1, 1, 2, 3])
    counted = statistic.row_shares
    shares = np.concatenate([np.ones(len(statistic.clusters)) if counted is None else counted, sizes])
    columns = [sides, *((sides == 0).astype(np.float64) for _ in statistic.arrays[1:])]
    arrays: list[NDArray[Any]] = [np.concatenate(pair) for pair in zip(statistic.arrays, columns, strict=True)]
    return Statistic(statistic.function, arrays, np.concatenate([statistic.clusters, numbers]), shares=shares)


def signed_interval(statistics: Sequence[Statistic], *, level: float) -> tuple[float, float] | None:
    """Return the interval of a function of a signed column, such as BBQ's scores; None where it is not defined."""
    counted: list[Booleans] = [~np.isnan(statistic.arrays[0]) for statistic in statistics]
    numbers = [statistic.clusters[inside] for statistic, inside in zip(statistics, counted, strict=True)]
    clusters = len(np.unique(np.concatenate(numbers)))
    first = max(int(statistic.numbers.max()) for statistic in statistics) + 1
    several = []
    for statistic, inside in zip(statistics, counted, strict=True):
        shares = statistic.row_shares
        size = float(inside.sum() if shares is None else shares[inside].sum()) / clusters
        several.append(with_signed_items(statistic, size, first))
    centre = float(np.mean([float(statistic.value) for statistic in several]))
    moved = centre - left_out_values(several)
    return None if np.isnan(moved).any() else _around(centre, moved, clusters, level)
