"""A packed row in segments, for attention that computes few pairs of nodes which cannot see each other; numpy only.

A segment is a run of nodes. Its nodes see only each other and the ancestors of its first node, so attention needs no
other keys. One long row then has the large matrix products of many tokens, and the attention of short ones.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]

START_COST = 1300
"""What starting the attention of a segment costs, in pairs of nodes (SmolLM2 on two cores)."""

MOST = 256
"""Largest number of nodes in a segment."""


class Segment(NamedTuple):
    """The nodes from `start` to `stop`, and the ancestors of the first one."""

    start: int
    stop: int
    ancestors: Ids


def segments(depths: Ids, ends: Ids) -> list[Segment]:
    """Return the segments of a row that cost least: pairs of nodes and keys, and a start each.

    `depths` and `ends` are those of the row's nodes in depth-first order (see `prefix_tree.Row`).
    """
    count = len(depths)
    cost = np.zeros(count + 1)
    origin = np.zeros(count + 1, dtype=np.int64)
    for stop in range(1, count + 1):
        first = max(0, stop - MOST)
        sizes = stop - np.arange(first, stop)
        # A node at depth d has d ancestors.
        totals = cost[first:stop] + sizes * (sizes + depths[first:stop]) + START_COST
        origin[stop] = first + int(totals.argmin())
        cost[stop] = totals[origin[stop] - first]
    borders = [count]
    while borders[-1]:
        borders.append(int(origin[borders[-1]]))
    borders.reverse()
    return [Segment(start, stop, np.flatnonzero(ends[:start] > start)) for start, stop in pairwise(borders)]
