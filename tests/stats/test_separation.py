"""Groups are told apart only where they differ: few false findings, and true ones are found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept

from equipoise.stats.separation import separations


def draw(rng: np.random.Generator, shift: float) -> tuple[np.ndarray, np.ndarray]:
    """Return values of 20 groups of 12, of which the first is shifted."""
    groups = np.repeat([f"g{number:02}" for number in range(20)], 12).astype(object)
    values = rng.beta(8, 2, len(groups))
    return np.where(groups == "g00", values - shift, values), groups


def test_without_a_difference_hardly_any_group_is_named() -> None:
    rng = np.random.default_rng(1)
    named = sum(min(row.corrected for row in separations(*draw(rng, 0.0), permutations=199)) < 0.05 for _ in range(100))
    assert named <= 11, "5 of 100 are expected; 12 or more have a probability under 0.5%"


def test_a_group_that_differs_is_named_and_no_other() -> None:
    rows = separations(*draw(np.random.default_rng(2), 0.3))
    assert [row.group for row in rows if row.corrected < 0.05] == ["g00"]
    assert rows[0].group == "g00" and rows[0].n == 12 and rows[0].mean < rows[0].rest - 0.2


@pytest.mark.parametrize("permutations", [19, 99])
def test_the_p_value_counts_the_data_themselves_so_it_is_never_zero(permutations: int) -> None:
    values = np.concatenate([np.linspace(0, 1, 40), np.linspace(100, 101, 40)])
    rows = separations(values, np.repeat(np.array(["a", "b"], dtype=object), 40), permutations=permutations)
    assert [row.corrected for row in rows] == [1 / (1 + permutations)] * 2


@given(st.lists(st.tuples(st.integers(-9, 9), st.sampled_from("abcd")), min_size=1, max_size=40), st.integers(1, 30))
def test_means_and_numbers_are_those_of_the_group_and_of_the_rest(
    drawn: list[tuple[int, str]], permutations: int
) -> None:
    values, groups = np.array([float(value) for value, _ in drawn]), np.array([name for _, name in drawn], dtype=object)
    rows = separations(values, groups, permutations=permutations)
    names = [name for name in "abcd" if 3 <= (groups == name).sum() < len(values)]
    assert sorted(row.group for row in rows) == (names if len(names) > 1 else [])
    assert [row.mean for row in rows] == sorted(row.mean for row in rows)
    for row in rows:
        inside = groups == row.group
        assert (row.mean, row.rest) == (pytest.approx(values[inside].mean()), pytest.approx(values[~inside].mean()))
        assert row.n == inside.sum() and 0 < row.corrected <= 1
        assert row.corrected * (1 + permutations) == pytest.approx(round(row.corrected * (1 + permutations)))
    # Shifting and turning all values around changes no p-value.
    turned = separations(5 - 2 * values, groups, permutations=permutations)
    assert {row.group: row.corrected for row in turned} == {row.group: row.corrected for row in rows}


def test_groups_of_one_or_two_units_and_equal_values_name_nobody() -> None:
    values = np.array([0.0, 0.0, *[1.0] * 30])
    groups = np.array(["rare"] * 2 + ["a"] * 15 + ["b"] * 15, dtype=object)
    assert [row.group for row in separations(values, groups)] == ["a", "b"]
    assert all(row.corrected == 1.0 for row in separations(np.ones(32), groups))
    assert separations(np.ones(3), np.array(["a"] * 3, dtype=object)) == []


@pytest.mark.parametrize(("size", "tested"), [(2, ["b", "c"]), (3, ["a", "b", "c"])])
def test_three_units_are_enough(size: int, tested: list[str]) -> None:
    groups = np.array(["a"] * size + ["b"] * 5 + ["c"] * 5, dtype=object)
    rows = separations(np.arange(float(len(groups))), groups, permutations=9)
    assert sorted(row.group for row in rows) == tested


def test_p_values_of_drawn_groups_are_kept() -> None:
    rng = np.random.default_rng(8)
    groups = np.array(list("aaaabbbbbccccccdde"), dtype=object)
    made = {
        f"seed {seed}, shift {shift}": separations(
            rng.normal(0, 1, 18) + shift * (groups == "b"), groups, permutations=80, seed=seed
        )
        for seed in (0, 1)
        for shift in (0.0, 2.0)
    }
    made["usual"] = separations(rng.normal(0, 1, 18), groups)
    assert_kept("stats/separation", made)


def test_equally_large_distances_count_whatever_the_order_of_their_sums() -> None:
    # Two groups of three: of 20 ways to deal the values, those that give the same two groups are as far apart.
    values = np.array([0.1, 0.2, 0.3, 1.1, 1.2, 1.3])
    rows = separations(values, np.array(list("aaabbb"), dtype=object), permutations=4000)
    assert [row.corrected for row in rows] == pytest.approx([0.1, 0.1], abs=0.02)
