"""Ranks from tests of every two: ranges that hold every order which the tests leave open."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from equipoise.stats.ranks import Rank, ranks_of


def test_what_is_told_apart_has_one_rank_and_the_rest_share_theirs() -> None:
    better = np.zeros((4, 4), dtype=bool)
    better[0, 1:] = better[1:3, 3] = True
    assert ranks_of(better) == [Rank(1, 1), Rank(2, 3), Rank(2, 3), Rank(4, 4)]
    assert [str(rank) for rank in ranks_of(better)] == ["1", "2–3", "2–3", "4"]
    assert ranks_of(np.zeros((1, 1), dtype=bool)) == [Rank(1, 1)]
    assert ranks_of(np.zeros((3, 3), dtype=bool)) == [Rank(1, 3)] * 3


@given(st.permutations(range(4)), st.lists(st.booleans(), min_size=16, max_size=16))
def test_every_order_that_the_tests_allow_is_within_the_ranges(truth: list[int], found: list[bool]) -> None:
    # Tests that find some of what is so.
    shown = np.array(found).reshape(4, 4)
    better = np.array([[shown[a, b] and truth[a] < truth[b] for b in range(4)] for a in range(4)])
    ranks = ranks_of(better)
    for order in permutations(range(4)):
        if all(order[a] < order[b] for a, b in zip(*np.nonzero(better), strict=True)):
            assert all(rank.best <= 1 + place <= rank.worst for rank, place in zip(ranks, order, strict=True))


def test_a_range_of_ranks_is_written_with_both_ends_and_a_single_one_alone() -> None:
    assert [str(Rank(2, 2)), str(Rank(1, 3))] == ["2", "1–3"]


def test_ranks_are_plain_numbers() -> None:
    (first, second) = ranks_of(np.array([[False, True], [False, False]]))
    assert [*map(type, (*first, *second))] == [int] * 4 and (first, second) == (Rank(1, 1), Rank(2, 2))
