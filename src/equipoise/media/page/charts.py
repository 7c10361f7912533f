"""Charts as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import singledispatch
from math import isnan

from markupsafe import Markup

from ...records import Estimate
from ...records.showing import (
    Area,
    Bar,
    Bracket,
    Chart,
    Cloud,
    Dot,
    Heat,
    Key,
    Line,
    Mark,
    Note,
    Number,
    Panel,
    Point,
    Rule,
    Square,
    value_of,
)
from ..layout import (
    GAP,
    KEY,
    LINE,
    SIDE,
    Place,
    are_upright,
    arrange,
    bracket_lines,
    filled_tones,
    is_of,
    label_middle,
    names_height,
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
from ..names import LETTER, name_room, rim_places, short
from ..palette import class_of, style_sheet
from .elements import EM, element, group, line, path, shape, text, web_file
from .maps import coloured_map, map_data

WIDTHS = {"column": 400 / EM, "small": 372 / EM, "wide": 1000 / EM}
"""Of charts on a page, in letters: two columns fit side by side on a laptop, and their text is readable on a phone."""


def svg(chart: Chart, *, width: str | float = "column", alone: bool = False) -> Markup:
    """Return the drawing of a chart; a reader of screens hears its title and its numbers. `alone`: without a page.

    `width` is a name, or a number of letters.
    """
    is_map = any(is_of(panel, Heat) for panel in chart.panels)
    name = "wide" if is_map else width
    # On a page the legend is text beside the drawing, which is as large on a phone as on a laptop.
    shown = chart if alone else replace(chart, legend=())
    layout = arrange(shown, WIDTHS[name] if isinstance(name, str) else name)
    bold = all(map(_fits_bold, layout.places))
    parts = [drawn for place in layout.places for drawn in _panel(place, bold=bold)]
    parts += [_key(x, y, key) for x, y, key in layout.keys]
    wide, tall = round(EM * layout.width), round(EM * layout.height)
    style = [element("style", Markup(web_file("picture.css") + style_sheet()))]
    return element(
        "svg",
        element("title", chart.title),
        *([*style, element("rect", width="100%", height="100%", fill="#fff")] if alone else []),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {wide} {tall}",
        **({"width": wide, "height": tall} if alone else {}),
        # What a picture holds is not read out; one with links is a group, so that they can be reached.
        role="group" if _has_links(shown) else "img",
        # Not aria-labelledby: ids would have to be unique over a page that anybody may add sections to.
        aria_label=f"{chart.title}. {described(chart)}",
        class_="chart heat" if is_map else "chart",
        **(map_data(layout.places[0]) if is_map else {}),
    )


def _has_links(chart: Chart) -> bool:
    """Return whether there are links in the drawing: squares are followed by the page's script."""
    return any(isinstance(mark, Dot | Bar) and mark.link for panel in chart.panels for mark in panel.marks)


def described(chart: Chart) -> str:
    """Return a chart in words: its caption, and the numbers of its dots as far as a listener can follow."""
    dots = [(panel.name_of(dot.label, dot.x, dot.y), dot) for panel in chart.panels for dot in panel.marks_of(Dot)]
    values = "; ".join(f"{name} {_value(dot)}" for name, dot in [pair for pair in dots if pair[0]][:12])
    return " ".join(filter(None, [chart.caption, f"{values}." if values else ""]))


def _value(dot: Dot) -> str:
    number = dot.y if isinstance(dot.y, Estimate) else dot.x
    return f"{number}" if isinstance(number, Estimate) else f"{number:.3f}"


def _fits_bold(place: Place) -> bool:
    """Return whether there is room for the title in bold letters, which are wider."""
    if place.panel.polar or not place.title:
        return True
    room = place.left + place.width - title_start(place)
    return room > 1.1 * LETTER * max(map(len, place.title)) - 0.1


