"""Radars for files, on plain axes: matplotlib's polar ones take several times as long, mostly for their ticks."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.collections import EllipseCollection, LineCollection
from matplotlib.figure import Figure

from ....records import Floats
from ....runs.measurements import KINDS
from ...behaviour.views import Estimated, short
from ...palette import IDEAL
from ...paper.figures import QUIET, colour, shape
from ...svg.drawing import Axis
from .. import views
from ..charts import LETTERS, Scale, ideal_of, scale_of
from ..views import Frames, Radar

HOLE, NAMES, SIDE = 0.14, 1.1, 1.62
"""Of a radar of radius 1: where values begin, where names begin, and how far the axes reach."""
WIDE, TALL, HEAD, FOOT = 3.5, 3.3, 0.62, 0.42
"""Inches of a radar, and of the title above and the legend below all of them."""
GRID = "#dadee3"
NAME = "#525a64"


def radar(frames: Frames, kind: str, way: str) -> Figure:
    """Return a radar for each attribute: subgroups on the rim (unmarked ones too), a line a model, one scale."""
    every = list(views.radars(frames, kind, way))
    columns = min(5, len(every))
    rows = -(-len(every) // columns)
    width, height = WIDE * columns, TALL * rows + HEAD + FOOT
    figure = Figure(figsize=(width, height))
    figure.set_layout_engine("none")
    ideal, scale = ideal_of(kind), shared_scale(every, kind)
    for number, view in enumerate(every):
        row, column = divmod(number, columns)
        bottom = height - HEAD - TALL * (row + 1)
        place = (WIDE * column / width, bottom / height, WIDE / width, (TALL - 0.3) / height)
        _draw(figure.add_axes(place), view, scale, ideal)
    title = f"Mean coreference confidence, {KINDS.get(kind, kind)}, augmentation {way} (dotted: 0)"
    figure.suptitle(title, y=1 - 0.14 / height, va="top")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=4)
    return figure


def shared_scale(every: Sequence[Radar], kind: str) -> Scale:
    """Return one scale for the radars of all attributes, so that they can be compared."""
    return scale_of([e for view in every for series in view.series.values() for e in series], ideal=ideal_of(kind))


def places(values: Sequence[float] | Floats, scale: Scale) -> tuple[Floats, Floats]:
    """Return x and y of values on evenly spaced spokes, the first upwards, then clockwise."""
    away = np.array([Axis(*scale, HOLE, 1.0)(value) for value in values])
    turns = _turns(len(away))
    return away * np.sin(turns), away * np.cos(turns)


def _turns(count: int) -> Floats:
    return np.asarray(np.linspace(0, 2 * np.pi, count, endpoint=False), dtype=np.float64)


def _draw(axes: Any, view: Radar, scale: Scale, ideal: float | None) -> None:
    axes.set_axis_off()
    axes.set(xlim=(-SIDE, SIDE), ylim=(-SIDE * 0.92, SIDE * 0.92))
    axes.set_title(view.attribute, y=1.0)  # at a place: else ticks that are not drawn are measured for it
    axes.set_aspect("equal")
    _grid(axes, view, scale)
    for series, (model, estimates) in enumerate(view.series.items()):
        known = [n for n, estimate in enumerate(estimates) if estimate]
        x, y = _closed(places([e.value if e else np.nan for e in estimates], scale), known)
        style = {"color": colour(series), "linewidth": 1.6, "marker": shape(series), "markersize": 3}
        axes.plot(x, y, label=model, **style)
        _band(axes, estimates, scale, known, colour(series))
    if ideal is not None:
        # The paper's brown polygon: an ideal model is sure of everybody.
        axes.plot(*_closed(places([ideal] * len(view.rim), scale)), color=IDEAL, linewidth=1.2, label="ideal")


def _closed(points: tuple[Floats, Floats], known: Sequence[int] | None = None) -> tuple[Floats, Floats]:
    """Return the points and the first again, without those that are not known."""
    chosen = list(range(len(points[0]))) if known is None else list(known)
    chosen += chosen[:1]
    return points[0][chosen], points[1][chosen]


def _band(axes: Any, estimates: Sequence[Estimated | None], scale: Scale, known: Sequence[int], tone: str) -> None:
    """Draw the intervals, closed to a ring; the value itself where there is none."""
    ends = []
    for name in ("low", "high"):
        numbers = [np.nan if e is None else getattr(e, name) for e in estimates]
        values = [np.nan if e is None else e.value for e in estimates]
        ends.append(_closed(places(np.where(np.isnan(numbers), values, numbers), scale), known))
    # Outwards along one end and back along the other: the area between the two polygons.
    x, y = (np.concatenate([ends[0][side], ends[1][side][::-1]]) for side in (0, 1))
    axes.fill(x, y, color=tone, alpha=0.18, linewidth=0)


def _grid(axes: Any, view: Radar, scale: Scale) -> None:
    """Draw rings at round values, a spoke for each subgroup, and their names."""
    reach = Axis(*scale, HOLE, 1.0)
    ticks = reach.ticks(4)
    sizes = [2 * reach(value) for value in ticks]
    # Zero is where the model guesses: it has a line of its own.
    styles = [(QUIET, ":") if value == 0 else (GRID, "-") for value in ticks]
    rings = EllipseCollection(
        sizes,
        sizes,
        np.zeros(len(ticks)),
        units="x",
        offsets=np.zeros((len(ticks), 2)),
        offset_transform=axes.transData,
        facecolors="none",
        edgecolors=[tone for tone, _ in styles],
        linestyles=[line for _, line in styles],
        linewidths=0.7,
    )
    axes.add_collection(rings, autolim=False)
    turns = _turns(len(view.rim))
    ways = np.stack([np.sin(turns), np.cos(turns)], axis=1)
    axes.add_collection(
        LineCollection(list(np.stack([HOLE * ways, ways], axis=1)), colors=GRID, linewidths=0.6), autolim=False
    )
    between = np.pi / len(view.rim)
    # Every other ring is named, counted from 0: there is little room between them.
    for value in ticks[ticks.index(0.0) % 2 :: 2]:
        away = reach(value)
        axes.text(away * np.sin(between), away * np.cos(between), f"{value:g}", fontsize=6, color=NAME, ha="center")
    for (x, y), spoke in zip(NAMES * ways, view.rim, strict=True):
        words = [spoke.words[0], *textwrap.wrap(short(" ".join(spoke.words[1:]), 38), LETTERS)]
        across = "center" if abs(x) < 0.2 else "left" if x > 0 else "right"
        upright = "bottom" if y > 0.9 else "top" if y < -0.9 else "center"
        axes.text(x, y, "\n".join(words), fontsize=7.5, ha=across, va=upright, linespacing=1.1)
