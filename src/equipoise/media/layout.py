"""Where the parts of a chart go, in letters (em): the same on a page and on paper, whatever size their letters have."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, cos, isnan, pi, sin

from ..records.showing import Axis, Chart, Dot, Heat, Key, Note, Panel, Point, Square, value_of

LETTER = 0.53
"""Mean width of a letter."""
ROW, HIGH_ROW = 1.45, 2.5
"""Height of a row with a name beside it, and of one with its name above."""
SIDE, GAP = 0.88, 0.2
"""Of a square, and between two."""
CELL = 1.25
"""Side of a cell of a map, where there is room."""
RIM, LINES, LETTERS = 6.2, 3, 14
"""Of a polar panel: room for the names beside it, and lines and letters of a name."""
LINE = 1.35
"""Height of a line of text."""
LONGEST = 38
"""Letters of a name; the table has it whole."""


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
        """The width and height of a cell of a map."""
        return self.width / len(self.panel.x.names), self.height / len(self.panel.y.names)


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
        least = 19.0 if any(panel.polar for panel in chart.panels) else 22.0
        columns = min(max(1, int(width // least)), len(chart.panels))
        yield from (chart.panels[at : at + columns] for at in range(0, len(chart.panels), columns))


def _placed(chart: Chart, row: Sequence[Panel], width: float, top: float, *, last: bool) -> Iterator[Place]:
    shared = chart.layout == "beside"
    # A last row with fewer panels has them as large as the others.
    columns = len(next(iter(_rows(chart, width))))
    names = name_room(row[0].y.names) if shared else 0.0
    step = (width - names) / columns
    for number, panel in enumerate(row):
        at = names + number * step
        high = not shared and not is_of(panel, Heat) and name_room(panel.y.names) > 0.55 * step
        room = 0.6 if shared and row[0].y.names else _beside(panel, step, high=high)
        inside = step - room - _after(panel)
        if panel.polar:
            radius = max(2.5, min(7.2, (step - 2 * RIM) / 2))
            room, inside = (step - 2 * radius) / 2, 2 * radius
        tall = _height(panel, inside, HIGH_ROW if high else ROW)
        yield Place(panel, at + room, top + _above(panel), inside, tall, last, not shared or number == 0, high)


def name_room(names: Sequence[str]) -> float:
    """Return the room that names take beside a panel."""
    return 0.8 + LETTER * max((min(len(name), LONGEST) for name in names), default=0)


def _beside(panel: Panel, width: float, *, high: bool) -> float:
    """Return the room left of a panel: for its names or values, or for half of the first value under it."""
    if panel.y.names and not high:
        return min(name_room(panel.y.names), 0.55 * width)
    if high or panel.y.hidden or is_of(panel, Square):
        return max(0.6, 0.4 + LETTER / 2 * _letters(panel.x, 1))
    return max(3.6, 1.7 + LETTER * _letters(panel.y))


def _after(panel: Panel) -> float:
    """Return the room right of a panel: for half of the last value under it."""
    if panel.x.names or panel.x.hidden:
        return 0.9
    return max(0.9, 0.4 + LETTER / 2 * _letters(panel.x))


def _letters(axis: Axis, first: int | None = None) -> int:
    """Return how long the values along an axis are, or the first of them."""
    return max((len(axis.written(tick)) for tick in axis.ticks()[:first]), default=1)


def _above(panel: Panel) -> float:
    room = 0.4 + (1.8 if panel.title else 0.0)
    if panel.polar:
        return room + 2.2
    return room + (1.3 if panel.y.label and not panel.y.names else 0.0)


def _height(panel: Panel, width: float, row: float) -> float:
    if panel.polar:
        return width
    if is_of(panel, Square):
        columns = square_columns(width)
        return (SIDE + GAP) * ceil(len(panel.marks) / columns)
    if is_of(panel, Heat):
        return len(panel.y.names) * min(CELL, max(0.85, width / len(panel.x.names)))
    return len(panel.y.names) * row if panel.y.names else panel.height * width


def heat_limit(cells: Iterable[Heat]) -> float:
    """Return where the colours of a map end, on both sides of 0."""
    values = [abs(cell.value) for cell in cells if not isnan(cell.value)]
    return max([0.05, *values])


def square_columns(width: float) -> int:
    """Return how many squares are side by side."""
    return max(1, int((width + GAP) // (SIDE + GAP)))


def is_of(panel: Panel, kind: type) -> bool:
    """Return whether the panel is one of these marks: squares, or cells of a map."""
    return bool(panel.marks) and isinstance(panel.marks[0], kind)


def below(place: Place) -> float:
    """Return the room under a panel for its axis."""
    panel = place.panel
    if panel.polar:
        return 0.6 + LINE * LINES / 2
    if not place.x_shown or panel.x.hidden or is_of(panel, Square):
        return 0.5
    names = panel.x.names
    written = 1.5
    if names:
        written = (
            name_room(names) if are_upright(place) else 0.3 + LINE * max(len(wrapped(name, place)) for name in names)
        )
    return written + (1.4 if panel.x.label else 0.0) + (1.3 if any(panel.x.ends) else 0.0) + 0.3


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
    return textwrap.wrap(name, letters, break_long_words=False) or [""]


def shown_names(place: Place) -> Iterator[tuple[int, str]]:
    """Yield the names under a panel for which there is room, each with its place."""
    names = place.panel.x.names
    every = ceil(0.8 / (place.width / len(names))) if are_upright(place) else 1
    yield from ((number, short(name)) for number, name in enumerate(names) if number % every == 0)


def rim_words(name: str) -> list[str]:
    """Return a name beside a polar panel in lines; what comes before a colon has a line of its own."""
    first, colon, rest = name.partition(": ")
    words = [f"{first}:", rest] if colon else [name]
    return [line for word in words for line in textwrap.wrap(short(word), LETTERS)][:LINES]


def row_name(name: str, place: Place) -> str:
    """Return a name of the y axis as there is room for it."""
    return short(name, int(place.width / LETTER) if place.names_above else LONGEST)


def short(name: str, letters: int = LONGEST) -> str:
    """Return a name, cut where a chart has no room for more of it."""
    return name if len(name) <= letters else f"{name[: letters - 1]}…"


def _keys(legend: Sequence[Key], width: float, top: float, left: float = 0.6) -> Iterator[tuple[float, float, Key]]:
    """Yield the lines of a legend with their places: as many side by side as there is room for."""
    across = left
    for key in legend:
        needed = 3.0 + LETTER * len(short(key.label, 60))
        if across > left and across + needed > left + width - 0.6:
            across, top = left, top + LINE
        yield across, top, key
        across += needed


def note_places(place: Place) -> Iterator[tuple[float, float, str]]:
    """Yield the notes that fit, each with the left end of its base line: none hides a dot or another note."""
    dots = [place(value_of(dot.x), value_of(dot.y)) for dot in place.panel.marks_of(Dot)]
    taken = [(x - 0.35, y - 0.35, x + 0.35, y + 0.35) for x, y in dots]
    for note in place.panel.marks_of(Note):
        (x, y), wide = place(note.x, note.y), LETTER * len(note.text)
        sides = (0.6, -0.6 - wide, -wide / 2)
        for across, up in [(sides[0], 0.3), (sides[1], 0.3), *((side, up) for up in (-0.7, 1.3) for side in sides)]:
            box = (x + across, y + up - 0.8, x + across + wide, y + up + 0.15)
            inside = box[0] > place.left and box[2] < place.left + place.width and place.top < box[1]
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                yield box[0], y + up, note.text
                break


def _overlap(box: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]


def tick_values(axis: Axis, room: float, *, upright: bool = False) -> list[float]:
    """Return the values at which an axis of that length is marked."""
    for count in (8, 5, 4, 3, 2):
        ticks = axis.ticks(count)
        letters = 2 if upright else max((len(axis.written(tick)) for tick in ticks), default=1)
        steps = [abs(axis.share(after) - axis.share(before)) * room for before, after in pairwise(ticks)]
        if all(step > LETTER * letters + 1.0 for step in steps):
            return ticks
    return ticks[:1]
