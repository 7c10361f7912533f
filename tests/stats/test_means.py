"""A metric made of means is taken apart into them, and its interval holds for every mean at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kept_texts import assert_kept

from equipoise.records import Estimate
from equipoise.stats import bounded, means
from equipoise.stats.resampling import Statistic


def apart(first: np.ndarray, second: np.ndarray, *, weights: Any = None) -> np.ndarray:
    """Return the absolute difference of two means under weights."""
    weights = np.ones(len(first)) if weights is None else weights
    sums = [np.stack([values, np.ones_like(values)]) @ weights for values in (first, second)]
    return np.asarray(np.abs(sums[0][0] / sums[0][1] - sums[1][0] / sums[1][1]))


def gap() -> Statistic:
    return Statistic(apart, [np.array([1.0, 0.0, 1.0]), np.array([1.0, 1.0, 0.0])], np.array([0, 0, 1]))


def joint(statistic: Statistic, **options: Any) -> Estimate | None:
    """Return the joint interval of a statistic of variables of width 1."""
    return means.joint_interval(statistic, means.units(means.tables(statistic)), 1.0, **options)


def ends(monkeypatch: pytest.MonkeyPatch, *pairs: tuple[float, float]) -> None:
    """Let the means have these intervals, in turn."""
    given = iter(pairs)
    monkeypatch.setattr(bounded, "mean_interval", lambda *_, **__: Estimate(0.0, *next(given), 0.95, 1, ""))


def test_the_units_of_a_mean_are_the_means_of_its_clusters() -> None:
    assert [units.tolist() for units in means.units(means.tables(gap()))] == [[0.5, 1.0], [1.0, 0.0]]
    # A number that no row has is not a cluster.
    sparse = Statistic(apart, gap().columns, np.array([0, 0, 2]))
    assert [units.tolist() for units in means.units(means.tables(sparse))] == [[0.5, 1.0], [1.0, 0.0]]


def test_the_interval_of_means_is_drawn_with_seed_0() -> None:
    values = np.random.default_rng(0).random((2, 7))
    statistic = Statistic(apart, list(values), np.arange(7))
    ends = [joint(statistic, level=0.95, seed=seed) for seed in (0, 1)]
    assert joint(statistic, level=0.95) == ends[0] != ends[1]


def test_a_function_without_weights_is_not_taken_apart() -> None:
    assert means.tables(Statistic(np.median, [np.array([0.0, 1.0])], np.array([0, 1]))) == []


def added(*columns: np.ndarray, weights: Any = None) -> np.ndarray:
    """Return the sum of the means of the columns under weights."""
    weights = np.ones(len(columns[0])) if weights is None else weights
    sums = [np.stack([values, np.ones_like(values)]) @ weights for values in columns]
    return np.asarray(sum(total / count for total, count in sums))


def test_a_metric_of_no_mean_or_of_more_than_four_has_no_joint_interval() -> None:
    values, clusters = np.array([0.0, 1.0]), np.array([0, 1])
    assert joint(Statistic(np.median, [values], clusters), level=0.95) is None
    assert joint(Statistic(added, [values] * 5, clusters), level=0.95) is None
    four = joint(Statistic(added, [values] * 4, clusters), level=0.95)
    assert four is not None and four.ends == pytest.approx((0, 4))


@pytest.mark.parametrize(("between", "low"), [(0.045, 0.0), (0.055, 0.055)])
def test_a_gap_smaller_than_a_step_between_tried_means_may_be_none(
    monkeypatch: pytest.MonkeyPatch, between: float, low: float
) -> None:
    # Nine means are tried from 0.0 to 0.4, and nine of the other interval: steps of 0.05.
    ends(monkeypatch, (0.0, 0.4), (0.4 + between, 0.8 + between))
    apart = joint(gap(), level=0.95)
    assert apart is not None and apart.ends == pytest.approx((low, 0.8 + between))


def test_the_means_share_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = []

    def interval(*_: object, level: float, **__: object) -> Estimate:
        levels.append(level)
        return Estimate(0.5, 0.0, 1.0, level, 1, "")

    monkeypatch.setattr(bounded, "mean_interval", interval)
    joint(gap(), level=0.9)
    assert levels == pytest.approx([0.95, 0.95])


def test_joint_intervals_and_tables_are_kept() -> None:
    rng = np.random.default_rng(5)
    values, others, clusters = rng.random(40), rng.random(40), np.arange(40) // 2
    statistic = Statistic(apart, [values, others], clusters)
    made = {
        "tables": [table.sum(axis=1) for exact in (False, True) for table in means.tables(statistic, exact=exact)],
        "units": [chosen.sum() for chosen in means.units(means.tables(statistic))],
        "item": means.item_size(means.tables(statistic)),
        "at": means.at_means(statistic, [np.array([0.1, 0.5]), np.array([0.3, 0.4])], exact=True),
        "joint": [
            means.joint_interval(statistic, means.units(means.tables(statistic)), width, level=level, seed=1)
            for width in (1.0, 2.0)
            for level in (0.8, 0.95)
        ],
    }
    assert_kept("stats/means", made)


def test_at_most_four_means_are_tried_together_and_none_is_no_interval() -> None:
    statistic = gap()
    some = means.units(means.tables(statistic))
    assert means.joint_interval(statistic, [], 1.0, level=0.9) is None
    assert means.joint_interval(statistic, some[:1] * 5, 1.0, level=0.9) is None
    assert means.joint_interval(statistic, some, 1.0, level=0.9) is not None


def test_what_is_not_made_of_means_has_no_tables() -> None:
    plain = Statistic(np.median, [np.arange(4.0)], np.arange(4))
    assert means.tables(plain) == [] and means.units(means.tables(plain)) == []

    def triple(values: np.ndarray, *, weights: Any = None) -> Any:
        return (np.stack([values, values, values]) @ weights).sum(axis=0)

    def rows(values: np.ndarray, *, weights: Any = None) -> Any:
        return np.asarray(weights).sum(axis=0)

    assert means.tables(Statistic(triple, [np.arange(4.0)], np.arange(4))) == []
    assert means.tables(Statistic(rows, [np.arange(4.0)], np.arange(4))) == []


def test_a_value_between_two_that_were_tried_may_be_0() -> None:
    statistic = gap()
    steps = means.STEPS - 1
    low, high = means.within_ends(statistic, [(0.0, steps * 0.1), (0.05, 0.05)], exact=True)
    assert low == 0.0 and high == pytest.approx(steps * 0.1 - 0.05)


def test_tables_of_the_same_rows_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    statistic, known = gap(), means.KnownTables()
    first = known.of(statistic)
    assert [table.tolist() for table in first] == [table.tolist() for table in means.tables(statistic)]
    monkeypatch.setattr(means, "tables", lambda _: [])
    assert known.of(replace(statistic)) is first
    assert known.of(replace(statistic, numbers=statistic.numbers + 1)) == []
