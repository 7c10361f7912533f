"""How much more data decides: the same values again give what was told, and no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from itertools import product

import numpy as np
import pytest
from kept_texts import assert_kept

from equipoise.records import Estimate, Floats
from equipoise.stats import jackknife
from equipoise.stats.betting import Units
from equipoise.stats.planning import LARGE, Decides, More, Seen, scaled_more, units_to_settle

NEVER = More(None, None, None)


def at_least(bound: float) -> Decides:
    return lambda low, high: (low >= bound) == (high >= bound)


@pytest.mark.parametrize("n", [42, 266])
def test_what_is_told_decides_where_the_bound_is_far_from_the_mean(n: int) -> None:
    units = 0.9 + 0.1 * np.random.default_rng(n).random(n) - 0.3 * (np.arange(n) % 7 == 0)
    seen = Seen(units, (0.0, 1.0), 0.95)
    for bound in (0.88, 0.93):
        more = seen.more(at_least(bound)).half
        assert more is not None and at_least(bound)(*seen.estimate(2 * (n + more)).ends)
        assert at_least(bound)(*seen.estimate(n).ends) or not at_least(bound)(*seen.estimate(n + more // 3).ends)


def test_a_mean_at_its_bound_takes_many_more() -> None:
    # Nobody knows that the true mean is at the bound: it is decided once it is known to be a little off.
    seen = Seen(np.tile([0.4, 0.6], 40), (0.0, 1.0), 0.95)
    near, far = seen.more(at_least(0.5)).half, seen.more(at_least(0.46)).half
    assert near is not None and far is not None and near > 5 * far


def drop(truth: float, rng: np.random.Generator, n: int) -> Floats:
    return rng.normal(truth, 0.1, n).clip(-1, 1)


def rare_drop(truth: float, rng: np.random.Generator, n: int) -> Floats:
    return (rng.random(n) < truth).astype(float)


def alike(truth: float, rng: np.random.Generator, n: int) -> Floats:
    return rng.beta(20 * truth, 20 * (1 - truth), n)


def signs(truth: float, rng: np.random.Generator, n: int) -> Floats:
    return rng.choice([1.0, 0.0, -1.0], n, p=[0.1 + truth / 2, 0.8, 0.1 - truth / 2])


def size_of_gap(units: Floats) -> Estimate:
    radius = 1.96 * float(units.std(ddof=1)) / len(units) ** 0.5
    return Estimate.around(abs(float(units.mean())), radius, (0.0, 1.0), level=0.95, n=len(units), method="")


@dataclass(frozen=True)
class Gate:
    """A requirement, and the worlds that it may be about: their true values are drawn from a range."""

    draw: Callable[[float, np.random.Generator, int], Floats]
    truths: tuple[float, float]
    bound: float
    bounds: tuple[float, float] = (-1.0, 1.0)
    absolute: bool = False

    def estimate(self, units: Floats) -> Estimate:
        return size_of_gap(units) if self.absolute else Seen(units, self.bounds, 0.95).estimate(len(units))

    def more(self, units: Floats) -> More:
        if self.absolute:
            return scaled_more(self.estimate(units), (0.0, 1.0), at_least(self.bound))
        return Seen(units, self.bounds, 0.95).more(at_least(self.bound))

    def is_decided(self, units: Floats) -> bool:
        return bool(at_least(self.bound)(*self.estimate(units).ends))


GATES = {
    "a drop": Gate(drop, (-0.03, 0.13), 0.05),
    "a drop in few sets": Gate(rare_drop, (0.0, 0.15), 0.05),
    "UCerF": Gate(alike, (0.80, 0.90), 0.85, (0.0, 1.0)),
    "the size of a gap": Gate(signs, (0.0, 0.18), 0.08, absolute=True),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("n", [79, 266])
def test_half_of_all_audits_take_at_most_what_is_told_and_eight_in_ten_are_in_the_range(name: str, n: int) -> None:
    # Over worlds that may be anything: near a bound no sample knows how near the truth is.
    gate, rng, most = GATES[name], np.random.default_rng([3, n]), 20_000
    told, took = [], []
    while len(told) < 60:
        truth = rng.uniform(*gate.truths)
        units = gate.draw(truth, rng, n)
        if not gate.is_decided(units):
            told.append([sets or np.inf for sets in astuple(gate.more(units))])
            further = np.concatenate([units, gate.draw(truth, rng, most)])
            looks = (size for size in looks_from(n, most) if gate.is_decided(further[:size]))
            took.append(next(looks, np.inf) - n)
    few, half, many = np.array(told).T
    # Three standard errors of 60 audits.
    assert 0.3 < np.mean(took <= half) < 0.7
    assert 0.65 < np.mean((few <= took) & (took <= many)) < 0.95


def looks_from(n: int, most: int) -> list[int]:
    sizes = (n * 1.05 ** np.arange(1, 200)).astype(int)
    return np.unique(sizes[(sizes > n) & (sizes <= most)]).tolist()


def test_more_units_have_the_values_of_those_seen() -> None:
    seen = Seen(np.array([0.0, 0.5, 1.0]), (0.0, 1.0), 0.95)
    assert seen.estimate(300).value == pytest.approx(0.5) and seen.estimate(300).n == 300
    assert Seen(np.array([1.0, 1.0, 0.0]), (0, 1), 0.95, whole=True).estimate(30).method.startswith("Clopper")


def test_other_metrics_scale_by_the_end_that_was_not_cut_off() -> None:
    # Cut at 1 on the one side, the other side says how far the interval reaches.
    cut, whole = Estimate(0.85, 0.4, 1.0, 0.95, 6, ""), Estimate(0.85, 0.4, 1.3, 0.95, 6, "")
    assert scaled_more(cut, (0, 1), at_least(0.99)) == scaled_more(replace(whole, high=1.0), (0, 1), at_least(0.99))
    narrow = Estimate(0.85, 0.75, 1.0, 0.95, 6, "")
    assert (scaled_more(narrow, (0, 1), at_least(0.99)).half or 0) < (
        scaled_more(cut, (0, 1), at_least(0.99)).half or 0
    )
    # No unit says nothing of how intervals narrow.
    assert scaled_more(replace(cut, n=0), (0, 1), at_least(0.99)) == NEVER
    assert scaled_more(Estimate.alone(0.5, level=0.95, n=9, method=""), (0, 1), at_least(0.4)) == NEVER


def test_what_can_never_be_shown_takes_more_than_anybody_asks() -> None:
    # A mean of at most 0 that is never below: its interval always reaches above the bound.
    assert Seen(np.tile([0.0, 0.2], 40), (0.0, 1.0), 0.95).more(lambda low, high: high <= 0) == NEVER


def test_the_range_holds_the_median_and_is_wider_near_the_bound() -> None:
    seen = Seen(np.tile([0.4, 0.6], 40), (0.0, 1.0), 0.95)
    far, near = seen.more(at_least(0.44)), seen.more(at_least(0.49))
    for more in (far, near):
        assert more.few is not None and more.half is not None and more.many is not None
        assert more.few <= more.half <= more.many
    assert (near.many or 0) / (near.few or 1) > 3 * (far.many or 0) / (far.few or 1)
    assert far.times(0.5).half == round((far.half or 0) / 2) and More(1, 2, None).times(0.1) == More(1, 1, None)


def test_sets_that_are_all_alike_have_no_range() -> None:
    more = Seen(np.ones(40), (0.0, 1.0), 0.95).more(at_least(0.95))
    assert more.few == more.half == more.many
    assert at_least(0.95)(*Seen(np.ones(40), (0.0, 1.0), 0.95).estimate(40 + (more.half or 0)).ends)


def test_a_world_of_units_on_one_side_stays_with_the_interval_for_few() -> None:
    # Three of a hundred differ: a bootstrap serves only where thirty do, so no world decides by it before.
    units = np.repeat([0.0, 1.0], [97, 3])
    more = Seen(units, (0.0, 1.0), 0.95).more(at_least(0.005))
    sure = Seen(units, (0.0, 1.0), 0.95).estimate(100 + (more.half or 0))
    assert sure.method == jackknife.METHOD


@pytest.mark.slow
def test_rehearsed_audits_say_how_many_units_settle_a_bound() -> None:
    rng = np.random.default_rng(4)
    seen = (rng.random(200) < 0.04).astype(float)
    needed = units_to_settle(Units(seen, np.ones(200), horizon=500), 0.1, 0.025)
    fresh = (rng.random((300, 600)) < seen.mean()).astype(float)
    median = np.median(Units(fresh, np.ones_like(fresh), horizon=500).shown_below(0.1, 0.025))
    assert needed == pytest.approx(median, rel=0.25)
    assert units_to_settle(Units(seen, np.ones(200), horizon=500), float(seen.mean()), 0.025) is None


@pytest.mark.parametrize("units", [40, 400])
def test_the_nearer_the_bound_the_more_units_and_as_a_share_of_those_seen(units: int) -> None:
    def more(bound: float, n: int) -> int:
        return scaled_more(Estimate(0.5, 0.4, 0.6, 0.95, n, ""), (0.0, 1.0), at_least(bound)).half or 10**7

    needed = [more(bound, units) for bound in (0.405, 0.42, 0.45, 0.48)]
    assert needed == sorted(needed) and needed[-1] > 3 * needed[0]
    assert more(0.42, units) == pytest.approx(more(0.58, units), rel=0.35), "both sides alike"
    assert more(0.45, 10 * units) == pytest.approx(10 * more(0.45, units), rel=0.25)


def test_what_it_takes_to_decide_is_kept() -> None:
    made = {}
    for n, level, bound in product((9, 40, 300), (0.8, 0.95), (0.6, 0.72, 0.99)):
        units = np.random.default_rng(n).beta(7, 3, n)
        seen = Seen(units, (0.0, 1.0), level)
        made[f"{n} at {level}, bound {bound}"] = seen.more(at_least(bound))
    for n in (20, 200):
        made[f"{n}, estimates"] = [
            Seen(np.random.default_rng(n).beta(7, 3, n), (0.0, 1.0), 0.9).estimate(s) for s in (5, 80, 900)
        ]
        answers = Seen((np.arange(n) % 5 == 0) * 1.0, (0.0, 1.0), 0.9, whole=True)
        made[f"{n} answers"] = [answers.more(at_least(bound)) for bound in (0.1, 0.19)] + [answers.estimate(50)]
    made["equal"] = [Seen(np.ones(30), (0.0, 1.0), 0.9, whole=whole).more(at_least(0.99)) for whole in (False, True)]
    made["signed"] = Seen(np.tile([1.0, 0.0, -1.0, 1.0], 12), (-1.0, 1.0), 0.95).more(at_least(0.1))
    assert_kept("stats/planning", made)


def test_what_any_metric_takes_is_kept() -> None:
    made = {}
    ends = {"both": (0.3, 0.7), "low cut": (0.0, 0.7), "high cut": (0.2, 1.0), "all": (0.0, 1.0), "skewed": (0.4, 0.9)}
    for (name, (low, high)), n, bound in product(ends.items(), (12, 400), (0.45, 0.9)):
        estimate = Estimate(0.5, low, high, 0.9, n, "")
        made[f"{name}, n {n}, bound {bound}"] = scaled_more(estimate, (0.0, 1.0), at_least(bound))
    unbounded = Estimate(0.5, 0.3, 0.7, 0.9, 50, "")
    made["no bounds"] = scaled_more(unbounded, (-np.inf, np.inf), at_least(0.45))
    made["half"] = scaled_more(unbounded, (0.0, np.inf), at_least(0.45))
    assert_kept("stats/scaled", made)
    for estimate in (replace(unbounded, n=0), replace(unbounded, low=np.nan), replace(unbounded, high=np.inf)):
        assert scaled_more(estimate, (0.0, 1.0), at_least(0.45)) == NEVER
    assert scaled_more(replace(unbounded, n=2_000_000), (0.0, 1.0), at_least(0.45)) == NEVER


def test_units_that_half_of_all_audits_need_are_kept() -> None:
    units = np.random.default_rng(2).beta(2, 6, 80)
    made = {
        f"bound {bound}, horizon {horizon}": units_to_settle(
            Units(units, np.ones(80), horizon=horizon), bound, 0.025, seed=1
        )
        for bound in (0.05, 0.2, 0.3, 0.5)
        for horizon in (100, 5000)
    }
    assert_kept("stats/settling", made)


def test_units_are_counted_in_others_and_at_least_one_is_taken() -> None:
    assert More(1, 10, None).times(0.25) == More(1, 2, None)
    assert More(None, 10, 100).times(2.5) == More(None, 25, 250)


def test_up_to_the_limit_an_interval_is_planned_and_beyond_it_narrows_with_the_root() -> None:
    seen = Seen(np.random.default_rng(1).beta(2, 5, 30), (0.0, 1.0), 0.9)
    sizes = np.array([100, LARGE, LARGE + 1, 4 * LARGE])
    below, above = seen._offsets(sizes)
    for place in (0, 1):
        planned = jackknife.mean_interval(seen._spread_over(int(sizes[place])), (0.0, 1.0), level=0.9)
        assert (below[place], above[place]) == pytest.approx(
            (planned.value - planned.low, planned.high - planned.value)
        )
    assert (below[3], above[3]) == pytest.approx((below[1] / 2, above[1] / 2))
    assert below[2] == pytest.approx(below[1] * (LARGE / (LARGE + 1)) ** 0.5, rel=1e-12)
    (alone, _) = seen._offsets(np.array([3 * LARGE]))
    assert alone[0] == pytest.approx(seen._offsets(np.array([LARGE]))[0][0] / 3**0.5, rel=0.05), "the first is planned"
