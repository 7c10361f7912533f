"""Recording and replaying sums by cluster gives what weighting every row gives, for every kind of metric function."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from equipoise.metrics import METRICS, Metric
from equipoise.metrics.columns import COLUMNS
from equipoise.metrics.groups import mean
from equipoise.records import UndefinedMetric
from equipoise.stats import resampling
from equipoise.stats.bootstrap import weight_chunks
from equipoise.stats.resampling import Statistic, evaluate, resampled

CLUSTERS, SIZE, RESAMPLES = 60, 4, 40


def column(name: str, rng: np.random.Generator) -> NDArray[Any]:
    """Return values that the column of that name may hold, with items that it does not apply to."""
    n, facts = CLUSTERS * SIZE, COLUMNS[name]
    if facts.names:
        return rng.choice([*facts.names, ""], n, p=[0.9 / len(facts.names)] * len(facts.names) + [0.1]).astype(object)
    if facts.bounds is None:
        return rng.random(n) < 0.5
    low, high = float(max(facts.bounds[0], -3)), float(min(facts.bounds[1], 3))
    values = rng.choice([low, high], n) if facts.whole else rng.uniform(low, high, n)
    if name not in ("y", "p", "contrast_share", "marked"):
        values[rng.random(n) < 0.1] = np.nan
    return values


def statistics(metrics: list[Metric], seed: int = 0) -> list[Statistic]:
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(CLUSTERS), SIZE)
    return [Statistic(metric.function, [column(name, rng) for name in metric.inputs], clusters) for metric in metrics]


def row_wise(statistic: Statistic, weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the values with a weight for every row, one resample at a time where rows have to be copied."""
    return resampled(statistic.function, statistic.arrays, weights[statistic.clusters].astype(np.float64))


RESAMPLED = [metric for metric in METRICS.values() if metric.resampled]


@pytest.mark.parametrize("metric", RESAMPLED, ids=lambda metric: metric.name)
def test_replayed_sums_give_what_weighted_rows_give(metric: Metric) -> None:
    (statistic,) = statistics([metric])
    chunks = weight_chunks(CLUSTERS, resamples=RESAMPLES, seed=1)
    (values,) = evaluate([statistic], chunks)
    expected = row_wise(statistic, next(chunks()))
    assert values.shape == (RESAMPLES,) and not np.isnan(expected).all()
    # Sums are held in single precision; a slope divides by a small one.
    np.testing.assert_allclose(values, expected, atol=5e-6)
    assert np.ptp(values) > 0


@pytest.mark.parametrize("metric", [METRICS[name] for name in ("ucerf", "eo_sum", "ece", "accuracy_gap")])
def test_a_weight_of_two_is_a_row_twice(metric: Metric) -> None:
    (statistic,) = statistics([metric], seed=2)
    weights = next(weight_chunks(CLUSTERS, resamples=5, seed=3)())
    (values,) = evaluate([statistic], lambda: iter([weights]))
    copied = resampled(lambda *arrays: statistic.function(*arrays), statistic.arrays, weights[statistic.clusters])
    np.testing.assert_allclose(values, copied, atol=1e-6)


