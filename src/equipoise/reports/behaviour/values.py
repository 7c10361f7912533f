"""What the charts of behaviour show, as tables: for readers of screens, and for copying."""

from __future__ import annotations

import numpy as np

from ..svg.values import Values, estimated
from .sets import FATE_WORDS, SetFates
from .views import Histogram, Occupations, Scale


def fate_values(view: SetFates) -> Values:
    """Return how many sets have each fate, and their share."""
    rows = [(FATE_WORDS[fate], f"{count:,}", f"{count / view.n:.1%}") for fate, count in view.counts.items()]
    return Values(("answer", "pairs", "share"), rows)


def scale_values(view: Scale) -> Values:
    """Return each group's mean with its interval, and its quartiles."""
    rows = []
    for strip in view.strips:
        quartiles = np.quantile(strip.values, (0.25, 0.5, 0.75))
        rows.append((strip.name, f"{len(strip.values):,}", *estimated(strip.mean), *(f"{at:.3f}" for at in quartiles)))
    return Values(("group", "n", "mean", "low", "high", "lower quartile", "median", "upper quartile"), rows)


def histogram_values(view: Histogram) -> Values:
    """Return how many values lie in each bin that has some, by group."""
    counts = [series for _, series in view.series]
    rows = [
        (f"{left:.3f} to {right:.3f}", *(f"{int(number):,}" for number in numbers))
        for left, right, *numbers in zip(view.edges[:-1], view.edges[1:], *counts, strict=True)
        if any(numbers)
    ]
    return Values((view.quantity, *(name for name, _ in view.series)), rows)


def occupation_values(view: Occupations) -> Values:
    """Return both scores of each occupation, with their intervals."""
    headings = ("occupation", "women at work", "UCerF", "low", "high", "eo_sum", "low", "high")
    rows = [
        (row.name, "–" if row.share is None else f"{row.share}%", *estimated(row.ucerf), *estimated(row.odds))
        for row in view.rows
    ]
    return Values(headings, rows)
