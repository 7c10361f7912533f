"""Paired differences and corrections, against brute force, scipy and known truths."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from kept_texts import assert_kept
from scipy.stats import false_discovery_control

from equipoise.metrics.fairness import accuracy_gap, eo_sum
from equipoise.metrics.groups import mean
from equipoise.records import Estimate
from equipoise.stats import bounded, jackknife, paired
from equipoise.stats.paired import Contest, Trial, benjamini_hochberg, corrected, holm, paired_differences
from equipoise.stats.resampling import Statistic

P_VALUES = arrays.arrays(np.float64, st.integers(1, 30), elements=st.floats(0, 1))


def test_a_family_is_corrected_over_what_was_tested() -> None:
    tested = [Estimate(0.1, 0.0, 0.2, 0.95, 9, "", p) for p in (0.01, np.nan, 0.04)]
    first, untested, last = corrected(tested)
    assert (first.p_corrected, last.p_corrected) == (0.02, 0.04) and np.isnan(untested.p_corrected)
    assert (first.p, first.low) == (0.01, 0.0)
    assert [e.p_corrected for e in corrected(tested[::2], "bh")] == [0.02, 0.04] and corrected([]) == []


def test_holm_of_a_worked_example() -> None:
    # Holm (1979): 0.01, 0.02, 0.03, 0.04 -> 4 x 0.01, 3 x 0.02, then never less than the one before.
    assert holm(np.array([0.03, 0.01, 0.04, 0.02])) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm(np.array([0.9, 0.8])) == pytest.approx([1.0, 1.0])


@given(P_VALUES)
def test_benjamini_hochberg_is_that_of_scipy(p: np.ndarray) -> None:
    assert benjamini_hochberg(p) == pytest.approx(false_discovery_control(p))


@given(P_VALUES)
def test_corrections_keep_the_order_and_only_ever_raise(p: np.ndarray) -> None:
    for correct in (holm, benjamini_hochberg):
        corrected = correct(p)
        assert np.all(corrected >= p - 1e-12) and np.all(corrected <= 1)
        assert np.all(np.diff(corrected[np.argsort(p, kind="stable")]) >= 0)
    assert np.all(benjamini_hochberg(p) <= holm(p) + 1e-12)
    assert holm(p).min() == pytest.approx(min(1.0, len(p) * p.min()))


def contest(first: np.ndarray, second: np.ndarray, clusters: np.ndarray) -> Contest:
    return Contest(*([Statistic(mean, [values], clusters)] for values in (first, second)), n=len(first))


def difference(first: np.ndarray, second: np.ndarray, clusters: np.ndarray, trial: Trial) -> Estimate:
    (result,) = paired_differences([contest(first, second, clusters)], clusters=int(clusters.max()) + 1, trial=trial)
    return result


def test_a_model_does_not_differ_from_itself() -> None:
    values = np.random.default_rng(0).normal(size=60)
    result = difference(values, values, np.arange(60) // 2, Trial(permutations=200))
    assert (result.value, result.p, result.n) == (0.0, 1.0, 60)
    # Thirty equal clusters are no proof: the interval comes from the bounds, and there is none without them.
    assert np.isnan([result.low, result.high]).all()
    same = contest(values, values, np.arange(60) // 2)
    bounded = [replace(same, width=1.0), replace(same, width=1.0, units=np.zeros(30))]
    loose, exact = paired_differences(bounded, clusters=30, trial=Trial(permutations=20))
    assert -1 <= loose.low < exact.low < 0 < exact.high < loose.high <= 1
    # A difference of 1 in three of thirty more clusters would not be a surprise.
    assert exact.high == pytest.approx(3 / 30, abs=0.01)


def test_p_is_that_of_every_exchange_counted_out() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(0.6, 1, 20), rng.normal(0, 1, 20)
    clusters = np.arange(20) // 2
    sums = np.bincount(clusters, first - second)
    every = [abs(np.dot(signs, sums)) >= abs(sums.sum()) - 1e-9 for signs in product((-1, 1), repeat=10)]
    result = difference(first, second, clusters, Trial(permutations=20_000, seed=1))
    assert result.p == pytest.approx(np.mean(every), abs=0.012)
    assert result.value == pytest.approx((first - second).mean())


def test_without_a_difference_p_is_uniform_and_the_interval_covers() -> None:
    rng = np.random.default_rng(2)
    small, covered = 0, 0
    for seed in range(200):
        base = rng.normal(size=40)  # what makes a sentence hard is shared by both models
        first, second = (np.repeat(base, 2) + rng.normal(size=80) for _ in range(2))
        result = difference(first, second, np.arange(80) // 2, Trial(permutations=199, resamples=200, seed=seed))
        small += result.p <= 0.05
        covered += result.low <= 0 <= result.high
    # 200 draws at 5%: 10 expected, 20 is beyond three standard deviations; a percentile interval covers a bit less.
    assert small <= 20
    assert covered >= 178


def test_a_metric_of_groups_is_tested_as_a_whole() -> None:
    rng = np.random.default_rng(3)
    n = 400
    stereotype = np.where(np.arange(n) % 2 == 0, "pro", "anti").astype(object)
    positive = (np.arange(n) // 2 % 2).astype(float)
    alike = rng.random(n) < 0.5
    biased = np.where(stereotype == "pro", positive == 1, positive == 0)
    clusters = np.arange(n) // 2

    def odds(chosen: np.ndarray) -> list[Statistic]:
        return [Statistic(eo_sum, [positive, chosen, stereotype], clusters)]

    contests = [Contest(odds(biased), odds(alike), n), Contest(odds(alike), odds(alike[::-1]), n)]
    trial = Trial(permutations=500, resamples=300)
    differs, same = paired_differences(contests, clusters=n // 2, trial=trial)
    assert differs.value > 1.5 and differs.p < 0.01 and differs.low > 1
    assert same.p > 0.01


def test_seeds_are_averaged_within_a_model_not_pooled() -> None:
    rng = np.random.default_rng(4)
    clusters = np.arange(30)
    first, second = rng.normal(0.5, 1, size=(3, 30)), rng.normal(0, 1, size=(3, 30))
    sides = [[Statistic(mean, [seed], clusters) for seed in model] for model in (first, second)]
    trial = Trial(resamples=300, permutations=300)
    (seeds,) = paired_differences([Contest(*sides, n=30)], clusters=30, trial=trial)
    means = difference(first.mean(axis=0), second.mean(axis=0), clusters, trial)
    assert (seeds.value, seeds.low, seeds.high) == pytest.approx((means.value, means.low, means.high), abs=1e-6)
    assert (seeds.p, seeds.n) == (means.p, 30)


def test_the_exchanges_of_a_small_p_value_follow_from_the_number_of_tests() -> None:
    clear = difference(np.ones(80), np.zeros(80), np.arange(80) // 2, Trial(resamples=20))
    assert clear.p == pytest.approx(1 / 5001, rel=1e-9)
    many = difference(np.ones(80), np.zeros(80), np.arange(80) // 2, Trial(resamples=20, tests=273))
    assert many.p == pytest.approx(1 / 27_301, rel=1e-9) and 273 * many.p < 0.05
    # What is not small needs no more exchanges, and has the same p-value in any family.
    rng = np.random.default_rng(0)
    sides = rng.random(40), rng.random(40)
    p_values = [difference(*sides, np.arange(40), Trial(resamples=20, tests=tests)).p for tests in (1, 500)]
    assert p_values[0] == p_values[1] > 0.01
    asked = difference(np.ones(80), np.zeros(80), np.arange(80) // 2, Trial(20, permutations=99, tests=273))
    assert asked.p == pytest.approx(0.01)
    assert (Trial(tests=10**6).most, Trial(tests=3).most) == (100_000, 5000)
    assert Trial().least_p(5) == 1 / 16 and Trial().least_p(40) == 1 / 5001


@pytest.mark.slow
def test_p_values_of_many_tests_are_valid_far_below_the_first_exchanges() -> None:
    rng, trial = np.random.default_rng(7), Trial(resamples=1, tests=200)
    sides = rng.normal(size=(2, 2000, 30))
    contests = [Contest(*_sides(first, second), n=30) for first, second in zip(*sides, strict=True)]
    p_values = np.array([result.p for result in paired_differences(contests, clusters=30, trial=trial)])
    for share in (0.001, 0.01, 0.05):
        allowed = 2000 * share + 3 * np.sqrt(2000 * share)
        assert (p_values <= share).sum() <= allowed


def test_few_clusters_of_a_gap_between_runs_have_the_jackknife_of_their_difference() -> None:
    rng, clusters = np.random.default_rng(3), np.repeat(np.arange(12), 10)
    kinds = np.tile(np.array(["pro", "anti"], dtype=object), 60)
    sides = [[Statistic(accuracy_gap, [(rng.random(120) < p).astype(float), kinds], clusters)] for p in (0.5, 0.9)]
    (result,) = paired_differences([Contest(*sides, n=60, width=1.0)], clusters=12, trial=Trial(20, permutations=9))
    left_out = [
        float(np.subtract(*(s.function(*(a[clusters != n] for a in s.arrays)) for (s,) in sides))) for n in range(12)
    ]
    expected = jackknife.scale_interval(result.value, np.array(left_out), (-1, 1), item=0.2, level=0.95)
    assert result.ends == pytest.approx(expected) and result.method == jackknife.METHOD


def test_a_seed_gives_the_same_interval_and_p_in_every_version() -> None:
    generator = np.random.default_rng(0)
    sides = [Statistic(mean, [generator.random(40)], np.arange(40)) for _ in range(2)]
    (difference,) = paired_differences([Contest([sides[0]], [sides[1]], 40)], clusters=40)
    expected = (0.0464448, -0.0482093, 0.1554078, 0.3465307)
    assert (difference.value, difference.low, difference.high, difference.p) == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize(("apart", "method"), [(0.0125, paired.PAIRED), (0.0075, jackknife.METHOD)])
def test_units_within_a_hundredth_of_the_possible_difference_are_alike(apart: float, method: str) -> None:
    # A metric of width 0.5 differs by at most 0.5 either way, so a hundredth of that is 0.01.
    units = np.tile([apart, -apart], 40)
    contest = Contest(*(_sides(units, np.zeros(80))), n=80, width=0.5, units=units)
    (result,) = paired_differences([contest], clusters=80, trial=Trial(resamples=50, permutations=9))
    assert result.method == method.format(resamples=50)


@pytest.mark.parametrize(("share", "method"), [(2.5e-6, paired.PAIRED), (1.5e-6, bounded.HOEFFDING)])
def test_an_interval_of_rounding_alone_gives_way_to_one_from_the_bounds(share: float, method: str) -> None:
    sides = _sides(np.random.default_rng(0).normal(size=80), np.zeros(80))
    trial = Trial(resamples=50, permutations=9)
    (plain,) = paired_differences([Contest(*sides, n=80, width=1.0)], clusters=80, trial=trial)
    # Differences lie within twice the width, and two millionths of the width are rounding.
    contest = Contest(*sides, n=80, width=(plain.high - plain.low) / share)
    (result,) = paired_differences([contest], clusters=80, trial=trial)
    assert result.method == method.format(resamples=50)


def _sides(first: np.ndarray, second: np.ndarray) -> list[list[Statistic]]:
    return [[Statistic(mean, [values], np.arange(len(values)))] for values in (first, second)]


def test_exchanges_come_in_chunks_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    # Four copies of four clusters at four bytes a weight: three permutations fill a chunk.
    monkeypatch.setattr(paired, "CHUNK_BYTES", 3 * 4 * 4 * 4)
    chunks = list(paired._exchanges(4, 10, [0])())
    assert [chunk.shape for chunk in chunks] == [(16, 3), (16, 3), (16, 3), (16, 1)]
    for kept, swapped, other_swapped, other_kept in (np.split(chunk, 4) for chunk in chunks):
        assert np.isin(kept, (0, 1)).all() and np.array_equal(kept + swapped, np.ones_like(kept))
        assert np.array_equal(kept, other_kept) and np.array_equal(swapped, other_swapped)
    monkeypatch.setattr(paired, "CHUNK_BYTES", 1)
    assert [chunk.shape for chunk in paired._exchanges(4, 2, seed=0)()] == [(16, 1), (16, 1)]


def test_a_permuted_difference_counts_as_equally_large_up_to_the_tolerance() -> None:
    permuted = np.array([0.0, paired.TOLERANCE, -paired.TOLERANCE, np.nan])
    assert paired._counted(paired.TOLERANCE, permuted) == (3, 3)
    assert paired._counted(2 * paired.TOLERANCE, permuted) == (2, 3)


@pytest.mark.parametrize("clusters", [4, 7, 8, 12, 29, 30, 60])
def test_intervals_of_every_amount_of_evidence_are_kept(clusters: int) -> None:
    rng = np.random.default_rng(clusters)
    kinds = np.array(["pro", "anti", "pro"] * clusters, dtype=object)
    numbers = np.repeat(np.arange(clusters), 3)
    rights = [(rng.random(3 * clusters) < share).astype(float) for share in (0.5, 0.8)]
    gaps = [[Statistic(accuracy_gap, [right, kinds], numbers)] for right in rights]
    plain = [[Statistic(mean, [right], numbers)] for right in rights]
    medians = [[Statistic(np.median, [right + rng.random(3 * clusters)], numbers)] for right in rights]
    units = np.array([(rights[0] - rights[1])[numbers == n].mean() for n in range(clusters)])
    contests = {
        "gap": Contest(*gaps, n=clusters, width=1.0),
        "gap without bounds": Contest(*gaps, n=clusters),
        "mean": Contest(*plain, n=clusters, width=1.0, units=units),
        "mean with sizes": Contest(
            *plain, n=clusters, width=1.0, units=units, sizes=rng.integers(1, 4, clusters) * 1.0
        ),
        "mean without bounds": Contest(*plain, n=clusters, units=units),
        "median": Contest(*medians, n=clusters, width=2.0),
    }
    trial = Trial(resamples=60, permutations=40, level=0.9, seed=3)
    found = paired_differences(list(contests.values()), clusters=clusters, trial=trial)
    assert_kept(f"stats/paired/{clusters}", dict(zip(contests, found, strict=True)))


def test_what_is_undefined_without_a_cluster_has_no_interval() -> None:
    kinds = np.array(["pro"] + ["anti"] * 9, dtype=object)
    sides = [[Statistic(accuracy_gap, [np.arange(10.0) / k, kinds], np.arange(10))] for k in (10, 20)]
    (found,) = paired_differences([Contest(*sides, n=10, width=1.0)], clusters=10, trial=Trial(20, permutations=9))
    assert found.method == "no interval: undefined without some cluster" and np.isnan(found.low)
    few = Contest(*_sides(np.zeros(7), np.arange(7.0)), n=7)
    (found,) = paired_differences([few], clusters=7, trial=Trial(20, permutations=9))
    assert found.method == "no interval: too few clusters" and found.value == -3


def test_a_difference_is_detected_by_its_corrected_p_and_its_interval() -> None:
    def found(low: float, high: float, p: float) -> bool:
        return paired.is_detected(Estimate(0.1, low, high, 0.95, 9, "", 0.001, p))

    assert found(0.01, 0.2, 0.049) and found(-0.2, -0.01, 0.049)
    assert not found(0.01, 0.2, 0.05) and not found(-0.01, 0.2, 0.01) and not found(0.0, 0.2, 0.01)


def test_p_values_from_more_exchanges_where_few_were_as_large_are_kept() -> None:
    rng = np.random.default_rng(1)
    contests = [Contest(*_sides(rng.normal(shift, 1, 25), rng.normal(0, 1, 25)), n=25) for shift in (0.0, 0.8, 1.2)]
    p_values = [
        [result.p for result in paired_differences(contests, clusters=25, trial=Trial(5, tests=tests, seed=2))]
        for tests in (1, 80)
    ]
    assert_kept("stats/paired/exchanges", p_values)
    counts = [p * 5001 - 1 for p in p_values[0]]
    assert [few[0] == few[1] for few in zip(*p_values, strict=True)] == [count >= 10 for count in counts]


def test_what_is_undefined_without_a_cluster_has_no_plain_interval_either() -> None:
    kinds = np.array(["pro"] + ["anti"] * 9, dtype=object)
    sides = [[Statistic(accuracy_gap, [np.arange(10.0) / k, kinds], np.arange(10))] for k in (10, 20)]
    (found,) = paired_differences([Contest(*sides, n=10)], clusters=10, trial=Trial(20, permutations=9))
    assert found.method == "no interval: undefined without some cluster" and np.isnan(found.low)


@pytest.mark.parametrize(("first", "second"), product([False, True], repeat=2))
def test_rows_of_both_models_have_shares_where_both_have(first: bool, second: bool) -> None:
    sides = [
        Statistic(
            mean, [np.array([1.0, 2.0]) + at], np.array([0, 1]), shares=np.array([3.0, 4.0]) + at if has else None
        )
        for at, has in enumerate((first, second))
    ]
    halves = paired._Mixtures(5).contest(Contest([sides[0]], [sides[1]], n=2))
    (one,), (other,) = halves.first, halves.second
    assert one.arrays[0].tolist() == other.arrays[0].tolist() == [1.0, 2.0, 2.0, 3.0] and halves.n == 2
    assert one.clusters.tolist() == [0, 1, 5, 6] and other.clusters.tolist() == [10, 11, 15, 16]
    assert (one.shares is None) != (first and second)
    if first and second:
        assert one.row_shares is not None and one.row_shares.tolist() == [3.0, 4.0, 4.0, 5.0]


@pytest.mark.parametrize("chosen", [None, np.array([3, 0]), slice(1, 3)], ids=["all", "some", "slice"])
@pytest.mark.parametrize("other", [None, np.array([2]), slice(0, 2)], ids=["all", "some", "slice"])
def test_mixtures_have_the_rows_of_both_models_and_join_what_they_share_once(chosen: Any, other: Any) -> None:
    rng = np.random.default_rng(1)
    columns, shares = [[rng.random(4) for _ in range(2)] for _ in range(2)]
    numbers = np.array([0, 1, 1, 2])
    names = [np.array(list("abab"), dtype=object), np.array(list("bbaa"), dtype=object)]

    def side(number: int, function: Any, rows: Any) -> Statistic:
        return Statistic(function, [columns[number], names[number]], numbers, rows, shares[number])

    mixtures = paired._Mixtures(3)
    made = [
        mixtures.contest(Contest([side(0, function, chosen)], [side(1, function, other)], n=4)).first[0]
        for function in (mean, accuracy_gap)
    ]
    every = slice(None)
    for statistic in made:
        for place, both in ((0, columns), (1, names)):
            parts = [both[0][every if chosen is None else chosen], both[1][every if other is None else other]]
            assert statistic.arrays[place].tolist() == np.concatenate(parts).tolist()
        parts = [numbers[every if chosen is None else chosen], numbers[every if other is None else other] + 3]
        assert statistic.clusters.tolist() == np.concatenate(parts).tolist()
        parts = [shares[0][every if chosen is None else chosen], shares[1][every if other is None else other]]
        assert statistic.row_shares is not None and statistic.row_shares.tolist() == np.concatenate(parts).tolist()
    for name in ("numbers", "rows", "shares"):
        assert getattr(made[0], name) is getattr(made[1], name)
    assert all(a is b for a, b in zip(made[0].columns, made[1].columns, strict=True))
