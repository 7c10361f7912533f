"""Metrics and estimators of other packages: what goes wrong in their code is said in a sentence, and whose it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, wraps
from typing import Any

import numpy as np

from ..catalog import explained, find, whose_is
from ..records import EquipoiseError, Floats
from ..uncertainty import ESTIMATORS, Estimator
from .groups import Norm
from .metric import Metric
from .table import METRICS

ADVICE = "the answers are kept: correct it or leave it out, and run the command again"
ROUNDING = 1e-6
"""How far outside its bounds a value may lie, as a share of what is between them."""


def metric_row(name: str) -> Metric:
    """Return the row of a metric; what the code of another package raises or gives wrongly is said to be its own."""
    metric = find(name, METRICS, kind="metric")
    return metric if name in METRICS else _checked_metric(metric, whose_is(name, kind="metric"))


def estimator_row(name: str) -> Estimator:
    """Return the row of an estimator, with the same care."""
    estimator = find(name, ESTIMATORS, kind="estimator")
    return estimator if name in ESTIMATORS else _checked_estimator(estimator, whose_is(name, kind="estimator"))


@cache  # rows are told apart by their functions
def _checked_metric(metric: Metric, whose: str) -> Metric:
    function: Callable[..., Any] = metric.function
    if isinstance(function, Norm):
        function = replace(function, differences=_checked(function.differences, function.join, metric.bounds, whose))
    else:
        function = _checked(function, lambda value: value, metric.bounds, whose)
    return replace(metric, function=function, possible=metric.possible and explained(metric.possible, whose, ADVICE))


@cache
def _checked_estimator(estimator: Estimator, whose: str) -> Estimator:
    careful = explained(estimator.certainty, whose, ADVICE)

    def certainty(probs: Floats) -> Floats:
        given = np.asarray(careful(probs))
        if given.shape != (len(probs),) or given.dtype.kind not in "biuf":
            raise EquipoiseError(f"{whose} gives no number for each of {len(probs):,} rows; {ADVICE}")
        known = given[~np.isnan(probs).any(axis=1)]
        wrong = known[~((known >= -ROUNDING) & (known <= 1 + ROUNDING))]
        if len(wrong):
            raise EquipoiseError(f"{whose} gives a certainty of {wrong[0]:.6g}, not one from 0 to 1; {ADVICE}")
        return given

    return replace(estimator, certainty=certainty)


def _checked(
    function: Callable[..., Any], size: Callable[[Any], Any], bounds: tuple[float, float], whose: str
) -> Callable[..., Any]:
    """Return the function of a metric, whose size is a number within the bounds of its row, or it is an error."""
    careful = explained(function, whose, ADVICE)

    @wraps(function)
    def checked(*columns: Any, **options: Any) -> Any:
        given = careful(*columns, **options)
        value = size(given)
        if getattr(options.get("weights"), "ndim", 0) == 2:
            if np.ndim(value) != 1:
                raise EquipoiseError(f"{whose} gives no number for each column of its weights; {ADVICE}")
        elif np.ndim(value) or np.asarray(value).dtype.kind not in "biuf":
            raise EquipoiseError(f"{whose} gives {type(value).__name__}, not a number; {ADVICE}")
        elif not _is_within(float(value), *bounds):
            row = f"its row says that it lies between {bounds[0]:g} and {bounds[1]:g}"
            raise EquipoiseError(f"{whose} gives {value:.6g}, but {row}; {ADVICE}")
        return given

    return checked


def _is_within(value: float, low: float, high: float) -> bool:
    slack = ROUNDING * (high - low) if np.isfinite(high - low) else ROUNDING
    return not (value < low - slack or value > high + slack)  # NaN is said elsewhere
