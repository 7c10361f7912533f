"""Means with weights, and metrics taken group by group."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.metrics.fairness import accuracy
from equipoise.metrics.groups import by_group, gap, mean, ratio, share
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
    assert by_group(accuracy, CORRECT, groups=GENDER) == {"female": 0.5, "male": 1.0}


def test_by_group_hands_options_on() -> None:
    values = by_group(mean, np.array([np.nan] * 5), groups=np.array([""] * 5, dtype=object), of="nothing")
    assert values == {}
    with pytest.raises(UndefinedMetric, match="certainty of an empty group"):
        by_group(mean, np.full(5, np.nan), groups=GENDER, of="certainty")


def test_gap_and_ratio_compose_with_by_group() -> None:
    values = by_group(accuracy, CORRECT, groups=GENDER)
    assert gap(values) == 0.5
    assert ratio(values) == 0.5
    assert gap({"a": 0.3, "b": 0.3}) == 0
    assert ratio({"a": 0.3, "b": 0.3}) == 1


def test_gap_of_three_groups_is_that_of_the_extremes() -> None:
    assert gap({"a": 0.2, "b": 0.9, "c": 0.5}) == pytest.approx(0.7)


def test_gap_goes_resample_by_resample() -> None:
    np.testing.assert_allclose(gap({"a": np.array([0.1, 0.9]), "b": np.array([0.4, 0.2])}), [0.3, 0.7])


@pytest.mark.parametrize("function", [gap, ratio])
def test_one_group_has_nothing_to_be_compared_with(function) -> None:
    with pytest.raises(UndefinedMetric, match="fewer than two groups"):
        function({"a": 0.5})


def test_ratio_of_zeros_is_undefined() -> None:
    with pytest.raises(UndefinedMetric, match="all 0"):
        ratio({"a": 0.0, "b": 0.0})
