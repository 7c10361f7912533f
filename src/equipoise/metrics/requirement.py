"""A bound on a metric, as a user writes it: `ucerf[type=type2,dataset=winobias] >= 0.80`."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..records import EquipoiseError, group_label, parse_group
from .naming import metric_named

_WRITTEN = re.compile(r"\s*([\w-]+)\s*(?:\[([^\]]*)\])?\s*(>=|<=|>|<|=)\s*([-+.\deE]+)\s*")
COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
"""Sign -> whether a number meets a bound."""

Bound = tuple[str, float]
"""A sign and a number: (">=", 0.8)."""

PASSED, FAILED, UNDECIDED = "passed", "FAILED", "undecided"
"""What may come of a requirement."""


@dataclass(frozen=True)
class Requirement:
    """A bound on a metric: `ucerf[type=type2,dataset=winobias] >= 0.80`, or an allowed drop: `ucerf=0.02`."""

    text: str
    metric: str
    dataset: str | None
    task: str | None
    group: str
    sign: str
    bound: float

    def is_about(self, dataset: str, task: str) -> bool:
        """Return whether it speaks of a dataset and task; without either, of all."""
        return self.dataset in (None, dataset) and self.task in (None, task)

    def outcome(self, low: float, high: float) -> str:
        """Return what an interval says: passed where all of it meets the bound, failed where none of it does."""
        met = [COMPARE[self.sign](end, self.bound) for end in (low, high)]
        if math.isnan(low) or math.isnan(high) or met[0] != met[1]:
            return UNDECIDED
        return PASSED if met[0] else FAILED


def parse_requirement(text: str) -> Requirement:
    """Return the requirement that the text states."""
    requirement = _parsed(text)
    if requirement is None or requirement.sign == "=":
        raise EquipoiseError(
            f"{text!r} is not a requirement; write it as metric[type=type2] >= 0.80 (also <=, >, <);"
            " the brackets are optional"
        )
    return requirement


def parse_amount(text: str) -> Requirement:
    """Return the metric, the group and the amount that the text names: `flip_bias[type=type1]=0.05`."""
    amount = _parsed(text)
    if amount is None or amount.sign != "=" or amount.bound <= 0:
        raise EquipoiseError(f"{text!r} is not an amount; write it as metric=0.05 or metric[type=type1]=0.05")
    return amount


def parse_drop(text: str) -> Requirement:
    """Return the allowed drop that the text states."""
    drop = _parsed(text)
    if drop is None or drop.sign != "=":
        raise EquipoiseError(f"{text!r} is not a drop; write it as metric=0.02 or metric[type=type2]=0.02")
    if metric_named(drop.metric).better == "neither":
        raise EquipoiseError(f"drop {text!r}: {drop.metric} has no better direction, so it cannot drop")
    return drop


def _parsed(text: str) -> Requirement | None:
    match = _WRITTEN.fullmatch(text)
    if not match:
        return None
    name, chosen, sign, written = match.groups()
    parts = parse_group(chosen.strip()) if chosen and chosen.strip() else {}
    parts = {key.strip(): value.strip() for key, value in parts.items()}
    try:
        bound = float(written)
    except ValueError:
        bound = math.nan
    if not math.isfinite(bound):
        raise EquipoiseError(f"{text!r}: {written!r} is not a number")
    dataset, task = parts.pop("dataset", None), parts.pop("task", None)
    return Requirement(text.strip(), name, dataset, task, group_label(parts), sign, bound)


@dataclass(frozen=True)
class Duel(Requirement):
    """Which of two runs is better in a metric: `bound` is the margin under which a difference does not matter, or 0.

    Intervals are those of the improvement: how much better this run is than the other, in the metric's own direction.
    `one_sided`: it is enough that this run is not worse by more than the margin.
    """

    one_sided: bool = False

    def outcome(self, low: float, high: float) -> str:
        """Return what an interval of the improvement says: failed where this run is worse, else passed."""
        word = self.word(low, high)
        return UNDECIDED if not word else FAILED if word == "worse" else PASSED

    def word(self, low: float, high: float) -> str:
        """Return what an interval of the improvement says in a word or two; "" where it says nothing yet."""
        margin = self.bound
        if self.one_sided:
            return "not worse" if low > -margin else "worse" if high < -margin else ""
        if low > 0:
            return "better"
        if high < 0:
            return "worse"
        return f"within {margin:g}" if margin and -margin < low and high < margin else ""


def parse_duel(text: str, margin: float, *, one_sided: bool = False) -> Duel:
    """Return the comparison of two runs in the metric and group that the text names: `flip_rate[type=type2]`."""
    named = _parsed(f"{text}=0")
    if named is None:
        raise EquipoiseError(f"{text!r} is not a metric; write it as metric or metric[type=type2]")
    metric = metric_named(named.metric)
    if metric.better == "neither":
        raise EquipoiseError(f"better_in {text!r}: {metric.name} has no better direction")
    if metric.norm is not None:
        raise EquipoiseError(
            f"better_in {text!r}: {metric.name} is the size of a gap, which two runs cannot be paired in"
        )
    label = f"better in {text.strip()}" if not one_sided else f"not worse in {text.strip()} by {margin:g}"
    return Duel(label, named.metric, named.dataset, named.task, named.group, "better", margin, one_sided)
