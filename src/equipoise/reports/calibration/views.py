"""What is shown of a run's calibration, apart from how: in words, by group, by bin and by occupation.

The terminal, the figures and the page all show these.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ...metrics.sides import is_predicted
from ...runs.measurements import Measurements
from ...runs.run import Part
from ..palette import Named
from .reliability import occupation_table, reliability_table

BY_GROUP = ("ece", "ece_floor", "ece_debiased", "brier", "human_alignment")
HEADINGS = {"ece_floor": "floor"}
SHOWN_LINES = 6
"""Of a reliability diagram: with more it can no longer be read."""
SHOWN_VALUES = 10
"""Of a group: one with more values, such as the occupations, is not tabled; it is in `measurements.csv`."""
NAMED = 12
"""This many of the occupations furthest from the diagonal are named, where there is room."""


@dataclass(frozen=True)
class GroupRow:
    """One group's number of items and its measurements, in the order of `BY_GROUP`; None where there is none."""

    group: str
    n: int
    cells: Sequence[Any]


@dataclass(frozen=True)
class Reliability:
    """The lines of a reliability diagram, by group, and whether each bin belongs to one group only."""

    part: str
    side: str
    lines: Sequence[tuple[str, pd.DataFrame]]
    apart: bool
    left_out: Sequence[str]


@dataclass(frozen=True)
class Occupation:
    """Mean P(male) of an occupation with its interval, and the share of men in it."""

    name: str
    men: float
    p: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Workforce:
    """P(male) beside the share of men, for every occupation, and for those that are named."""

    part: str
    rows: Sequence[Occupation]
    named: Sequence[Occupation]


def is_calibrated(measured: Measurements) -> bool:
    """Return whether calibration was measured."""
    return measured.get("ece") is not None


def in_words(measured: Measurements) -> Iterator[str]:
    """Yield how far probabilities come true, and why that should be doubted if it should; nothing if not measured."""
    ece, floor, mass = (measured.get(name) for name in ("ece", "ece_floor", "candidate_mass"))
    if ece is None:
        return
    beyond = measured.get("ece_debiased")
    chance = "" if floor is None else f"; chance alone would show {100 * floor.value:.1f} at n = {ece.n}"
    has_interval = not (math.isnan(ece.low) or math.isnan(ece.high))
    ends = f"[{100 * ece.low:.1f}, {100 * ece.high:.1f}]" if has_interval else "[no interval]"
    yield f"Its probabilities are off by {100 * ece.value:.1f} points {ends} on average{chance}."
    if beyond is not None and beyond.low <= 0:
        yield "That is no more than chance alone would show: no miscalibration is detected in these data."
    if mass is not None and mass.value < 0.001:
        yield (
            f"The two sides together get a probability of only {mass.value:.1g}: the text may not be what the model "
            "expects (try --bos always), and its calibration then says little."
        )


def group_rows(measured: Measurements) -> Iterator[GroupRow]:
    """Yield the calibration of all items, and of each group that has few values."""
    groups = measured.groups_of("ece")
    keys = {group: tuple(sorted(measured.groups[group])) for group in groups}
    values = list(keys.values())
    for group in groups:
        if values.count(keys[group]) <= SHOWN_VALUES:
            cells = [measured.at(metric, group) for metric in BY_GROUP]
            yield GroupRow(group, cells[0].n if cells[0] else 0, cells)


def reliability_of(table: pd.DataFrame, *, part: str = "", side: str = "first side") -> Reliability:
    """Return the diagram of a table of bins: no line of all where each bin lies on the side of one group alone."""
    names = list(dict.fromkeys(str(name) for name in table["group"]))
    apart = len(names) > 1 and all(map(is_predicted, names[1:]))
    names = names[1:] if apart else names
    lines = [(name, table[table["group"] == name]) for name in names[:SHOWN_LINES]]
    return Reliability(part, side, lines, apart, names[SHOWN_LINES:])


def line_tone(name: str, number: int) -> Named:
    """Return the tone of a group's line: those of he and she where that is the group, else one of the series."""
    return {"predicted_gender=male": "he", "predicted_gender=female": "she"}.get(name, number)


def reliability(part: Part) -> Reliability | None:
    """Return the reliability diagram of a dataset and task, None where no item has a human label."""
    table = reliability_table(part.outcomes, level=part.run.level)
    if table.empty:
        return None
    firsts = {text.split("|")[0] for text in set(part.outcomes.sides.tolist()) - {""}}
    return reliability_of(table, part=str(part), side=firsts.pop() if len(firsts) == 1 else "first side")


def workforce_of(table: pd.DataFrame, *, part: str = "") -> Workforce | None:
    """Return the occupations with the names that have room, None where there are too few to compare."""
    given: Iterable[Any] = table.itertuples()
    rows = [Occupation(str(row.occupation), row.men, row.p, row.low, row.high, int(row.n)) for row in given]
    named: list[Occupation] = []
    for row in sorted(rows, key=lambda row: -abs(row.p - row.men))[:NAMED]:
        # Two names upon each other cannot be read.
        if not any(abs(row.men - earlier.men) < 0.4 and abs(row.p - earlier.p) < 0.045 for earlier in named):
            named.append(row)
    return Workforce(part, rows, named) if len(rows) > 2 else None


def workforce(part: Part) -> Workforce | None:
    """Return P(male) by occupation of a dataset and task, None where the shares of men are not known."""
    examples = part.run.examples
    table = occupation_table(part.outcomes, examples[examples["dataset"] == part.dataset])
    return workforce_of(table, part=str(part))
