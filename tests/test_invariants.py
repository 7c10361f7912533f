"""What holds for every metric and every estimator, run over all rows of the two tables.

A new row is tested here without a new line of test, except for its bounds and, for a column of a new kind, how
such a column is drawn; a row that lacks either fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from equipoise.measuring.items import item_columns
from equipoise.measuring.measure import COLUMNS
from equipoise.metrics import METRICS, Metric
from equipoise.records import Outcomes, UndefinedMetric
from equipoise.uncertainty import ESTIMATORS, PERPLEXITY, Estimator

BOUNDS = {
    "ucerf": (0, 1),
    "ucerf_signed": (0, 1),
    "ucerf_eq3": (0, 1),
    "fp": (0, 1),
    "accuracy": (0, 1),
    "accuracy_gap": (0, 1),
    "eo_sum": (0, 2),
    "eo_max": (0, 1),
    "eo_mean": (0, 1),
    "perplexity": (1, 3),
    "certainty": (0, 1),
    "certainty_gap": (-1, 1),
    "desirability": (-1, 1),
    "desirability_gap": (-2, 2),
    "ucerf_group_disparity": (0, 2),
    "ucerf_group_disparity_strict": (0, 2),
    "candidate_mass": (0, 1),
    "vocab_bits": (0, 20),
    "vocab_mass": (0, 1),
    "confidence": (-1, 1),
    "confidence_pair": (-1, 1),
    "confidence_marked": (-1, 1),
}
"""What the docstrings promise, for three candidates."""


RANGES = {
    "correct": (0.0, 1.0),
    "perplexity": (1.0, 3.0),
    "certainty": (0.0, 1.0),
    "desirability": (-1.0, 1.0),
    "performance": (0.0, 1.0),
    "positive": (0.0, 1.0),
    "mass": (0.0, 1.0),
    "vocab_bits": (0.0, 20.0),
    "vocab_mass": (0.0, 1.0),
    "u": (0.0, 1.0),
    "u_eq3": (0.5, 1.0),
    "u_signed": (0.0, 1.0),
    "confidence": (-1.0, 1.0),
    "confidence_pair": (-1.0, 1.0),
    "confidence_marked": (-1.0, 1.0),
}
"""Columns of numbers; NaN stands where one does not apply."""
WHOLE = ("correct", "positive")
NAMES = {"stereotype": ("pro", "anti", ""), "gender": ("male", "female", "neutral", "")}
FLAGS = ("chosen_positive",)

Arrays = list[np.ndarray]
every_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.name)
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=lambda estimator: estimator.name)


def _array(name: str, cells: Sequence[Any] | np.ndarray) -> np.ndarray:
    return np.array(cells, dtype=np.float64 if name in RANGES else bool if name in FLAGS else object)


def _column(name: str, size: int, gaps: float, rng: np.random.Generator) -> np.ndarray:
    if name in FLAGS:
        return rng.random(size) < 0.6
    if name in NAMES:
        return _array(name, rng.choice(NAMES[name], size))
    low, high = RANGES[name]
    values = low + (high - low) * rng.random(size)
    ends = np.where(rng.random(size) < 0.5, low, high)
    values = np.where(rng.random(size) < (1.0 if name in WHOLE else 0.3), ends, values)
    return np.where(rng.random(size) < gaps, np.nan, values)


@st.composite
def inputs_of(draw: st.DrawFn, metric: Metric, *, min_size: int = 1, max_size: int = 40) -> Arrays:
    """Draw the columns that a metric reads, of every length and with more or fewer gaps."""
    size, gaps = draw(st.integers(min_size, max_size)), draw(st.sampled_from([0.0, 0.1, 0.5]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return [_column(name, size, gaps, rng) for name in metric.inputs]


def value_of(metric: Metric, arrays: Sequence[np.ndarray], **options: Any) -> float | None:
    """Return the metric, None where it is undefined; anything but a finite number is a fault."""
    try:
        value = float(metric.function(*arrays, **options))
    except UndefinedMetric:
        return None
    assert np.isfinite(value)
    return value


def same(one: float | None, other: float | None, *, tolerance: float = 1e-12) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= tolerance


# --- the tables ------------------------------------------------------------------------------------------------


def test_every_metric_has_its_bounds_here() -> None:
    assert set(BOUNDS) == set(METRICS)


@every_metric
def test_every_metric_reads_columns_that_there_are(metric: Metric) -> None:
    assert set(metric.inputs) <= set(COLUMNS)
    assert set(metric.inputs) <= {*RANGES, *NAMES, *FLAGS}


@every_metric
def test_every_metric_says_what_it_is(metric: Metric) -> None:
    assert METRICS[metric.name] is metric
    assert metric.says
    assert metric.better in ("higher", "lower", "neither")


@every_metric
def test_ucerf_is_never_pooled(metric: Metric) -> None:
    assert metric.pools == (not any(name.startswith("u") for name in metric.inputs))


# --- metrics as functions of arrays ----------------------------------------------------------------------------


@every_metric
@given(data=st.data())
def test_a_metric_is_undefined_or_within_its_bounds(metric: Metric, data: st.DataObject) -> None:
    value = value_of(metric, data.draw(inputs_of(metric)))
    low, high = BOUNDS[metric.name]
    assert value is None or low - 1e-12 <= value <= high + 1e-12


@every_metric
def test_a_metric_is_defined_where_every_kind_of_item_is_there(metric: Metric) -> None:
    rng = np.random.default_rng(0)
    assert value_of(metric, [_column(name, 200, 0.1, rng) for name in metric.inputs]) is not None


@every_metric
@given(data=st.data())
def test_a_metric_does_not_depend_on_the_order_of_rows(metric: Metric, data: st.DataObject) -> None:
    arrays = data.draw(inputs_of(metric))
    order = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1))).permutation(len(arrays[0]))
    assert same(value_of(metric, arrays), value_of(metric, [array[order] for array in arrays]))


@every_metric
def test_a_metric_of_nothing_is_undefined(metric: Metric) -> None:
    with pytest.raises(UndefinedMetric, match="empty"):
        metric.function(*(_array(name, []) for name in metric.inputs))


@every_metric
def test_a_metric_of_items_it_does_not_apply_to_is_undefined(metric: Metric) -> None:
    arrays = [_array(name, [np.nan if name in RANGES else True if name in FLAGS else ""] * 4) for name in metric.inputs]
    with pytest.raises(UndefinedMetric, match="empty"):
        metric.function(*arrays)


@every_metric
@given(data=st.data())
def test_a_row_of_nan_counts_as_no_row(metric: Metric, data: st.DataObject) -> None:
    arrays = data.draw(inputs_of(metric, min_size=2))
    gone = data.draw(st.integers(0, len(arrays[0]) - 1))
    blanked = [array.copy() for array in arrays]
    for name, array in zip(metric.inputs, blanked, strict=True):
        if name in RANGES:
            array[gone] = np.nan
        elif name in NAMES:
            array[gone] = ""
    assert same(value_of(metric, blanked), value_of(metric, [np.delete(array, gone) for array in arrays]))


@every_metric
@given(data=st.data())
def test_weights_of_one_change_nothing(metric: Metric, data: st.DataObject) -> None:
    arrays = data.draw(inputs_of(metric))
    plain = value_of(metric, arrays)
    for kind, tolerance in ((np.float64, 1e-12), (np.int64, 1e-12), (np.float32, 1e-6)):
        weights = np.ones(len(arrays[0]), dtype=kind)
        assert same(plain, value_of(metric, arrays, weights=weights), tolerance=tolerance)


@every_metric
@given(data=st.data())
def test_weights_count_as_repeated_rows(metric: Metric, data: st.DataObject) -> None:
    arrays = data.draw(inputs_of(metric))
    times = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1))).integers(0, 4, size=len(arrays[0]))
    repeated = value_of(metric, [np.repeat(array, times) for array in arrays])
    for kind, tolerance in ((np.float64, 1e-12), (np.int64, 1e-12), (np.float32, 1e-6)):
        assert same(repeated, value_of(metric, arrays, weights=times.astype(kind)), tolerance=tolerance)


@every_metric
@given(data=st.data())
def test_a_column_of_weights_a_resample_gives_a_value_a_resample(metric: Metric, data: st.DataObject) -> None:
    arrays = data.draw(inputs_of(metric, min_size=30))
    assume(value_of(metric, arrays) is not None)
    rng = np.random.default_rng(len(arrays[0]))
    weights = rng.integers(0, 3, size=(len(arrays[0]), 5)).astype(np.float64)
    together = metric.function(*arrays, weights=weights)
    assert together.shape == (5,)
    for column in range(5):
        alone = value_of(metric, [np.repeat(array, weights[:, column].astype(int)) for array in arrays])
        assert same(alone, None if np.isnan(together[column]) else together[column])


# --- metrics as measures of a model ----------------------------------------------------------------------------

ALIKE, SKEWED = "alike", "skewed"


def model(make_outcomes: Any, kind: str, *, answerable: bool) -> Outcomes:
    """Return outcomes of a model that treats he and she alike, or follows the stereotype, on eight pairs.

    Where there is a right answer the first is sure and right (but for one wrong answer of each kind of item, so
    that there are false positives), the second sure and right for pro-, unsure or wrong for anti-stereotypical items.
    """
    rows = []
    for pair in range(8):
        side = "male" if pair < 4 else "female"
        gold = pair % 2
        for gender in ("male", "female"):
            pro = gender == side
            right = 0.95 if pair not in (3, 7) else 0.1
            if kind == SKEWED:
                right = (0.97 if pro else 0.4) if pair not in (2, 6) else (0.3 if pro else 0.02)
                right = right if pair not in (1, 5) else (0.97 if pro else 0.6)
            if not answerable:
                right = 0.5 if kind == ALIKE else (0.97 if pro else 0.2)
            none = 0.0 if answerable else (1 / 3 if kind == ALIKE else 0.01)
            pair_probs = np.array([right, 1 - right] if gold == 0 else [1 - right, right]) * (1 - none)
            row = {"pair": f"p{pair}", "probs": (*pair_probs, none), "gender": gender, "mass": 0.5}
            row |= {"side": side, "stereotype": "pro" if pro else "anti"}
            rows.append(row | ({"gold": gold} if answerable else {}))
    return make_outcomes(rows)


def kinds_of(metric: Metric) -> list[bool]:
    """Return which items the metric applies to: answerable ones, unanswerable ones, or each."""
    return {"any": [True, False], "unanswerable": [False]}.get(metric.needs, [True])


def measured(metric: Metric, outcomes: Outcomes, estimator: Estimator = PERPLEXITY) -> float:
    columns = item_columns(outcomes, estimator)
    return float(metric.function(*(columns[name] for name in metric.inputs)))


@every_estimator
@pytest.mark.parametrize("name", [name for name, metric in METRICS.items() if metric.better != "neither"])
def test_a_metric_runs_the_way_it_declares(make_outcomes, name: str, estimator: Estimator) -> None:
    metric = METRICS[name]
    for answerable in kinds_of(metric):
        better = measured(metric, model(make_outcomes, ALIKE, answerable=answerable), estimator)
        worse = measured(metric, model(make_outcomes, SKEWED, answerable=answerable), estimator)
        assert better > worse + 0.01 if metric.better == "higher" else better < worse - 0.01


def test_only_what_has_no_good_end_declares_neither() -> None:
    assert {name for name, metric in METRICS.items() if metric.better == "neither"} == {
        "perplexity",
        "certainty",
        "certainty_gap",
        "desirability_gap",
        "candidate_mass",
        "vocab_bits",
        "vocab_mass",
    }


@every_metric
@given(data=st.data())
def test_a_model_s_measure_depends_on_neither_row_order_nor_pair_names(
    make_outcomes, metric: Metric, data: st.DataObject
) -> None:
    outcomes = model(make_outcomes, SKEWED, answerable=kinds_of(metric)[0])
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    order, names = rng.permutation(len(outcomes)), rng.permutation([f"renamed {i}" for i in range(8)])
    renamed = {f"p{i}": name for i, name in enumerate(names)}
    pair_id = np.array([renamed[pair] for pair in outcomes.pair_id], dtype=object)
    shuffled = replace(outcomes, pair_id=pair_id).take(order)
    assert measured(metric, shuffled) == pytest.approx(measured(metric, outcomes), abs=1e-12)


@st.composite
def pairs_of_items(draw: st.DrawFn, *, answerable: bool) -> list[dict[str, Any]]:
    """Draw counterfactual pairs of any probabilities over three candidates, ties and zeros included."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    largest = draw(st.sampled_from([1, 3, 100]))
    rows = []
    for pair in range(draw(st.integers(1, 12))):
        side, gold = str(rng.choice(["male", "female"])), int(rng.integers(2))
        for gender in ("male", "female"):
            weights = rng.integers(0, largest + 1, size=3) + 1e-9 * (largest == 100)
            weights = weights if weights.any() else np.ones(3)
            row = {"pair": f"p{pair}", "probs": weights / weights.sum(), "gender": gender, "side": side}
            row["stereotype"] = "pro" if gender == side else "anti"
            rows.append(row | ({"gold": gold} if answerable else {}))
    return rows


