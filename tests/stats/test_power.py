"""The power of an audit before it is made: against audits that are made with the intervals themselves."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.records import EquipoiseError
from equipoise.stats import bootstrap, bounded
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
