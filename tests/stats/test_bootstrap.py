"""The bootstrap draws whole clusters, gives the same by weights as by copies, and covers what it says it covers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept
from scipy import stats
from scipy.stats import norm

from equipoise.metrics.fairness import accuracy_gap
from equipoise.metrics.groups import mean
from equipoise.records import UndefinedMetric
from equipoise.stats import bootstrap as module
from equipoise.stats.bootstrap import (
    bootstrap,
    cluster_numbers,
    joint_numbers,
    numbered,
    percentile,
    resampling_units,
    weight_chunks,
)
from equipoise.stats.resampling import resampled


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def interval(samples: np.ndarray, *, level: float, units: int) -> tuple[float, float]:
    """Return the ends of a percentile interval."""
    return percentile(0.5, samples, level=level, units=units).ends


def clustered(seed: int, *, clusters: int = 40, size: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Return values whose clusters differ much more than the items within one, and the clusters."""
    generator = rng(seed)
    centres = generator.normal(size=clusters)
    values = np.repeat(centres, size) + 0.3 * generator.normal(size=clusters * size)
    return values, np.repeat(np.arange(clusters), size)


@given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=30))
def test_clusters_are_numbered_in_order_of_appearance(names: list[str]) -> None:
    expected = [list(dict.fromkeys(names)).index(name) for name in names]
    assert cluster_numbers(np.array(names, dtype=object)).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=30))
def test_joint_numbers_tell_every_combination_apart(rows: list[tuple[int, int, int]]) -> None:
    expected = [list(dict.fromkeys(rows)).index(row) for row in rows]
    numbers = [cluster_numbers(np.array(column)) for column in zip(*rows, strict=True)]
    assert joint_numbers(*numbers).tolist() == expected


def test_clusters_are_resampled_whole() -> None:
    clusters = np.array([0, 1, 0, 2, 1, 0])
    # Cluster 1 sums to nothing, so a resample without it whole would show its rows.
    values = np.array([0.0, 1.0, 0.0, 0.0, -1.0, 0.0])
    estimate = bootstrap(mean, [values], clusters=clusters, resamples=50)
    assert (estimate.low, estimate.high) == pytest.approx((0.0, 0.0), abs=1e-12)
    assert bootstrap(mean, [values], clusters=np.arange(6), resamples=50).high > 0.1


def test_every_resample_draws_as_many_clusters_as_there_are() -> None:
    chunks = weight_chunks(7, resamples=50, seed=0)
    (weights,) = chunks()
    assert weights.shape == (7, 50)
    np.testing.assert_array_equal(next(chunks()), weights)  # each call yields the same
    assert np.all(weights.sum(axis=0) == 7)
    assert weights.max() > 1 and weights.min() == 0


def test_the_draws_are_the_same_in_one_chunk_or_many(monkeypatch: pytest.MonkeyPatch) -> None:
    (whole,) = weight_chunks(5, resamples=20, seed=0)()
    monkeypatch.setattr(module, "CHUNK_BYTES", 4 * 5 * 7)  # seven columns at a time
    parts = list(weight_chunks(5, resamples=20, seed=0)())
    assert [part.shape[1] for part in parts] == [7, 7, 6]
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), whole)


def test_weights_give_what_copied_rows_give() -> None:
    values, clusters = clustered(1)
    stereotype = np.where(rng(2).random(len(values)) < 0.5, "pro", "anti").astype(object)
    options = {"clusters": clusters, "resamples": 200}
    fast = bootstrap(accuracy_gap, [values, stereotype], seed=3, **options)
    slow = bootstrap(lambda v, s: accuracy_gap(v, s), [values, stereotype], seed=3, **options)
    for name in ("value", "low", "high"):
        assert getattr(fast, name) == pytest.approx(getattr(slow, name), abs=1e-6)