def _panel(place: Place, *, bold: bool) -> Iterator[Markup]:
    panel = place.panel
    if place.title:
        x, anchor = (place.middle[0], "middle") if panel.polar else (title_start(place), "start")
        for up, words in enumerate(reversed(place.title)):
            height = place.top - title_height(panel) - LINE * up
            yield text(x, height, words, anchor, "label title" if bold else "label")
    if panel.polar:
        yield from _rings(place)
    elif not is_of(panel, Square):
        yield from _across(place)
        yield from _upwards(place)
    yield from _all(panel, place)


def _all(panel: Panel, place: Place) -> Iterator[Markup]:
    """Yield the marks; those that are drawn together, such as squares and cells, as one."""
    squares = list(panel.marks_of(Square))
    if squares:
        yield _squares(squares, place)
    cells = list(panel.marks_of(Heat))
    if cells:
        yield coloured_map(cells, place)
    for mark in panel.marks:
        if not isinstance(mark, Square | Heat | Note):
            yield draw(mark, place)
    yield from (text(x, y, words, class_="label") for x, y, words in note_places(place))


def _across(place: Place) -> Iterator[Markup]:
    """Yield the x axis: its line, grid, values or names, label and the words at its ends."""
    axis, base = place.panel.x, place.top + place.height
    yield line((place.left, base), (place.left + place.width, base), "axis")
    if axis.hidden:
        return
    foot = base + 1.25
    if axis.names:
        foot = base
        for number, name in shown_names(place) if place.x_shown else ():
            x = place(float(number), place.panel.y.low)[0]
            if are_upright(place):
                turned = f"translate({EM * (x + 0.3):.1f} {EM * (base + 0.9):.1f})rotate(-90)"
                yield element("text", name, transform=turned, text_anchor="end", class_="tick")
            else:
                lines = wrapped(name, place)
                yield from (text(x, base + 1.2 + LINE * at, word, "middle") for at, word in enumerate(lines))
        foot += names_height(place)
    else:
        for tick in tick_values(axis, place.width):
            x = place.left + axis.share(tick) * place.width
            yield line((x, place.top), (x, base), "grid")
            if place.x_shown:
                yield text(x, base + 1.2, axis.written(tick), "middle")
    if place.x_shown:
        if any(axis.ends):
            places = ((0.0, "start"), (0.5, "middle"), (1.0, "end"))
            foot += 1.2
            for (share, anchor), words in zip(places, axis.ends, strict=True):
                yield text(place.left + share * place.width, foot, words, anchor)
        if axis.label:
            yield text(label_middle(place), foot + 1.3, axis.label, "middle")


def _upwards(place: Place) -> Iterator[Markup]:
    """Yield the y axis: its line and grid, with values or names beside it and its label above."""
    axis, end = place.panel.y, place.left + place.width
    if axis.names:
        for number, name in enumerate(axis.names):
            y = place(place.panel.x.low, float(number))[1]
            if number in axis.heads:
                if place.y_shown:
                    yield text(place.left - name_room(axis.names), y + 0.35, short(name))
                continue
            if not is_of(place.panel, Heat):
                yield line((place.left, y), (end, y), "grid")
            if place.names_above:
                yield text(place.left, y - 0.55, row_name(name, place), class_="label name")
            elif place.y_shown:
                yield text(place.left - 0.6, y + 0.35, row_name(name, place), "end", "name")
        return
    if axis.hidden:
        return
    yield line((place.left, place.top), (place.left, place.top + place.height), "axis")
    if axis.label:
        yield text(max(0.2, place.left - 3.4), place.top - 0.7, axis.label)
    for tick in tick_values(axis, place.height, upright=True):
        y = place(place.panel.x.low, tick)[1]
        yield line((place.left, y), (end, y), "grid")
        yield text(place.left - 0.5, y + 0.35, axis.written(tick), "end")


