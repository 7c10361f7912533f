"""Charts as matplotlib figures, exactly as wide as asked for. In a notebook they can be changed."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch
from typing import Any

from ..records import EquipoiseError
from ..records.showing import Area, Bar, Bracket, Chart, Cloud, Dot, Heat, Line, Mark, Note, Rule, Square, value_of
from .layout import (
    GAP,
    KEY,
    LINE,
    SIDE,
    SMALLEST,
    Layout,
    Place,
    are_upright,
    arrange,
    bracket_lines,
    colour_scale,
    filled_tones,
    heat_limit,
    is_of,
    label_middle,
    note_places,
    row_name,
    shown_names,
    square_columns,
    tick_values,
    title_height,
    title_start,
    whiskers,
    wrapped,
)
from .names import LETTER, name_room, rim_places, short
from .palette import tone_of

try:
    import matplotlib
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Circle, Rectangle
except ImportError as missing:  # pragma: no cover - the tests' environment has it
    raise EquipoiseError("figures need matplotlib: pip install 'equipoise[figures]'") from missing

WIDTHS = {"column": 3.25, "page": 6.75}
"""In inches: one column of a two-column paper, and a whole page."""

FORMATS = ("pdf", "svg", "png")
POINTS, SMALL_POINTS = 7.0, 6.0
"""Size of a letter, and where many panels are small."""
SHAPES = ("o", "D", "s", "^", "v", "P", "X", "*")
INK, QUIET, GRID = "#1a1e23", "#525a64", "#dfe3e8"

LOOK: dict[Any, Any] = {
    "font.size": POINTS,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": QUIET,
    "savefig.dpi": 300,
    # Fonts go into the file, as TrueType in PDF and as outlines in SVG: a figure looks the same everywhere.
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "equipoise",
    # A model's name may hold a dollar sign, which is not mathematics.
    "text.parse_math": False,
}

# No dates inside: the same run gives the same file. PNG: a third of the time for files that are 3% larger.
_SAVING: dict[str, Any] = {"pdf": {"metadata": {"CreationDate": None}}, "svg": {"metadata": {"Date": None}}}
_SAVING["png"] = {"pil_kwargs": {"compress_level": 3}}


def figure(chart: Chart, width: str | float = "page", *, title: bool = False) -> Figure:
    """Return the chart as a figure of that width, by name or in inches; each panel is one of its axes."""
    if isinstance(width, str) and width not in WIDTHS:
        raise EquipoiseError(f"width must be one of {', '.join(WIDTHS)}, not {width!r}")
    inches = WIDTHS[width] if isinstance(width, str) else width
    points = SMALL_POINTS if chart.layout == "multiples" else POINTS
    em = points / 72
    layout = arrange(chart, inches / em)
    # Bold letters are wider.
    titles = textwrap.wrap(chart.title, int(layout.width / (1.25 * LETTER))) if title else []
    above = 1.2 * len(titles) + 0.6 if title else 0.0
    with matplotlib.rc_context({**LOOK, "font.size": points}):
        drawn = Figure(figsize=(inches, em * (layout.height + above)))
        for number, line in enumerate(titles, start=1):
            drawn.text(0.01, 1 - 1.2 * number / (layout.height + above), line, fontweight="bold")
        for place in layout.places:
            _panel(drawn, place, layout, above)
        _legend(drawn, layout, above)
    return drawn


def files(
    chart: Chart, formats: Sequence[str], width: str = "column", *, title: bool = False
) -> Iterator[tuple[str, bytes]]:
    """Yield a chart's files, each with its ending; without a date, so that equal numbers give equal files."""
    unknown = [ending for ending in formats if ending not in FORMATS]
    if unknown:
        raise EquipoiseError(f"format must be one of {', '.join(FORMATS)}, not {unknown[0]!r}")
    drawn = figure(chart, width, title=title)
    for ending in formats:
        yield ending, saved(drawn, ending)


def saved(drawn: Figure, ending: str = "png", **more: Any) -> bytes:
    """Return a figure as the content of a file."""
    out = io.BytesIO()
    with matplotlib.rc_context(LOOK):
        drawn.savefig(out, format=ending, **_SAVING[ending], **more)
    return out.getvalue()


def _colour(tone: str | int) -> str:
    return tone_of(tone).light


def _shape(tone: str | int) -> str:
    return SHAPES[tone_of(tone).shape % len(SHAPES)]


