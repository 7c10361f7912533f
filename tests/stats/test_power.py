"""The power of an audit before it is made: against audits that are made with the intervals themselves."""

from __future__ import annotations

from dataclasses import astuple
from itertools import product

import numpy as np
import pytest
from kept_texts import assert_kept
from scipy.special import ndtr

from equipoise.records import EquipoiseError
from equipoise.stats import bootstrap, bounded, power
from equipoise.stats.betting import Units
from equipoise.stats.power import (
    Contrast,
    power_of_pilots,
    spreads_of_pilots,
    units_for_width,
    with_true_value,
)

RNG = np.random.default_rng(3)


def ratio(units: Units) -> float:
    return float(units.sums.sum() / units.counts.sum())


@pytest.mark.parametrize("value", [0.02, 0.1, 0.5, 0.97])
def test_units_have_the_value_that_is_assumed_and_stay_answers(value: float) -> None:
    answers = Units(RNG.binomial(2, 0.3, 300).astype(float), np.full(300, 2.0), most=2.0)
    moved = with_true_value(answers, value, whole=True)
    assert ratio(moved) == pytest.approx(value, abs=0.002)
    assert set(np.unique(moved.sums)) <= {0.0, 1.0, 2.0}
    signs = Units(RNG.choice([-1.0, 0.0, 1.0], 300, p=[0.1, 0.7, 0.2]), np.ones(300), (-1.0, 1.0))
    tilted = with_true_value(signs, value)
    assert ratio(tilted) == pytest.approx(value, abs=0.002) and set(np.unique(tilted.sums)) <= {-1.0, 0.0, 1.0}


def test_a_value_that_was_never_seen_is_still_possible_and_one_beyond_the_bounds_is_not() -> None:
    never = Units(np.zeros(100), np.ones(100))
    assert ratio(with_true_value(never, 0.05, whole=True)) == pytest.approx(0.05)
    assert ratio(with_true_value(Units(np.full(50, 0.9), np.ones(50)), 0.8)) == pytest.approx(0.8)
    with pytest.raises(EquipoiseError, match="not possible"):
        with_true_value(never, 1.2)


@pytest.mark.parametrize(("size", "share", "bound"), [(60, 0.3, 0.15), (250, 0.16, 0.1), (250, 0.6, 0.66)])
def test_power_of_a_share_is_that_of_the_intervals_of_an_audit(size: int, share: float, bound: float) -> None:
    rng, shown = np.random.default_rng(5), []
    # Shares move in steps: resamples that all audits have in common would be off for all alike.
    for seed in range(20):
        drawn = (rng.random((100, size)) < share).astype(float)
        (weights,) = bootstrap.weight_chunks(size, resamples=800, seed=seed)()
        samples = drawn @ weights.astype(float) / size
        for values, resampled in zip(drawn, samples, strict=True):
            enough = bounded.is_enough(values, 1.0)
            made = (
                bootstrap.percentile(values.mean(), resampled, level=0.95, units=size)
                if enough
                else bounded.mean_interval(values, (0, 1), level=0.95, whole=True)
            )
            shown.append(made.low > bound if share > bound else made.high < bound)
    units = with_true_value(Units(drawn[0], np.ones(size)), share, whole=True)
    planned = Contrast(bound, 0.95, whole=True).power(units, size)
    assert planned == pytest.approx(np.mean(shown), abs=0.035), "the simulation is right to within a point"


def test_a_pilot_of_few_sets_leaves_more_open_and_one_of_answers_leaves_nothing() -> None:
    rng = np.random.default_rng(8)
    few, many = (Units(rng.beta(17, 3, n), np.ones(n)) for n in (100, 1600))
    spreads = [spreads_of_pilots(units, 0.85) for units in (few, many)]
    assert spreads[0].std() == pytest.approx(4 * spreads[1].std(), rel=0.4)
    open_, closed = (power_of_pilots(0.8, s, few, 0.95) for s in spreads)
    assert open_.low < closed.low < 0.8 < closed.high < open_.high
    # What pilots of that size really plan: the power of their own spread.
    planned = [
        Contrast(0.84, 0.95).power(with_true_value(Units(rng.beta(17, 3, 100), np.ones(100)), 0.85), 480, audits=400)
        for _ in range(30)
    ]
    middle = power_of_pilots(float(np.median(planned)), spreads[0], few, 0.95)
    assert np.mean([middle.low <= power <= middle.high for power in planned]) > 0.7
    answers = Units((rng.random(200) < 0.2).astype(float), np.ones(200))
    assert np.ptp(spreads_of_pilots(answers, 0.1, whole=True)) < 0.02, "the spread of a share follows from its value"


