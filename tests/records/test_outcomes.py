"""Outcomes refuse columns that do not fit, and know what follows from them."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from equipoise.records import (
    ABSENT,
    Outcomes,
)


def test_outcomes_refuse_columns_of_another_length(make_outcomes) -> None:
    outcomes = make_outcomes([{"pair": "p", "probs": (0.5, 0.5), "gender": "male"}] * 2)
    for change in (
        {"gold": outcomes.gold[:1]},
        {"logprobs": outcomes.logprobs[:, :1]},
        {"groups": {"gender": outcomes.group("gender")[:1]}},
    ):
        with pytest.raises(ValueError, match="same length"):
            dataclasses.replace(outcomes, **change)


@pytest.mark.parametrize("probs", [(0.5, 0.4), (math.nan, 1.0)])
def test_outcomes_refuse_probabilities_that_do_not_add_up(make_outcomes, probs: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="add up to 1"):
        make_outcomes([{"pair": "p", "probs": probs}])


def test_a_tie_prefers_nobody(make_outcomes) -> None:
    outcomes = make_outcomes(
        [
            {"pair": "p", "probs": probs}
            for probs in [(0.5, 0.5, 0.0), (0.2, 0.3, 0.5), (0.4, 0.2, 0.4), (1.0, 0.0, 0.0)]
        ]
    )
    assert outcomes.predicted.tolist() == [ABSENT, 2, ABSENT, 0]


def test_outcomes_know_their_size_and_which_items_have_a_label(make_outcomes) -> None:
    outcomes = make_outcomes([{"pair": "p", "probs": (1, 0, 0), "gold": 0}, {"pair": "q", "probs": (0, 1, 0)}])
    assert (len(outcomes), outcomes.k, outcomes.labelled.tolist()) == (2, 3, [True, False])


def test_a_group_that_no_item_has_is_empty_for_all(make_outcomes) -> None:
    outcomes = make_outcomes([{"pair": "p", "probs": (1, 0), "gender": "male"}, {"pair": "p", "probs": (1, 0)}])
    assert outcomes.group("gender").tolist() == ["male", ""]
    assert outcomes.group("religion").tolist() == ["", ""]


@pytest.mark.parametrize("rows", [np.array([2, 0]), np.array([True, False, True])])
def test_take_gives_the_same_rows_of_every_column(make_outcomes, rows: np.ndarray) -> None:
    outcomes = make_outcomes(
        [{"pair": f"p{i}", "probs": (i / 4, 1 - i / 4), "gold": 0, "gender": f"g{i}"} for i in (1, 2, 3)]
    )
    taken = outcomes.take(rows)
    assert isinstance(taken, Outcomes)
    assert taken.set_id.tolist() == outcomes.set_id[rows].tolist()
    assert taken.group("gender").tolist() == outcomes.group("gender")[rows].tolist()
    np.testing.assert_array_equal(taken.probs, outcomes.probs[rows])
