"""How much more data decides: the same values again give what was told, and no more."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.records import Estimate
from equipoise.stats.betting import Units
from equipoise.stats.planning import Seen, scaled_more, units_to_settle


def at_least(bound: float):  # type: ignore[no-untyped-def]
    return lambda estimate: estimate.low >= bound or estimate.high < bound


@pytest.mark.parametrize("n", [42, 266])
def test_what_is_told_decides_where_the_bound_is_far_from_the_mean(n: int) -> None:
    units = 0.9 + 0.1 * np.random.default_rng(n).random(n) - 0.3 * (np.arange(n) % 7 == 0)
    seen = Seen(units, (0.0, 1.0), 0.95)
    for bound in (0.88, 0.93):
        more = seen.more(at_least(bound))
        assert more is not None and at_least(bound)(seen.estimate(2 * (n + more)))
        assert at_least(bound)(seen.estimate(n)) or not at_least(bound)(seen.estimate(n + more // 3))


def test_a_mean_at_its_bound_takes_many_more() -> None:
    # Nobody knows that the true mean is at the bound: it is decided once it is known to be a little off.
    seen = Seen(np.tile([0.4, 0.6], 40), (0.0, 1.0), 0.95)
    near, far = seen.more(at_least(0.5)), seen.more(at_least(0.46))
    assert near is not None and far is not None and near > 5 * far


def test_half_of_all_audits_take_at_most_what_is_told() -> None:
    # Over drops that may be anything: near a bound no sample knows how near the truth is.
    rng, enough = np.random.default_rng(3), []
    while len(enough) < 60:
        drop = rng.uniform(-0.03, 0.13)
        units = rng.normal(drop, 0.1, 60)
        seen = Seen(units, (-1.0, 1.0), 0.95)
        if not at_least(0.05)(seen.estimate(60)):
            told = seen.more(at_least(0.05)) or np.inf
            further = np.concatenate([units, rng.normal(drop, 0.1, 3000)])
            looks = (n for n in range(61, 3000, 4) if at_least(0.05)(Seen(further[:n], (-1, 1), 0.95).estimate(n)))
            enough.append(next(looks, 3000) - 60 <= told)
    assert 0.3 < np.mean(enough) < 0.7


def test_more_units_have_the_values_of_those_seen() -> None:
    seen = Seen(np.array([0.0, 0.5, 1.0]), (0.0, 1.0), 0.95)
    assert seen.estimate(300).value == pytest.approx(0.5) and seen.estimate(300).n == 300
    assert Seen(np.array([1.0, 1.0, 0.0]), (0, 1), 0.95, whole=True).estimate(30).method.startswith("Clopper")


def test_other_metrics_scale_by_the_end_that_was_not_cut_off() -> None:
    estimate = Estimate(0.8, 0.6, 0.9, 0.95, 50, "")
    assert [scaled_more(estimate, bound, (0, 1)) for bound in (0.7, 0.85)] == pytest.approx([150, 150], abs=1)
    cut = Estimate(0.85, 0.398, 1.0, 0.95, 6, "")
    assert scaled_more(cut, 0.99, (0, 1)) == pytest.approx(6 * (0.452 / 0.14) ** 2 - 6, abs=1)
    assert scaled_more(estimate, 0.8, (0, 1)) is None


@pytest.mark.slow
def test_rehearsed_audits_say_how_many_units_settle_a_bound() -> None:
    rng = np.random.default_rng(4)
    seen = (rng.random(200) < 0.04).astype(float)
    needed = units_to_settle(Units(seen, np.ones(200), horizon=500), 0.1, 0.025)
    fresh = (rng.random((300, 600)) < seen.mean()).astype(float)
    median = np.median(Units(fresh, np.ones_like(fresh), horizon=500).shown_below(0.1, 0.025))
    assert needed == pytest.approx(median, rel=0.25)
    assert units_to_settle(Units(seen, np.ones(200), horizon=500), float(seen.mean()), 0.025) is None


@pytest.mark.parametrize(("value", "low", "high"), [(0.5, 0.4, 0.6), (0.5, 0.3, 0.55)])
@pytest.mark.parametrize("bound", [0.1, 0.45, 0.52, 0.9])
def test_intervals_narrow_with_the_root_of_the_units(value: float, low: float, high: float, bound: float) -> None:
    def more(units: int) -> int | None:
        return scaled_more(Estimate(value, low, high, 0.95, units, ""), bound, (0.0, 1.0))

    reach, distance = (value - low if bound < value else high - value), abs(value - bound)
    for units in (1, 40):
        needed = more(units)
        assert needed is not None and needed >= 1
        assert reach * np.sqrt(units / (units + needed)) <= distance + 1e-12, "then the bound is outside"
        assert needed == 1 or reach * np.sqrt(units / (units + needed - 1)) > distance - 1e-12, "and not before"
    assert more(0) is None, "no unit says nothing of how intervals narrow"