@pytest.mark.slow
def test_the_units_that_are_told_have_the_power_that_was_asked_for() -> None:
    units = Units(RNG.choice([-1.0, 0.0, 1.0], 500, p=[0.1, 0.7, 0.2]), np.ones(500), (-1.0, 1.0))
    contrast = Contrast(0.0, 0.95)
    needed = contrast.units_for(with_true_value(units, 0.1), 0.8)
    assert needed is not None
    assert contrast.power(with_true_value(units, 0.1), needed, seed=9) == pytest.approx(0.8, abs=0.05)
    assert contrast.units_for(with_true_value(units, 0.0), 0.8) is None
    small = contrast.units_for(with_true_value(units, 0.01), 0.8)
    assert small is not None and 50 * needed < small < 200 * needed, "a tenth needs a hundred times as many"


def test_half_the_width_needs_four_times_the_units() -> None:
    units = Units(RNG.random(200), np.ones(200))
    assert units_for_width(units, 0.01, 0.95) == pytest.approx(4 * units_for_width(units, 0.02, 0.95), rel=0.01)


def test_power_of_drawn_units_is_kept() -> None:
    made = {}
    rng = np.random.default_rng(4)
    shares = Units((np.arange(100) % 5 == 0) * 1.0, np.ones(100))
    means = Units(rng.beta(7, 3, 60), np.ones(60))
    uneven = Units(rng.binomial([1, 2, 3] * 20, 0.4) * 1.0, np.array([1.0, 2.0, 3.0] * 20), most=3.0)
    for (name, units), size, level in product(
        (("shares", shares), ("means", means), ("uneven", uneven)), (12, 90, 250), (0.8, 0.95)
    ):
        true = ratio(units)
        made[f"{name}, {size} at {level}"] = [
            Contrast(bound, level, whole=name != "means", absolute=absolute).power(units, size, seed=1, audits=60)
            for bound in (true - 0.05, true + 0.07)
            for absolute in (False, True)
        ]
    assert_kept("stats/power", made)


def test_units_for_a_width_or_a_power_are_kept() -> None:
    rng = np.random.default_rng(6)
    units = Units(rng.beta(7, 3, 60), np.ones(60))
    shares = Units((np.arange(100) % 4 == 0) * 1.0, np.ones(100))
    made = {
        "width": [units_for_width(units, width, level) for width in (0.01, 0.1, 3.0) for level in (0.8, 0.95)],
        "power": [Contrast(bound, 0.9, whole=True).units_for(shares, 0.8) for bound in (0.1, 0.15, 0.4)],
        "by root": [Contrast(bound, 0.9)._by_root(units, 0.8) for bound in (0.5, 0.7, ratio(units), 0.6999, 0.701)],
        "pilots": spreads_of_pilots(units, 0.6)[:5],
        "as they are": spreads_of_pilots(units, None, seed=3)[:5],
        "answers": spreads_of_pilots(shares, 0.3, whole=True, seed=3)[:5],
        "estimates": [power_of_pilots(p, spreads_of_pilots(units, 0.6), units, 0.9) for p in (0.0, 0.3, 0.8, 1.0)],
        "known": power_of_pilots(0.7, np.ones(5), units, 0.9),
    }
    assert_kept("stats/units", made)


