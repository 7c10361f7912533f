"""What a metric can be where a subset that it needs is empty: bounds instead of a missing row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..metrics import Metric
from ..records import Booleans, Integers, UndefinedMetric
from ..stats.bounded import simultaneous_radius

METHOD = "bounds: a subset is empty and may have any value; Hoeffding bounds of the others"


class Possible(NamedTuple):
    """The middle of the values that fit the items, and the ends with the sampling error of what was seen."""

    value: float
    low: float
    high: float


def possible_value(
    metric: Metric, arrays: tuple[NDArray[Any], ...], rows: Mapping[str, Integers], clusters: Integers, level: float
) -> Possible | None:
    """Return what a metric that is undefined can be, averaged over the variants; None where that is unknown.

    Without sampling error the values that fit are an interval, and its middle is the value. Subsets that have items
    have a Hoeffding bound over their clusters, at a level that covers all of them.
    """
    if metric.possible is None:
        return None
    ends = []
    for chosen in rows.values():
        columns, numbers = [array[chosen] for array in arrays], clusters[chosen]

        def radius(among: Booleans, width: float, subsets: int, numbers: Integers = numbers) -> float:
            return simultaneous_radius(len(np.unique(numbers[among])), subsets * len(rows), width, level=level)

        try:
            seen = metric.possible(*columns, radius=lambda among, width, subsets: 0.0)
            ends.append((sum(seen) / 2, *metric.possible(*columns, radius=radius)))
        except UndefinedMetric:
            return None
    return Possible(*(float(end) for end in np.mean(ends, axis=0)))
