"""Means with weights, and metrics taken group by group."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.metrics.groups import (
    Norm,
    by_group,
    largest_size,
    mean,
    mean_size,
    rows_by_group,
    share,
    span,
    total_size,
)
from equipoise.records import UndefinedMetric

GENDER = np.array(["male", "female", "", "male", "female"], dtype=object)
CORRECT = np.array([1.0, 0.0, 0.0, 1.0, 1.0])


def test_mean_leaves_out_what_does_not_apply() -> None:
    assert mean(np.array([0.25, np.nan, 0.75])) == 0.5


def test_mean_of_flags_is_their_share() -> None:
    assert mean(np.array([True, False, False, False])) == 0.25


def test_mean_weighs_each_item() -> None:
    assert mean(np.array([0.0, 1.0]), weights=np.array([3.0, 1.0])) == pytest.approx(0.25)


def test_whole_numbers_weigh_as_their_floats_do() -> None:
    assert mean(np.array([0.2, 0.4]), weights=np.array([1, 3])) == pytest.approx(0.35)


@pytest.mark.parametrize("values", [[], [np.nan, np.nan]])
def test_mean_of_nothing_is_undefined_and_says_of_what(values: list[float]) -> None:
    with pytest.raises(UndefinedMetric, match=r"^accuracy of an empty group$"):
        mean(np.array(values), of="accuracy")


def test_mean_of_items_that_weigh_nothing_is_undefined() -> None:
    with pytest.raises(UndefinedMetric):
        mean(np.array([0.3, 0.4]), weights=np.zeros(2))


def test_a_resample_that_drew_none_is_nan_and_the_others_stand() -> None:
    weights = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(mean(np.array([0.0, 1.0, np.nan]), weights=weights), [0.5, np.nan])


def test_weights_in_single_precision_lose_nothing_far_from_zero() -> None:
    values = 1000 + np.random.default_rng(0).random(30_000)
    found = mean(values, weights=np.ones((30_000, 1), dtype=np.float32))
    assert found[0] == pytest.approx(values.mean(), abs=1e-6)


def test_share_is_the_mean_over_a_subset() -> None:
    assert share(CORRECT, GENDER == "female", of="accuracy") == 0.5
    with pytest.raises(UndefinedMetric, match="accuracy of neutral"):
        share(CORRECT, GENDER == "neutral", of="accuracy of neutral items")


def test_by_group_takes_the_metric_of_each_named_group() -> None:
    assert by_group(mean, CORRECT, groups=GENDER) == {"female": 0.5, "male": 1.0}


def test_by_group_hands_options_on() -> None:
    values = by_group(mean, np.array([np.nan] * 5), groups=np.array([""] * 5, dtype=object), of="nothing")
    assert values == {}
    with pytest.raises(UndefinedMetric, match="certainty of an empty group"):
        by_group(mean, np.full(5, np.nan), groups=GENDER, of="certainty")


def test_by_group_hands_each_group_the_weights_of_its_items() -> None:
    weights = np.array([1.0, 3.0, 9.0, 1.0, 1.0])
    assert by_group(mean, CORRECT, groups=GENDER, weights=weights) == {"female": 0.25, "male": 1.0}


def test_groups_are_found_in_any_order_and_in_runs() -> None:
    groups = np.array(["b", "b", "a", "", "b", "a"])
    assert {name: rows.tolist() for name, rows in rows_by_group(groups).items()} == {"a": [2, 5], "b": [0, 1, 4]}
    assert rows_by_group(groups[:0]) == {}
    assert [type(name) for name in rows_by_group(groups)] == [str, str], "also of an array of numpy's own texts"


def apart(first: np.ndarray, second: np.ndarray, *, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the signed differences of two columns from 0.5, stacked."""
    return np.stack([mean(first, weights=weights) - 0.5, mean(second, weights=weights) - 0.5])


@pytest.mark.parametrize(
    ("join", "size"), [(total_size, 0.7), (largest_size, 0.5), (mean_size, 0.35), (span, 0.3), (np.sum, -0.7)]
)
def test_a_norm_joins_the_signed_differences(join, size: float) -> None:
    norm = Norm(apart, join)
    values = np.array([0.0, 0.0]), np.array([0.0, 0.6])
    assert norm(*values) == pytest.approx(size)
    # Resample by resample: the second draws the first row only, so both are 0.5 below.
    weights = np.array([[1.0, 1.0], [1.0, 0.0]])
    both = {total_size: 1.0, largest_size: 0.5, mean_size: 0.5, span: 0.0}
    if join in both:
        np.testing.assert_allclose(norm(*values, weights=weights), [size, both[join]])


def test_a_mean_is_taken_in_double_precision_whatever_it_is_given() -> None:
    single = np.linspace(0, 1, 12_345, dtype=np.float32)
    assert mean(single) == np.add.reduce(single.astype(np.float64)) / len(single) != single.mean()
    assert mean(np.array([1.0, 0.0, np.nan], dtype=object)) == 0.5