def test_units_with_another_true_value_are_kept() -> None:
    rng = np.random.default_rng(9)
    units = Units(rng.binomial([1, 2, 3] * 8, 0.4) * 1.0, np.array([1.0, 2.0, 3.0] * 8), most=3.0)
    flat = Units(np.full(9, 0.4), np.ones(9))
    none = Units(np.zeros(9), np.ones(9))
    made = {}
    for (name, chosen), value, whole in product(
        (("uneven", units), ("flat", flat), ("none", none)), (0.0, 0.1, 0.4, 0.9, 1.0), (False, True)
    ):
        moved = with_true_value(chosen, value, whole=whole)
        made[f"{name} to {value}, whole {whole}"] = [len(moved.sums), ratio(moved), moved.sums[:6], moved.counts[:6]]
        assert astuple(moved)[2:] == astuple(chosen)[2:]
    assert_kept("stats/true-values", made)
    with pytest.raises(EquipoiseError, match=r"^a true value of 1.2 is not possible: it lies between 0 and 1$"):
        with_true_value(units, 1.2)
    with pytest.raises(EquipoiseError, match=r"^a true value of -0.1 is not possible: it lies between 0 and 1$"):
        with_true_value(units, -0.1)


def test_the_quantiles_that_a_bootstrap_takes_are_those_of_the_bootstrap() -> None:
    rng = np.random.default_rng(1)
    for size in (60, 199, 200):
        for level in (0.8, 0.95):
            for samples in (rng.gamma(1.0, 1.0, 400), -rng.gamma(1.0, 1.0, 400), rng.normal(size=400)):
                apart = samples - samples.mean()
                skewness = np.array([float((apart**3).mean()) / float(samples.std()) ** 3])
                lows, highs = Contrast(0.5, level)._sides(skewness, size)
                ends = bootstrap._ends(samples, level, size)
                assert (float(ndtr(lows[0])), float(ndtr(highs[0]))) == pytest.approx(ends)


def test_answers_of_yes_or_no_are_a_share_and_nothing_else_is() -> None:
    answers = Units(np.array([0.0, 1.0, 1.0]), np.ones(3))
    assert Contrast(0.5, 0.9, whole=True)._is_share(answers)
    assert not Contrast(0.5, 0.9)._is_share(answers)
    assert not Contrast(0.5, 0.9, whole=True, absolute=True)._is_share(answers)
    for others in (
        Units(np.array([0.0, 0.5, 1.0]), np.ones(3)),
        Units(np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 2.0]), most=2.0),
        Units(np.array([0.0, 1.0, 1.0]), np.ones(3), (-1.0, 1.0)),
    ):
        assert not Contrast(0.5, 0.9, whole=True)._is_share(others)


def test_the_last_number_of_units_that_anybody_asks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    units, contrast = Units(np.tile([0.0, 1.0], 20), np.ones(40)), Contrast(0.4, 0.95)
    size = contrast._by_root(units, 0.8)
    assert size is not None
    monkeypatch.setattr(power, "MOST_UNITS", size)
    assert contrast._by_root(units, 0.8) == size
    monkeypatch.setattr(power, "MOST_UNITS", size - 1)
    assert contrast._by_root(units, 0.8) is None


@pytest.mark.parametrize("whole", [False, True])
def test_audits_of_few_units_have_the_interval_for_few(whole: bool) -> None:
    rng = np.random.default_rng(6)
    many, few = rng.choice([-1.0, 1.0], 80), np.where(np.arange(80) < 20, 1.0, 0.0)
    near = np.where(np.arange(80) < 40, 0.0005, -0.0005)
    counts = np.ones((3, 80))
    contrast, bounds = Contrast(0.0, 0.95, whole=whole), (-1.0, 1.0)
    lows, highs = contrast._intervals(np.stack([many, few, near]), counts, bounds)
    ends = contrast._ends(np.stack([many, few, near]), np.array([many.mean(), few.mean(), near.mean()]))
    assert (lows[0], highs[0]) == (ends[0][0], ends[1][0])
    for place, units in ((1, few), (2, near)):
        assert not bounded.is_enough(units, 2.0)
        assert (lows[place], highs[place]) == bounded.mean_interval(units, bounds, level=0.95, whole=whole).ends
    answers = np.where(np.arange(80) < 20, 1.0, 0.0)[None, :]
    lows, _ = contrast._intervals(answers, counts[:1], (0.0, 1.0))
    assert lows[0] == bounded.mean_interval(answers[0], (0.0, 1.0), level=0.95, whole=whole).low
