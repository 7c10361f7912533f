"""What a metric is: one row that owns every fact about it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ..records import Better, EquipoiseError
from .columns import ATTRIBUTE, AUGMENTATION, COLUMNS
from .groups import Norm, mean

Rule = Literal["usual", "paired", "simultaneous", "deviations", "exchanged", "ratio"]
Unit = Literal["items", "sets", "contrast", "grouping", "identity", "pair"]
AppliesTo = Literal[
    "all",
    "labelled",
    "answerable",
    "unanswerable",
    "sided",
    "sided answerable",
    "pairs",
    "labelled pairs",
    "markers",
    "variants",
    "reductions",
    "polarity",
    "open answers",
    "both offered",
    "alike",
    "decided",
    "decisions",
    "first named",
    "letter A",
    "letter B",
    "letter C",
    "letter D",
    "letter E",
]

FIELDS = {"better": get_args(Better), "unit": get_args(Unit), "applies_to": get_args(AppliesTo)}
"""What a row may say in a field that has names."""


@dataclass(frozen=True)
class Metric:
    """A row of the table of metrics.

    `function` is pure: the columns that `inputs` name come in (see `equipoise.metrics.columns`), one float goes out.
    With a keyword `weights` all resamples are computed in one product; without it, one call for each resample.

    `better` says which direction is better, `bounds` the smallest and largest value, `label` the name in plain words
    and `summary` what it is in one line. `paper` is the key of the paper that defines it (see citations.toml).

    `unit` is what it is taken over: "items"; "sets" (one value for each counterfactual set); "contrast" (one kind of
    item against another, so both must be present); "grouping" (one value over all groups of a name, such as their
    mean); "identity" (marked sentences, by augmentation, attribute and marker); "pair" (two groups by name, in sets of
    more than two).

    `applies_to` names the items it is defined for: "all"; "labelled" (a right answer is on record); "answerable"
    and "unanswerable" (the text settles the question or not); "sided" and "sided answerable" (labelled or
    answerable, and the referent's occupation is stereotyped as men's or women's); "pairs" (sentence pairs) and
    "labelled pairs" (with a human label); "markers" (candidates also scored with their marker); "variants"
    (sentences with several markings); "reductions" (audits with `whole_vocabulary`); "polarity" (questions harmful
    or harmless to a group, as BBQ's); "open answers" (written freely); "both offered" (multiple choice with the
    option "Both of them"); "first named" (the text names both people); "letter A" and so on (multiple choice with
    an option of that letter); "decisions" (one answer is good for the person); "decided" (the group word decides the
    answer) and "alike" (all others: there the word must not matter).

    `estimated`: it is computed for each uncertainty estimator. `mixes_answerable`: answerable and unanswerable items
    may enter one value; always False where a column does not allow it, as those of U. `resampled`: it has a bootstrap
    interval; that of a `Norm` comes from the deviations of its signed differences, and may reach 0. `leading`:
    leaderboards show it, and comparisons test it unless others are asked for. `possible`: the smallest and largest
    value that fit the items, for where a subset that it needs is empty.

    `levels` are the groups of marked sentences that it is taken for, each as the names of its parts. `additive`: it is
    made of means of numbers over the groups that its names tell apart, so that items may be averaged. `interval` says
    how its interval is made: "usual" (measuring/evidence.py); "paired" (from the differences within base sentences);
    "simultaneous" and "deviations" (from the deviations of its means, of all of them at once or as they are);
    "exchanged" (with a test that exchanges the two sides); "ratio" (of the logarithms of two means). `null` is the
    hypothesis that its p-value is about, in words; it is corrected over all measurements that agree in the parts named
    by `family` (Holm).

    `means` is the number of means of bounded values that it is made of, 0 where it is made of something else; that of
    a mean of a column follows from its function. An audit can be asked until such a metric is settled (`unsettled`
    says why not), and its interval then holds at any look. `awaited`: an audit with `until_width` waits for it; it is a
    mean of its first column, or the difference of two means, over all sentences of a type.
    """

    name: str
    function: Callable[..., Any]
    inputs: tuple[str, ...]
    better: Better
    label: str
    summary: str
    bounds: tuple[float, float] = (-math.inf, math.inf)
    unit: Unit = "items"
    applies_to: AppliesTo = "all"
    paper: str = ""
    estimated: bool = False
    mixes_answerable: bool = True
    resampled: bool = True
    leading: bool = False
    possible: Callable[..., tuple[float, float]] | None = None
    levels: tuple[tuple[str, ...], ...] = ()
    additive: bool = False
    interval: Rule = "usual"
    null: str = ""
    family: tuple[str, ...] = ()
    means: int = 0
    awaited: bool = False

    def __post_init__(self) -> None:
        for field, known in FIELDS.items():
            if (value := getattr(self, field)) not in known:
                raise EquipoiseError(f"metric {self.name}: {field} is {value!r}, not one of {', '.join(known)}")
        if self.function is mean:
            object.__setattr__(self, "means", 1)
        columns = [COLUMNS[name] for name in self.inputs if name in COLUMNS]
        mixes = self.mixes_answerable and all(column.mixes_answerable for column in columns)
        object.__setattr__(self, "mixes_answerable", mixes)
        if self.unit == "identity" and not self.levels:
            object.__setattr__(self, "levels", (AUGMENTATION, ATTRIBUTE))

    @property
    def norm(self) -> Norm | None:
        """The signed differences behind it, if it is the size of some."""
        return self.function if isinstance(self.function, Norm) else None

    @property
    def value_bounds(self) -> tuple[float, float] | None:
        """The smallest and largest value that it averages: of a column's mean those of the column; None without."""
        read = [COLUMNS[name].bounds or (0.0, 1.0) for name in self.inputs if not COLUMNS[name].names]
        lows, highs = zip(*read, strict=True)
        ends = (min(lows), max(highs)) if self.function is mean or self.means > 1 else self.bounds
        return ends if all(map(math.isfinite, ends)) else None

    @property
    def unsettled(self) -> str:
        """Why an audit cannot be asked until this metric is settled, as a sentence; "" where it can."""
        if self.unit in ("identity", "pair", "grouping"):
            return "it compares several groups at once, which has no sequence of units yet"
        if not self.means:
            return "it is not made of means, or its row does not say of how many (`means`)"
        return "" if self.value_bounds else "the values that it averages have no bounds"

    @property
    def taken_over(self) -> str:
        """What it is taken over, in words."""
        units = {
            "items": "items",
            "sets": "sets",
            "contrast": "items, two sides compared",
            "grouping": "items, by group",
            "identity": "marked sentences",
            "pair": "pairs of groups",
        }
        if self.applies_to in ("all", "alike"):
            return units[self.unit]
        is_adjective = self.applies_to in ("labelled", "answerable", "unanswerable")
        return f"{self.applies_to}{'' if is_adjective else ':'} {units[self.unit]}"


def mean_metric(name: str, column: str, better: Better, label: str, summary: str, **facts: Any) -> Metric:
    """Return the row of a metric that is the mean of one column."""
    return Metric(name, mean, (column,), better, label, summary, **facts)
