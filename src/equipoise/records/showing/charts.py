"""Charts: panels, axes and marks, as data; any medium draws them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from .. import Estimate
from .tables import Column, Row, Table, name_of

Tone = str | int
"""A colour and mark with a meaning of its own by name, or a line of a legend by number (media/palette.py)."""

Number = float | Estimate
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from `low` to `high` (from high to low where it is turned round), or `names` at the places 0, 1, 2 …

    `ends` are words for the low end, the middle and the high end; `tones` mark single names, and `heads` are the places
    of those that are headings of the names after them.
    """

    label: str = ""
    low: float = 0.0
    high: float = 1.0
    names: Sequence[str] = ()
    unit: Literal["", "%"] = ""
    ends: tuple[str, str, str] = ("", "", "")
    tones: Sequence[Tone] = ()
    heads: Sequence[int] = ()
    hidden: bool = False

    @classmethod
    def of_names(cls, names: Sequence[str], label: str = "", tones: Sequence[Tone] = ()) -> Axis:
        """Return an axis of names: the first at the left or at the top."""
        return cls(label, -0.5, max(len(names), 1) - 0.5, tuple(names), tones=tones)

    @classmethod
    def over(
        cls, numbers: Iterable[Number], label: str = "", *, within: Point = (-math.inf, math.inf), least: float = 0.05
    ) -> Axis:
        """Return an axis over all values and intervals with some room, within bounds, at least so long."""
        ends = [end for number in numbers for end in ends_of(number)] or [0.0, 1.0]
        room = max(0.08 * (max(ends) - min(ends)), (least - (max(ends) - min(ends))) / 2, 0.0)
        low, high = max(within[0], min(ends) - room), min(within[1], max(ends) + room)
        # At a bound there is room on the other side only.
        return cls(label, max(within[0], min(low, high - least)), min(within[1], max(high, low + least)))

    def share(self, value: float) -> float:
        """Return how far along the axis a value is, from 0 to 1; what is beyond an end is at the end."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def ticks(self, count: int = 5) -> list[float]:
        """Return about this number of round values along the axis."""
        low, high = sorted((self.low, self.high))
        raw = (high - low) / max(count, 1)
        size = 10.0 ** math.floor(math.log10(raw))
        step = min((size * factor for factor in (1, 2, 2.5, 5, 10)), key=lambda candidate: abs(candidate - raw))
        first = math.ceil(low / step - 1e-9)
        # + 0.0: a tick of -0.0 would be written -0.
        return [round(number * step, 10) + 0.0 for number in range(first, math.floor(high / step + 1e-9) + 1)]

    def written(self, value: float) -> str:
        """Return a value as the axis writes it."""
        if self.names:
            place = round(value)
            return self.names[place] if 0 <= place < len(self.names) else ""
        return f"{100 * value:g}%" if self.unit == "%" else f"{value:g}"


def ends_of(number: Number) -> tuple[float, ...]:
    """Return a value and the ends of its interval, as far as they are known."""
    ends = (number.value, number.low, number.high) if isinstance(number, Estimate) else (number,)
    return tuple(end for end in ends if not math.isnan(end))


def value_of(number: Number) -> float:
    """Return the value without its interval."""
    return number.value if isinstance(number, Estimate) else number


@dataclass(frozen=True, slots=True)
class Dot:
    """A value at its place, with its interval along each axis on which it is an estimate."""

    x: Number
    y: Number
    tone: Tone = 0
    label: str = ""
    link: str = ""
    hollow: bool = False
    small: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points: `filled` down to the axis, `closed` to a polygon, `dashed`."""

    points: Sequence[Point]
    tone: Tone = 0
    label: str = ""
    filled: bool = False
    closed: bool = False
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Area:
    """The area between two lines, such as the ends of intervals: x, low and high of each place."""

    points: Sequence[tuple[float, float, float]]
    tone: Tone = 0
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar over a part of the x axis and a part of the y axis; one without `strength` is only a place to choose."""

    x: Point
    y: Point
    tone: Tone = 0
    label: str = ""
    text: str = ""
    link: str = ""
    strength: float = 1.0


@dataclass(frozen=True, slots=True)
class Square:
    """One of many equal squares, in rows; each may open its case."""

    tone: Tone
    link: str = ""


@dataclass(frozen=True, slots=True)
class Heat:
    """A cell of a map of names by names, coloured by its value around 0; NaN is a cell that was not asked."""

    x: int
    y: int
    value: float


@dataclass(frozen=True, slots=True)
class Rule:
    """A value to compare with, as a line across the panel: where no effect is, a limit, or the diagonal."""

    at: float = 0.0
    along: Literal["x", "y", "diagonal"] = "x"
    label: str = ""


@dataclass(frozen=True, slots=True)
class Cloud:
    """Thousands of points of one tone, too many for dots with intervals, labels or links."""

    points: Sequence[Point]
    tone: Tone = 0


@dataclass(frozen=True, slots=True)
class Note:
    """Words beside a place; drawn where they hide nothing, so the important ones come first."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Bracket:
    """A bracket beside the panel that joins places of the y axis; `column` is how many others lie before it."""

    places: Sequence[float]
    column: int = 0


