"""Radars, lines and heatmaps of identities, drawn as SVG from views: small ones, because a run has many of them."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from markupsafe import Markup

from ...records import Floats
from ...runs.measurements import span
from ..behaviour.views import Estimated, short
from ..palette import Named
from ..svg.drawing import WIDTH, Axis, element, group, line, mark, path, picture, text, whisker
from .changes import Change
from .views import NONE, Line, Lines, Radar, Spoke, heat_limit, sides_of

Point = tuple[float, float]
Scale = tuple[float, float]
"""Where an axis of confidence begins and ends."""

SMALL = 372.0
"""Width of a radar or a chart of lines, in its own units."""
RADIUS, HOLE, LETTERS = 86.0, 12.0, 14
"""Of a radar: where its values end and begin (not in the middle, where all directions meet), and of a name's line."""
CELL, NAMES, HEADS = 15.0, 172.0, 140.0
"""Of a heatmap: a cell's side, and the room for the names beside and above."""
NAME_HEIGHT = 16.0
"""Of a ring's name, with air."""

SHADES = 8
"""Of each colour: more could not be told apart, and each is one path."""


def ideal_of(kind: str) -> float | None:
    """Return the confidence of an ideal model, 1; the paper leaves it out for ambiguous sentences, and so do we."""
    return None if kind == "type1" else 1.0


def scale_of(several: Iterable[Estimated | None], *, ideal: float | None = None) -> Scale:
    """Return the ends of an axis that holds all intervals, 0 and the ideal, so that charts can be compared."""
    ends = [
        end
        for estimate in several
        if estimate
        for end in (estimate.value, estimate.low, estimate.high)
        if not math.isnan(end)
    ]
    low, high = min([0.0, *ends]), max([ideal or 0.0, *ends])
    return math.floor(low * 20) / 20, max(math.ceil(high * 20) / 20, math.floor(low * 20) / 20 + 0.1)


@dataclass(frozen=True)
class Polar:
    """Places around a middle: a turn from the top, clockwise, and a value on the axis outwards."""

    middle: Point
    reach: Axis

    def __call__(self, turn: float, value: float) -> Point:
        return self.at(turn, self.reach(value))

    def at(self, turn: float, away: float) -> Point:
        """Return the place so far from the middle."""
        return self.middle[0] + away * math.sin(turn), self.middle[1] - away * math.cos(turn)


def radar_chart(radar: Radar, scale: Scale, *, ideal: float | None = None) -> Markup:
    """Return the radar of an attribute: a line through its subgroups, a band of intervals, and a ring where 0 is.

    The ideal, where it is given, is the paper's polygon: the same confidence in everybody.
    """
    polar = Polar((SMALL / 2, RADIUS + 32), Axis(*scale, HOLE, RADIUS))
    turns = [2 * math.pi * number / len(radar.rim) for number in range(len(radar.rim))]
    parts = [*_rings(polar, math.pi / len(radar.rim))]
    for turn, spoke in zip(turns, radar.rim, strict=True):
        parts += [line(*polar.at(turn, HOLE), *polar.at(turn, RADIUS), "grid"), _rim_name(polar, turn, spoke)]
    if ideal is not None:
        corners = path([polar(turn, ideal) for turn in turns], "ideal", closed=True)
        parts.append(group([element("title", f"An ideal model: {ideal:g} for everybody"), corners]))
    for number, estimates in enumerate(radar.series.values()):
        known = [
            (turn, estimate, spoke)
            for turn, estimate, spoke in zip(turns, estimates, radar.rim, strict=True)
            if estimate
        ]
        parts.append(_band([(turn, estimate) for turn, estimate, _ in known], polar, number))
        parts.append(
            path([polar(turn, estimate.value) for turn, estimate, _ in known], f"outline s{number}", closed=True)
        )
        for turn, estimate, spoke in known:
            # A grey square for what is not marked: what the others are to be compared with.
            shape = mark(*polar(turn, estimate.value), number if spoke.subgroup[1] else "neither", size=3.2)
            parts.append(group([element("title", f"{_spoke_name(spoke)}: {span(estimate)}"), shape]))
    return picture(2 * RADIUS + 76, f"Confidence by {radar.attribute}", _radar_text(radar), parts, width=SMALL)


