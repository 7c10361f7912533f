"""What a person is shown, apart from how: findings, tables, charts, and the sections that hold them.

A topic makes these from a run; a medium draws them. Neither knows the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar
from urllib.parse import quote

from . import Better, Estimate, Measurement

State = Literal["found", "fine", "doubt", "invalid", "note"]
"""Of a finding: something was found; a check is fine, in doubt, or makes the rest meaningless; or a remark."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim in one sentence, and the measurements (rows of `measurements.csv`) that it rests on.

    `topic` says what it is about, `kind` which type of items it speaks of ("" for all). A check has a `name` and a
    `short` value for a strip of checks. `beside` is said with every claim that a doubt qualifies. `example` is the
    address of a case that shows it.
    """

    text: str
    rests_on: Sequence[Measurement] = ()
    topic: str = ""
    kind: str = ""
    state: State = "found"
    name: str = ""
    short: str = ""
    beside: str = ""
    example: str = ""

    def __str__(self) -> str:
        return self.text

    @property
    def estimate(self) -> Estimate | None:
        """The value that the claim is about, with its interval, n and p; None for a claim without a number."""
        return self.rests_on[0].estimate if self.rests_on else None


@dataclass(frozen=True, slots=True)
class Cell:
    """A table's cell that needs more than its content: emphasis, a link, what a pointer says, or words around it."""

    content: Content
    strong: bool = False
    code: bool = False
    link: str = ""
    hint: str = ""
    before: str = ""
    after: str = ""


Content = str | int | float | Estimate | Measurement | Cell | None
"""What a cell holds; None is a dash."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: `spare` ones are left out where there is no room, `words` are set to the left.

    Numbers have a number of `digits`, or are written in a `form` as in f-strings, such as "+.3f" or ".1%". `hint` says
    more about the title; `filters` are what a column can be chosen by.
    """

    title: str
    better: Better = "neither"
    words: bool = False
    spare: bool = False
    code: bool = False
    digits: int = 3
    form: str = ""
    hint: str = ""
    link: str = ""
    filters: Mapping[str, str] = field(default_factory=dict)

    @property
    def written(self) -> str:
        """How a number of the column is formatted."""
        return self.form or f".{self.digits}f"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table; `bounds` is the whole range of its values, where a medium may draw them upon it.

    A `heading` has one cell, which is over the rows that follow.
    """

    cells: Sequence[Content]
    bounds: tuple[float, float] | None = None
    better: Better = "neither"
    heading: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows. A table with a `topic` is published, under a name that says what it is `about`.

    Of a long table the first `shown` rows are shown, the others can be unfolded (`more` says what they are). `facts`
    are names with their values, without headings. A `sortable` table can be sorted by the reader. `choices` are tables
    like it on other pages, by what they differ in: names with links, that of this table strong.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    topic: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    shown: int | None = None
    more: str = "more rows"
    facts: bool = False
    sortable: bool = False
    choices: Mapping[str, Sequence[Cell]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in self.rows:
            if not row.heading and len(row.cells) != len(self.columns):
                raise ValueError(f"table {self.title!r}: {len(row.cells)} cells in {len(self.columns)} columns")

    @property
    def name(self) -> str:
        """The name of its file; "" where it is not published."""
        return _name(self.topic, self.about)

    @property
    def filters(self) -> dict[str, list[str]]:
        """What its columns can be chosen by, with the values of each; one that all columns share leaves nothing out."""
        names = dict.fromkeys(name for column in self.columns for name in column.filters)
        values = {name: dict.fromkeys(c.filters[name] for c in self.columns if name in c.filters) for name in names}
        return {name: list(several) for name, several in values.items() if len(several) > 1}

    @classmethod
    def of_facts(cls, title: str, facts: Iterable[tuple[str, Content]]) -> Table:
        """Return the facts that are known, each with its name."""
        rows = [Row((name, value)) for name, value in facts if value not in (None, "")]
        return cls(title, (Column("fact", words=True), Column("value", words=True)), rows, facts=True)

    def picked(self, places: Sequence[int]) -> Table:
        """Return the table with some of its columns."""
        columns = [self.columns[place] for place in places]
        rows = [row if row.heading else replace(row, cells=[row.cells[at] for at in places]) for row in self.rows]
        return replace(self, columns=columns, rows=rows)


def _name(topic: str, about: Mapping[str, str]) -> str:
    return "-".join([topic, *filter(None, about.values())]) if topic else ""


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


Mark = Dot | Line | Area | Bar | Square | Heat | Rule | Cloud | Note
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
        return _name(self.topic, self.about)

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


Shown = Finding | Table | Chart
"""The three nouns of showing."""
S = TypeVar("S", bound=Shown)


@dataclass(frozen=True, slots=True)
class Section:
    """What is shown under one heading: an introduction, then findings, tables, charts and sections of its own.

    `id` is its name in links, `link` where its title leads. `label` is what a navigation calls it. A `folded` one is
    opened by the reader. `layout` says how a page may place its content: side by side ("first"), or before the browser
    of all cases.
    """

    title: str
    shown: Sequence[Shown | Section] = ()
    id: str = ""
    label: str = ""
    intro: str = ""
    link: str = ""
    folded: bool = False
    layout: Literal["flow", "first", "cases"] = "flow"

    def every(self, kind: type[S]) -> Iterator[S]:
        """Yield all findings, tables or charts of the section and of its sections, in order."""
        for entry in self.shown:
            if isinstance(entry, Section):
                yield from entry.every(kind)
            elif isinstance(entry, kind):
                yield entry


def every(sections: Iterable[Section], kind: type[S]) -> Iterator[S]:
    """Yield all findings, tables or charts of the sections, in order."""
    for section in sections:
        yield from section.every(kind)


def case_link(set_id: str, part: str, variant: str = "") -> str:
    """Return the address of a case on a run's page."""
    return "#case=" + ",".join(quote(word, safe="") for word in (set_id, part, variant)).rstrip(",")


def cases_link(**filters: str) -> str:
    """Return the address of a run's cases with these filters."""
    return "#filter=" + ",".join(f"{key}:{quote(value, safe='')}" for key, value in filters.items() if value)
