"""Post-hoc calibration: maps from a stated probability to one that comes true as often as it says.

The only file that uses scikit-learn; it is imported where a map is fitted, because that takes half a second. A map is
fitted on labels `y` and probabilities `p`, and is a pure function of p; `parameters` say all there is to know of it.
Fitting needs both labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..records import Floats, UndefinedMetric
from .calibration import BINS, bin_numbers, binned

EDGE = 1e-12
"""Probabilities are kept so far from 0 and 1 where a logarithm is taken."""


@dataclass(frozen=True)
class CalibrationMap:
    """A fitted map; `parameters` are numbers or lists of numbers by name."""

    method: str
    parameters: Mapping[str, Any]
    apply: Callable[[Floats], Floats]


def fit_beta(y: Floats, p: Floats) -> CalibrationMap:
    """Return sigmoid(a ln p - b ln(1-p) + c) with a, b >= 0 (Kull et al. 2017, three parameters)."""
    features = np.column_stack([np.log(_inside(p)), -np.log(_inside(1 - p))])
    used = [0, 1]
    weights, c = _logistic(features, y)
    while used and weights.min() < 0:
        # A map must not fall where the probability rises: the offending term goes, the others are fitted again.
        used.pop(int(weights.argmin()))
        weights, c = _logistic(features[:, used], y)
    a, b = (float(weights[used.index(k)]) if k in used else 0.0 for k in (0, 1))

    def apply(p: Floats) -> Floats:
        return _sigmoid(a * np.log(_inside(p)) - b * np.log(_inside(1 - p)) + c)

    return CalibrationMap("beta", {"a": a, "b": b, "c": c}, apply)


def fit_platt(y: Floats, p: Floats) -> CalibrationMap:
    """Return sigmoid(slope logit(p) + shift) (Platt 1999, on the logit)."""
    weights, shift = _logistic(_logit(p)[:, None], y)
    slope = float(weights[0])
    return CalibrationMap("platt", {"slope": slope, "shift": shift}, lambda p: _sigmoid(slope * _logit(p) + shift))


def fit_temperature(y: Floats, p: Floats) -> CalibrationMap:
    """Return sigmoid(logit(p) / T) with T > 0; T is infinite where the probabilities say nothing of the labels."""
    weights, _ = _logistic(_logit(p)[:, None], y, shifted=False)
    slope = max(float(weights[0]), 0.0)
    temperature = 1 / slope if slope else float("inf")
    return CalibrationMap("temperature", {"temperature": temperature}, lambda p: _sigmoid(slope * _logit(p)))


def fit_isotonic(y: Floats, p: Floats) -> CalibrationMap:
    """Return the best rising step map, constant beyond the probabilities seen (Zadrozny and Elkan 2002)."""
    from sklearn.isotonic import IsotonicRegression

    _both_labels(y)
    fitted = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(p, y)
    knots = {"p": fitted.X_thresholds_.tolist(), "to": fitted.y_thresholds_.tolist()}
    return CalibrationMap("isotonic", knots, lambda p: np.asarray(fitted.predict(p), dtype=np.float64))


def fit_histogram(y: Floats, p: Floats, *, bins: int = BINS) -> CalibrationMap:
    """Return each bin's share of labels (Zadrozny and Elkan 2001); a bin without items leaves p as it is."""
    _both_labels(y)
    bins_filled = binned(y, p, bins=bins)
    rates = np.divide(bins_filled.labels, bins_filled.counts, out=np.full(bins, np.nan), where=bins_filled.counts > 0)

    def apply(p: Floats) -> Floats:
        rate = rates[bin_numbers(p, bins=bins)]
        return np.where(np.isnan(rate), p, rate)

    return CalibrationMap("histogram", {"rates": [None if np.isnan(r) else float(r) for r in rates]}, apply)


METHODS: Mapping[str, Callable[[Floats, Floats], CalibrationMap]] = {
    "beta": fit_beta,
    "platt": fit_platt,
    "isotonic": fit_isotonic,
    "temperature": fit_temperature,
    "histogram": fit_histogram,
}
"""Name -> fit(y, p)."""


def _both_labels(y: Floats) -> None:
    if not len(y) or y.min() == y.max():
        raise UndefinedMetric("a calibration map of items that all have one label")


def _logistic(features: Floats, y: Floats, *, shifted: bool = True) -> tuple[Floats, float]:
    """Return weights and intercept of a logistic regression without penalty."""
    from scipy.linalg import LinAlgWarning
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    _both_labels(y)
    if not features.shape[1]:
        rate = float(y.mean())
        return np.empty(0), float(np.log(rate / (1 - rate)))
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", fit_intercept=shifted, tol=1e-8)
    with warnings.catch_warnings():
        # Items that a threshold tells apart, or probabilities of 0 and 1 alone: scikit-learn takes another solver.
        warnings.simplefilter("ignore", LinAlgWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(features, y == 1)
    return np.asarray(model.coef_[0], dtype=np.float64), float(np.ravel(model.intercept_)[0])


def _inside(p: Floats) -> Floats:
    return np.clip(p, EDGE, 1 - EDGE)


def _logit(p: Floats) -> Floats:
    return np.asarray(np.log(_inside(p)) - np.log(_inside(1 - p)))


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))
