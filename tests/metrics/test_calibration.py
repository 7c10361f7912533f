"""Calibration metrics: closed forms and edges; tests/test_invariants.py has what holds for all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, foldnorm, poisson

from equipoise.metrics import calibration
from equipoise.records import UndefinedMetric

# --- closed forms ------------------------------------------------------------------------------------------------

Y = np.array([1.0, 0.0, 1.0, 1.0])
P = np.array([0.9, 0.8, 0.4, 0.35])


def test_each_metric_by_hand() -> None:
    # Bins: 0.9 and 0.8 stand apart ((0.8, 0.9] and (0.7, 0.8]), 0.4 and 0.35 share (0.3, 0.4].
    assert calibration.ece(Y, P) == pytest.approx((0.1 + 0.8 + 1.25) / 4)
    assert calibration.brier(Y, P) == pytest.approx((0.01 + 0.64 + 0.36 + 0.4225) / 4)
    assert calibration.brier_published(Y, P) == pytest.approx((0.81 + 0.04 + 0.16 + 0.1225) / 4)
    assert calibration.human_alignment(Y, P) == 0.25
    assert calibration.ice(Y, P) == pytest.approx((0.1 + 0.8 + 0.6 + 0.65) / 4)
    assert calibration.macroce(Y, P) == pytest.approx((0.1 + (0.8 + 0.6 + 0.65) / 3) / 2)
    assert calibration.ece_top_label(Y, P) == pytest.approx((0.1 + 0.8 + 0.6 + 0.65) / 4)
    assert calibration.log_loss(Y, P) == pytest.approx(-np.log([0.9, 0.2, 0.4, 0.35]).mean())
    groups = np.array(["male", "male", "female", "female"], dtype=object)
    assert calibration.group_ece(Y, P, groups) == pytest.approx((0.9 / 2 + 1.25 / 2) / 2)
    assert calibration.group_ece_gap(Y, P, groups) == pytest.approx(1.25 / 2 - 0.9 / 2)
    apart = calibration.group_ece_differences(Y, P, groups)
    assert np.abs(apart).tolist() == pytest.approx([1.25 / 2 - 0.9 / 2])
    three = np.array(["male", "female", "neutral", "neutral"], dtype=object)
    assert calibration.group_ece(Y, P, three) == pytest.approx((0.1 + 0.8 + 1.25 / 2) / 3)
    assert calibration.group_ece_gap(Y, P, three) == pytest.approx(0.8 - 0.1)


def test_bins_are_open_below_and_closed_above_and_take_zero_into_the_first() -> None:
    edges = np.array([0.0, 0.1, 0.2, 0.3, 0.6, 0.7, 0.9, 1.0])
    assert calibration.bin_numbers(edges).tolist() == [0, 0, 1, 2, 5, 6, 8, 9]
    assert calibration.bin_numbers(np.nextafter(edges[1:-1], 1)).tolist() == [1, 2, 3, 6, 7, 9]


@given(st.integers(0, 2**32 - 1))
def test_ece_is_the_weighted_mean_of_the_predicted_groups(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.random(200)
    y = (rng.random(200) < 0.6).astype(float)
    male = p > 0.5
    parts = [(group.sum(), calibration.ece(y[group], p[group])) for group in (male, ~male) if group.any()]
    assert calibration.ece(y, p) == pytest.approx(sum(n * value for n, value in parts) / 200, abs=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_the_parts_of_the_brier_score_add_up(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y, p = rng.integers(0, 2, 50).astype(float), rng.random(50)
    reliability, resolution = calibration.brier_reliability(y, p), calibration.brier_resolution(y, p)
    parts = reliability - resolution + calibration.brier_uncertainty(y, p) + calibration.brier_within(y, p)
    assert calibration.brier(y, p) == pytest.approx(parts, abs=1e-12)
    rounded = np.ceil(p * 10) / 10 - 0.05
    assert calibration.brier_within(y, rounded) == pytest.approx(0, abs=1e-12)


def test_equal_mass_bins_hold_equally_many_and_keep_ties_together() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(1000) ** 3
    assert calibration.binned(p, p, binning="mass").counts.tolist() == [100] * 10
    tied = np.repeat([0.2, 0.9], [700, 300])
    assert sorted(calibration.binned(tied, tied, binning="mass").counts)[-2:] == [300, 700]


# --- the noise floor ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 90, 837])
@pytest.mark.parametrize("shape", [(1, 1), (0.2, 0.2), (8, 2)])
def test_the_floor_is_what_a_calibrated_model_shows(size: int, shape: tuple[float, float]) -> None:
    rng = np.random.default_rng(size)
    p = rng.beta(*shape, size=size)
    drawn = calibration.ece_by_chance(p, rng=rng, draws=2000)
    error = drawn.std() / np.sqrt(len(drawn))
    assert calibration.noise_floor(p) == pytest.approx(drawn.mean(), abs=4 * error + 1e-12)


@pytest.mark.parametrize("p", [np.full(5000, 0.55), np.full(5000, 0.0003), np.full(5000, 0.999)])
def test_the_floor_of_many_items_meets_the_exact_one(p: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = calibration.noise_floor(p)
    monkeypatch.setattr(calibration, "EXACT_ITEMS", len(p))
    assert quick == pytest.approx(calibration.noise_floor(p), rel=0.02)


def test_the_floor_is_exact_up_to_two_thousand_items_and_a_limit_law_beyond() -> None:
    for n, rel in ((2000, 1e-9), (2001, 1e-3)):
        hits = np.arange(n + 1)
        exact = binom.pmf(hits, n, 0.35) @ np.abs(hits - 0.35 * n) / n
        floor = calibration.noise_floor(np.full(n, 0.35))
        assert floor == pytest.approx(exact, rel=rel)
    assert floor == pytest.approx(np.sqrt(2 * 0.35 * 0.65 / (np.pi * 2001)), rel=1e-12)


@pytest.mark.parametrize(("halves", "law"), [(100, "Poisson"), (102, "normal")])
def test_many_items_with_a_variance_of_up_to_25_have_a_poisson_number_of_events(halves: int, law: str) -> None:
    p = np.repeat([0.5, 0.0], [halves, 2000])
    events = np.arange(400)
    poissonian = poisson.pmf(events, halves / 2) @ np.abs(events - halves / 2)
    expected = poissonian if law == "Poisson" else np.sqrt(2 * halves / 4 / np.pi)
    assert calibration.noise_floor(p, bins=1) == pytest.approx(expected / len(p), rel=1e-9)
    assert calibration.noise_floor(np.zeros(2001)) == 0


def test_debiasing_takes_off_most_of_what_chance_adds_and_little_of_a_true_error() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(300)
    calm = [calibration.ece_debiased((rng.random(300) < p).astype(float), p) for _ in range(200)]
    assert np.mean(calm) < 0.65 * calibration.noise_floor(p)
    wrong = [calibration.ece_debiased((rng.random(300) < p**3).astype(float), p) for _ in range(200)]
    assert np.mean(wrong) == pytest.approx(np.mean(p - p**3), abs=0.02)


# --- edges -------------------------------------------------------------------------------------------------------


def test_debiasing_by_hand() -> None:
    y, p = np.array([1.0, 1.0, 0.0, 1.0]), np.array([0.62, 0.64, 0.66, 0.21])
    expected = 0.0
    for labels, probabilities in (([1, 1, 0], [0.62, 0.64, 0.66]), ([1], [0.21])):
        apart = abs(sum(labels) - sum(probabilities))
        spread = np.sqrt(sum(q * (1 - q) for q in probabilities))
        expected += 2 * apart - foldnorm.mean(apart / spread, scale=spread)
    assert calibration.ece_debiased(y, p) == pytest.approx(expected / 4)


def test_single_class_data_has_an_ece_and_says_what_it_has_not() -> None:
    y, p = np.ones(4), np.array([0.6, 0.7, 0.8, 0.9])
    assert calibration.ece(y, p) == pytest.approx(0.25)
    with pytest.raises(UndefinedMetric, match="MacroCE over misses of an empty group"):
        calibration.macroce(y, p)


def test_one_bin_holds_everything_and_none_is_refused() -> None:
    assert calibration.ece(Y, P, bins=1) == pytest.approx(abs(Y.mean() - P.mean()))
    with pytest.raises(ValueError, match="there must be at least one bin, not 0"):
        calibration.ece(Y, P, bins=0)


def test_ties_predict_nobody() -> None:
    y, p = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    assert calibration.human_alignment(y, p) == 0
    with pytest.raises(UndefinedMetric, match="group ECE of an empty group"):
        calibration.group_ece(y, p, np.array(["", ""], dtype=object))


def test_certainty_that_comes_true_is_perfect_and_that_does_not_has_no_log_loss() -> None:
    p = np.array([0.0, 1.0, 1.0])
    assert calibration.ece(p, p) == calibration.brier(p, p) == calibration.log_loss(p, p) == 0
    assert calibration.noise_floor(p) == 0
    with pytest.raises(UndefinedMetric, match="infinite: a label has probability 0"):
        calibration.log_loss(1 - p, p)


def test_log_loss_is_undefined_in_the_resamples_that_draw_an_impossible_label() -> None:
    y, p = np.array([1.0, 1.0, 0.0]), np.array([0.0, 0.5, 0.2])
    weights = np.array([[0, 1, 2], [1, 1, 0], [1, 0, 1]])
    drawn = calibration.log_loss(y, p, weights=weights)
    np.testing.assert_allclose(drawn, [-(np.log(0.5) + np.log(0.8)) / 2, np.nan, np.nan])
    assert calibration.log_loss(y, p, weights=np.array([0, 1, 1])) == pytest.approx(drawn[0])


@pytest.mark.parametrize(("rows", "weights"), [(0, None), (4, np.zeros(4)), (0, np.ones(0))])
def test_without_items_or_weight_there_is_no_calibration(rows: int, weights: np.ndarray | None) -> None:
    with pytest.raises(UndefinedMetric, match="calibration of an empty group"):
        calibration.ece(Y[:rows], P[:rows], weights=weights)


WEIGHTED = ["ece", "brier", "brier_reliability", "brier_resolution", "brier_uncertainty", "ece_debiased", "log_loss"]


@pytest.mark.parametrize("name", [*WEIGHTED, "human_alignment", "ice", "macroce", "ece_top_label"])
def test_a_weight_is_a_number_of_equal_rows(name: str) -> None:
    function = getattr(calibration, name)
    weights = np.array([[1, 2, 3], [1, 1, 1], [1, 0, 2], [1, 3, 1]])
    expected = [function(np.repeat(Y, column), np.repeat(P, column)) for column in weights.T]
    assert function(Y, P, weights=weights).tolist() == pytest.approx(expected, abs=1e-12)
    assert [function(Y, P, weights=column) for column in weights.T] == pytest.approx(expected, abs=1e-12)


def test_a_weight_is_a_number_of_equal_rows_in_groups_too() -> None:
    groups = np.array(["male", "female", "male", "female"], dtype=object)
    weights = np.array([[1, 2, 3], [1, 1, 1], [1, 0, 2], [1, 3, 1]])
    for function in (calibration.group_ece, calibration.group_ece_gap):
        expected = [function(*(np.repeat(values, column) for values in (Y, P, groups))) for column in weights.T]
        assert function(Y, P, groups, weights=weights).tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("binning", ["width", "mass"])
def test_bins_of_weighted_rows_are_those_of_equal_rows(binning: str) -> None:
    weights = np.array([[1, 2, 3], [1, 1, 1], [1, 0, 2], [1, 3, 1]])
    weighted = calibration.binned(Y, P, bins=3, binning=binning, weights=weights)
    for number, column in enumerate(weights.T):
        repeated = calibration.binned(np.repeat(Y, column), np.repeat(P, column), bins=3, binning=binning)
        single = calibration.binned(Y, P, bins=3, binning=binning, weights=column)
        for many, one_column, rows in zip(weighted, single, repeated, strict=True):
            np.testing.assert_allclose(many[:, number], rows, atol=1e-12)
            np.testing.assert_allclose(one_column, rows, atol=1e-12)


def test_chance_is_drawn_500_times() -> None:
    assert len(calibration.ece_by_chance(P, rng=np.random.default_rng(0))) == 500


def test_a_group_whose_items_have_no_weight_is_no_group() -> None:
    groups = np.array(["male", "female", "neutral", "female"], dtype=object)
    weights = np.array([1, 1, 0, 0])
    assert calibration.group_ece(Y, P, groups, weights=weights) == pytest.approx((0.1 + 0.8) / 2)
    with pytest.raises(UndefinedMetric, match="items that are all in one group, male"):
        calibration.group_ece(Y, P, groups, weights=np.array([1, 0, 0, 0]))


def test_a_group_of_one() -> None:
    y, p = np.array([1.0]), np.array([0.7])
    assert calibration.ece(y, p) == pytest.approx(0.3)
    assert calibration.noise_floor(p) == pytest.approx(2 * 0.7 * 0.3)
    with pytest.raises(UndefinedMetric, match="items that are all in one group, male"):
        calibration.group_ece(y, p, np.array(["male"], dtype=object))


@pytest.mark.parametrize("p", [-0.1, 1.5])
def test_what_is_no_probability_is_an_error(p: float) -> None:
    with pytest.raises(UndefinedMetric, match=r"probability outside \[0, 1\]"):
        calibration.ece(np.array([1.0]), np.array([p]))


def test_answers_that_are_right_as_often_as_their_probability_says_are_calibrated() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(1_000_000)
    y = (rng.random(1_000_000) < p).astype(np.float64)
    assert calibration.ece(y, p) < 0.003


def test_reliability_bins_have_their_edges_and_wilson_s_interval() -> None:
    y = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
    p = np.array([0.05, 0.95, 0.97, 0.96, 0.15])
    filled = list(calibration.reliability(y, p, level=0.9))
    assert [(filled_bin.start, filled_bin.end, filled_bin.rate.n) for filled_bin in filled] == [
        (0.0, pytest.approx(0.1), 1),
        (pytest.approx(0.1), pytest.approx(0.2), 1),
        (pytest.approx(0.9), 1.0, 3),
    ]
    assert [filled_bin.confidence for filled_bin in filled] == pytest.approx([0.05, 0.15, 0.96])
    for filled_bin, hits in zip(filled, (1, 0, 2), strict=True):
        rate = filled_bin.rate
        expected = binomtest(hits, rate.n).proportion_ci(0.9, method="wilson")
        assert (rate.value, *rate.ends) == pytest.approx((hits / rate.n, expected.low, expected.high))
        assert filled_bin.row() == {
            "start": filled_bin.start,
            "end": filled_bin.end,
            "items": rate.n,
            "confidence": filled_bin.confidence,
            "rate": rate.value,
            "low": rate.low,
            "high": rate.high,
        }
    assert list(calibration.reliability(y, p)) == list(calibration.reliability(y, p, level=0.95))


def test_a_rate_of_one_has_an_interval_that_ends_at_one() -> None:
    # Of nine items rounding would put the end above 1.
    (filled,) = calibration.reliability(np.ones(9), np.full(9, 0.95))
    assert filled.rate.high == 1.0
