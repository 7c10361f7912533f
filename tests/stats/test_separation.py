"""Groups are told apart only where they differ: few false findings, and true ones are found."""

from __future__ import annotations

import numpy as np

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


def test_groups_of_one_or_two_units_and_equal_values_name_nobody() -> None:
    values = np.array([0.0, 0.0, *[1.0] * 30])
    groups = np.array(["rare"] * 2 + ["a"] * 15 + ["b"] * 15, dtype=object)
    assert [row.group for row in separations(values, groups)] == ["a", "b"]
    assert all(row.corrected == 1.0 for row in separations(np.ones(32), groups))
    assert separations(np.ones(3), np.array(["a"] * 3, dtype=object)) == []
