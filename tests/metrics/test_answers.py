"""Levels of true and false positives, and medians."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.metrics.answers import level, median, possible_level
from equipoise.records import UndefinedMetric


def test_a_level_is_the_mean_over_its_positives_alone() -> None:
    levels, positive = np.array([0.9, np.nan, 0.7, np.nan]), np.array([1.0, 0.0, 1.0, np.nan])
    assert level(levels, positive) == pytest.approx(0.8)
    with pytest.raises(UndefinedMetric):
        level(np.full(4, np.nan), positive)


def test_an_empty_level_has_the_bounds_of_right_or_of_wrong_answers() -> None:
    nothing, positive = np.full(2, np.nan), np.array([1.0, 1.0])
    assert possible_level(nothing, positive, actual=1, radius=lambda *_: 0.0) == (0.5, 1.0)
    with pytest.raises(UndefinedMetric):
        possible_level(nothing, positive, actual=0, radius=lambda *_: 0.0)


def test_the_median_leaves_out_what_does_not_apply() -> None:
    assert median(np.array([0.1, np.nan, 0.3, 0.9])) == pytest.approx(0.3)
    with pytest.raises(UndefinedMetric):
        median(np.array([np.nan]))


def test_every_refusal_says_of_what_and_wrong_answers_have_the_lower_half() -> None:
    nothing, mixed = np.full(2, np.nan), np.array([1.0, 0.0])
    assert possible_level(nothing, mixed, actual=0, radius=lambda *_: 0.0) == (0.0, 0.5)
    assert possible_level(nothing, mixed, actual=1, radius=lambda *_: 0.0) == (0.5, 1.0)
    with pytest.raises(UndefinedMetric, match=r"^a level without items of the class$"):
        possible_level(nothing, np.ones(2), actual=0, radius=lambda *_: 0.0)
    with pytest.raises(UndefinedMetric, match=r"^median of an empty group$"):
        median(nothing)
    with pytest.raises(UndefinedMetric, match=r"^desirability of true or false positives of an empty group$"):
        level(nothing, mixed)
    assert level(np.array([0.9, 0.1]), mixed, weights=np.array([3.0, 1.0])) == pytest.approx(0.7)
    assert level(np.array([0.9, 0.1]), np.array([1.0, np.nan])) == pytest.approx(0.9)
