"""What the charts of identities show, as tables: for readers of screens, and for copying."""

from __future__ import annotations

from collections.abc import Sequence

from ..svg.values import Values, estimated
from .changes import Change
from .views import NONE, Lines, Radar


def radar_values(radar: Radar) -> Values:
    """Return each subgroup's mean confidence with its interval, a row for each model."""
    rows = [
        (model, " ".join(spoke.words), *estimated(estimate))
        for model, estimates in radar.series.items()
        for spoke, estimate in zip(radar.rim, estimates, strict=True)
    ]
    headings = ("model", "subgroup", "confidence", "low", "high")
    # With one model its name would only repeat the page's heading.
    several = len(radar.series) > 1
    return Values(headings, rows) if several else Values(headings[1:], [row[1:] for row in rows])


def change_values(several: Sequence[Change]) -> Values:
    """Return each marker's change from no marker with its interval, corrected p-value and n."""
    headings = ("attribute", "marker", "change", "low", "high", "p (Holm)", "n")
    return Values(
        headings,
        [(row.attribute, row.marker, *estimated(row.estimate), f"{row.p:.4f}", f"{row.n:,}") for row in several],
    )


def line_values(view: Lines) -> Values:
    """Return the confidence of each marker and gender, without a marker and with each augmentation."""
    rows = [
        (line.name, "no marker" if way == NONE else way, *estimated(value))
        for line in view.lines
        for way, value in zip(view.ways, line.values, strict=True)
    ]
    return Values(("subgroup", "augmentation", "confidence", "low", "high"), rows)
