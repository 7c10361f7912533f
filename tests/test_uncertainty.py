"""Closed forms of the estimators; what holds for all of them is in test_invariants.py."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from kept_texts import assert_kept

from equipoise.records import UndefinedMetric
from equipoise.uncertainty import (
    ESTIMATORS,
    entropy,
    fisher_rao_distance,
    inside_set,
    margin,
    perplexity,
    renormalise,
    renyi_divergence,
    sequence_probability,
    set_certainty,
    top_probability,
)


def row(*probs: float) -> np.ndarray:
    return np.array([probs])


def test_renormalise_is_the_probability_given_that_a_candidate_is_said() -> None:
    raw = np.array([[0.94, 0.0008], [0.3, 0.1]])
    expected = raw / raw.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(renormalise(np.log(raw)), expected, rtol=1e-12)


def test_renormalise_survives_logprobs_whose_exponentials_underflow() -> None:
    np.testing.assert_allclose(renormalise(np.array([[-2000.0, -2000.0 + math.log(3)]])), row(0.25, 0.75))


@given(arrays(np.float64, (4, 3), elements=st.floats(-50, 0)), st.floats(-500, 500))
def test_renormalise_ignores_the_mass_all_candidates_share(logprobs: np.ndarray, shift: float) -> None:
    np.testing.assert_allclose(renormalise(logprobs + shift), renormalise(logprobs), rtol=1e-9, atol=1e-15)


def test_renormalise_of_no_rows_is_no_rows() -> None:
    assert renormalise(np.empty((0, 2))).shape == (0, 2)


@pytest.mark.parametrize(
    ("probs", "bits"),
    [((0.5, 0.5), 1.0), ((0.25, 0.75), 0.8112781244591328), ((0.5, 0.25, 0.25), 1.5), ((1.0, 0.0), 0.0)],
)
def test_entropy_is_in_bits(probs: tuple[float, ...], bits: float) -> None:
    assert entropy(row(*probs))[0] == pytest.approx(bits, abs=1e-12)
    assert perplexity(row(*probs))[0] == pytest.approx(2**bits, abs=1e-12)


def test_certainty_by_perplexity_is_its_distance_from_k() -> None:
    probs = row(0.5, 0.25, 0.25)
    assert ESTIMATORS["perplexity"].certainty(probs)[0] == pytest.approx((3 - 2**1.5) / 2, abs=1e-12)


def test_certainty_by_entropy_is_the_share_of_bits_saved() -> None:
    assert ESTIMATORS["entropy"].certainty(row(0.5, 0.25, 0.25))[0] == pytest.approx(1 - 1.5 / math.log2(3), abs=1e-12)


def test_renyi_of_order_a_half_is_twice_the_log_of_the_overlap() -> None:
    overlap = math.sqrt(0.9 / 2) + math.sqrt(0.1 / 2)
    assert renyi_divergence(row(0.9, 0.1))[0] == pytest.approx(-2 * math.log(overlap) / math.log(2), abs=1e-12)


def test_renyi_tends_to_kullback_leibler_as_its_order_tends_to_one() -> None:
    probs = row(0.7, 0.2, 0.1)
    kl = ESTIMATORS["entropy"].certainty(probs)[0]  # KL(p||u)/log k = 1 - H/log k
    assert renyi_divergence(probs, order=1 + 1e-6)[0] == pytest.approx(kl, abs=1e-5)


def test_renyi_of_order_two_sums_the_squares() -> None:
    expected = math.log(3 * (0.7**2 + 0.2**2 + 0.1**2)) / math.log(3)
    assert renyi_divergence(row(0.7, 0.2, 0.1), order=2)[0] == pytest.approx(expected, abs=1e-12)


def test_fisher_rao_is_the_angle_to_uniform_over_the_widest() -> None:
    angle = math.acos(math.sqrt(0.9 / 2) + math.sqrt(0.1 / 2))
    assert fisher_rao_distance(row(0.9, 0.1))[0] == pytest.approx(angle / (math.pi / 4), abs=1e-12)


def test_margin_looks_at_the_two_most_probable_only() -> None:
    assert margin(row(0.2, 0.5, 0.3))[0] == pytest.approx(0.2, abs=1e-12)
    assert margin(row(0.5, 0.5, 0.0))[0] == 0.0


def test_top_probability_is_rescaled_from_one_in_k() -> None:
    assert top_probability(row(0.2, 0.5, 0.3))[0] == pytest.approx((3 * 0.5 - 1) / 2, abs=1e-12)


def test_margin_and_top_probability_agree_for_two_candidates() -> None:
    probs = np.linspace([0.5, 0.5], [1.0, 0.0], 11)
    np.testing.assert_allclose(margin(probs), top_probability(probs), atol=1e-12)


@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=lambda one: one.name)
def test_one_candidate_leaves_nothing_to_be_unsure_of(estimator) -> None:
    for function in (estimator.uncertainty, estimator.certainty):
        with pytest.raises(UndefinedMetric, match="fewer than two candidates"):
            function(np.ones((3, 1)))


@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=lambda one: one.name)
def test_a_row_of_nan_gives_nan_and_leaves_other_rows_alone(estimator) -> None:
    probs = np.array([[np.nan, np.nan], [0.8, 0.2]])
    for function in (estimator.uncertainty, estimator.certainty):
        values = function(probs)
        assert np.isnan(values[0])
        assert values[1] == function(probs[1:])[0]


def test_the_table_is_keyed_by_the_names_of_its_rows() -> None:
    assert {name: one.name for name, one in ESTIMATORS.items()} == {name: name for name in ESTIMATORS}


def test_a_set_holds_what_is_at_least_as_probable_as_its_threshold() -> None:
    probs = np.array([[0.5, 0.3, 0.2], [0.4, 0.4, 0.2], [0.2, 0.2, 0.6]])
    assert inside_set(probs, 0.3).tolist() == [[True, True, False], [True, True, False], [False, False, True]]
    assert inside_set(probs, 0.9).tolist() == [[True, False, False], [True, True, False], [False, False, True]]
    assert inside_set(probs, np.array([0.2, 0.5, 0.1])).sum(axis=1).tolist() == [3, 2, 3]
    assert set_certainty(probs, 0.3).tolist() == [0.5, 0.5, 1.0] and set_certainty(probs, 0.0).tolist() == [0, 0, 0]
    assert np.isnan(set_certainty(row(np.nan, 0.5), 0.1)[0])


def test_the_probability_of_a_sequence_is_at_most_one() -> None:
    raw = np.array([[0.2, 0.1], [0.6, 0.4 + 1e-6], [0.1, 1.0 + 1e-9]])
    assert sequence_probability(raw).tolist() == [0.2, 0.6, 1.0]


def test_every_estimator_of_every_kind_of_row_is_as_it_was_kept() -> None:
    rng = np.random.default_rng(4)
    tables = {
        k: np.vstack([np.eye(k)[:1], np.full((1, k), 1 / k), rng.dirichlet(np.ones(k), size=3)]) for k in (2, 3, 5)
    }
    rows = {
        f"{name}, {k} candidates": [one.uncertainty(probs), one.certainty(probs)]
        for name, one in ESTIMATORS.items()
        for k, probs in tables.items()
    }
    assert_kept("tables/estimated", rows)
