"""The difference of two independent estimates: exact for normal ones, and careful where an interval is missing."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept

from equipoise.records import EquipoiseError, Estimate
from equipoise.stats.independent import independent_difference

Z = 1.959963984540054
finite = st.floats(-10, 10)
spread = st.floats(0.01, 3)


def normal(value: float, error: float, *, n: int = 30, level: float = 0.95) -> Estimate:
    return Estimate(value, value - Z * error, value + Z * error, level, n, "normal")


@given(first=finite, second=finite, errors=st.tuples(spread, spread))
def test_of_two_normal_estimates_it_is_the_z_test(first: float, second: float, errors: tuple[float, float]) -> None:
    found = independent_difference(normal(first, errors[0], n=7), normal(second, errors[1]))
    error = math.hypot(*errors)
    assert (found.value, found.n, found.level) == (first - second, 7, 0.95)
    assert np.allclose(found.ends, (found.value - Z * error, found.value + Z * error))
    assert found.p == pytest.approx(math.erfc(abs(found.value) / error / math.sqrt(2)), abs=1e-12)


@given(first=finite, second=finite, ends=st.tuples(spread, spread, spread, spread))
def test_exchanged_estimates_give_the_opposite_with_the_same_p(
    first: float, second: float, ends: tuple[float, float, float, float]
) -> None:
    one = Estimate(first, first - ends[0], first + ends[1], 0.95, 9, "")
    other = Estimate(second, second - ends[2], second + ends[3], 0.95, 9, "")
    found, opposite = independent_difference(one, other), independent_difference(other, one)
    assert (opposite.value, opposite.low, opposite.high) == (-found.value, -found.high, -found.low)
    assert opposite.p == pytest.approx(found.p)
    assert found.excludes_zero == (found.p < 0.05) or found.p == pytest.approx(0.05)


def test_without_an_interval_nothing_is_tested() -> None:
    found = independent_difference(Estimate.alone(0.5, level=0.95, n=4, method=""), normal(0.1, 0.2))
    assert found.value == pytest.approx(0.4) and not found.has_interval and math.isnan(found.p)


def test_equal_values_have_a_p_of_1_on_whichever_side_their_intervals_lie() -> None:
    above, below = (Estimate(0.5, *ends, 0.95, 9, "") for ends in ((0.5, 0.6), (0.4, 0.5)))
    for pair in ((above, below), (below, above), (above, above)):
        assert independent_difference(*pair).p == 1
    point = Estimate(0.5, 0.5, 0.5, 0.95, 9, "")
    assert math.isnan(independent_difference(point, point).p)
    assert independent_difference(replace(below, value=0.45), below).p < 1


def test_estimates_at_different_levels_are_refused() -> None:
    with pytest.raises(EquipoiseError, match=r"levels 0\.95 and 0\.9 cannot be subtracted"):
        independent_difference(normal(0, 1), normal(0, 1, level=0.9))


def test_differences_of_two_estimates_are_kept() -> None:
    ends = [(0.4, 0.3, 0.6), (0.7, 0.65, 0.71), (0.4, 0.4, 0.4), (0.5, math.nan, math.nan)]
    estimates = [Estimate(*three, 0.9, n, "m") for three, n in zip(ends, (20, 30, 40, 50), strict=True)]
    made = {f"{a.value} - {b.value}": independent_difference(a, b) for a in estimates for b in estimates}
    assert_kept("stats/independent", made)


def test_other_levels_cannot_be_subtracted() -> None:
    first, second = (Estimate(0.4, 0.3, 0.6, level, 20, "m") for level in (0.9, 0.95))
    with pytest.raises(EquipoiseError, match=r"^estimates at levels 0.9 and 0.95 cannot be subtracted$"):
        independent_difference(first, second)