def test_statistics_are_those_of_one_at_a_time_in_few_waves_or_many(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = statistics(RESAMPLED)
    chunks = weight_chunks(CLUSTERS, resamples=RESAMPLES, seed=1)
    calls = 0

    def counted() -> Iterator[NDArray[np.float32]]:
        nonlocal calls
        calls += 1
        return chunks()

    together = evaluate(chosen, counted)
    assert calls == 1
    calls = 0
    monkeypatch.setattr(resampling, "WAVE_BYTES", 4 * CLUSTERS * 40)
    in_waves = evaluate(chosen, counted)
    assert 1 < calls < len(chosen)
    assert len(in_waves) == len(together) == len(chosen)
    for one_wave, several in zip(together, in_waves, strict=True):
        np.testing.assert_allclose(one_wave, several, atol=1e-6)


def test_weights_may_come_in_any_number_of_chunks() -> None:
    chosen = statistics([METRICS["eo_sum"], METRICS["ece"]])
    chosen.append(Statistic(np.median, [np.arange(240.0)], np.repeat(np.arange(CLUSTERS), SIZE)))
    whole = next(weight_chunks(CLUSTERS, resamples=RESAMPLES, seed=1)())
    parts = np.split(whole, [1, 7, 20], axis=1)
    for at_once, piecewise in zip(
        evaluate(chosen, lambda: iter([whole])), evaluate(chosen, lambda: iter(parts)), strict=True
    ):
        np.testing.assert_allclose(at_once, piecewise, atol=1e-6)


def test_a_function_without_weights_is_called_on_the_copied_rows() -> None:
    values = np.array([1.0, 2.0, 10.0])
    weights = np.array([[1, 0, 3], [1, 2, 0], [1, 1, 0]], dtype=np.float32)
    (medians,) = evaluate([Statistic(np.median, [values], np.arange(3))], lambda: iter([weights]))
    assert medians.tolist() == [2.0, 2.0, 1.0]


def test_a_function_that_needs_every_weight_gets_them() -> None:
    def largest(values: NDArray[Any], *, weights: NDArray[Any] | None = None) -> Any:
        return values.max() if weights is None else np.max(values[:, None] * np.asarray(weights), axis=0)

    values, clusters = np.array([1.0, 2.0, 10.0, 1.0]), np.array([0, 1, 2, 2])
    weights = np.array([[1, 0], [0, 7], [2, 1]], dtype=np.float32)
    (drawn,) = evaluate([Statistic(largest, [values], clusters)], lambda: iter([weights]))
    assert drawn.tolist() == [20.0, 14.0]


def test_a_partial_function_is_replayed() -> None:
    (statistic,) = statistics([METRICS["ucerf"]])
    named = Statistic(partial(mean, of="mine"), statistic.arrays, statistic.clusters)
    chunks = weight_chunks(CLUSTERS, resamples=RESAMPLES, seed=1)
    plain, partially = evaluate([statistic, named], chunks)
    np.testing.assert_array_equal(plain, partially)


def last_only(values: NDArray[Any], last: NDArray[Any]) -> float:
    if not last.any():
        raise UndefinedMetric("mean of an empty group")
    return float(values[last].mean())


@pytest.mark.parametrize("weighted", [True, False])
def test_a_resample_in_which_it_is_undefined_is_nan(weighted: bool) -> None:
    values, last = np.array([0.25, 0.75]), np.array([False, True])
    weights = np.array([[1, 2, 0], [1, 0, 2]], dtype=np.float32)
    if weighted:
        statistic = Statistic(mean, [np.where(last, values, np.nan)], np.arange(2))
    else:
        statistic = Statistic(last_only, [values, last], np.arange(2))
    (drawn,) = evaluate([statistic], lambda: iter([weights]))
    np.testing.assert_allclose(drawn, [0.75, np.nan, 0.75], atol=1e-7)


@pytest.mark.parametrize("chosen", [[0, 1], [0, 1, 2, 3], [1, 3], [4]])
def test_statistics_of_some_clusters_take_the_weights_of_those(chosen: list[int]) -> None:
    # None of them has rows of the last cluster; few clusters are held apart, many are not.
    rng = np.random.default_rng(0)
    clusters = np.repeat(chosen, 3)
    statistic = Statistic(mean, [rng.normal(size=len(clusters))], clusters)
    other = Statistic(mean, [rng.normal(size=4)], np.array([0, 1, 2, 3]))
    weights = next(weight_chunks(6, resamples=RESAMPLES, seed=1)())
    for group in ([statistic], [statistic, other], [other, statistic]):
        for values, member in zip(evaluate(group, lambda: iter([weights])), group, strict=True):
            np.testing.assert_allclose(values, row_wise(member, weights), atol=1e-6)


def test_no_statistic_has_no_values() -> None:
    assert evaluate([], weight_chunks(3, resamples=2, seed=0)) == []


def test_the_same_statistic_twice_is_computed_once_and_each_other_by_itself() -> None:
    calls: list[float] = []

    def noted(values: NDArray[Any], *, weights: Any = None) -> Any:
        calls.append(float(values[0]))
        return mean(values, weights=weights)

    first, second = np.arange(8.0), np.arange(8.0)[::-1].copy()
    clusters, rows = np.arange(8), np.array([1, 2, 3])
    chosen = [
        Statistic(noted, [second], clusters),
        Statistic(noted, [first], clusters),
        Statistic(noted, [second], clusters),
        Statistic(noted, [second], clusters, rows),
        Statistic(mean, [second], clusters),
    ]
    chunks = weight_chunks(8, resamples=5, seed=1)
    values = evaluate(chosen, chunks)
    assert sorted(calls) == [0.0, 0.0, 6.0, 6.0, 7.0, 7.0]  # recorded and replayed
    alone = [evaluate([statistic], chunks)[0] for statistic in chosen]
    np.testing.assert_allclose(values, alone)
    assert values[0].tolist() == values[2].tolist() != values[1].tolist()
