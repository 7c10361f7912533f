"""Calibration maps: they find a map that was planted, stay probabilities, and say when they cannot be fitted."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.metrics import calibration
from equipoise.metrics.posthoc import METHODS, fit_beta, fit_histogram, fit_platt, fit_temperature
from equipoise.records import UndefinedMetric

every_method = pytest.mark.parametrize("method", METHODS)


def labels(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(len(p)) < p).astype(np.float64)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_each_family_finds_its_own_parameters(rng: np.random.Generator) -> None:
    p = rng.uniform(0.01, 0.99, 60_000)
    logit = np.log(p / (1 - p))
    beta = 1 / (1 + np.exp(-(0.5 * np.log(p) - 2 * np.log(1 - p) + 0.3)))
    assert fit_beta(labels(beta, rng), p).parameters == pytest.approx({"a": 0.5, "b": 2.0, "c": 0.3}, abs=0.1)
    platt = 1 / (1 + np.exp(-(2 * logit - 1)))
    assert fit_platt(labels(platt, rng), p).parameters == pytest.approx({"slope": 2.0, "shift": -1.0}, abs=0.1)
    hot = 1 / (1 + np.exp(-logit / 2.5))
    assert fit_temperature(labels(hot, rng), p).parameters["temperature"] == pytest.approx(2.5, abs=0.1)


@every_method
def test_a_map_mends_a_miscalibrated_model(method: str, rng: np.random.Generator) -> None:
    said = rng.uniform(0.02, 0.98, 8000)
    odds = (said / (1 - said)) ** 0.4
    y = labels(odds / (1 + odds), rng)
    fitted = METHODS[method](y[:4000], said[:4000])
    before, after = (calibration.ece(y[4000:], p) for p in (said[4000:], fitted.apply(said[4000:])))
    assert before > 0.1 and after < 0.04


@every_method
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_what_comes_out_is_a_probability_and_never_falls(method: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = np.where(rng.random(40) < 0.2, rng.integers(0, 2, 40), rng.random(40)).astype(np.float64)
    y = np.concatenate([[0.0, 1.0], rng.integers(0, 2, 38)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        after = METHODS[method](y, p).apply(np.linspace(0, 1, 101))
    assert ((after >= 0) & (after <= 1)).all()
    if method in ("beta", "isotonic", "temperature"):
        assert (np.diff(after) >= -1e-9).all()


@every_method
def test_one_label_alone_is_a_clear_error(method: str) -> None:
    with pytest.raises(UndefinedMetric, match="items that all have one label"):
        METHODS[method](np.ones(5), np.linspace(0.1, 0.9, 5))


def test_beta_with_inverted_probabilities_says_the_base_rate() -> None:
    p = np.linspace(0.05, 0.95, 200)
    y = (p < 0.4).astype(np.float64)
    fitted = fit_beta(y, p)
    assert fitted.parameters["a"] == fitted.parameters["b"] == 0
    assert fitted.apply(p) == pytest.approx(np.full(200, y.mean()))


def test_a_bin_without_items_leaves_the_probability_as_it_is() -> None:
    fitted = fit_histogram(np.array([0.0, 1.0, 1.0]), np.array([0.05, 0.92, 0.95]))
    assert fitted.apply(np.array([0.01, 0.5, 0.99])).tolist() == [0.0, 0.5, 1.0]