def test_a_function_without_weights_is_called_on_copied_rows() -> None:
    values, clusters = clustered(4)
    estimate = bootstrap(np.median, [values], clusters=clusters, resamples=100)
    assert estimate.value == np.median(values)
    assert estimate.low < estimate.value < estimate.high


def test_a_resample_in_which_a_function_is_undefined_is_nan() -> None:
    def of_the_last(values: np.ndarray, last: np.ndarray) -> float:
        return float(mean(values[last]))

    weights = np.array([[1.0, 2.0], [1.0, 0.0]], dtype=np.float32)
    drawn = resampled(of_the_last, [np.array([0.25, 0.75]), np.array([False, True])], weights)
    np.testing.assert_array_equal(drawn, [0.75, np.nan])


def test_the_same_seed_gives_the_same_interval_and_another_another() -> None:
    values, clusters = clustered(5)
    first, again, other = (bootstrap(mean, [values], clusters=clusters, seed=seed, resamples=100) for seed in (7, 7, 8))
    assert first == again
    assert (first.low, first.high) != (other.low, other.high)


def test_the_interval_does_not_depend_on_what_clusters_are_called() -> None:
    values, clusters = clustered(6)
    named = np.array([f"pair {100 - number}" for number in clusters], dtype=object)
    one, other = (bootstrap(mean, [values], clusters=c, resamples=100) for c in (clusters, named))
    assert (one.low, one.high) == (other.low, other.high)


