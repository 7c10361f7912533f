"""Charts of a leaderboard as SVG: the models by one metric, and one model over time."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from ...runs.measurements import metric_of
from ..behaviour.views import short
from ..svg.drawing import WIDTH, Axis, line, mark, picture, text, whisker
from .boards import Board, MetricName, Place
from .submissions import Entry

STEP = 30.0
ROOM = 0.08


def forest_chart(board: Board, metric: MetricName) -> Markup | None:
    """Return the models one under another, the best first, each with its interval and rank; None without two."""
    places = [place for place in board.places(metric.name) if place.row is not None]
    if len(places) < 2:
        return None
    places.sort(key=lambda place: _value(place), reverse=metric.better == "higher")
    axis = _axis(places, metric.name)
    bottom = 8.0 + STEP * len(places)
    parts = [axis.below(bottom, grid_to=4.0)]
    for number, place in enumerate(places):
        assert place.row is not None
        y = 26.0 + STEP * number
        label = short(place.entry.model, 48) + (f"  {place.rank}" if place.rank else "")
        parts += [text(8, y - 9, label, class_="label name"), whisker(axis, y, place.row.low, place.row.high, 0)]
        parts.append(mark(axis(place.row.value), y, 0))
    caption = "; ".join(f"{p.entry.model} {_value(p):.3f}" + (f", rank {p.rank}" if p.rank else "") for p in places)
    return picture(bottom + 22, f"{metric.title}, {board.title}", caption, parts)


def history_chart(entries: Sequence[Entry], board: Board, metric: MetricName) -> Markup | None:
    """Return a model's values from run to run with their intervals, the oldest to the left; None without two."""
    rows = [(entry, entry.measured.get(metric.name, type=board.kind)) for entry in entries]
    known = [Place(entry, row, None) for entry, row in rows if row is not None]
    if len(known) < 2:
        return None
    across = Axis(0.0, float(len(known) - 1), 84.0, WIDTH - 50.0)
    flat = _axis(known, metric.name)
    up = Axis(flat.low, flat.high, 150.0, 12.0)
    parts = [up.beside(44.0, grid_to=WIDTH - 8)]
    for number, place in enumerate(known):
        assert place.row is not None
        x = across(float(number))
        if not math.isnan(place.row.low):
            parts.append(line(x, up(place.row.low), x, up(place.row.high), "whisker s0"))
        parts.append(mark(x, up(place.row.value), 0))
        date = place.entry.submission.finished[:10]
        if number in (0, len(known) - 1):
            parts.append(text(x, 168, date, anchor="middle", class_="tick"))
    caption = "; ".join(f"{place.entry.submission.finished}: {_value(place):.3f}" for place in known)
    return picture(176, f"{metric.title} over time, {board.title}", caption, parts)


def _value(place: Place) -> float:
    return math.nan if place.row is None else place.row.value


def _axis(places: Sequence[Place], metric: str) -> Axis:
    """Return an axis over all intervals with some room, within the metric's bounds."""
    rows = [place.row for place in places if place.row is not None]
    ends = [end for row in rows for end in (row.low, row.value, row.high) if not math.isnan(end)]
    room = max(ROOM * (max(ends) - min(ends)), 0.01)
    known = metric_of(metric)
    low, high = known.bounds if known else (-math.inf, math.inf)
    return Axis(max(low, min(ends) - room), min(high, max(ends) + room), 10.0, WIDTH - 10.0)
