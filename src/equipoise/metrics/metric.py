"""What a metric is: one row that owns every fact about it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..records import Better
from .columns import COLUMNS

Unit = Literal["items", "sets", "contrast", "grouping", "identity", "pair"]
AppliesTo = Literal[
    "all",
    "labelled",
    "answerable",
    "unanswerable",
    "pairs",
    "labelled pairs",
    "markers",
    "variants",
    "reductions",
    "polarity",
    "open answers",
    "both offered",
]


@dataclass(frozen=True)
class Differences:
    """The signed differences behind an absolute metric: `function` returns them stacked, `norm` joins their sizes."""

    function: Callable[..., Any]
    norm: Callable[..., Any]

    def join(self, differences: Any) -> Any:
        """Return the norm of the differences, over their first axis."""
        return self.norm(np.abs(differences), axis=0)


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

    `applies_to` names the items it is defined for: "all"; "labelled" (a right answer is on record); "answerable" and
    "unanswerable" (the text settles the question or not); "pairs" (sentence pairs) and "labelled pairs" (with a human
    label); "markers" (candidates also scored with their marker); "variants" (sentences with several markings);
    "reductions" (audits with `reductions`); "polarity" (questions that are harmful or harmless to a group, as BBQ's);
    "open answers" (written freely); "both offered" (multiple choice with the option "Both of them").

    `estimated`: it is computed for each uncertainty estimator. `mixes_answerable`: answerable and unanswerable items
    may enter one value; always False where a column does not allow it, as those of U. `resampled`: it has a bootstrap
    interval. `leading`: leaderboards show it, and comparisons test it unless others are asked for. `differences`: the
    signed differences that it is a norm of, if it is one. Noise makes absolute differences larger, so its interval
    comes from the deviations of the signed ones, and may reach 0. `possible`: the smallest and largest value that fit
    the items, for where a subset that it needs is empty.
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
    differences: Differences | None = None
    possible: Callable[..., tuple[float, float]] | None = None

    def __post_init__(self) -> None:
        columns = [COLUMNS[name] for name in self.inputs if name in COLUMNS]
        mixes = self.mixes_answerable and all(column.mixes_answerable for column in columns)
        object.__setattr__(self, "mixes_answerable", mixes)

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
        if self.applies_to == "all":
            return units[self.unit]
        is_adjective = self.applies_to in ("labelled", "answerable", "unanswerable")
        return f"{self.applies_to}{'' if is_adjective else ':'} {units[self.unit]}"
