"""Planted truth about estimators: orders that they must keep, and orders that they must change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kept_texts import assert_kept

from equipoise.measuring import estimators as module
from equipoise.measuring.estimators import (
    CHANGED,
    FLIPS,
    OPEN,
    SAME,
    Resamples,
    SetValues,
    correlation_of,
    interval_of,
    is_usable,
    set_values,
    study,
    usable_estimators,
)
from equipoise.measuring.items import Items
from equipoise.records import OPEN_ANSWER, EquipoiseError, Estimate, Outcomes, UndefinedMetric
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


@pytest.mark.parametrize("most", [16_384, 20])
def test_means_of_resamples_are_those_of_the_sets_as_often_as_drawn(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.stats.bootstrap.MOST_UNITS", most)
    rng = np.random.default_rng(4)
    jobs = np.array(["", "cook", "judge", "aide"], dtype=object)[rng.integers(0, 4, SETS)]
    values = replace(
        values_of({"a": model(0.9, 0.8, 0.1, 1), "b": model(0.7, 0.6, 0.1, 2)}),
        clusters=np.repeat(np.arange(SETS // 2), 2),
        groups=jobs,
    )
    weights = values.weights(resamples=30, seed=3)
    assert weights.shape == (min(most, SETS // 2), 30) and (weights.sum(axis=0) == len(weights)).all()
    assert (values.units[::2] == values.units[1::2]).all(), "the sets of a cluster are drawn together"
    by_set = weights[values.units]
    expected = (values.values @ by_set) / by_set.sum(axis=0)
    np.testing.assert_allclose(values.means(weights), expected, rtol=1e-13)
    for run in (0, 1):
        names, means = values.group_means(run, weights)
        assert names.tolist() == ["aide", "cook", "judge"]
        for place, name in enumerate(names):
            inside = (jobs == name)[:, None] * by_set
            np.testing.assert_allclose(means[:, place], values.values[run] @ inside / inside.sum(axis=0), rtol=1e-13)


def test_resamples_are_checked() -> None:
    with pytest.raises(EquipoiseError, match="resamples must be at least 2, not 1"):
        Resamples(resamples=1)


def test_studies_of_estimators_are_as_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {"a": model(0.8, 0.62, 0.2, 1), "b": model(0.55, 0.72, 0.2, 2), "c": model(0.9, 0.5, 0.1, 3)}
    values = values_of(runs)
    plan = Resamples(resamples=40, level=0.9, seed=2, parts=2)
    made = study(values, plan)
    crossing = [len(names) for names in made.crossing]
    parts = [made.standings, made.flips, made.agreements, crossing]
    orders = [
        (o.first, o.second, o.for_first, o.for_second, o.open, o.verdict, len(o.sides), o.sets) for o in made.orders
    ]
    monkeypatch.setattr(module, "MOST_SETS", 50)
    few = [row for row in study(values, plan).agreements if row.over == "sets"][:3]
    assert_kept("measured/estimators-study", *parts, orders, few)


def test_resamples_and_levels_are_refused_in_whole_sentences() -> None:
    for level in (0.0, 1.0):
        with pytest.raises(EquipoiseError, match=f"^level must lie between 0 and 1, not {level}$"):
            Resamples(level=level)
    with pytest.raises(EquipoiseError, match=r"^resamples must be at least 2, not 1$"):
        Resamples(resamples=1)
    assert Resamples(resamples=2, level=0.01).parts == 1


def test_intervals_without_width_are_none_and_correlations_hold_their_value() -> None:
    plan = Resamples(level=0.9)
    flat = interval_of(0.3, np.full(50, 0.3), 9, plan)
    assert not flat.has_interval and (flat.value, flat.n) == (0.3, 9)
    drawn = np.random.default_rng(0).normal(0.2, 0.1, 200)
    plain, of_sets = interval_of(0.3, drawn, 500, plan), interval_of(0.3, drawn, 5, plan, sets=500)
    assert plain.ends == of_sets.ends and (plain.n, of_sets.n) == (500, 5) and plain.method == of_sets.method
    assert interval_of(0.3, drawn, 5, plan).width > plain.width, "few units are wider"
    moved = correlation_of(0.9, drawn, 500, plan)
    assert moved.low < 0.9 < moved.high <= 1.0 and moved.low == pytest.approx(plain.low + 0.9 - drawn.mean(), abs=1e-9)
    assert not correlation_of(0.9, np.full(5, np.nan), 500, plan).has_interval


def test_estimators_are_usable_where_items_have_what_they_need() -> None:
    items = model(0.8, 0.7, 0.05, 1)
    usable = {name for name, estimator in ESTIMATORS.items() if is_usable(estimator, items)}
    assert {"perplexity", "margin", "conformal"} <= usable
    assert not {"semantic-entropy", "prompt-ensemble", "ensemble-agreement"} & usable
    flags = np.full(len(items), OPEN_ANSWER, dtype=object)
    semantic = ESTIMATORS["semantic-entropy"]
    assert is_usable(semantic, Items(replace(items.outcomes, flags=flags)))
    flags[0] = ""
    assert not is_usable(semantic, Items(replace(items.outcomes, flags=flags)))
    sure = np.tile([1.0, 0.0], (len(items), 1))
    with np.errstate(divide="ignore"):
        greedy = replace(
            items.outcomes, probs=sure, logprobs=np.log(sure), flags=np.full(len(items), OPEN_ANSWER, object)
        )
    assert not is_usable(semantic, Items(greedy))


def test_sets_of_one_member_cannot_be_compared() -> None:
    alone = model(0.8, 0.7, 0.05, 1).outcomes.take(np.arange(0, 20, 2))
    with pytest.raises(
        UndefinedMetric, match=r"^no counterfactual set: a comparison of estimators needs sets with two members$"
    ):
        set_values({"a": Items(alone)}, np.arange(10), "u", [ESTIMATORS["perplexity"]])


def test_resamples_are_refused_before_the_level_is() -> None:
    with pytest.raises(EquipoiseError, match=r"^resamples must be at least 2, not 1$"):
        Resamples(resamples=1, level=3.0)