Mark = Dot | Line | Area | Bar | Square | Heat | Rule | Cloud | Note | Bracket
M = TypeVar("M", bound=Mark)


@dataclass(frozen=True, slots=True)
class Panel:
    """Marks on two axes. A `polar` panel has the names of its x axis around it.

    `height` is in widths of the panel; one with names on the y axis is as high as its names need, and `spacing` is how
    far apart they are, in rows of text. `colours` says what those of a map stand for. `legend` is of this panel alone.
    """

    marks: Sequence[Mark]
    x: Axis = Axis()
    y: Axis = Axis()
    title: str = ""
    polar: bool = False
    height: float = 0.5
    spacing: float = 1.0
    colours: str = ""
    legend: Sequence[Key] = ()

    def name_of(self, label: str, x: Number, y: Number) -> str:
        """Return what a mark is called: its label, and the names at its place that the label leaves out."""
        names = [axis.written(value_of(at)) for axis, at in ((self.x, x), (self.y, y)) if axis.names]
        return " · ".join(filter(None, [label, *(name for name in names if name not in label)]))

    def marks_of(self, kind: type[M]) -> Iterator[M]:
        """Yield the marks of one kind."""
        return (mark for mark in self.marks if isinstance(mark, kind))


@dataclass(frozen=True, slots=True)
class Key:
    """A line of a legend."""

    label: str
    tone: Tone
    dashed: bool = False
    link: str = ""

    @classmethod
    def each(cls, names: Iterable[str]) -> list[Key]:
        """Return a line for each name, with the tones of a series in turn."""
        return [cls(name, number) for number, name in enumerate(names)]


@dataclass(frozen=True, slots=True)
class Chart:
    """Panels with a title, a legend and a caption. A chart with a `topic`, such as "scale", is published.

    Panels are side by side with common names ("beside"), one under another with a common x axis ("stacked"), or
    independent and equally large ("multiples"). `about` says of what it is: dataset, task, type and so on. `data` is
    its table; without it the table lists the marks.
    """

    title: str
    panels: Sequence[Panel]
    topic: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    legend: Sequence[Key] = ()
    caption: str = ""
    layout: Literal["beside", "stacked", "multiples"] = "stacked"
    data: Table | None = None

    @property
    def name(self) -> str:
        """The name of its file; "" where it is not published."""
        return name_of(self.topic, self.about)

    def table(self) -> Table:
        """Return what the chart shows as a table: for those who cannot see it, and for copying."""
        return self.data or listed(self)


def listed(chart: Chart) -> Table:
    """Return the marks of a chart as rows: dots and labelled bars with their values, and the points of bare lines.

    The table of a map has its rows and columns.
    """
    several = len(chart.panels) > 1
    first = chart.panels[0]
    heats = {(heat.y, heat.x): heat.value for heat in first.marks_of(Heat)}
    if heats:
        heads = [Column(first.y.label, words=True), *map(Column, first.x.names)]
        named = [(name, *(heats.get((y, x)) for x in range(len(heads) - 1))) for y, name in enumerate(first.y.names)]
        return Table(chart.title, heads, [Row(cells) for cells in named])
    # What an axis has names for is told by the first column.
    numbered = [name for name in ("x", "y") if not all(getattr(panel, name).names for panel in chart.panels)]
    titles = {name: {getattr(panel, name).label for panel in chart.panels} for name in numbered}
    columns = [Column("panel", words=True)] * several + [Column("", words=True)]
    columns += [Column(min(labels) or name if len(labels) == 1 else "value") for name, labels in titles.items()]
    rows = []
    for panel in chart.panels:
        has_dots = any(True for _ in panel.marks_of(Dot))
        for mark in panel.marks:
            for label, x, y in _values(mark, lines=not has_dots):
                places = {"x": (x, panel.x), "y": (y, panel.y)}
                cells = [None if axis.names else at for name, (at, axis) in places.items() if name in numbered]
                rows.append(Row((*[panel.title or panel.x.label] * several, panel.name_of(label, x, y), *cells)))
    return Table(chart.title, columns, rows)


def _values(mark: Mark, *, lines: bool) -> Iterator[tuple[str, Number, Number]]:
    match mark:
        case Dot(x=x, y=y, label=label):
            yield label, x, y
        case Bar(x=x, y=y, label=label, strength=strength) if strength:
            yield label, x[1], y[1]
        case Line(points=points, label=label) if lines and label:
            yield from ((label, x, y) for x, y in points)
