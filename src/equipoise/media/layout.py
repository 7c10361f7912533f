"""Where the parts of a chart go, in letters (em): the same on a page and on paper, whatever size their letters have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, cos, isnan, pi, sin
from textwrap import wrap

from ..records import Estimate
from ..records.showing import (
    Axis,
    Bar,
    Bracket,
    Chart,
    Dot,
    Heat,
    Key,
    Line,
    Note,
    Panel,
    Point,
    Square,
    Tone,
    ends_of,
    value_of,
)
from .names import LETTER, LONGEST, name_room, radius_of, rim_room, short, whole_names_width

ROW, HIGH_ROW = 1.45, 2.5
"""Height of a row with a name beside it, and of one with its name above."""
SIDE, GAP = 0.88, 0.2
"""Of a square, and between two."""
SMALLEST = 0.7
"""Of a name beside or under a row or column that is not high enough for a whole letter."""
CELL, SCALE = 1.25, 4.2
"""Side of a cell of a map, where there is room, and the height of the scale of its colours."""
LINE = 1.35
"""Height of a line of text."""
BRACKET = 0.85
"""Room for one bracket beside a panel."""
KEY = 2.0
"""Length of the line before a name of a legend."""
FEW_DOTS = 12
"""Where there are more, notes may lie on their intervals: else there would be no room for any."""


@dataclass(frozen=True)
class Place:
    """Where a panel's marks are drawn, from the top left of the chart; around it are its axes, as far as shown."""

    panel: Panel
    left: float
    top: float
    width: float
    height: float
    x_shown: bool = True
    y_shown: bool = True
    names_above: bool = False
    letters: int = 0
    title: Sequence[str] = ()

    def __call__(self, x: float, y: float) -> Point:
        """Return where a point of the panel lies."""
        if self.panel.polar:
            away = self.away(y)
            turn = self.turn(x)
            return self.middle[0] + away * sin(turn), self.middle[1] - away * cos(turn)
        up = self.panel.y.share(y)
        return self.left + self.panel.x.share(x) * self.width, self.top + (
            up if self.downwards else 1 - up
        ) * self.height

    @property
    def downwards(self) -> bool:
        """Whether the y axis goes down: names do, from the first."""
        return bool(self.panel.y.names)

    @property
    def middle(self) -> Point:
        """The middle of a polar panel."""
        return self.left + self.width / 2, self.top + self.height / 2

    def turn(self, x: float) -> float:
        """Return the direction of a name of a polar panel: the first is at the top, then clockwise."""
        return 2 * pi * x / max(len(self.panel.x.names), 1)

    def away(self, y: float) -> float:
        """Return how far from the middle of a polar panel a value is; the least is not in the very middle."""
        return (0.14 + 0.86 * self.panel.y.share(y)) * self.height / 2

    @property
    def cell(self) -> Point:
        """The width of a column and the height of a row, of names."""
        return self.width / max(len(self.panel.x.names), 1), self.height / max(len(self.panel.y.names), 1)


@dataclass(frozen=True)
class Layout:
    """The places of a chart's panels and of its legend, and its height."""

    width: float
    height: float
    places: Sequence[Place]
    keys: Sequence[tuple[float, float, Key]]


def arrange(chart: Chart, width: float) -> Layout:
    """Return the layout of a chart that is so wide."""
    rows = list(_rows(chart, width))
    places: list[Place] = []
    keys: list[tuple[float, float, Key]] = []
    top = 0.0
    for number, row in enumerate(rows):
        last = number == len(rows) - 1 or chart.layout != "stacked"
        placed = list(_placed(chart, row, width, top, last=last))
        places += placed
        legends = [list(_keys(p.panel.legend, p.width, _bottom(p) + LINE, p.left)) for p in placed]
        keys += [key for several in legends for key in several]
        top = max(_end(several, _bottom(place)) for place, several in zip(placed, legends, strict=True))
        top += 0.8 if any(legends) else 0.0
    common = list(_keys(chart.legend, width, top + LINE))
    return Layout(width, _end(common, top) + 0.2, places, [*keys, *common])


