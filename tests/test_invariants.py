"""What holds for every metric and every estimator, run over all rows of the two tables.

Everything is derived from the rows of METRICS and COLUMNS: a new metric is tested here without a new line of test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.measuring.items import Items
from equipoise.metrics import METRICS, Metric
from equipoise.metrics.columns import COLUMNS
from equipoise.metrics.fairness import fairness_performance
from equipoise.records import Outcomes, UndefinedMetric
from equipoise.uncertainty import ESTIMATORS, PERPLEXITY, Estimator

Arrays = list[np.ndarray]
COMPUTED = [metric for metric in METRICS.values() if metric.inputs]
OF_MODELS = [
    metric for metric in COMPUTED if metric.unit in ("items", "sets", "contrast") and "pairs" not in metric.applies_to
]
every_metric = pytest.mark.parametrize("metric", COMPUTED, ids=lambda metric: metric.name)
RESAMPLED = [metric for metric in COMPUTED if metric.resampled]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=lambda estimator: estimator.name)
READ = sorted({name for metric in COMPUTED for name in metric.inputs})
OVER_GROUPS = ("identity", "grouping")
"""Units of metrics that take all groups together."""
WIDEST = 20.0
"""Where a column has no bound of its own."""


def blank(name: str) -> Any:
    """Return what a column holds where it does not apply."""
    column = COLUMNS[name]
    return np.nan if column.bounds else "" if column.names else True


def array_of(name: str, cells: Sequence[Any] | np.ndarray) -> np.ndarray:
    column = COLUMNS[name]
    return np.array(cells, dtype=np.float64 if column.bounds else object if column.names else bool)


def drawn_column(name: str, size: int, gaps: float, rng: np.random.Generator) -> np.ndarray:
    column = COLUMNS[name]
    if column.names:
        return array_of(name, rng.choice([*column.names, ""], size))
    if column.bounds is None:
        return rng.random(size) < 0.6
    low, high = max(column.bounds[0], -WIDEST), min(column.bounds[1], WIDEST)
    values = np.where(rng.random(size) < 0.3, rng.integers(0, 11, size) / 10, rng.random(size))
    ends = rng.integers(0, 2, size)
    values = low + (high - low) * np.where(rng.random(size) < (1.0 if column.whole else 0.3), ends, values)
    return np.where(rng.random(size) < gaps, np.nan, values)


seeds = st.integers(0, 2**32 - 1)


@st.composite
def inputs(draw: st.DrawFn, *, min_size: int = 1, max_size: int = 40) -> Callable[[Metric], Arrays]:
    """Draw every column, of any length and with more or fewer gaps; return a function that gives those of a metric.

    One table for all metrics: to draw one for each would take twenty times as long as to compute them.
    """
    size, gaps = draw(st.integers(min_size, max_size)), draw(st.sampled_from([0.0, 0.1, 0.5]))
    rng = np.random.default_rng(draw(seeds))
    table = {name: drawn_column(name, size, gaps, rng) for name in READ}
    return lambda metric: [table[name] for name in metric.inputs]


def value_of(metric: Metric, arrays: Sequence[np.ndarray], **options: Any) -> float | None:
    """Return the metric, None where it is undefined; anything but a finite number is a fault."""
    try:
        value = float(metric.function(*arrays, **options))
    except UndefinedMetric:
        return None
    assert np.isfinite(value)
    return value


def same(first: float | None, second: float | None, *, tolerance: float = 1e-9) -> bool:
    if first is None or second is None:
        return first is second
    return abs(first - second) <= tolerance


def within_bounds(metric: Metric, value: float | None) -> bool:
    low, high = metric.bounds
    return value is None or low - 1e-12 <= value <= high + 1e-12


# --- the table -------------------------------------------------------------------------------------------------


def test_every_row_owns_its_facts() -> None:
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.label and metric.summary and metric.taken_over
        assert not metric.summary.endswith(".")
        assert metric.better in ("higher", "lower", "neither")
        assert metric.bounds[0] < metric.bounds[1]
        assert set(metric.inputs) <= set(COLUMNS), f"{name} reads a column that does not exist"
        if {"u", "u_eq3", "u_signed", "u_intersectional"} & set(metric.inputs):
            assert not metric.mixes_answerable, f"{name}: U is defined differently with and without a right answer"


def test_every_column_has_one_kind() -> None:
    for column in COLUMNS.values():
        assert column.summary
        assert not (column.bounds and column.names)


# --- metrics as functions of arrays ----------------------------------------------------------------------------


@given(drawn=inputs())
def test_a_metric_is_undefined_or_within_its_bounds(drawn: Callable[[Metric], Arrays]) -> None:
    for metric in COMPUTED:
        assert within_bounds(metric, value_of(metric, drawn(metric))), metric.name


@every_metric
def test_a_metric_is_defined_where_every_kind_of_item_occurs(metric: Metric) -> None:
    rng = np.random.default_rng(0)
    assert value_of(metric, [drawn_column(name, 200, 0.1, rng) for name in metric.inputs]) is not None or (
        metric.name == "log_loss"  # a label that was called impossible
    )


@given(drawn=inputs(), seed=seeds)
def test_a_metric_does_not_depend_on_the_order_of_rows(drawn: Callable[[Metric], Arrays], seed: int) -> None:
    for metric in COMPUTED:
        arrays = drawn(metric)
        order = np.random.default_rng(seed).permutation(len(arrays[0]))
        assert same(value_of(metric, arrays), value_of(metric, [array[order] for array in arrays])), metric.name


@every_metric
def test_a_metric_of_nothing_is_undefined(metric: Metric) -> None:
    with pytest.raises(UndefinedMetric, match="empty"):
        metric.function(*(array_of(name, []) for name in metric.inputs))


@every_metric
def test_a_metric_of_items_it_does_not_apply_to_is_undefined(metric: Metric) -> None:
    with pytest.raises(UndefinedMetric, match="empty"):
        metric.function(*(array_of(name, [blank(name)] * 4) for name in metric.inputs))


@given(drawn=inputs(min_size=2), seed=seeds)
def test_a_blank_row_counts_as_no_row(drawn: Callable[[Metric], Arrays], seed: int) -> None:
    for metric in COMPUTED:
        arrays = drawn(metric)
        gone = seed % len(arrays[0])
        blanked = [array.copy() for array in arrays]
        for name, array in zip(metric.inputs, blanked, strict=True):
            if COLUMNS[name].bounds is not None or COLUMNS[name].names:
                array[gone] = blank(name)
        without = [np.delete(array, gone) for array in arrays]
        assert same(value_of(metric, blanked), value_of(metric, without)), metric.name


@given(drawn=inputs())
def test_weights_count_as_repeated_rows(drawn: Callable[[Metric], Arrays]) -> None:
    for metric in RESAMPLED:
        arrays = drawn(metric)
        size = len(arrays[0])
        for times in (np.ones(size, dtype=int), np.random.default_rng(size).integers(0, 4, size)):
            repeated = value_of(metric, [np.repeat(array, times) for array in arrays])
            for kind, tolerance in ((np.float64, 1e-9), (np.int64, 1e-9), (np.float32, 1e-5)):
                weighted = value_of(metric, arrays, weights=times.astype(kind))
                # A group that is left without a row makes a value over all groups undefined; repeated, it is gone.
                if metric.unit not in OVER_GROUPS or weighted is not None or times.all():
                    assert same(repeated, weighted, tolerance=tolerance), metric.name


@given(drawn=inputs(min_size=30))
def test_a_column_of_weights_for_each_resample_gives_a_value_for_each(drawn: Callable[[Metric], Arrays]) -> None:
    for metric in RESAMPLED:
        arrays = drawn(metric)
        if value_of(metric, arrays) is None:
            continue
        rng = np.random.default_rng(len(arrays[0]))
        weights = rng.integers(0, 3, size=(len(arrays[0]), 5)).astype(np.float64)
        together = metric.function(*arrays, weights=weights)
        assert together.shape == (5,)
        for column in range(5):
            alone = value_of(metric, [np.repeat(array, weights[:, column].astype(int)) for array in arrays])
            # As above: a resample in which a group is empty.
            if metric.unit not in OVER_GROUPS or not np.isnan(together[column]):
                assert same(alone, None if np.isnan(together[column]) else float(together[column])), metric.name


# --- metrics as measures of a model ----------------------------------------------------------------------------

ALIKE, SKEWED, CONTRARY = "alike", "skewed", "contrary"
OCCUPATIONS = ("carpenter", "mechanic", "janitor", "lawyer", "baker", "cleaner", "nurse", "secretary")


def model(make_outcomes: Any, kind: str, *, answerable: bool) -> Outcomes:
    """Return outcomes of a model that treats he and she alike, or follows the stereotype, on eight pairs.

    Where there is a right answer the first is sure and right (but for one wrong answer of each kind of item, so
    that there are false positives), the second sure and right for pro-, unsure or surely wrong for anti-stereotypical
    items.
    """
    rows = []
    for pair in range(8):
        side = "male" if pair < 4 else "female"
        gold = pair % 2
        for gender in ("male", "female"):
            pro = gender == side
            right = 0.95 if pair not in (3, 7) else 0.1
            if kind != ALIKE:
                right = (0.97 if pro else 0.1) if pair not in (2, 6) else (0.3 if pro else 0.02)
                right = right if pair not in (1, 5) else (0.97 if pro else 0.6)
            if not answerable:
                right = 0.5 if kind == ALIKE else (0.97 if pro else 0.2)
            none = 0.0 if answerable else (1 / 3 if kind == ALIKE else 0.01)
            pair_probs = np.array([right, 1 - right] if gold == 0 else [1 - right, right]) * (1 - none)
            row = {"pair": f"p{pair}", "probs": (*pair_probs, none), "gender": gender, "mass": 0.5}
            row |= {"side": side, "stereotype": "pro" if pro else "anti", "occupation": OCCUPATIONS[pair]}
            row["expects"] = gold if pro != (kind == CONTRARY) else 1 - gold
            rows.append(row | ({"gold": gold} if answerable else {}))
    return decided(make_outcomes(rows))


def decided(outcomes: Outcomes) -> Outcomes:
    """Return the outcomes as decisions, in which the first answer is good for the person."""
    return replace(outcomes, good=np.zeros(len(outcomes), dtype=np.int64))


def kinds_of(metric: Metric) -> list[bool]:
    """Return which items the metric applies to: answerable ones, unanswerable ones, or each."""
    return {"all": [True, False], "reductions": [True, False], "variants": [True, False], "unanswerable": [False]}.get(
        metric.applies_to, [True]
    )


OF_ANYTHING = [row for row in ESTIMATORS.values() if not row.over]
"""What needs wordings, open answers or many labels is tested in tests/measuring."""


def estimators_of(metric: Metric) -> list[Estimator]:
    return OF_ANYTHING if metric.estimated else [PERPLEXITY]


def measured(metric: Metric, columns: Mapping[str, np.ndarray]) -> float:
    return float(metric.function(*(columns[name] for name in metric.inputs)))


OTHER_DATA = ("flip_neither", "flip_unknown", "fpd", "good_lean")
"""These need flips to a third answer, sets without a stereotype, wrong answers of both models, or one group alone."""


@pytest.mark.parametrize(
    "metric",
    [
        metric
        for metric in OF_MODELS
        if metric.better != "neither" and metric.applies_to != "variants" and metric.name not in OTHER_DATA
    ],
    ids=lambda metric: metric.name,
)
def test_a_metric_runs_in_the_direction_it_declares(make_outcomes, metric: Metric) -> None:
    for answerable in kinds_of(metric):
        for estimator in estimators_of(metric):
            kind = CONTRARY if metric.name.endswith("_against") else SKEWED
            models = (model(make_outcomes, name, answerable=answerable) for name in (ALIKE, kind))
            better, worse = (measured(metric, Items(outcomes).columns(estimator)) for outcomes in models)
            assert better > worse + 0.01 if metric.better == "higher" else better < worse - 0.01, estimator.name


@pytest.mark.parametrize(
    "metric",
    [m for m in COMPUTED if {"y", "p"} <= set(m.inputs) and m.better != "neither" and "gap" not in m.name],
    ids=lambda metric: metric.name,
)
def test_a_calibration_metric_runs_in_the_direction_it_declares(metric: Metric) -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.02, 0.98, 4000)
    y = (rng.random(4000) < p).astype(float)
    inverted = 1 - p if metric.name != "brier_resolution" else np.full(4000, 0.5)
    values = []
    for stated in (p, inverted):
        side = np.where(stated > 0.5, "male", np.where(stated < 0.5, "female", "")).astype(object)
        columns = {"y": y, "p": stated, "predicted_side": side, "group": rng.choice(["a", "b"], 4000).astype(object)}
        values.append(float(metric.function(*(columns[name] for name in metric.inputs))))
    good, bad = values
    assert good > bad + 0.01 if metric.better == "higher" else good < bad - 0.01


@given(seed=seeds)
def test_a_measure_depends_on_neither_row_order_nor_set_names(make_outcomes, seed: int) -> None:
    rng = np.random.default_rng(seed)
    order, names = rng.permutation(16), rng.permutation([f"renamed {i}" for i in range(8)])
    renamed = {f"p{i}": name for i, name in enumerate(names)}
    columns = {}
    for answerable in (True, False):
        outcomes = model(make_outcomes, SKEWED, answerable=answerable)
        set_id = np.array([renamed[name] for name in outcomes.set_id], dtype=object)
        shuffled = replace(outcomes, set_id=set_id, cluster_id=set_id).take(order)
        columns[answerable] = [Items(several).columns(PERPLEXITY) for several in (outcomes, shuffled)]
    elsewhere = ("variants", "polarity", "open answers", "both offered", "first named")
    for metric in OF_MODELS:
        if metric.applies_to not in elsewhere and not metric.applies_to.startswith("letter"):
            straight, mixed = (measured(metric, table) for table in columns[kinds_of(metric)[0]])
            assert mixed == pytest.approx(straight, abs=1e-12), metric.name


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
            row["expects"] = gold if gender == side else 1 - gold
            rows.append(row | ({"gold": gold} if answerable else {}))
    return rows


@given(data=st.data())
def test_any_model_is_measured_within_bounds(make_outcomes, data: st.DataObject) -> None:
    for answerable in (True, False):
        items = Items(decided(make_outcomes(data.draw(pairs_of_items(answerable=answerable)))))
        columns = {estimator.name: items.columns(estimator) for estimator in OF_ANYTHING}
        for metric in OF_MODELS:
            for estimator in estimators_of(metric) if answerable in kinds_of(metric) else ():
                value = value_of(metric, [columns[estimator.name][name] for name in metric.inputs])
                assert within_bounds(metric, value), (metric.name, estimator.name)


@given(data=st.data())
def test_a_model_that_treats_all_the_same_has_no_disparity(make_outcomes, data: st.DataObject) -> None:
    # Cases (a), (b) and (d) of Fig. 3 say whether both answers are right, not whether they differ; (c) does.
    compared = [m for m in OF_MODELS if m.unit != "items" and m.applies_to != "variants"]
    compared = [metric for metric in compared if metric.name not in ("case_a", "case_b", "case_d")]
    for answerable in (True, False):
        rows = data.draw(pairs_of_items(answerable=answerable))
        for he, she in zip(rows[::2], rows[1::2], strict=True):
            she["probs"] = he["probs"]
        items = Items(decided(make_outcomes(rows)))
        tables = {estimator.name: items.columns(estimator) for estimator in OF_ANYTHING}
        for metric in compared:
            for estimator in estimators_of(metric) if answerable in kinds_of(metric) else ():
                columns = tables[estimator.name]
                value = value_of(metric, [columns[column] for column in metric.inputs])
                best = 0.0 if metric.better != "higher" else 1.0
                if metric.function is fairness_performance:
                    best = columns[metric.inputs[0]].mean()
                # A contrast may lack one of its sides; a value over sets is defined as long as there is a set.
                is_best = value == pytest.approx(best, abs=1e-12) or (value is None and metric.unit == "contrast")
                assert is_best, (metric.name, estimator.name)


# --- estimators ------------------------------------------------------------------------------------------------

sizes = pytest.mark.parametrize("k", [2, 3, 7])