def _rings(polar: Polar, turn: float) -> Iterator[Markup]:
    """Yield a ring for each round value, named between two spokes, where no mark lies upon it.

    Of rings that lie close together every other one is named, counted from 0.
    """
    values = polar.reach.ticks(4)
    close = len(values) > 1 and polar.reach(values[1]) - polar.reach(values[0]) < NAME_HEIGHT
    for number, value in enumerate(values, start=-values.index(0.0) if 0.0 in values else 0):
        x, y = polar.middle
        yield element("circle", cx=x, cy=y, r=polar.reach(value), class_="ring" if value else "contour")
        if not (close and number % 2):
            x, y = polar(turn, value)
            yield text(x, y + 4, f"{value:g}", anchor="middle", class_="tick label")


def _rim_name(polar: Polar, turn: float, spoke: Spoke) -> Markup:
    """Return a subgroup's name beside its spoke, away from the middle."""
    x, y = polar.at(turn, RADIUS + 12)
    words = [spoke.words[0], *textwrap.wrap(short(" ".join(spoke.words[1:]), 38), LETTERS)[:3]]
    side = math.sin(turn)
    anchor = "middle" if abs(side) < 0.2 else "start" if side > 0 else "end"
    # The name of the topmost is above its place, that of the lowest below.
    first = y + 4 - (len(words) - 1) * 12 * (1 + math.cos(turn)) / 2
    spans = [element("tspan", word, x=x, y=first + 12.0 * number) for number, word in enumerate(words)]
    return element("text", *spans, text_anchor=anchor, class_="tick")