@every_metric
@given(data=st.data())
def test_any_model_is_measured_within_bounds_by_every_estimator(
    make_outcomes, metric: Metric, data: st.DataObject
) -> None:
    answerable = data.draw(st.sampled_from(kinds_of(metric)))
    outcomes = make_outcomes(data.draw(pairs_of_items(answerable=answerable)))
    low, high = BOUNDS[metric.name]
    for estimator in ESTIMATORS.values():
        columns = item_columns(outcomes, estimator)
        value = value_of(metric, [columns[name] for name in metric.inputs])
        assert value is None or low - 1e-12 <= value <= high + 1e-12


@pytest.mark.parametrize("name", [name for name, metric in METRICS.items() if metric.over != "items"])
@given(data=st.data())
def test_a_model_that_treats_all_alike_has_no_disparity(make_outcomes, name: str, data: st.DataObject) -> None:
    metric = METRICS[name]
    rows = data.draw(pairs_of_items(answerable=data.draw(st.sampled_from(kinds_of(metric)))))
    for he, she in zip(rows[::2], rows[1::2], strict=True):
        she["probs"] = he["probs"]
    columns = item_columns(make_outcomes(rows), data.draw(st.sampled_from(list(ESTIMATORS.values()))))
    value = value_of(metric, [columns[column] for column in metric.inputs])
    best = 0.0 if metric.over == "contrast" else columns["performance"].mean() if name == "fp" else 1.0
    # A contrast may lack one of its sides; a value over pairs is there as long as a pair is.
    assert value == pytest.approx(best, abs=1e-12) or (value is None and metric.over == "contrast")


