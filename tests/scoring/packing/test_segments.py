"""Segments divide a packed row, hold all that their nodes see, and cost least."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.scoring.packing import prefix_tree as module
from equipoise.scoring.packing.prefix_tree import Row, Segment, Sequences, pack, segments

SEQUENCES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=7), min_size=1, max_size=12)


def row_of(sequences: list[list[int]]) -> Row:
    """Return the one row that computes these sequences."""
    (row,) = pack(Sequences.of([[*ids, 9] for ids in sequences], [len(ids) for ids in sequences]), row_tokens=1000)
    return row


def cost(parts: list[Segment], start_cost: int) -> int:
    return sum((stop - start) * (stop - start + len(ancestors)) + start_cost for start, stop, ancestors in parts)


@given(SEQUENCES, st.integers(0, 60))
def test_segments_follow_each_other_and_hold_what_their_nodes_see(sequences: list[list[int]], start_cost: int) -> None:
    row = row_of(sequences)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "START_COST", start_cost)
        parts = segments(row.depths, row.ends)
    assert [part.start for part in parts] == [0, *(part.stop for part in parts[:-1])]
    assert parts[-1].stop == len(row)
    for start, stop, ancestors in parts:
        held = {*ancestors.tolist(), *range(start, stop)}
        assert len(held) == len(ancestors) + stop - start
        for node in range(start, stop):
            assert {other for other in range(node + 1) if node < row.ends[other]} <= held


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3), min_size=1, max_size=4), st.integers(0, 20))
def test_no_other_borders_cost_less(sequences: list[list[int]], start_cost: int) -> None:
    row = row_of(sequences)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "START_COST", start_cost)
        chosen = cost(segments(row.depths, row.ends), start_cost)
    inner = range(1, len(row))
    costs = []
    for count in range(len(row)):
        for borders in combinations(inner, count):
            pairs = pairwise([0, *borders, len(row)])
            costs.append(sum((b - a) * (b - a + row.depths[a]) + start_cost for a, b in pairs))
    assert chosen == min(costs)


def test_a_segment_has_no_more_nodes_than_the_most() -> None:
    row = row_of([[0] * (2 * module.MOST + 1)])
    parts = segments(row.depths, row.ends)
    assert max(part.stop - part.start for part in parts) <= module.MOST
    np.testing.assert_array_equal(parts[1].ancestors, np.arange(parts[1].start))
