"""Planted truth about estimators: orders that they must keep, and orders that they must change."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.measuring.estimators import (
    CHANGED,
    FLIPS,
    OPEN,
    SAME,
    Resamples,
    SetValues,
    set_values,
    study,
    usable_estimators,
)
from equipoise.measuring.items import Items
from equipoise.records import EquipoiseError, Estimate, Outcomes
from equipoise.stats.bounded import mean_interval
from equipoise.uncertainty import ESTIMATORS

PLAN = Resamples(resamples=200)
SETS = 120


def outcomes(probs: np.ndarray) -> Outcomes:
    """Return sets of a male and a female item whose first candidate is right."""
    n = len(probs)
    names = np.array([f"s{number // 2}" for number in range(n)], dtype=object)
    groups = {
        "gender": np.array(["male", "female"] * (n // 2), dtype=object),
        "occupation": np.array([f"job {number // 2 % 4}" for number in range(n)], dtype=object),
    }
    nothing = np.full(n, "", dtype=object)
    zeros = np.zeros(n, dtype=np.int64)
    ids = np.array([f"e{number}" for number in range(n)], dtype=object)
    answerable = np.ones(n, dtype=bool)
    return Outcomes(ids, nothing, names, probs, np.log(probs), zeros, zeros, answerable, groups, nothing)


def model(first: float, second: float, spread: float, seed: int) -> Items:
    """Return items of a model that gives the right one of two candidates `first` and `second`, with some noise."""
    noise = np.random.default_rng(seed).uniform(-spread, spread, 2 * SETS)
    right = np.tile([first, second], SETS) + noise
    return Items(outcomes(np.column_stack([right, 1 - right])))


def values_of(runs: dict[str, Items]) -> SetValues:
    over_candidates = [estimator for estimator in usable_estimators(list(runs.values())) if not estimator.over]
    return set_values(runs, np.arange(2 * SETS), "u", over_candidates)


def test_margin_and_top_probability_are_one_with_two_candidates() -> None:
    values = values_of({"a": model(0.9, 0.8, 0.02, 1)})
    assert values.estimators == ["perplexity", "entropy", "renyi", "fisher-rao", "margin, top-probability"]
    assert values.values.shape == (1, 5, SETS) and len(set(values.clusters.tolist())) == SETS


def test_an_order_that_all_estimators_keep_is_the_same() -> None:
    result = study(values_of({"even": model(0.9, 0.88, 0.01, 1), "uneven": model(0.9, 0.3, 0.01, 2)}), PLAN)
    (order,) = result.orders
    assert order.verdict == SAME and len(order.for_first) == 5 and not order.for_second
    assert len(order.sides) == 0 and order.sets == SETS
    models = [row for row in result.agreements if row.over == "models"]
    assert {row.kendall.value for row in models} == {1.0} and all(np.isnan(row.kendall.low) for row in models)


def test_an_order_that_the_curvature_of_the_estimators_turns_is_found() -> None:
    # Margin sees 0.55 and 0.72 further apart than 0.86 and 0.98. Perplexity is flat near 1/2 and steep near 1.
    result = study(values_of({"unsure": model(0.55, 0.72, 0.01, 1), "sure": model(0.86, 0.98, 0.01, 2)}), PLAN)
    (order,) = result.orders
    assert order.verdict == CHANGED
    assert "perplexity" in order.for_first and order.for_second == ["margin, top-probability"]
    assert len(order.sides) > SETS / 2
    perplexity = {row.run: row for row in result.standings if row.estimator == "perplexity"}
    assert (perplexity["unsure"].rank.best, perplexity["sure"].rank.best) == (1, 2)


def test_what_a_run_has_measured_is_shown_as_it_was_measured() -> None:
    values = values_of({"a": model(0.8, 0.79, 0.002, 1)})
    measured = Estimate(0.5, 0.4, 0.6, 0.95, SETS, "as measured")
    result = study(values, PLAN, {("a", "renyi"): measured, ("a", FLIPS): measured})
    shown = {row.estimator: row.ucerf for row in result.standings}
    assert shown["renyi"] is measured is result.flips[0] and shown["entropy"] != measured
    # Others have the interval that an audit gives them.
    units = values.values[0, 0]
    assert shown["perplexity"].ends == mean_interval(units, (0, 1), level=0.95).ends


def test_a_difference_that_no_comparison_would_detect_is_no_order() -> None:
    # Planted noise of 1 and of 1.0001: the difference is real, and far too small for 120 sets.
    result = study(values_of({"a": model(0.8, 0.7, 0.1, 1), "b": model(0.8001, 0.7, 0.1, 1)}), PLAN)
    assert [order.verdict for order in result.orders] == [OPEN]


def test_no_order_is_tested_by_a_threshold_from_the_runs_own_labels() -> None:
    runs = {"a": model(0.9, 0.9, 0.02, 1), "b": model(0.9, 0.5, 0.02, 2)}
    values = set_values(runs, np.arange(2 * SETS), "u", [ESTIMATORS["perplexity"], ESTIMATORS["conformal"]])
    (order,) = study(values, PLAN).orders
    assert (order.for_first, order.for_second, order.open) == (["perplexity"], [], [])
    assert {row.estimator for row in study(values, PLAN).standings} == {"perplexity", "conformal"}


def test_equal_models_are_not_ordered() -> None:
    result = study(values_of({"a": model(0.8, 0.7, 0.1, 1), "b": model(0.8, 0.7, 0.1, 2)}), PLAN)
    (order,) = result.orders
    assert order.verdict == OPEN and not order.for_first and not order.for_second
    assert all(row.rank.best == 1 and row.rank.worst == 2 for row in result.standings)


def test_every_value_has_an_interval_with_width_and_its_n() -> None:
    result = study(values_of({"a": model(0.8, 0.6, 0.1, 1)}), PLAN)
    for row in result.standings:
        assert row.ucerf.low < row.ucerf.value < row.ucerf.high and row.ucerf.n == SETS
    overs = {row.over: row.kendall.n for row in result.agreements}
    assert overs == {"occupations": 4, "sets": SETS}
    assert result.flips[0].value == result.flips[0].low == 0 < result.flips[0].high < 0.05
    for row in result.agreements:
        assert all(tau.low <= tau.value <= tau.high for tau in (row.kendall, row.spearman) if tau.has_interval)
    assert not result.orders and len(result.crossing) == 1


def test_resamples_are_checked() -> None:
    with pytest.raises(EquipoiseError, match="resamples must be at least 2, not 1"):
        Resamples(resamples=1)
