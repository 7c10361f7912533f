"""Metrics that have no value for some items: what it can be, and the notes of a run on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics import Metric
from ..records import Booleans, Estimate, Integers, UndefinedMetric, parse_group
from ..stats import bounded

POSSIBLE = "bounds: a subset is empty and may have any value; Hoeffding bounds of the others"

UNDEFINED = ("is undefined for", "are not defined for")
"""How the notes on metrics without a value say so."""


def is_on_undefined(note: str) -> bool:
    """Return whether a note of a run is on metrics that have no value for some of its items."""
    return any(words in note for words in UNDEFINED)


def undefined_notes(undefined: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield a sentence for each metric that is undefined for some group, and one for all that miss occupations."""
    missing: dict[int, list[str]] = {}
    for metric, groups in undefined.items():
        occupations = {parse_group(label).get("occupation", "") for label in groups} - {""}
        others = {label: reason for label, reason in groups.items() if "occupation" not in parse_group(label)}
        if occupations:
            missing.setdefault(len(occupations), []).append(metric)
        if others:
            label, reason = next(iter(others.items()))
            first, rest = ("all items", "") if label == "all" else (label, " other"), len(others) - 1
            more = f" and for {rest}{first[1]} group{'s' if rest != 1 else ''}" if rest else ""
            yield f"{metric} {UNDEFINED[0]} {first[0]}{more} ({reason})"
    if missing:
        counts = [
            f"{', '.join(metrics)} ({count} occupation{'s' if count != 1 else ''})"
            for count, metrics in missing.items()
        ]
        why = f"these metrics {UNDEFINED[1]} some occupations, because items to compare are missing"
        yield f"{why}: {'; '.join(counts)}"


def possible_estimate(
    metric: Metric, arrays: tuple[NDArray[Any], ...], rows: Mapping[str, Any], clusters: Integers, level: float
) -> Estimate | None:
    """Return what a metric that is undefined can be, averaged over the variants; None where that is unknown.

    It has an interval and no value. Subsets that have items have a Hoeffding bound over their clusters, at a level that
    covers all of them.
    """
    if metric.possible is None:
        return None
    ends = []
    for chosen in rows.values():
        columns, numbers = [array[chosen] for array in arrays], clusters[chosen]

        def radius(among: Booleans, width: float, subsets: int, numbers: Integers = numbers) -> float:
            units = len(np.unique(numbers[among]))
            return bounded.simultaneous_radius(units, subsets * len(rows), width, level=level)

        try:
            ends.append(metric.possible(*columns, radius=radius))
        except UndefinedMetric:
            return None
    low, high = np.mean(ends, axis=0).tolist()
    return Estimate(np.nan, low, high, level, 0, POSSIBLE)
