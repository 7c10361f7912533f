"""Maps of names by names as SVG: their cells, the scale of their colours, and what the page's script says of a cell."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from ...records.showing import Heat, Point
from ..layout import Place, colour_scale, heat_limit
from .elements import EM, element, shape, text

SHADES = 8
"""Of each colour of a map: more could not be told apart, and each is one path."""


def coloured_map(cells: Sequence[Heat], place: Place) -> Markup:
    """Return the cells of a map, a mark for each column that has a tone, and the scale of the colours."""
    limit = heat_limit(cells)
    wide, _ = place.cell
    marks = [
        shape((place.left + (number + 0.5) * wide, place.top - 0.45), tone, size=0.25)
        for number, tone in enumerate(place.panel.x.tones)
        if tone != ""
    ]
    left, top, width = colour_scale(place)
    steps = 2 * SHADES + 1
    scale = [Heat(number, 0, limit * (number - SHADES) / SHADES) for number in range(steps)]
    values = [(-limit, 0.0), (0.0, 0.5), (limit, 1.0)]
    names = [text(left + share * width, top + 2.2, f"{value:.2f}", "middle") for value, share in values]
    return element(
        "g",
        _coloured(cells, limit, (place.left, place.top), place.cell),
        *marks,
        _coloured(scale, limit, (left, top), (width / steps, 1.0)),
        *names,
        text(left + width + 1.2, top + 0.85, place.panel.colours),
    )


def _coloured(cells: Sequence[Heat], limit: float, corner: Point, size: Point) -> Markup:
    """Return one path for all cells of a colour, in units of cells; a dash is below 0, a stroke is not known."""
    colours: dict[tuple[str, int], list[str]] = {}
    below, unknown = [], []
    for cell in cells:
        if math.isnan(cell.value):
            unknown.append(f"M{cell.x}.3 {cell.y}.2l.4-.4")
            continue
        side = "wrong" if cell.value < 0 else "right"
        colours.setdefault((side, round(abs(cell.value) / limit * SHADES)), []).append(f"M{cell.x} {cell.y}h.9")
        if cell.value < 0:
            below.append(f"M{cell.x}.25 {cell.y}h.4")
    parts = [
        element("path", d="".join(steps), class_=f"heat-{side}", stroke_opacity=round(shade / SHADES, 3))
        for (side, shade), steps in sorted(colours.items())
        if shade
    ]
    parts += [element("path", d="".join(steps), class_="below") for steps in (below, unknown) if steps]
    (left, top), (wide, tall) = corner, size
    # A cell's middle, because a dash is as thick to both sides of its line.
    moved = f"translate({EM * left:.1f} {EM * (top + tall / 2):.1f})scale({EM * wide:.3f} {EM * tall:.3f})"
    return element("g", *parts, transform=moved)


def map_data(place: Place) -> dict[str, str]:
    """Return the numbers of a map in thousandths, row by row: what the page says where one points."""
    panel = place.panel
    values = np.full((len(panel.y.names), len(panel.x.names)), np.nan)
    for cell in panel.marks_of(Heat):
        values[cell.y, cell.x] = cell.value
    rows = (" ".join("" if math.isnan(value) else f"{1000 * value:.0f}" for value in row) for row in values)
    wide, tall = place.cell
    return {
        "data_values": ";".join(rows),
        "data_rows": "\n".join(" ".join(name.split()) for name in panel.y.names),
        "data_names": panel.y.label,
        "data_columns": "\n".join(" ".join(name.split()) for name in panel.x.names),
        "data_cell": f"{EM * place.left:g} {EM * place.top:g} {EM * wide:g} {EM * tall:g}",
    }
