"""How much more data decides: the same values again give what was told, and no more."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.records import Estimate
from equipoise.stats.betting import Units
from equipoise.stats.planning import Seen, scaled_more, units_to_settle


def at_least(bound: float):  # type: ignore[no-untyped-def]
    return lambda estimate: estimate.low >= bound or estimate.high < bound


@pytest.mark.parametrize("bound", [0.85, 0.95, 0.97])
@pytest.mark.parametrize("n", [6, 42, 266])
def test_what_is_told_is_the_first_number_that_decides(n: int, bound: float) -> None:
    units = 0.9 + 0.1 * np.random.default_rng(n).random(n) - 0.3 * (np.arange(n) % 7 == 0)
    seen = Seen(units, (0.0, 1.0), 0.95)
    more = seen.more(at_least(bound))
    assert more is not None and at_least(bound)(seen.estimate(n + more))
    assert more <= 5 or not at_least(bound)(seen.estimate(n + more - max(5, more // 10)))


def test_a_mean_at_its_bound_is_never_decided() -> None:
    assert Seen(np.tile([0.4, 0.6], 40), (0.0, 1.0), 0.95).more(at_least(0.5)) is None


def test_more_units_have_the_values_of_those_seen() -> None:
    seen = Seen(np.array([0.0, 0.5, 1.0]), (0.0, 1.0), 0.95)
    assert seen.estimate(300).value == pytest.approx(0.5) and seen.estimate(300).n == 300
    assert Seen(np.array([1.0, 1.0, 0.0]), (0, 1), 0.95, whole=True).estimate(30).method.startswith("Clopper")


@pytest.mark.slow
def test_for_most_samples_what_is_told_is_what_it_takes() -> None:
    # The median over samples, of what is told over what the world needs, is near 1.
    rng, world = np.random.default_rng(0), np.where(np.random.default_rng(1).random(100_000) < 0.1, 0.5, 0.97)
    needed = Seen(world, (0.0, 1.0), 0.95)
    size = next(n for n in range(80, 4000, 10) if at_least(0.9)(needed.estimate(n)))
    told = [Seen(rng.choice(world, 79), (0.0, 1.0), 0.95).more(at_least(0.9)) for _ in range(200)]
    assert 0.5 < np.median([79 + more if more else np.inf for more in told]) / size < 2


def test_other_metrics_scale_by_the_end_that_was_not_cut_off() -> None:
    estimate = Estimate(0.8, 0.6, 0.9, 0.95, 50, "")
    assert [scaled_more(estimate, bound, (0, 1)) for bound in (0.7, 0.85)] == pytest.approx([150, 150], abs=1)
    cut = Estimate(0.85, 0.398, 1.0, 0.95, 6, "")
    assert scaled_more(cut, 0.99, (0, 1)) == pytest.approx(6 * (0.452 / 0.14) ** 2 - 6, abs=1)
    assert scaled_more(estimate, 0.8, (0, 1)) is None


def test_rehearsed_audits_say_how_many_units_settle_a_bound() -> None:
    rng = np.random.default_rng(4)
    seen = (rng.random(200) < 0.04).astype(float)
    needed = units_to_settle(Units(seen, np.ones(200), horizon=500), 0.1, 0.025)
    fresh = (rng.random((300, 600)) < seen.mean()).astype(float)
    median = np.median(Units(fresh, np.ones_like(fresh), horizon=500).shown_below(0.1, 0.025))
    assert needed == pytest.approx(median, rel=0.25)
    assert units_to_settle(Units(seen, np.ones(200), horizon=500), float(seen.mean()), 0.025) is None