def _panel(drawn: Figure, place: Place, layout: Layout, above: float) -> None:
    panel, height = place.panel, layout.height + above
    left, bottom = place.left / layout.width, 1 - (place.top + above + place.height) / height
    axes: Any = drawn.add_axes((left, bottom, place.width / layout.width, place.height / height))
    if panel.title:
        start = (title_start(place) - place.left) / place.width
        middle = {"x": 0.5, "ha": "center", "weight": "bold"} if panel.polar else {"x": start, "ha": "left"}
        for up, words in enumerate(reversed(place.title)):
            y = 1 + (title_height(panel) + LINE * up) / place.height
            axes.text(y=y, s=words, transform=axes.transAxes, va="baseline", **middle)
    if panel.polar:
        _rings(axes, place)
    elif is_of(panel, Square):
        axes.set_axis_off()
        axes.set(xlim=(0, place.width), ylim=(place.height, 0))
    else:
        _across(axes, place)
        _upwards(axes, place)
    _marks(axes, place)


def _marks(axes: Any, place: Place) -> None:
    panel = place.panel
    _squares(axes, list(panel.marks_of(Square)), place)
    _cells(axes, list(panel.marks_of(Heat)), place)
    for mark in panel.marks:
        if not isinstance(mark, Square | Heat | Note):
            draw(mark, axes, place)
    for x, y, text in note_places(place):
        at = ((x - place.left) / place.width, 1 - (y - place.top) / place.height)
        axes.annotate(text, at, xycoords="axes fraction")


def _across(axes: Any, place: Place) -> None:
    axis = place.panel.x
    axes.set_xlim(axis.low, axis.high)
    if axis.hidden or not place.x_shown:
        axes.tick_params(axis="x", labelbottom=False, length=0)
    if axis.hidden:
        axes.set_xticks([])
        return
    if axis.names:
        names = dict(shown_names(place))
        if are_upright(place):
            axes.set_xticks(list(names), list(names.values()), rotation=90, fontsize=_size(place.cell[0]))
        else:
            axes.set_xticks(list(names), ["\n".join(wrapped(name, place)) for name in names.values()])
        for label, number in zip(axes.get_xticklabels(), names, strict=True):
            tone = axis.tones[number] if number < len(axis.tones) else ""
            label.set_color(_colour(tone) if tone != "" else INK)
        axes.tick_params(axis="x", length=0)
    else:
        ticks = tick_values(axis, place.width)
        axes.set_xticks(ticks, [axis.written(tick) for tick in ticks], color=QUIET)
        axes.grid(axis="x", color=GRID, linewidth=0.5)
        axes.set_axisbelow(True)
    if not place.x_shown:
        return
    if axis.label:
        middle = (label_middle(place) - place.left) / place.width
        axes.set_xlabel(axis.label, labelpad=2 + POINTS * 1.1 * any(axis.ends), x=middle)
    for share, side, words in zip((0.0, 0.5, 1.0), ("left", "center", "right"), axis.ends, strict=True):
        at = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": side, "va": "top"}
        axes.annotate(words, (share, 0), (0, -POINTS * 2.3), color=QUIET, **at)


