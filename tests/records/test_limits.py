"""Limits that cannot be are refused, those that can be are kept."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from equipoise.records import Limits, ModelError, Score, ScoreLimits
from equipoise.records.limits import NO_CLASS

LENGTH = "the limits of a score must be those of its 2 continuations"
ORDER = "the limits of a probability must be within 0 and 1, the lower one first"
SAMPLED = "the number of sampled answers must not be negative"


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (ScoreLimits((0.1,), (0.2,)), LENGTH),
        (ScoreLimits((0.1, 0.1), (0.2,)), LENGTH),
        (ScoreLimits((0.1, 0.1), ()), LENGTH),
        (ScoreLimits((), (0.2, 0.2)), LENGTH),
        (ScoreLimits((0.1,) * 3, (0.2,) * 3), LENGTH),
        (ScoreLimits(counts=(1, 2)), LENGTH),
        (ScoreLimits(counts=(1,)), LENGTH),
        (ScoreLimits(counts=(1, 2, 3, 4)), LENGTH),
        (ScoreLimits((0.2, 0.0), (0.1, 1.0)), ORDER),
        (ScoreLimits((0.0, 0.2), (1.0, 0.1)), ORDER),
        (ScoreLimits((0.0, 0.0), (1.0, 1.5)), ORDER),
        (ScoreLimits((-0.1, 0.0), (1.0, 1.0)), ORDER),
        (ScoreLimits(counts=(1, 2, -1)), SAMPLED),
        (ScoreLimits(counts=(-1, 2, 1)), SAMPLED),
    ],
)
def test_limits_that_cannot_be_are_refused(limits: ScoreLimits, message: str) -> None:
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        Score("key", ((-1.0,), (-2.0,)), limits=limits)


@pytest.mark.parametrize(
    "limits",
    [
        ScoreLimits(),
        ScoreLimits((0.0, 1.0), (0.0, 1.0)),
        ScoreLimits((0.1, 0.2), (0.3, 1.0)),
        ScoreLimits(counts=(0, 0, 0)),
        ScoreLimits((0.1, 0.2), (0.3, 0.4), (1, 2, 3)),
    ],
)
def test_limits_that_can_be_are_kept(limits: ScoreLimits) -> None:
    assert Score("key", ((-1.0,), (-2.0,)), limits=limits).limits is limits


def table(*rows: tuple[float, ...]) -> Any:
    return np.array(rows, dtype=float)


HALF, ONE = table((0.5, 0.5), (0.5, 0.5)), table((1.0, 1.0), (1.0, 1.0))
SHAPE = "the limits of Outcomes must have a row for each item and a column for each candidate"
BOTH = "probabilities need both limits"
WITHIN = "the limits of a probability are within 0 and 1, the lower one first"
COUNTED = "the number of sampled answers is not negative"


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"low": HALF[:1], "high": ONE}, SHAPE),
        ({"low": HALF, "high": ONE[:, :1]}, SHAPE),
        ({"low": HALF[0], "high": ONE}, SHAPE),
        ({"low_with_marker": HALF[:1], "high_with_marker": ONE}, SHAPE),
        ({"counts": np.ones((2, 2), dtype=int)}, SHAPE),
        ({"counts": np.ones((2, 4), dtype=int)}, SHAPE),
        ({"counts": np.ones((2, 6), dtype=int)}, SHAPE),
        ({"counts": np.ones((3, 3), dtype=int)}, SHAPE),
        ({"low": HALF}, BOTH),
        ({"high": HALF}, BOTH),
        ({"low_with_marker": HALF}, BOTH),
        ({"high_with_marker": HALF}, BOTH),
        ({"low": ONE, "high": HALF}, WITHIN),
        ({"low": HALF - 0.6, "high": HALF}, WITHIN),
        ({"low": HALF, "high": ONE + 1e-5}, WITHIN),
        ({"low": table((0.5, 0.5), (0.5, 0.6)), "high": HALF}, WITHIN),
        ({"low_with_marker": ONE, "high_with_marker": HALF}, WITHIN),
        ({"counts": np.array([[1, 2, 3], [0, 0, NO_CLASS - 1]])}, COUNTED),
    ],
)
def test_limits_of_items_that_cannot_be_are_refused(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Limits(**tables).check(2, 2)


@pytest.mark.parametrize(
    "tables",
    [
        {},
        {"low": HALF, "high": HALF},
        {"low": 0 * HALF, "high": ONE + 5e-7},
        {"low_with_marker": HALF, "high_with_marker": ONE},
        {"counts": np.array([[1, 2, 3], [0, 0, NO_CLASS]])},
        {"counts": np.zeros((2, 5), dtype=int)},
    ],
)
def test_limits_of_items_that_can_be_are_kept_and_taken_by_rows(tables: dict[str, Any]) -> None:
    limits = Limits(**tables)
    limits.check(2, 2)
    assert limits.tables.keys() == tables.keys() <= Limits.COLUMNS.keys()
    for rows in (np.array([1, 0]), np.array([False, True])):
        taken = limits.take(rows).tables
        assert taken.keys() == tables.keys()
        for name, values in tables.items():
            np.testing.assert_array_equal(taken[name], values[rows])


def test_of_several_faults_the_first_is_told() -> None:
    with pytest.raises(ModelError, match=LENGTH):
        ScoreLimits((0.5,), (0.1,), (-1, 0, 0)).check(2)
    with pytest.raises(ModelError, match=ORDER):
        ScoreLimits((0.5, 0.5), (0.1, 0.1), (-1, 0, 0)).check(2)
    with pytest.raises(ValueError, match=BOTH):
        Limits(low=-HALF).check(2, 2)


def test_what_is_known_is_counted() -> None:
    sampled = Limits(counts=np.array([[3, 1, NO_CLASS], [2, 2, 2]]))
    assert (sampled.samples, sampled.within) == (4, 0)
    bounded = Limits(table((0.1, 0.2), (0.3, 0.3)), table((0.1, 0.4), (0.3, 0.3)))
    assert (bounded.samples, bounded.within) == (0, 1)