def _rings(place: Place) -> Iterator[Markup]:
    """Yield the rings of a polar panel at round values, a spoke for each name, and the names."""
    (x, y), axis = place.middle, place.panel.y
    ticks = axis.ticks(4)
    for number, tick in enumerate(ticks, start=-ticks.index(0.0) if 0.0 in ticks else 0):
        yield element("circle", cx=EM * x, cy=EM * y, r=EM * place.away(tick), class_="ring" if tick else "contour")
        if number % 2 == 0:
            yield text(*_between(place, tick), axis.written(tick), "middle", "tick label")
    for number in range(len(place.panel.x.names)):
        yield line(place(number, axis.low), place(number, axis.high), "grid")
    yield from (
        text(x, y, words, anchor)
        for x, y, anchor, words in rim_places(place.panel, place.middle, place.height / 2, place.letters)
    )


def _between(place: Place, value: float) -> Point:
    """Return the place of a value between the first two spokes, where no mark lies on it."""
    x, y = place(0.5, value)
    return x, y + 0.3


@singledispatch
def draw(mark: Mark, place: Place) -> Markup:
    """Return a mark at its place."""
    raise TypeError(f"a page cannot draw {mark!r}")


@draw.register
def _dot(mark: Dot, place: Place) -> Markup:
    at = place(value_of(mark.x), value_of(mark.y))
    tone = class_of(mark.tone)
    parts = [line(place(*start), place(*end), f"whisker {tone}") for start, end in whiskers(mark, place)]
    if not any(map(isnan, at)):  # of what is only bounded, the interval is all that is known
        parts.append(shape(at, mark.tone, size=0.24 if mark.small else 0.33, hollow=mark.hollow))
    name = place.panel.name_of(mark.label, mark.x, mark.y)
    return group(parts, f"{name}: {_value(mark)}" if name else "", mark.link)


@draw.register
def _of_line(mark: Line, place: Place) -> Markup:
    points = [place(x, y) for x, y in mark.points]
    tone = class_of(mark.tone)
    dashed = " dashed" if mark.dashed else ""
    parts = [element("path", d=path(points, closed=mark.closed), class_=f"outline {tone}{dashed}")]
    if mark.filled and points:
        base = place.top + place.height
        area = [(points[0][0], base), *points, (points[-1][0], base)]
        parts.insert(0, element("path", d=path(area, closed=True), class_=f"area {tone}"))
    return group(parts, mark.label)


@draw.register
def _area(mark: Area, place: Place) -> Markup:
    low = [place(x, bottom) for x, bottom, _ in mark.points]
    high = [place(x, top) for x, _, top in mark.points]
    steps = path(high, closed=True) + path(low, closed=True) if mark.closed else path([*high, *low[::-1]], closed=True)
    return element("path", d=steps, class_=f"area {class_of(mark.tone)}", fill_rule="evenodd")


@draw.register
def _bar(mark: Bar, place: Place) -> Markup:
    (left, first), (right, second) = place(mark.x[0], mark.y[0]), place(mark.x[1], mark.y[1])
    top, tall = min(first, second), abs(first - second)
    size = {"x": EM * left, "y": EM * top, "width": EM * (right - left), "height": EM * tall}
    class_ = f"mark {class_of(mark.tone)}" if mark.strength else "hit"
    opacity = round(mark.strength, 2) if 0 < mark.strength < 1 else None
    parts = [element("rect", class_=class_, fill_opacity=opacity, **size)]
    if mark.text and place.panel.y.names:  # lying bars have their words behind them, standing ones above
        parts.append(text(right + 0.3, top + tall / 2 + 0.35, mark.text))
    elif mark.text and right - left > 0.5 * len(mark.text):
        parts.append(text((left + right) / 2, top - 0.25, mark.text, "middle"))
    return group(parts, mark.label, mark.link)


@draw.register
def _bracket(mark: Bracket, place: Place) -> Markup:
    lines = [line(start, end, "bracket") for start, end in bracket_lines(mark, place)]
    return group(lines, f"cannot be told apart: {', '.join(place.panel.y.written(at) for at in mark.places)}")


