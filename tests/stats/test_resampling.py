"""Recording and replaying sums by cluster gives what weighting every row gives, for every kind of metric function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from equipoise.metrics import METRICS, Metric
from equipoise.metrics.columns import COLUMNS
from equipoise.metrics.fairness import accuracy_difference
from equipoise.metrics.groups import mean
from equipoise.records import UndefinedMetric
from equipoise.stats import means, resampling
from equipoise.stats.bootstrap import weight_chunks
from equipoise.stats.resampling import Statistic, evaluate, resampled, takes_weights

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


def shared_mean(values: NDArray[Any], shares: NDArray[Any], weights: NDArray[Any]) -> Any:
    """Return the plain weighted mean of rows that count by their share, one column of weights after another."""
    known = ~np.isnan(values)
    counted = weights[known] * shares[known, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        return (values[known] @ counted) / counted.sum(axis=0)


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans(), st.sampled_from([np.float32, np.float64]))
def test_rows_and_shares_count_as_a_plain_weighted_mean(seed: int, chosen: bool, sliced: bool, precision: Any) -> None:
    rng = np.random.default_rng(seed)
    values, shares = rng.normal(size=12), rng.choice([0.0, 0.5, 1.0, 3.0], 12)
    values[rng.integers(12)] = np.nan
    clusters = rng.integers(0, 5, 12)
    rows: Any = (slice(2, 9) if sliced else np.array([1, 3, 4, 8])) if chosen else None
    statistic = Statistic(mean, [values], clusters, rows, shares)
    picked = np.arange(12) if rows is None else np.arange(12)[rows]
    assert statistic.clusters.tolist() == clusters[picked].tolist()
    assert statistic.row_shares is not None and statistic.row_shares.tolist() == shares[picked].tolist()
    np.testing.assert_array_equal(statistic.arrays[0], values[picked])
    weights = rng.integers(0, 3, (6, 7)).astype(np.float32)
    (drawn,) = evaluate([statistic], lambda: iter([weights]), precision)
    expected = shared_mean(values[picked], shares[picked], weights[clusters[picked]].astype(float))
    np.testing.assert_allclose(drawn, expected, atol=1e-5)
    known = ~np.isnan(values[picked])
    if shares[picked][known].sum() > 0:
        plain = np.average(values[picked][known], weights=shares[picked][known])
        assert float(statistic.value) == pytest.approx(plain)


def test_shares_reach_a_function_that_asks_for_every_weight_and_no_other() -> None:
    def total(values: NDArray[Any], *, weights: NDArray[Any] | None = None) -> Any:
        return np.asarray(weights).sum(axis=0)

    clusters, shares = np.array([0, 1, 1]), np.array([2.0, 1.0, 0.5])
    weights = np.array([[1, 0], [2, 4]], dtype=np.float32)
    (drawn,) = evaluate([Statistic(total, [np.zeros(3)], clusters, shares=shares)], lambda: iter([weights]))
    assert drawn.tolist() == [2 + 2 * 1.5, 4 * 1.5]
    (plain,) = evaluate([Statistic(np.sum, [np.ones(3)], clusters, shares=shares)], lambda: iter([weights]))
    assert plain.tolist() == [5.0, 8.0], "without weights rows are copied, whatever they count"
    assert Statistic(np.sum, [np.ones(3)], clusters, shares=shares).value == 3.0
    assert takes_weights(mean) and takes_weights(total) and not takes_weights(np.sum)


def test_many_rows_are_weighted_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    def total(values: NDArray[Any], *, weights: NDArray[Any] | None = None) -> Any:
        return values @ np.asarray(weights)

    statistic = Statistic(total, [np.arange(6.0)], np.arange(6) // 2)
    weights = np.arange(15, dtype=np.float32).reshape(3, 5)
    (whole,) = evaluate([statistic], lambda: iter([weights]))
    for most in (1, 4 * 6 * 2):
        monkeypatch.setattr(resampling, "CHUNK_BYTES", most)
        (pieces,) = evaluate([statistic], lambda: iter([weights]))
        assert pieces.tolist() == whole.tolist() == (np.arange(6.0) @ weights[np.arange(6) // 2]).tolist()


def test_statistics_that_are_alike_are_those_of_the_same_columns_rows_and_shares() -> None:
    values, clusters, rows, shares = np.arange(4.0), np.arange(4), np.array([0, 1]), np.ones(4)
    base = Statistic(mean, [values], clusters, rows, shares)
    assert base.identity == Statistic(mean, [values], clusters, rows, shares).identity
    others = [
        Statistic(np.median, [values], clusters, rows, shares),
        Statistic(mean, [values.copy()], clusters, rows, shares),
        Statistic(mean, [values], clusters.copy(), rows, shares),
        Statistic(mean, [values], clusters, rows.copy(), shares),
        Statistic(mean, [values], clusters, rows, shares.copy()),
    ]
    assert len({base.identity, *(other.identity for other in others)}) == 6


def test_double_precision_keeps_what_single_loses() -> None:
    values = np.array([1e8, 1e8 + 1, 1e8 + 3])

    def total(values: NDArray[Any], *, weights: Any = None) -> Any:
        return np.stack([values]) @ weights

    weights = np.ones((3, 1), dtype=np.float32)
    statistic = Statistic(total, [values], np.arange(3))
    (exact,) = evaluate([statistic], lambda: iter([weights]), np.float64)
    assert exact.ravel()[0] == 3e8 + 4


def test_weights_that_a_function_asks_more_of_than_sums_need_rows() -> None:
    weights = resampling.ClusterWeights(SimpleNamespace(exact=False), np.array([0, 1, 1, 2]))  # type: ignore[arg-type]
    with pytest.raises(resampling.NeedsRows):
        len(weights)
    assert not hasattr(weights, "__of_numpy") and not hasattr(weights, "__array_interface__")
    for name in ("sum", "shape", "ends__"):
        with pytest.raises(resampling.NeedsRows):
            getattr(weights, name)


def test_every_way_to_write_a_weighted_mean_gives_the_same_resamples() -> None:
    values = np.random.default_rng(5).random(60)
    ways: list[Any] = [
        lambda weights: (values[:, None] * weights).sum(axis=0) / weights.sum(axis=0),
        lambda weights: (weights * values[:, None]).sum(axis=0) / weights.sum(axis=0),
        lambda weights: np.where(weights > 0, np.multiply(weights, values[:, None]), 0).sum(axis=0) / sum(weights),
        lambda weights: sum(w * v for w, v in zip(weights, values, strict=True)) / (0 + weights).sum(axis=0),
        lambda weights: np.nansum(values[:, None] * weights, axis=0) / np.matmul(np.ones(60), weights),
        lambda weights: weights.T @ values / np.sum(weights, axis=0),
        lambda weights: np.einsum("n,nr->r", values, weights) / np.sum(list(weights), axis=0),
        lambda weights: values @ weights / (np.ones(60) @ weights),
    ]
    chosen = [Statistic(lambda *, weights, way=way: way(weights), [], np.arange(60)) for way in ways]
    several = evaluate(chosen, weight_chunks(60, resamples=RESAMPLES, seed=1))
    for resamples in several:
        np.testing.assert_allclose(resamples, several[0], atol=1e-6)


def test_columns_that_were_recorded_before_give_the_same_values() -> None:
    rng = np.random.default_rng(4)
    correct, names = rng.random(60), np.array(["pro", "anti"])[rng.integers(0, 2, 60)]
    few, many = np.sort(rng.choice(60, 9, replace=False)), np.arange(50)
    chunks = weight_chunks(60, resamples=40, seed=1)
    plain = [Statistic(accuracy_difference, [correct, names], np.arange(60), rows) for rows in (few, many)]
    known = [replace(statistic, recorded=means.tables(statistic)) for statistic in plain]
    assert all(statistic.recorded for statistic in known)
    for first, second in zip(evaluate(plain, chunks), evaluate(known, chunks), strict=True):
        assert np.array_equal(first, second, equal_nan=True)


def test_rows_are_copied_once_until_others_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    copies, values, rows, others = resampling.Copies(), np.arange(6.0), np.array([0, 2, 5]), np.array([1])
    names = np.array(list("abcdef"))
    first = copies.of(values, rows)
    assert first.tolist() == [0, 2, 5] and copies.of(names, rows).tolist() == ["a", "c", "f"]
    assert copies.of(values, rows) is first
    assert copies.of(values, others).tolist() == [1] and copies.of(values, rows) is not first
    monkeypatch.setattr(resampling, "COPIED_BYTES", 0)
    assert copies.of(values, rows) is not copies.of(values, rows)


def test_a_statistic_is_the_same_with_copies_and_in_a_slice() -> None:
    values, numbers = np.arange(6.0), np.array([0, 0, 1, 1, 2, 2])
    copies = resampling.Copies()
    for rows in (np.array([1, 2, 5]), slice(1, 4)):
        plain = Statistic(mean, [values], numbers, rows)
        kept = replace(plain, copies=copies)
        assert kept.value == plain.value and kept.clusters.tolist() == plain.clusters.tolist() == numbers[rows].tolist()
    assert np.shares_memory(kept.arrays[0], values), "a slice is not copied"
