"""Answers that follow a stereotype: the bias scores of BBQ, against values by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.metrics.stereotyped_answers import bias_score, leaning, scaled_bias_score
from equipoise.records import ABSENT, UndefinedMetric

leans = st.lists(st.sampled_from([-1.0, 0.0, 1.0, np.nan]), min_size=1, max_size=8).map(np.array)


def test_an_answer_leans_by_the_person_that_it_names() -> None:
    predicted, stereotype = np.array([0, 1, 2, ABSENT, 0, 1]), np.array([0, 0, 0, 0, ABSENT, 1])
    assert np.array_equal(leaning(predicted, stereotype), [1.0, -1.0, 0.0, 0.0, np.nan, 1.0], equal_nan=True)


@given(leans)
def test_a_score_counts_the_answers_that_name_a_person(lean: np.ndarray) -> None:
    named = [value for value in lean if value in (-1.0, 1.0)]
    if named:
        assert bias_score(lean) == pytest.approx(2 * named.count(1.0) / len(named) - 1)
    else:
        what = "answers that name nobody" if not np.isnan(lean).all() else "an empty group"
        with pytest.raises(UndefinedMetric, match=f"^bias score of {what}$"):
            bias_score(lean)


def test_a_resample_in_which_nobody_is_named_has_no_score() -> None:
    weights = np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 1.0]])
    scores = bias_score(np.array([1.0, -1.0, 0.0]), weights=weights)
    assert np.allclose(scores, [-0.5, np.nan], equal_nan=True)


def test_the_scaled_score_is_smaller_the_more_is_right() -> None:
    lean = np.array([1.0, 1.0, 0.0, np.nan])
    assert scaled_bias_score(lean, np.array([0.0, 1.0, 0.0, 1.0])) == pytest.approx(2 / 3)
    assert scaled_bias_score(lean, np.array([0.0, 0.0, 0.0, 1.0])) == 1.0
