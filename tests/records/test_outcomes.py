"""Outcomes refuse columns that do not fit, and know what follows from them."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from equipoise.records import (
    ABSENT,
    Limits,
    Outcomes,
)


def test_outcomes_refuse_columns_of_another_length(make_outcomes) -> None:
    outcomes = make_outcomes([{"pair": "p", "probs": (0.5, 0.5), "gender": "male"}] * 2)
    for change in (
        {"gold": outcomes.gold[:1]},
        {"logprobs": outcomes.logprobs[:, :1]},
        {"groups": {"gender": outcomes.group("gender")[:1]}},
        {"logprobs_with_marker": outcomes.logprobs[:1]},
        {"reductions": {"vocab_bits": outcomes.gold[:1]}},
        {"cluster_id": outcomes.set_id[:1]},
        {"sides": outcomes.set_id[:1]},
        {"letters": outcomes.set_id[:1]},
        {"first": outcomes.gold[:1]},
        {"good": outcomes.gold[:1]},
    ):
        with pytest.raises(ValueError, match="same length"):
            dataclasses.replace(outcomes, **change)


@pytest.mark.parametrize("probs", [(0.5, 0.4), (0.5, 0.6), (math.nan, 1.0), (0.5, 0.4999), (0.5, 0.5001)])
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


def test_a_rounding_is_no_fault_and_no_items_are_outcomes_too(make_outcomes) -> None:
    outcomes = make_outcomes([{"pair": "p", "probs": (0.5, 0.5000005)}])
    assert len(outcomes) == 1 and len(outcomes.take(np.array([], dtype=int))) == 0


def test_what_is_not_given_is_filled_in_and_what_is_given_is_kept(make_outcomes) -> None:
    plain = make_outcomes([{"pair": "p", "probs": (1, 0)}, {"pair": "q", "probs": (1, 0)}])
    assert plain.cluster_id.tolist() == ["p", "q"]
    assert plain.sides.tolist() == plain.letters.tolist() == ["", ""]
    assert plain.first.tolist() == plain.good.tolist() == [ABSENT, ABSENT]
    words, numbers = np.array(["x", "y"], dtype=object), np.array([1, 0])
    given = {"cluster_id": words, "sides": words, "letters": words, "first": numbers, "good": numbers}
    whole = dataclasses.replace(plain, **given)
    assert all(getattr(whole, name) is column for name, column in given.items())


def test_limits_are_checked_against_the_items(make_outcomes) -> None:
    outcomes = make_outcomes([{"pair": "p", "probs": (0.5, 0.5)}] * 2)
    with pytest.raises(ValueError, match="a row for each item"):
        dataclasses.replace(outcomes, limits=Limits(outcomes.probs[:1], outcomes.probs[:1]))
    assert dataclasses.replace(outcomes, limits=Limits(outcomes.probs, outcomes.probs)).limits is not None


def test_take_takes_every_field(make_outcomes) -> None:
    probs = np.array([(0.1, 0.9), (0.4, 0.6), (0.5, 0.5)])
    rows = [{"pair": f"p{i}", "probs": row, "gold": i % 2, "expects": 0, "age": f"a{i}"} for i, row in enumerate(probs)]
    words, numbers = np.array(["x", "y", "z"], dtype=object), np.array([1, 0, ABSENT])
    given = {"cluster_id": words, "sides": words, "letters": words, "first": numbers, "good": numbers, "flags": words}
    marked = {"logprobs_with_marker": np.log(probs), "limits": Limits(probs, probs)}
    whole = dataclasses.replace(make_outcomes(rows), **given, **marked)
    taken = whole.take(np.array([2, 0]))
    for name in (field.name for field in dataclasses.fields(Outcomes)):
        before, after = getattr(whole, name), getattr(taken, name)
        before, after = (dict(part.tables) if name == "limits" else part for part in (before, after))
        if not isinstance(before, dict):
            before, after = {"": before}, {"": after}
        assert after.keys() == before.keys() != set()
        for key, column in before.items():
            np.testing.assert_array_equal(after[key], column[[2, 0]], err_msg=name)
    assert whole.take(np.array([0])).limits is not None
    assert make_outcomes(rows).take(np.array([0])).limits is None
    assert make_outcomes(rows).take(np.array([0])).logprobs_with_marker is None


def test_columns_that_do_not_fit_are_told_before_sums_that_do_not(make_outcomes) -> None:
    outcomes = make_outcomes([{"pair": "p", "probs": (0.5, 0.5)}] * 2)
    with pytest.raises(ValueError, match="same length"):
        dataclasses.replace(outcomes, probs=np.full((3, 2), 0.4))


def test_one_item_whose_probabilities_do_not_add_up_is_enough(make_outcomes) -> None:
    fine = make_outcomes([{"pair": "a", "probs": (0.5, 0.5)}, {"pair": "b", "probs": (0.25, 0.75)}])
    with pytest.raises(ValueError, match=r"^the probabilities of an item must add up to 1$"):
        dataclasses.replace(fine, probs=np.array([[0.5, 0.5], [0.5, 0.6]]))


def test_columns_that_are_left_out_are_empty_and_take_texts_of_any_length(make_outcomes) -> None:
    outcomes = make_outcomes([{"pair": "p", "probs": (0.5, 0.5)}, {"pair": "q", "probs": (0.5, 0.5)}])
    for column in (outcomes.sides, outcomes.letters):
        assert column.dtype == object and column.tolist() == ["", ""]
    for column in (outcomes.first, outcomes.good):
        assert column.dtype == np.int64 and column.tolist() == [ABSENT, ABSENT]
    assert outcomes.cluster_id is outcomes.set_id


def test_columns_that_are_equal_are_held_once(make_outcomes) -> None:
    rows = [{"pair": f"p{i // 2}", "probs": (0.1, 0.9), "gold": i % 2, "expects": 0, "age": "old"} for i in range(4)]
    first, second = (
        make_outcomes(rows),
        make_outcomes([{**row, "gold": 0, "age": f"a{i}"} for i, row in enumerate(rows)]),
    )
    shared = second.sharing(first)
    for name in (field.name for field in dataclasses.fields(Outcomes)):
        before, after = getattr(second, name), getattr(shared, name)
        if isinstance(before, np.ndarray):
            np.testing.assert_array_equal(after, before, err_msg=name)
    assert {name: column.tolist() for name, column in shared.groups.items()} == {
        name: column.tolist() for name, column in second.groups.items()
    }
    assert shared.example_id is first.example_id and shared.set_id is first.set_id
    assert shared.gold is second.gold and shared.probs is second.probs and shared.groups["age"] is second.groups["age"]
    few = make_outcomes(rows[:2])
    assert few.sharing(first).example_id is few.example_id