def _upwards(axes: Any, place: Place) -> None:
    axis = place.panel.y
    axes.set_ylim(*((axis.high, axis.low) if place.downwards else (axis.low, axis.high)))
    if axis.names:
        names = {number: row_name(name, place) for number, name in enumerate(axis.names)}
        heads = {number: names.pop(number) for number in axis.heads}
        beside = names.values() if place.y_shown and not place.names_above else [""] * len(names)
        axes.set_yticks(list(names), list(beside), fontsize=_size(place.cell[1]))
        at = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        for number, name in names.items() if place.names_above else ():
            axes.annotate(name, (0, number), (0, POINTS * 0.4), **at)
        for number, name in heads.items() if place.y_shown else ():
            left = -name_room(axis.names) / place.width
            axes.annotate(name, (left, number), (0, 0), va="center", color=QUIET, **at)
        axes.tick_params(axis="y", length=0)
        if not is_of(place.panel, Heat):
            axes.spines["left"].set_visible(False)
            axes.grid(axis="y", color=GRID, linewidth=0.5)
            axes.set_axisbelow(True)
        return
    if axis.hidden:
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        return
    ticks = tick_values(axis, place.height, upright=True)
    axes.set_yticks(ticks, [axis.written(tick) for tick in ticks], color=QUIET)
    axes.grid(axis="y", color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    if axis.label:
        corner = (-min(place.left, 3.4) / place.width, 1)
        axes.annotate(axis.label, corner, (0, 5), xycoords="axes fraction", textcoords="offset points", color=QUIET)


def _size(room: float) -> float:
    """Return the size of a name's letters, smaller where a row or column is."""
    return float(matplotlib.rcParams["font.size"]) * min(max(room, SMALLEST), 1.0)


def _rings(axes: Any, place: Place) -> None:
    """Draw the rings of a polar panel at round values, a spoke for each name, and the names, on plain axes."""
    axes.set_axis_off()
    # matplotlib's own polar axes take several times as long, mostly for their ticks.
    axes.set(xlim=(place.left, place.left + place.width), ylim=(place.top + place.height, place.top))
    axis, (x, y) = place.panel.y, place.middle
    ticks = axis.ticks(4)
    for number, tick in enumerate(ticks, start=-ticks.index(0.0) if 0.0 in ticks else 0):
        style = {"edgecolor": GRID, "linestyle": "-"} if tick else {"edgecolor": QUIET, "linestyle": ":"}
        axes.add_patch(Circle((x, y), place.away(tick), fill=False, linewidth=0.6, clip_on=False, **style))
        if number % 2 == 0:
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.3}
            at = {"ha": "center", "va": "center", "fontsize": "small", "zorder": 4, "bbox": box}
            axes.text(*place(0.5, tick), axis.written(tick), color=QUIET, **at)
    names = place.panel.x.names
    spokes = [(place(number, axis.low), place(number, axis.high)) for number in range(len(names))]
    axes.add_collection(LineCollection(spokes, colors=GRID, linewidths=0.5), autolim=False)
    sides = {"start": "left", "middle": "center", "end": "right"}
    for across, down, anchor, words in rim_places(place.panel, place.middle, place.height / 2, place.letters):
        axes.text(across, down, words, ha=sides[anchor], va="baseline", clip_on=False)