# --- estimators ------------------------------------------------------------------------------------------------

sizes = pytest.mark.parametrize("k", [2, 3, 7])


@st.composite
def distributions(draw: st.DrawFn, *, k: int | None = None) -> np.ndarray:
    """Draw one distribution over k candidates, as a row; zeros and ties included."""
    k = k or draw(st.integers(2, 8))
    weights = draw(st.lists(st.integers(0, 100), min_size=k, max_size=k).filter(any))
    return np.array([weights], dtype=np.float64) / sum(weights)


@every_estimator
@sizes
def test_certainty_is_0_at_uniform_and_1_at_one_hot(estimator: Estimator, k: int) -> None:
    uniform, one_hot = np.full((1, k), 1 / k), np.eye(k)
    assert estimator.certainty(uniform) == pytest.approx([0.0], abs=1e-7)
    assert estimator.certainty(one_hot) == pytest.approx(np.ones(k), abs=1e-12)


@every_estimator
@sizes
def test_certainty_rises_all_the_way_from_uniform_to_one_hot(estimator: Estimator, k: int) -> None:
    steps = np.linspace(0, 1, 101)[:, None]
    path = (1 - steps) * np.full(k, 1 / k) + steps * np.eye(k)[0]
    assert np.all(np.diff(estimator.certainty(path)) > 0)
    assert np.all(np.diff(estimator.uncertainty(path)) < 0)


