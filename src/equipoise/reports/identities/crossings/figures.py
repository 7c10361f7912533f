"""Figures that cross identities with occupations, and models with each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from ....records import Measurement
from ....runs.measurements import Measurements, kind_title
from ...paper.figures import QUIET, colour, shape
from ..findings import SIDES
from ..views import NONE, WAYS

GENDERS = {"male": "he", "female": "she"}
PRIVILEGES = ("privileged", "disadvantaged")


def crossing(named: Mapping[str, Measurements], kind: str, way: str) -> Figure | None:
    """Return confidence by side of the occupation, gender and privilege, a panel a run; None without such numbers."""
    panels = {name: _places(measured, kind, way) for name, measured in named.items()}
    panels = {name: places for name, places in panels.items() if any(privilege for _, privilege, _ in places)}
    if not panels:
        return None
    figure = Figure(figsize=(3.4 * len(panels) + 1.4, 3.2), layout="constrained")
    grid: Any = figure.subplots(1, len(panels), squeeze=False, sharey=True)
    for axes, (name, places) in zip(grid[0], panels.items(), strict=True):
        for number, privilege in enumerate(("", *PRIVILEGES)):
            rows = [(place, row) for place, (_, kind, row) in enumerate(places) if kind == privilege]
            if rows:
                across, tone = [place for place, _ in rows], colour(number)
                axes.vlines(across, [row.low for _, row in rows], [row.high for _, row in rows], color=tone)
                label = f"{privilege} markers" if privilege else "no marker"
                axes.plot(across, [r.value for _, r in rows], shape(number), color=tone, markersize=5, label=label)
        axes.axhline(0, color=QUIET, linewidth=0.8, linestyle=":")
        axes.set_xticks(range(len(places)), [words for words, _, _ in places], rotation=60, ha="right", fontsize=7)
        axes.set_title(name)
    grid[0][0].set_ylabel("mean confidence")
    grid[0][0].legend(fontsize=7)
    figure.suptitle(f"Identity and occupation, {kind_title(kind)}, {WAYS[way]}", fontsize="medium")
    return figure


def _places(measured: Measurements, kind: str, way: str) -> list[tuple[str, str, Measurement]]:
    places = []
    for side, dominated in SIDES.items():
        for gender, word in GENDERS.items():
            at = {"type": kind, "side": side, "gender": gender}
            rows = {"": measured.get("confidence", augmentation=NONE, **at)}
            rows |= {p: measured.get("confidence", augmentation=way, privilege=p, **at) for p in PRIVILEGES}
            places += [(f"{word}, {dominated}", p, row) for p, row in rows.items() if row is not None]
    return places


def trade_off(named: Mapping[str, Measurements], kind: str, way: str) -> Figure | None:
    """Return accuracy against the mean disparity of confidence, a point a run; None for fewer than two runs."""
    points = {name: _point(measured, kind, way) for name, measured in named.items()}
    known = {name: point for name, point in points.items() if point is not None}
    if len(known) < 2:
        return None
    figure = Figure(figsize=(4.6, 3.6), layout="constrained")
    axes: Any = figure.subplots()
    for number, (name, (accuracy, disparity)) in enumerate(known.items()):
        tone = colour(number)
        axes.hlines(disparity, accuracy.low, accuracy.high, color=tone)
        axes.plot(accuracy.value, disparity, shape(number), color=tone, markersize=6, label=name)
    axes.set_xlabel("accuracy (with its interval)")
    axes.set_ylabel("confidence disparity, mean of the attributes")
    axes.set_title(f"Performance and disparity, {kind_title(kind)}, {WAYS[way]}")
    axes.legend(fontsize=7)
    return figure


def _point(measured: Measurements, kind: str, way: str) -> tuple[Measurement, float] | None:
    accuracy = measured.get("accuracy", type=kind, augmentation=way)
    wanted = {"type": kind, "augmentation": way}
    rows = [
        row
        for row in measured
        if row.metric == "confidence_disparity" and {k: row.parts.get(k, "") for k in wanted} == wanted
    ]
    values = [row.value for row in rows if set(row.parts) - {"type"} == {"augmentation", "attribute"}]
    return (accuracy, sum(values) / len(values)) if accuracy is not None and values else None