def _xy(place: Place, points: Iterable[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Return the places of points on a panel's axes: a polar panel's are those of the layout."""
    shown = [place(x, y) if place.panel.polar else (x, y) for x, y in points]
    return [x for x, _ in shown], [y for _, y in shown]


@singledispatch
def draw(mark: Mark, axes: Any, place: Place) -> None:
    """Draw a mark on a panel's axes."""
    raise TypeError(f"a figure cannot show {mark!r}")


@draw.register
def _dot(mark: Dot, axes: Any, place: Place) -> None:
    x, y = value_of(mark.x), value_of(mark.y)
    colour = _colour(mark.tone)
    for ends in whiskers(mark, place):
        axes.plot(*_xy(place, ends), color=colour, linewidth=1.1, solid_capstyle="round", clip_on=False)
    inside = "white" if mark.hollow else colour
    style = {"markersize": 2.4 if mark.small else 3.6, "markerfacecolor": inside, "markeredgewidth": 0.8}
    axes.plot(*_xy(place, [(x, y)]), _shape(mark.tone), color=colour, clip_on=False, zorder=3, **style)


@draw.register
def _line(mark: Line, axes: Any, place: Place) -> None:
    points = [*mark.points, *(mark.points[:1] if mark.closed else [])]
    x, y = _xy(place, points)
    style = {"color": _colour(mark.tone), "linestyle": "--" if mark.dashed else "-", "linewidth": 1.0}
    axes.plot(x, y, **style)
    if mark.filled:
        axes.fill_between(x, y, place.panel.y.low, color=_colour(mark.tone), alpha=0.16, linewidth=0)


@draw.register
def _area(mark: Area, axes: Any, place: Place) -> None:
    points = [*mark.points, *(mark.points[:1] if mark.closed else [])]
    outwards = [(x, high) for x, _, high in points]
    back = [(x, low) for x, low, _ in reversed(points)]
    # Outwards along one end and back along the other: the area between the two.
    axes.fill(*_xy(place, [*outwards, *back]), color=_colour(mark.tone), alpha=0.18, linewidth=0)


@draw.register
def _bar(mark: Bar, axes: Any, place: Place) -> None:
    if not mark.strength:
        return
    (left, right), (bottom, top) = mark.x, mark.y
    box = Rectangle(
        (left, bottom), right - left, top - bottom, color=_colour(mark.tone), alpha=mark.strength, linewidth=0
    )
    axes.add_patch(box)
    if mark.text and place.width * (right - left) / abs(place.panel.x.high - place.panel.x.low) > 0.5 * len(mark.text):
        axes.text((left + right) / 2, top, mark.text, ha="center", va="bottom", fontsize="small")


@draw.register
def _bracket(mark: Bracket, axes: Any, place: Place) -> None:
    for ends in bracket_lines(mark, place):
        at = [((x - place.left) / place.width, 1 - (y - place.top) / place.height) for x, y in ends]
        axes.plot(*zip(*at, strict=True), color=INK, linewidth=0.9, clip_on=False, transform=axes.transAxes)


@draw.register
def _cloud(mark: Cloud, axes: Any, place: Place) -> None:
    axes.plot(*_xy(place, mark.points), ".", color=_colour(mark.tone), markersize=1.6, markeredgewidth=0, alpha=0.6)


@draw.register
def _rule(mark: Rule, axes: Any, place: Place) -> None:
    style = {"color": QUIET, "linewidth": 0.8, "linestyle": ":", "zorder": 0.9}
    panel = place.panel
    if panel.polar:
        axes.add_patch(
            Circle(place.middle, place.away(mark.at), fill=False, linewidth=0.6, linestyle=":", edgecolor=QUIET)
        )
    elif mark.along == "diagonal":
        axes.plot([panel.x.low, panel.x.high], [panel.y.low, panel.y.high], **style)
    elif mark.along == "x":
        axes.axvline(mark.at, **style)
        axes.annotate(
            mark.label, (mark.at, 1), (2, -POINTS), xycoords=("data", "axes fraction"), textcoords="offset points"
        )
    else:
        axes.axhline(mark.at, **style)
        axes.annotate(mark.label, (0, mark.at), (2, 2), xycoords=("axes fraction", "data"), textcoords="offset points")


def _squares(axes: Any, squares: Sequence[Square], place: Place) -> None:
    if not squares:
        return
    columns, step = square_columns(place.width), SIDE + GAP
    boxes = [
        Rectangle((number % columns * step, number // columns * step), SIDE, SIDE) for number in range(len(squares))
    ]
    axes.add_collection(PatchCollection(boxes, facecolors=[_colour(square.tone) for square in squares], linewidths=0))


def _cells(axes: Any, cells: Sequence[Heat], place: Place) -> None:
    if not cells:
        return
    limit = heat_limit(cells)
    shades = [_colour("wrong"), "#ffffff", _colour("right")]
    # What was not asked has a colour of its own.
    colours = LinearSegmentedColormap.from_list("map", shades).with_extremes(bad=GRID)
    table = [[math.nan] * len(place.panel.x.names) for _ in place.panel.y.names]
    for cell in cells:
        table[cell.y][cell.x] = cell.value
    image = axes.imshow(table, cmap=colours, vmin=-limit, vmax=limit, aspect="auto")
    left, top, width = colour_scale(place)
    down = 1 - (top + 1.0 - place.top) / place.height
    scale = axes.inset_axes(((left - place.left) / place.width, down, width / place.width, 1.0 / place.height))
    axes.figure.colorbar(image, cax=scale, orientation="horizontal")
    scale.set_xticks([-limit, 0, limit], [f"{value:.2f}" for value in (-limit, 0, limit)])
    scale.tick_params(length=2, width=0.5)
    # Beside the names where the map is narrow.
    side = {"x": 0, "ha": "left"} if LETTER * len(place.panel.colours) < place.width else {"x": 1, "ha": "right"}
    axes.text(y=down - 2.7 / place.height, s=place.panel.colours, transform=axes.transAxes, color=QUIET, **side)


def _legend(drawn: Figure, layout: Layout, above: float) -> None:
    """Draw the lines of the legend where the layout has them; the mark of bars and squares is a box."""
    if not layout.keys:
        return
    axes: Any = drawn.add_axes((0, 0, 1, 1), frameon=False)
    axes.set(xlim=(0, layout.width), ylim=(layout.height + above, 0), xticks=[], yticks=[])
    axes.set_zorder(-1)
    filled = filled_tones(place.panel for place in layout.places)
    for x, y, key in layout.keys:
        axes.text(x + KEY + 0.4, y + above, short(key.label, 60))
        if key.tone in filled and not key.dashed:
            axes.add_patch(Rectangle((x + KEY / 2 - 0.4, y + above - 0.7), 0.8, 0.8, color=_colour(key.tone)))
            continue
        style: dict[str, Any] = {"color": _colour(key.tone), "marker": _shape(key.tone), "markersize": 3.6}
        style["linestyle"] = "--" if key.dashed else "-"
        axes.add_line(Line2D([x, x + KEY / 2, x + KEY], [y + above - 0.3] * 3, markevery=[1], linewidth=1, **style))