def _band(known: Sequence[tuple[float, Estimated]], polar: Polar, number: int) -> Markup:
    """Return the area between the ends of the intervals, nothing where one has none."""
    if any(math.isnan(estimate.low) or math.isnan(estimate.high) for _, estimate in known):
        return Markup("")
    ends = [
        [polar(turn, estimate.high) for turn, estimate in known],
        [polar(turn, estimate.low) for turn, estimate in known],
    ]
    steps = "".join("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + "Z" for points in ends)
    return element("path", d=steps, class_=f"area s{number}", fill_rule="evenodd")


def _spoke_name(spoke: Spoke) -> str:
    return (
        " ".join(spoke.words) if spoke.subgroup[1] or spoke.words == ("no marker",) else f"{spoke.words[0]}, no marker"
    )


def _radar_text(radar: Radar) -> str:
    sentences = []
    for model, estimates in radar.series.items():
        pairs = zip(radar.rim, estimates, strict=True)
        values = ", ".join(f"{_spoke_name(spoke)} {estimate.value:.3f}" for spoke, estimate in pairs if estimate)
        sentences.append(f"{model}: {values}" if len(radar.series) > 1 else values)
    return f"Mean confidence: {'; '.join(sentences)}."


def change_chart(rows: Sequence[Change], title: str, scale: Scale) -> Markup:
    """Return a dot for each marker: the change of confidence from no marker, with its interval; 0: no change.

    Markers of an attribute are together, its name before the first. Only detected changes have a colour.
    """
    top, step = 14.0, 17.0
    bottom = top + len(rows) * step
    heads = [not number or rows[number - 1].attribute != row.attribute for number, row in enumerate(rows)]
    # Room for both names where an attribute begins, for the marker alone elsewhere.
    letters = [
        6.5 * min(len(r.attribute), 22) * head + 7.2 * min(len(r.marker), 18)
        for r, head in zip(rows, heads, strict=True)
    ]
    names = 30.0 + max(letters)
    x = Axis(*scale, names, WIDTH - 14)
    parts = [x.below(bottom, ticks=x.ticks(4), grid_to=top - 6), line(x(0.0), top - 6, x(0.0), bottom, "axis")]
    for number, row in enumerate(rows):
        y, change = top + (number + 0.5) * step, row.estimate
        tone: Named = ("wrong" if change.value < 0 else "right") if row.detected else "neither"
        numbers = f"{change.value:+.3f} [{change.low:+.3f}, {change.high:+.3f}], p = {row.p:.4f}"
        hint = element("title", f"{row.attribute}, {row.marker}: {numbers}")
        drawn = [hint, whisker(x, y, change.low, change.high, tone), mark(x(change.value), y, tone)]
        parts += [text(names - 10, y + 4, short(row.marker, 18), anchor="end", class_="name"), group(drawn)]
        if heads[number]:
            parts.append(text(0.0, y + 4, short(row.attribute, 22), class_="tick"))
            if number:
                parts.append(line(0.0, y - step / 2, WIDTH - 14, y - step / 2, "grid"))
    parts.append(text(x.end, bottom + 32, "change of mean confidence", anchor="end", class_="tick"))
    values = ", ".join(f"{row.marker} {row.estimate.value:+.3f}" for row in rows)
    return picture(bottom + 38, title, f"{values}.", parts)


def lines_chart(view: Lines, scale: Scale) -> Markup:
    """Return the confidence of each marker and gender over the augmentations; dashed for women."""
    height = 190.0
    y = Axis(*scale, height, 14.0)
    x = Axis(0.0, float(len(view.ways) - 1), 66.0, SMALL - 30)
    parts = [y.beside(40.0, grid_to=SMALL - 4), line(40.0, y(0.0), SMALL - 4, y(0.0), "contour")]
    parts += [
        text(x(number), height + 15, "no marker" if way == NONE else way, anchor="middle", class_="tick")
        for number, way in enumerate(view.ways)
    ]
    markers = list(dict.fromkeys(marker_line.marker for marker_line in view.lines))
    room = min(6.0, 44.0 / len(view.lines))
    for number, marker_line in enumerate(view.lines):
        aside = (number - (len(view.lines) - 1) / 2) * room
        parts.append(_way_line(marker_line, x, y, aside, markers.index(marker_line.marker)))
    parts += _names(view.lines, markers, height + 36)
    ends = [(marker_line.name, marker_line.values[-1]) for marker_line in view.lines]
    caption = ", ".join(f"{name} {value.value:.3f}" for name, value in ends if value)
    rows = -(-len(view.lines) // 2)
    title = f"Confidence by augmentation, {view.attribute}"
    return picture(height + 34 + rows * 15, title, f"Augmentation {view.ways[-1]}: {caption}.", parts, width=SMALL)


def _way_line(marker_line: Line, x: Axis, y: Axis, aside: float, series: int) -> Markup:
    """Return the line of a marker and gender, a little aside so that intervals do not hide each other."""
    style = f"s{series % 8}"
    known = [(x(number) + aside, value) for number, value in enumerate(marker_line.values) if value]
    women = " dashed" if marker_line.gender == "female" else ""
    parts = [path([(across, y(value.value)) for across, value in known], f"outline plain{women} {style}")]
    for across, value in known:
        if not (math.isnan(value.low) or math.isnan(value.high)):
            parts.append(line(across, y(value.low), across, y(value.high), f"whisker thin {style}"))
        parts.append(mark(across, y(value.value), series, size=2.6))
    return group([element("title", f"{marker_line.name}: {', '.join(span(value) for _, value in known)}"), *parts])


def _names(several: Sequence[Line], markers: Sequence[str], top: float) -> Iterator[Markup]:
    for number, marker_line in enumerate(several):
        left, y = 12.0 + number % 2 * SMALL / 2, top + number // 2 * 15
        series = markers.index(marker_line.marker)
        women = " dashed" if marker_line.gender == "female" else ""
        yield line(left, y - 4, left + 22, y - 4, f"outline plain{women} s{series % 8}")
        yield mark(left + 11, y - 4, series, size=2.6)
        yield text(left + 28, y, short(marker_line.name, 25), class_="tick")


def heatmap_chart(table: pd.DataFrame, title: str) -> Markup:
    """Return the cells coloured from below 0 to above it, with a dash in those below and a stroke where none is known.

    The values are in `data-values` in thousandths, row by row, for what the page shows where one points.
    """
    limit = heat_limit(table)
    values = table.to_numpy(dtype=np.float64)
    rows, columns = values.shape
    names = [short(str(name), 27) for name in table.index]
    heads = [short(str(name), 20) for name in table.columns]
    right, bottom = NAMES + columns * CELL, HEADS + rows * CELL
    parts = [_cells(values, limit)]
    parts += [
        text(NAMES - 6, HEADS + (n + 0.78) * CELL, name, anchor="end", class_="tick") for n, name in enumerate(names)
    ]
    parts += [_head(NAMES + (n + 0.75) * CELL, name) for n, name in enumerate(heads)]
    parts += [
        mark(NAMES + (n + 0.47) * CELL, HEADS - 6, side, size=3) for n, side in enumerate(sides_of(table)) if side
    ]
    parts += _key(limit, bottom + 14)
    thousandths = ";".join(
        " ".join("" if math.isnan(value) else f"{1000 * value:.0f}" for value in row) for row in values
    )
    return picture(
        bottom + 50,
        title,
        _heat_told(table),
        parts,
        width=max(right + 4, NAMES + 330),
        class_="chart heat",
        data_values=thousandths,
        data_rows=_listed(table.index),
        data_columns=_listed(table.columns),
        data_cell=f"{NAMES:g} {HEADS:g} {CELL:g}",
    )


def _listed(names: Iterable[object]) -> str:
    return "\n".join(" ".join(str(name).split()) for name in names)


def _head(x: float, name: str) -> Markup:
    return element("text", name, transform=f"translate({x:g} {HEADS - 13:g})rotate(-90)", class_="tick")


def _cells(values: Floats, limit: float) -> Markup:
    """Return one path for all cells of a colour, in units of cells: thick dashes, of ten letters each."""
    colours: dict[tuple[str, int], list[str]] = {}
    below, unknown = [], []
    for (row, column), value in np.ndenumerate(values):
        if math.isnan(value):
            unknown.append(f"M{column}.3 {row}.2l.4-.4")
            continue
        side = "wrong" if value < 0 else "right"
        colours.setdefault((side, round(abs(value) / limit * SHADES)), []).append(f"M{column} {row}h.9")
        if value < 0:
            below.append(f"M{column}.25 {row}h.4")
    parts = [
        element("path", d="".join(cells), class_=f"heat-{side}", stroke_opacity=round(shade / SHADES, 3))
        for (side, shade), cells in sorted(colours.items())
        if shade
    ]
    parts += [element("path", d="".join(steps), class_="below") for steps in (below, unknown) if steps]
    # A cell's middle, because a dash is as thick to both sides of its line.
    return group(parts, transform=f"translate({NAMES:g} {HEADS + CELL / 2:g})scale({CELL:g})")


def _key(limit: float, top: float) -> Iterator[Markup]:
    """Yield what the colours stand for: a row of cells from one end to the other."""
    shades = np.linspace(-limit, limit, 2 * SHADES + 1)
    end = NAMES + len(shades) * CELL
    yield group([_cells(shades[None, :], limit)], transform=f"translate(0 {top - HEADS:g})")
    for value, x in zip((-limit, 0.0, limit), (NAMES, (NAMES + end) / 2, end), strict=True):
        yield text(x, top + 30, f"{value:.2f}", anchor="middle", class_="tick")
    yield text(end + 10, top + 12, "mean confidence", class_="tick")


def _heat_told(table: pd.DataFrame) -> str:
    cells = ((str(identity), str(job)) for identity in table.index for job in table.columns)
    cells_with_value = [
        (value, *names) for value, names in zip(table.to_numpy().ravel(), cells, strict=True) if value == value
    ]
    sentences = [f"{identity} {job} {value:.3f}" for value, identity, job in sorted(cells_with_value)]
    return f"Mean confidence; least: {', '.join(sentences[:3])}; most: {', '.join(sentences[::-1][:3])}."
