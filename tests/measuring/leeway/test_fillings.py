"""Other answers that limits allow: what is chosen for the members of each set, against a plain search."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from equipoise.measuring.leeway.fillings import _alike, _apart, _leaders, _same_answer
from equipoise.records import ABSENT, Floats

RNG = np.random.default_rng(8)
SETS = np.array([[0, 1, 2], [3, 4, ABSENT], [6, 5, 7]])
NO_SETS = np.zeros((0, 2), dtype=np.int64)


def members(row: NDArray[np.int64]) -> list[int]:
    return [int(place) for place in row if place != ABSENT]


def spread(trait: Floats, choice: NDArray[np.int64], inside: list[int]) -> float:
    values = [trait[choice[place], place] for place in inside]
    return float(max(values) - min(values))


@pytest.mark.parametrize("seed", range(5))
def test_members_are_set_apart_as_far_as_they_go(seed: int) -> None:
    trait = np.random.default_rng(seed).random((3, 9))
    choice = _apart(trait, SETS)
    for row in SETS:
        inside = members(row)
        furthest = max(
            trait[:, leader].max() - min(trait[:, other].min() for other in inside if other != leader)
            for leader in inside
        )
        assert spread(trait, choice, inside) >= furthest - 1e-12
    assert choice[8] == 0, "an item of no set stays as it is"


@pytest.mark.parametrize("seed", range(5))
def test_members_are_brought_to_the_middle_of_what_all_may_be(seed: int) -> None:
    trait = np.random.default_rng(seed).random((3, 9))
    choice = _alike(trait, SETS)
    for row in SETS:
        inside = members(row)
        low, high = max(trait[:, place].min() for place in inside), min(trait[:, place].max() for place in inside)
        for place in inside:
            assert choice[place] == np.abs(trait[:, place] - (low + high) / 2).argmin()
    assert choice[8] == 0


def test_members_get_the_answer_that_most_of_them_may_have_and_the_first_s_where_several_do() -> None:
    for tops in product([0, 1, ABSENT], repeat=6):
        table = np.array(tops).reshape(2, 3)
        choice = _same_answer(table, np.array([[0, 1, 2]]), 2)
        possible = [sum(candidate in table[:, place] for place in range(3)) for candidate in (0, 1)]
        votes = [votes + 0.5 * (table[0, 0] == candidate) for candidate, votes in enumerate(possible)]
        wanted = int(np.argmax(votes))
        for place in range(3):
            there = wanted in table[:, place]
            assert table[choice[place], place] == wanted if there else choice[place] == 0


@pytest.mark.parametrize("choose", [_apart, _alike, lambda trait, sets: _same_answer(trait.astype(int), sets, 2)])
def test_without_sets_everything_stays_as_it_is(choose: object) -> None:
    assert choose(RNG.random((3, 4)), NO_SETS).tolist() == [0, 0, 0, 0]  # type: ignore[operator]


def test_the_leader_is_the_one_that_gets_furthest_from_the_others() -> None:
    tops, bottoms = np.array([[1.0, 0.9], [0.2, 0.8]]), np.array([[0.5, 0.0], [0.1, 0.1]])
    assert _leaders(tops, bottoms).tolist() == [0, 1]