@every_estimator
@given(probs=distributions())
def test_certainty_lies_between_0_and_1(estimator: Estimator, probs: np.ndarray) -> None:
    assert -1e-12 <= estimator.certainty(probs)[0] <= 1 + 1e-12


@every_estimator
@given(probs=distributions(), share=st.floats(0, 1))
def test_mixing_with_uniform_never_makes_surer(estimator: Estimator, probs: np.ndarray, share: float) -> None:
    flatter = (1 - share) * probs + share / probs.shape[1]
    assert estimator.certainty(flatter)[0] <= estimator.certainty(probs)[0] + 1e-7
    assert estimator.uncertainty(flatter)[0] >= estimator.uncertainty(probs)[0] - 1e-7


@every_estimator
@given(probs=distributions(), data=st.data())
def test_an_estimator_does_not_mind_which_candidate_is_which(
    estimator: Estimator, probs: np.ndarray, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(probs.shape[1])))
    assert estimator.certainty(probs[:, order]) == pytest.approx(estimator.certainty(probs), abs=1e-7)


@every_estimator
@given(one=distributions(k=3), other=distributions(k=3))
def test_certainty_and_uncertainty_order_items_oppositely(
    estimator: Estimator, one: np.ndarray, other: np.ndarray
) -> None:
    both = np.vstack([one, other])
    (sure, surer), (unsure, less) = estimator.certainty(both), estimator.uncertainty(both)
    assume(abs(sure - surer) > 1e-9)
    assert (sure < surer) == (unsure > less)


@every_estimator
def test_an_estimator_takes_each_row_by_itself(estimator: Estimator) -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), size=20)
    alone = np.concatenate([estimator.certainty(row[None]) for row in probs])
    np.testing.assert_allclose(estimator.certainty(probs), alone, atol=1e-12)


@every_estimator
def test_an_estimator_of_no_rows_gives_no_values(estimator: Estimator) -> None:
    assert estimator.certainty(np.empty((0, 2))).shape == (0,)
    assert estimator.uncertainty(np.empty((0, 2))).shape == (0,)