def test_a_higher_level_widens_the_interval() -> None:
    values, clusters = clustered(7)
    narrow, wide = (bootstrap(mean, [values], clusters=clusters, resamples=400, level=level) for level in (0.8, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high
    assert (narrow.level, narrow.n) == (0.8, len(values))


def test_a_95_percent_interval_over_clusters_covers_95_percent_and_one_over_rows_does_not() -> None:
    trials = 300
    covered = {"clusters": 0, "rows": 0}
    for trial in range(trials):
        values, clusters = clustered(1000 + trial)
        for unit, numbers in (("clusters", clusters), ("rows", np.arange(len(values)))):
            estimate = bootstrap(mean, [values], clusters=numbers, seed=trial, resamples=200)
            covered[unit] += estimate.low <= 0 <= estimate.high  # the true mean is 0
    assert 0.91 <= covered["clusters"] / trials <= 0.985
    assert covered["rows"] / trials < 0.75


def test_the_interval_is_as_wide_as_the_standard_error_of_cluster_means() -> None:
    values, clusters = clustered(8, clusters=200, size=4)
    estimate = bootstrap(mean, [values], clusters=clusters, resamples=2000)
    error = values.reshape(200, 4).mean(axis=1).std(ddof=1) / np.sqrt(200)
    assert estimate.high - estimate.low == pytest.approx(2 * 1.96 * error, rel=0.06)


def test_values_all_equal_have_an_interval_of_no_width() -> None:
    estimate = bootstrap(mean, [np.full(10, 0.7)], clusters=np.arange(10), resamples=50)
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((0.7, 0.7, 0.7), abs=1e-12)


def test_one_cluster_can_only_be_drawn_again() -> None:
    estimate = bootstrap(mean, [np.array([0.0, 1.0])], clusters=np.zeros(2), resamples=50)
    assert (estimate.value, estimate.low, estimate.high) == (0.5, 0.5, 0.5)


def test_a_metric_of_nothing_is_undefined_not_an_interval() -> None:
    with pytest.raises(UndefinedMetric):
        bootstrap(mean, [np.array([])], clusters=np.array([]))


def test_the_interval_is_taken_over_resamples_with_a_value() -> None:
    samples = np.array([np.nan, *np.linspace(0, 1, 101)])
    assert interval(samples, level=0.9, units=200) == pytest.approx((0.05, 0.95))


@pytest.mark.parametrize("samples", [[np.nan] * 4, [np.nan, np.nan, np.nan, 0.5]])
def test_a_metric_undefined_in_most_resamples_has_an_open_interval(samples: list[float]) -> None:
    estimate = percentile(0.5, np.array(samples), level=0.95, units=200)
    assert np.isnan(estimate.ends).all() and estimate.value == 0.5 and estimate.method.startswith("no interval: ")


def test_the_interval_is_that_of_the_resamples_with_a_value() -> None:
    samples = rng().normal(size=(40, 5))
    samples[:5, 1], samples[:20, 2], samples[:21, 3] = np.nan, np.nan, np.nan
    for column in range(5):
        low, high = interval(samples[:, column], level=0.9, units=200)
        defined = samples[~np.isnan(samples[:, column]), column]
        if column == 3:
            assert np.isnan([low, high]).all()
        else:
            assert (low, high) == pytest.approx(tuple(np.quantile(defined, [0.05, 0.95])))


def test_few_units_give_wider_intervals_and_skewed_resamples_reach_further() -> None:
    symmetric = norm.ppf((np.arange(100_000) + 0.5) / 100_000)
    plain = interval(symmetric, level=0.95, units=200)
    assert plain == pytest.approx((-1.96, 1.96), abs=1e-3)
    # Student's t with 29 degrees of freedom, and new data vary more than resamples by a factor of 30 / 29 in variance.
    reach = 2.0452 * np.sqrt(30 / 29)
    assert interval(symmetric, level=0.95, units=30) == pytest.approx((-reach, reach), abs=2e-3)
    skewed = np.exp(symmetric / 4)
    low, high = interval(skewed, level=0.95, units=30)
    assert low == pytest.approx(np.exp(-reach / 4), abs=2e-3)
    a = stats.skew(skewed) / 6
    assert high == pytest.approx(np.exp((a + (a + reach) / (1 - a * (a + reach))) / 4), abs=3e-3)
    # The other tail of skewed values.
    assert interval(-skewed, level=0.95, units=30) == pytest.approx((-high, -low), abs=1e-9)


def test_an_interval_of_a_single_unit_and_of_equal_resamples_is_defined() -> None:
    assert interval(np.ones(100), level=0.95, units=1) == (1.0, 1.0)
    low, high = interval(np.r_[np.zeros(99), 1e6], level=0.95, units=1)
    assert (low, high) == (0.0, 1e6)
    # Two units have one degree of freedom: at that spread the ends are the smallest and the largest resample.
    assert interval(np.linspace(0, 1, 1001), level=0.95, units=2) == pytest.approx((0.0, 1.0), abs=1e-9)


@pytest.mark.parametrize(("a", "b"), [(9, 1), (0.5, 0.5)])
def test_intervals_of_thirty_units_cover_what_they_say(a: float, b: float) -> None:
    draws, generator = 2000, rng(4)
    (weights,) = weight_chunks(30, resamples=1000, seed=0)()
    resampled_means = generator.beta(a, b, size=(draws, 30)) @ weights / 30
    ends = np.array([interval(samples, level=0.95, units=30) for samples in resampled_means])
    held = ((ends[:, 0] <= a / (a + b)) & (a / (a + b) <= ends[:, 1])).mean()
    assert held >= 0.94  # the plain percentile interval holds 0.924 and 0.939 of the time


def test_many_clusters_are_dealt_whole_into_groups_of_nearly_equal_size(monkeypatch: pytest.MonkeyPatch) -> None:
    names = np.array([f"s{n}" for n in range(25)] * 2, dtype=object)
    np.testing.assert_array_equal(resampling_units(names), cluster_numbers(names))
    monkeypatch.setattr(module, "MOST_UNITS", 10)
    units = resampling_units(names)
    np.testing.assert_array_equal(units[:25], units[25:])
    assert sorted(np.bincount(units[:25])) == [2] * 5 + [3] * 5
    assert units[:25].tolist() != (np.arange(25) % 10).tolist(), "neighbours are not dealt in turn"


@pytest.mark.parametrize("most", [1, 2, 4, 7])
def test_many_clusters_are_dealt_into_groups_of_equal_size(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(module, "MOST_UNITS", most)
    few = np.repeat(np.arange(most).astype(str), 3)
    assert resampling_units(few).tolist() == np.repeat(np.arange(most), 3).tolist()
    many = np.tile(np.arange(5 * most).astype(str), 2)
    units = resampling_units(many)
    assert units[: 5 * most].tolist() == units[5 * most :].tolist()
    assert np.bincount(units[: 5 * most]).tolist() == [5] * most


@pytest.mark.parametrize(("clusters", "units"), [(16_384, 16_384), (16_385, 16_384)])
def test_clusters_are_dealt_into_groups_only_where_they_are_too_many(clusters: int, units: int) -> None:
    numbers = module.resampling_units(np.arange(clusters))
    assert len(np.unique(numbers)) == units
    assert (clusters > module.MOST_UNITS) or numbers.tolist() == list(range(clusters))


def test_an_interval_needs_a_value_in_half_of_the_resamples() -> None:
    defined = np.linspace(0, 1, 50)
    assert np.isfinite(interval(np.r_[defined, np.full(50, np.nan)], level=0.95, units=300)).all()
    assert np.isnan(interval(np.r_[defined, np.full(51, np.nan)], level=0.95, units=300)).all()


def test_from_200_units_on_the_interval_is_the_percentile_one() -> None:
    samples = np.random.default_rng(0).exponential(size=400)
    plain = tuple(np.quantile(samples, [0.025, 0.975]))
    for drawn in (samples, np.r_[samples, np.nan]):
        assert interval(drawn, level=0.95, units=200) == pytest.approx(plain, abs=1e-12)
        assert interval(drawn, level=0.95, units=199)[1] > plain[1] + 0.05


def test_weights_come_in_chunks_of_bounded_size_and_are_the_same_in_any(monkeypatch: pytest.MonkeyPatch) -> None:
    (whole,) = weight_chunks(5, resamples=7, seed=1)()
    monkeypatch.setattr(module, "CHUNK_BYTES", 3 * 4 * 5)
    chunks = list(weight_chunks(5, resamples=7, seed=1)())
    assert [chunk.shape[1] for chunk in chunks] == [3, 3, 1]
    np.testing.assert_array_equal(np.concatenate(chunks, axis=1), whole)
    assert (whole.sum(axis=0) == 5).all()


def test_a_bootstrap_has_2000_resamples_drawn_with_seed_0() -> None:
    values, clusters = clustered(0)
    stated = bootstrap(mean, [values], clusters=clusters, seed=0, resamples=2000, level=0.95)
    assert bootstrap(mean, [values], clusters=clusters) == stated
    assert stated != bootstrap(mean, [values], clusters=clusters, seed=1)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_correction_for_skewness_is_bounded(sign: float) -> None:
    # One resample in a thousand far away has a skewness of 31.5: six times 0.25 counts.
    samples = sign * np.r_[np.arange(999) / 1e6, 1.0]
    z = stats.t.ppf(0.975, 29) * np.sqrt(30 / 29)
    ends = [norm.cdf(sign * (0.25 + (0.25 + side) / (1 - 0.25 * (0.25 + side)))) for side in (-z, z)]
    low, high = min(*ends, norm.cdf(-z)), max(*ends, norm.cdf(z))
    assert interval(samples, level=0.95, units=30) == pytest.approx(tuple(np.quantile(samples, [low, high])), rel=1e-9)


def test_percentile_intervals_of_drawn_samples_are_kept() -> None:
    made = {}
    for units, level, skew in product((2, 12, 199, 200), (0.8, 0.95), (False, True)):
        samples = rng(3).gamma(1.0, 1.0, 101) if skew else rng(3).normal(size=101)
        made[f"{units} units at {level}, skewed {skew}"] = [
            percentile(0.5, side * samples, level=level, units=units) for side in (1, -1)
        ]
    half, most = samples.copy(), samples.copy()
    half[:50], most[:51] = np.nan, np.nan
    made["missing"] = [percentile(0.5, chosen, level=0.9, units=300) for chosen in (half, most)]
    made["none"] = [percentile(0.5, np.full(size, np.nan), level=0.9, units=300) for size in (0, 4)]
    made["equal"] = percentile(0.5, np.full(9, 2.0), level=0.9, units=5)
    made["one unit"] = percentile(0.5, samples, level=0.9, units=1)
    made["t"] = [module.t_factor(level, freedom) for level in (0.5, 0.95) for freedom in (1, 10)]
    assert_kept("stats/bootstrap", made)


def test_weights_and_units_of_a_seed_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = [chunk.astype(int) for chunk in weight_chunks(4, resamples=5, seed=2)()]
    monkeypatch.setattr(module, "CHUNK_BYTES", 4 * 4 * 2)
    narrow = [chunk.astype(int) for chunk in weight_chunks(4, resamples=5, seed=2)()]
    assert [chunk.shape for chunk in narrow] == [(4, 2), (4, 2), (4, 1)]
    assert np.array_equal(np.concatenate(narrow, axis=1), chunks[0]) and (chunks[0].sum(axis=0) == 4).all()
    monkeypatch.setattr(module, "CHUNK_BYTES", 1)
    assert [chunk.shape for chunk in weight_chunks(4, resamples=2, seed=2)()] == [(4, 1), (4, 1)]
    monkeypatch.setattr(module, "MOST_UNITS", 4)
    grouped = resampling_units(np.array(list("abcdefab"), dtype=object))
    few = resampling_units(np.array(list("abcdab"), dtype=object))
    assert few.tolist() == [0, 1, 2, 3, 0, 1]
    assert_kept(
        "stats/weights", [chunks[0].T, grouped, bootstrap(mean, [np.arange(12.0)], clusters=np.arange(12) // 2)]
    )


def test_weights_of_one_chunk_are_held_and_those_of_several_drawn_anew() -> None:
    calls: list[int] = []

    def drawn(count: int) -> module.Chunks:
        def chunks() -> Iterator[np.ndarray]:
            calls.append(count)
            yield from (np.full((2, 1), float(number), dtype=np.float32) for number in range(count))

        return chunks

    for count, again in ((1, 1), (2, 3)):
        calls.clear()
        held = module.held(drawn(count))
        for _ in range(2):
            assert [float(chunk[0, 0]) for chunk in held()] == list(range(count))
        assert len(calls) == again


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=30))
def test_joint_numbers_tell_combinations_apart_in_their_order(rows: list[tuple[int, int, int]]) -> None:
    order = {row: number for number, row in enumerate(dict.fromkeys(rows))}
    assert module.joint_numbers(*np.array(rows).T).tolist() == [order[row] for row in rows]


@pytest.mark.parametrize("count", [1, 2, 3, 10, 999, 2000])
def test_quantiles_are_numpy_s_to_the_last_bit(count: int) -> None:
    values = np.random.default_rng(count).normal(size=count)
    for some in (values, np.round(values, 1)):
        for shares in ((0.025, 0.975), (0.0, 1.0), (0.013, 0.5), (0.2, 0.9)):
            assert module.quantiles(some, shares).tolist() == np.quantile(some, shares).tolist()


@pytest.mark.parametrize(("names", "numbers"), [(["b", "a", "b"], [0, 1, 0]), (["b", None, "b", None], [0, 1, 0, 1])])
def test_names_are_numbered_as_they_appear_and_nothing_is_a_name(names: list[str | None], numbers: list[int]) -> None:
    column = np.array(names, dtype=object)
    made, different = numbered(column)
    assert made.tolist() == cluster_numbers(column).tolist() == numbers and len(different) == max(numbers) + 1
