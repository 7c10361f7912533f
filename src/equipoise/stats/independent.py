"""The difference of two independent estimates, from their own intervals."""

from __future__ import annotations

import math

from ..records import EquipoiseError, Estimate
from .distributions import ndtr, ndtri

METHOD = "of two independent intervals (Zou & Donner 2008)"


def independent_difference(first: Estimate, second: Estimate) -> Estimate:
    """Return first - second with an interval and a p-value; `n` is the smaller number of units.

    The interval is Zou and Donner's (2008, MOVER): the squared distances of each estimate from the ends of its own
    interval add up, so it keeps what those intervals hold at any n. p is that of a normal deviate as far from 0 as
    the difference is, measured by the end of the interval that faces 0. NaN where one of the two has no interval.
    """
    if first.level != second.level:
        raise EquipoiseError(f"estimates at levels {first.level} and {second.level} cannot be subtracted")
    value = first.value - second.value
    below = math.hypot(first.value - first.low, second.high - second.value)
    above = math.hypot(first.high - first.value, second.value - second.low)
    # A difference of 0 faces neither end.
    facing = below if value > 0 else above if value < 0 else max(below, above)
    deviate = ndtri((1 + first.level) / 2)
    p = float(2 * ndtr(-abs(value) / facing * deviate)) if facing > 0 else math.nan
    n = min(first.n, second.n)
    return Estimate(value, value - below, value + above, first.level, n, METHOD, p)