def _end(keys: Sequence[tuple[float, float, Key]], top: float) -> float:
    """Return where a legend under that height ends."""
    return keys[-1][1] + 0.5 if keys else top


def _rows(chart: Chart, width: float) -> Iterator[Sequence[Panel]]:
    """Yield the panels that are side by side."""
    if chart.layout == "stacked":
        yield from ([panel] for panel in chart.panels)
    elif chart.layout == "beside":
        yield chart.panels
    else:
        columns = min(max(1, int(width // _least_width(chart.panels, width))), len(chart.panels))
        yield from (chart.panels[at : at + columns] for at in range(0, len(chart.panels), columns))


def _least_width(panels: Sequence[Panel], width: float) -> float:
    """Return the least width of each panel among many: polar ones have whole names where two fit side by side."""
    if not panels[0].polar:
        named = [name_room(panel.y.names) + 12.0 for panel in panels if panel.y.names]
        return max([min(22.0, max(19.0, width / 2)), *named])
    needed = whole_names_width(panels)
    return needed if needed <= width / 2 else 19.0


def _placed(chart: Chart, row: Sequence[Panel], width: float, top: float, *, last: bool) -> Iterator[Place]:
    shared = chart.layout == "beside"
    # A last row with fewer panels has them as large as the others.
    columns = len(next(iter(_rows(chart, width))))
    names = name_room(row[0].y.names) if shared else 0.0
    step = (width - names) / columns
    titles = [wrap(panel.title, max(8, int(_title_room(panel, step) / LETTER))) for panel in row]
    top += LINE * max(0, max(map(len, titles)) - 1)
    for number, panel in enumerate(row):
        at = names + number * step
        high = not shared and not is_of(panel, Heat) and name_room(panel.y.names) > 0.55 * step
        room = 0.6 if shared and row[0].y.names else _beside(panel, step, high=high)
        inside, letters = max(step - room - _after(panel), 0.4 * step), 0
        if panel.polar:
            radius, letters = radius_of(chart.panels, step)
            room, inside = (step - 2 * radius) / 2, 2 * radius
        tall = _height(panel, inside, HIGH_ROW if high else ROW)
        first = not shared or number == 0
        yield Place(panel, at + room, top + _above(panel), inside, tall, last, first, high, letters, titles[number])


def _title_room(panel: Panel, width: float) -> float:
    """Return how long a line of a panel's title may be: it may begin above names, but not above values."""
    return width - 0.6 - (0.0 if panel.y.names or panel.polar else _beside(panel, width, high=False))


def title_start(place: Place) -> float:
    """Return where a title begins: at its panel, or above the names beside it where it would end beyond the panel."""
    names = place.panel.y.names
    room = name_room(names) if names and place.y_shown and not place.names_above else 0.0
    end = place.left + place.width - 1.1 * LETTER * max(map(len, place.title))
    return max(place.left - room, min(place.left, end))


def label_middle(place: Place) -> float:
    """Return the middle of the label under a panel: under the panel's, or to the left where it would be cut."""
    half = LETTER * len(place.panel.x.label) / 2
    return max(half, min(place.left + place.width / 2, place.left + place.width + 0.9 - half))


def _beside(panel: Panel, width: float, *, high: bool) -> float:
    """Return the room left of a panel: for its names or values, or for half of the first value under it."""
    if panel.y.names and not high:
        return min(name_room(panel.y.names), 0.55 * width)
    if high or panel.y.hidden or is_of(panel, Square):
        return max(0.6, 0.4 + LETTER / 2 * _letters(panel.x, 1))
    return max(3.6, 1.7 + LETTER * _letters(panel.y))


def _after(panel: Panel) -> float:
    """Return the room right of a panel: for half of the last value under it, and for its brackets."""
    brackets = BRACKET * (1 + max((bracket.column for bracket in panel.marks_of(Bracket)), default=-1))
    if panel.x.names or panel.x.hidden:
        return 0.9 + brackets
    return max(0.9, 0.4 + LETTER / 2 * _letters(panel.x)) + brackets


def whiskers(dot: Dot, place: Place) -> Iterator[tuple[Point, Point]]:
    """Yield the intervals of a dot, each by its ends, in the numbers of the panel's axes."""
    x, y = value_of(dot.x), value_of(dot.y)
    if place.panel.polar:  # an area has the intervals: on a spoke they would hide each other
        return
    if isinstance(dot.x, Estimate) and dot.x.has_interval:
        yield (dot.x.low, y), (dot.x.high, y)
    if isinstance(dot.y, Estimate) and dot.y.has_interval:
        yield (x, dot.y.low), (x, dot.y.high)


def bracket_lines(bracket: Bracket, place: Place) -> list[tuple[Point, Point]]:
    """Return the lines of a bracket: one along the panel, and a short one to each place that it joins."""
    x = place.left + place.width + BRACKET * (bracket.column + 1)
    ys = [place(place.panel.x.low, at)[1] for at in bracket.places]
    return [((x, min(ys)), (x, max(ys))), *(((x - 0.5, y), (x, y)) for y in ys)]


def _letters(axis: Axis, first: int | None = None) -> int:
    """Return how long the values along an axis are, or the first of them."""
    return max((len(axis.written(tick)) for tick in axis.ticks()[:first]), default=1)


def _above(panel: Panel) -> float:
    marks = 0.5 if is_of(panel, Heat) and any(panel.x.tones) else 0.0
    return title_height(panel) + marks + (1.3 if panel.title else -0.1)


def title_height(panel: Panel) -> float:
    """Return how far above a panel its title is: above the label of its axis, or the topmost name around it."""
    if panel.polar:
        return rim_room(panel)
    return 0.5 + (1.5 if panel.y.label and not panel.y.names else 0.0)


def _height(panel: Panel, width: float, row: float) -> float:
    if panel.polar:
        return width
    if is_of(panel, Square):
        columns = square_columns(width)
        return (SIDE + GAP) * ceil(len(panel.marks) / columns)
    if is_of(panel, Heat):
        return len(panel.y.names) * min(CELL, max(0.85, width / len(panel.x.names)))
    return len(panel.y.names) * row * panel.spacing if panel.y.names else panel.height * width


def colour_scale(place: Place) -> tuple[float, float, float]:
    """Return where the scale of a map's colours is, under its names: its left end, its top and its width."""
    return place.left, place.top + place.height + below(place) - SCALE + 0.3, min(place.width - 1.2, 17 * CELL)


def heat_limit(cells: Iterable[Heat]) -> float:
    """Return where the colours of a map end, on both sides of 0."""
    values = [abs(cell.value) for cell in cells if not isnan(cell.value)]
    return max([0.05, *values])


def square_columns(width: float) -> int:
    """Return how many squares are side by side."""
    return max(1, int((width + GAP) // (SIDE + GAP)))


def is_of(panel: Panel, kind: type) -> bool:
    """Return whether a panel is of marks that fill it, such as squares or the cells of a map."""
    return bool(panel.marks) and isinstance(panel.marks[0], kind)


def below(place: Place) -> float:
    """Return the room under a panel for its axis."""
    panel = place.panel
    if panel.polar:
        return rim_room(panel, at_the_bottom=True)
    if not place.x_shown or panel.x.hidden or is_of(panel, Square):
        return 0.5
    names = panel.x.names
    written = 1.5
    if names:
        written = names_height(place)
    if is_of(panel, Heat):
        return written + SCALE
    return written + (1.4 if panel.x.label else 0.0) + (1.3 if any(panel.x.ends) else 0.0) + 0.3


def names_height(place: Place) -> float:
    """Return how high the names under a panel are."""
    names = place.panel.x.names
    return name_room(names) if are_upright(place) else 0.3 + LINE * max(len(wrapped(name, place)) for name in names)


def _bottom(place: Place) -> float:
    return place.top + place.height + below(place)


def are_upright(place: Place) -> bool:
    """Return whether the names under a panel are turned, because there is no room for them side by side."""
    names = place.panel.x.names
    room = place.width / max(len(names), 1) / LETTER
    return any(len(word) > room for name in names for word in name.split())


def wrapped(name: str, place: Place) -> list[str]:
    """Return a name under a panel in lines as long as there is room."""
    letters = max(4, int(place.width / len(place.panel.x.names) / LETTER))
    return wrap(name, letters, break_long_words=False) or [""]


def shown_names(place: Place) -> Iterator[tuple[int, str]]:
    """Yield the names under a panel for which there is room, each with its place."""
    names = place.panel.x.names
    every = ceil(SMALLEST / (place.width / len(names))) if are_upright(place) else 1
    yield from ((number, short(name)) for number, name in enumerate(names) if number % every == 0)


def row_name(name: str, place: Place) -> str:
    """Return a name of the y axis as there is room for it."""
    return short(name, int(place.width / LETTER) if place.names_above else LONGEST)


def filled_tones(panels: Iterable[Panel]) -> set[Tone]:
    """Return the tones of bars and squares: their mark in a legend is a box, unless lines have the tone, too."""
    marks = [mark for panel in panels for mark in panel.marks]
    filled = {mark.tone for mark in marks if isinstance(mark, Square) or (isinstance(mark, Bar) and mark.strength)}
    return filled - {mark.tone for mark in marks if isinstance(mark, Line)}


def _keys(legend: Sequence[Key], width: float, top: float, left: float = 0.6) -> Iterator[tuple[float, float, Key]]:
    """Yield the lines of a legend with their places: as many side by side as there is room for."""
    across = left
    for key in legend:
        needed = KEY + 1.6 + LETTER * len(short(key.label, 60))
        if across > left and across + needed > left + width - 0.6:
            across, top = left, top + LINE
        yield across, top, key
        across += needed


def note_places(place: Place) -> Iterator[tuple[float, float, str]]:
    """Yield the notes that fit, each with the left end of its base line: none hides a dot or another note.

    A note keeps off intervals, too, where there are few.
    """
    dots = list(place.panel.marks_of(Dot))
    taken = [_box(place, [value_of(dot.x)], [value_of(dot.y)]) for dot in dots]
    if len(dots) <= FEW_DOTS:
        taken += [_box(place, ends_of(dot.x), [value_of(dot.y)]) for dot in dots]
        taken += [_box(place, [value_of(dot.x)], ends_of(dot.y)) for dot in dots]
    for note in place.panel.marks_of(Note):
        # A little more than the mean letter: a word of wide ones must not touch its dot.
        (x, y), wide = place(note.x, note.y), 1.05 * LETTER * len(note.text)
        sides = (0.6, -0.6 - wide, -wide / 2)
        for across, up in [(sides[0], 0.3), (sides[1], 0.3), *((side, up) for up in (-0.7, 1.3) for side in sides)]:
            box = (x + across, y + up - 0.8, x + across + wide, y + up + 0.15)
            inside = box[0] > place.left and box[2] < place.left + place.width and place.top < box[1]
            inside = inside and box[3] < place.top + place.height
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                yield box[0], y + up, note.text
                break


def _box(place: Place, across: Sequence[float], up: Sequence[float]) -> tuple[float, ...]:
    """Return the room of a dot, or of its interval along one axis."""
    corners = [place(x, y) for x in across for y in up]
    (left, right), (top, bottom) = ((min(ends), max(ends)) for ends in zip(*corners, strict=True))
    return left - 0.35, top - 0.35, right + 0.35, bottom + 0.35


def _overlap(box: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]


def tick_values(axis: Axis, room: float, *, upright: bool = False) -> list[float]:
    """Return the values at which an axis of that length is marked."""
    for count in (8, 5, 4, 3, 2):
        ticks = axis.ticks(count)
        # Between two there is half of each text, and some air.
        letters = [2.0 if upright else sum(len(axis.written(tick)) for tick in two) / 2 for two in pairwise(ticks)]
        steps = [abs(axis.share(after) - axis.share(before)) * room for before, after in pairwise(ticks)]
        if all(step > LETTER * wide + 0.75 for step, wide in zip(steps, letters, strict=True)):
            return ticks
    return ticks[:1]
