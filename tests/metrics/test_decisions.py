"""P(good), its logit and the ratio of two groups, against values by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.metrics import decisions
from equipoise.records import UndefinedMetric

probabilities = st.lists(st.floats(0.001, 1), min_size=2, max_size=5).map(lambda raw: np.array([raw]) / sum(raw))


@given(probabilities, st.data())
def test_the_logit_is_that_of_the_probability_among_the_answers(probs: np.ndarray, data: st.DataObject) -> None:
    answers = data.draw(st.integers(2, probs.shape[1]))
    good = data.draw(st.integers(0, answers - 1))
    columns = np.array([good]), np.array([answers])
    p = decisions.good_probability(probs, *columns)[0]
    assert p == pytest.approx(probs[0, good] / probs[0, :answers].sum())
    if p < 1 - 1e-9:
        assert decisions.good_logit(probs, *columns)[0] == pytest.approx(np.log(p / (1 - p)), abs=1e-6)


def test_nothing_is_decided_without_a_good_answer_or_where_no_answer_decides() -> None:
    probs = np.array([[0.3, 0.7, 0.0], [0.0, 0.0, 1.0]])
    good, answers = np.array([-1, 0]), np.array([2, 2])
    assert np.isnan(decisions.good_probability(probs, good, answers)).all()
    assert np.isnan(decisions.good_logit(probs, good, answers)).all()


def test_the_logit_stays_exact_near_one() -> None:
    probs = np.array([[1.0, 1e-30]])
    assert decisions.good_logit(probs, np.array([0]), np.array([2]))[0] == pytest.approx(-np.log(1e-30))


def test_a_ratio_needs_both_groups_and_something_to_divide_by() -> None:
    first = np.array([True, True, False])
    assert decisions.ratio(np.array([0.2, 0.6, 0.8]), first) == pytest.approx(0.5)
    weights = np.array([[1.0, 2.0], [1.0, 0.0], [1.0, 1.0]])
    assert decisions.ratio(np.array([0.2, 0.6, 0.8]), first, weights=weights) == pytest.approx([0.5, 0.25])
    with pytest.raises(UndefinedMetric, match="never gets the good answer"):
        decisions.ratio(np.array([0.2, 0.6, 0.0]), first)
    with pytest.raises(UndefinedMetric, match="empty"):
        decisions.ratio(np.array([0.2, 0.6]), first[:2])


def test_a_resample_in_which_the_second_group_never_gets_the_good_answer_has_no_ratio() -> None:
    values, first = np.array([0.5, 0.0, 0.4]), np.array([True, False, False])
    weights = np.array([[1.0, 1.0, 0.0], [1.0, 2.0, 1.0], [1.0, 0.0, 1.0]])
    drawn = decisions.ratio(values, first, weights=weights)
    assert drawn[0] == pytest.approx(0.5 / 0.2) and np.isnan(drawn[1]) and np.isnan(drawn[2])
    with pytest.raises(
        UndefinedMetric, match=r"^ratio to an empty share: the second group never gets the good answer$"
    ):
        decisions.ratio(values, first, weights=np.array([1.0, 1.0, 0.0]))
    assert decisions.ratio(values, first, weights=np.array([1.0, 1.0, 1.0])) == pytest.approx(2.5)
    assert decisions.log_mean(np.array([0.2, 0.6])) == pytest.approx(np.log(0.4))


def test_a_ratio_of_nothing_to_nothing_is_no_warning() -> None:
    values, first = np.array([0.0, 0.0, 1.0]), np.array([True, False, False])
    weights = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 0.0], [1.0, 0.0, 1.0]])
    assert np.array_equal(decisions.ratio(values, first, weights=weights), [0.0, np.nan, 0.0], equal_nan=True)