@draw.register
def _cloud(mark: Cloud, place: Place) -> Markup:
    # A dot is a line without length: a few bytes each, and one element for all of them.
    places = (place(x, y) for x, y in mark.points)
    return element(
        "path", d="".join(f"M{EM * x:.1f} {EM * y:.1f}h0" for x, y in places), class_=f"cloud {class_of(mark.tone)}"
    )


@draw.register
def _rule(mark: Rule, place: Place) -> Markup:
    panel = place.panel
    if panel.polar:
        (x, y), away = place.middle, place.away(mark.at)
        return element("circle", cx=EM * x, cy=EM * y, r=EM * away, class_="contour")
    if mark.along == "diagonal":
        return line(place(panel.x.low, panel.y.low), place(panel.x.high, panel.y.high), "contour")
    if mark.along == "x":
        x = place(mark.at, panel.y.low)[0]
        ends, words = ((x, place.top), (x, place.top + place.height)), (x + 0.3, place.top + 0.9)
    else:
        y = place(panel.x.low, mark.at)[1]
        ends, words = ((place.left, y), (place.left + place.width, y)), (place.left + 0.3, y - 0.3)
    named = [text(*words, mark.label, class_="tick label")] if mark.label else []
    return group([line(*ends, "contour"), *named])


def _squares(squares: Sequence[Square], place: Place) -> Markup:
    columns = square_columns(place.width)
    parts = []
    for number, square in enumerate(squares):
        down, across = divmod(number, columns)
        size = {"x": EM * (place.left + across * (SIDE + GAP)), "y": EM * (place.top + down * (SIDE + GAP))}
        rect = {"width": EM * SIDE, "height": EM * SIDE, "rx": 2.0}
        # A link for each of hundreds would be as many stops of the tab key: the page's script follows this one.
        case = square.link.removeprefix("#case=") or None
        parts.append(element("rect", class_=f"mark {class_of(square.tone)}", data_case=case, **size, **rect))
    return element("g", *parts, class_="squares")


def _key(x: float, y: float, key: Key) -> Markup:
    parts = [line((x, y - 0.3), (x + KEY, y - 0.3), f"outline {class_of(key.tone)} dashed")] if key.dashed else []
    parts += [shape((x + KEY / 2, y - 0.3), key.tone), text(x + KEY + 0.4, y, short(key.label, 60), class_="name")]
    return group(parts)


def swatch(key: Key, chart: Chart) -> Markup:
    """Return the mark of a line of a chart's legend, as large as a letter: a box for bars and squares."""
    parts = [line((0.1, 0.6), (1.9, 0.6), f"outline {class_of(key.tone)} dashed")] if key.dashed else []
    if key.tone in filled_tones(chart.panels):
        box = {"x": 7.0, "y": 2.0, "width": 10.0, "height": 10.0, "rx": 2.0}
        parts.append(element("rect", class_=f"mark {class_of(key.tone)}", **box))
    else:
        parts.append(shape((1.0, 0.6), key.tone))
    return element("svg", *parts, viewBox="0 0 24 14", class_="swatch", aria_hidden="true")


def glyph(number: Number, bounds: Point) -> Markup:
    """Return a value with its interval on its whole range, small enough for a table's cell."""
    low, high = bounds

    def at(value: float) -> Point:
        return (4 + 92 * min(max((value - low) / (high - low), 0.0), 1.0)) / EM, 7 / EM

    parts = [line(at(low), at(high), "grid")]
    if low < 0 < high:
        x, _ = at(0.0)
        parts.append(line((x, 2 / EM), (x, 12 / EM), "axis"))
    if isinstance(number, Estimate) and number.has_interval:
        parts.append(line(at(number.low), at(number.high), f"whisker {class_of(0)}"))
    if not isnan(value_of(number)):  # of what is only bounded, the interval is all that is known
        parts.append(shape(at(value_of(number)), 0, size=0.25))
    return element("svg", *parts, viewBox="0 0 100 14", class_="glyph", aria_hidden="true")
