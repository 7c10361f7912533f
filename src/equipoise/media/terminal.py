"""What a terminal shows. Every name is printed as it is: none is ever read as markup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich import table as rich_table
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from ..records.scripts import printable
from ..records.showing import Axis, Bar, Chart, Dot, Finding, Panel, Section, Shown, Table, ends_of, value_of
from .cells import NOTHING, PlainTable, StrongText, plain

TRACK = 32
"""Letters of a line that a chart draws values on."""
NAME = 12
"""Letters that a folded name needs at least."""


def text_of(renderable: RenderableType, *, width: int | None = None) -> str:
    """Return the text that a terminal would show, for what is none; it is as wide as COLUMNS says without a width."""
    console = Console(highlight=False, width=width, color_system=None, force_jupyter=False)
    with console.capture() as captured:
        console.print(renderable)
    # Tables fill their last column with blanks, which a file does not need.
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def draw(shown: Shown | Section, *, every: bool = True) -> RenderableType:
    """Return what a terminal shows of a finding, table, chart or section; `every`: folded rows and sections, too."""
    if isinstance(shown, Finding):
        return listed([shown])
    if isinstance(shown, Table):
        table = plain(shown, every=every)
        hidden = len(shown.rows) - len(table.rows)
        is_one = hidden == 1
        places = (
            f"in measurements.csv and on the page; `equipoise report RUN --all` prints {'it' if is_one else 'them'}."
        )
        folded = [f"{shown.rest(hidden)} {'is' if is_one else 'are'} {places}"] if hidden else []
        if not table.rows:
            return Group(*_notes(folded))
        return Group(*_titled(shown.title), Fitted(table), *_notes([*folded, *shown.notes]))
    if isinstance(shown, Chart):
        return chart(shown)
    return sections([shown], every=every)


def sections(several: Iterable[Section], *, every: bool = True, charts: bool = False) -> RenderableType:
    """Return sections one under another: findings as lists, and tables; charts only where they are wanted."""
    return Group(*(block for section in several for block in _section(section, every=every, charts=charts)))


def _section(section: Section, *, every: bool, charts: bool) -> Iterator[RenderableType]:
    if section.folded and not every:
        return
    blocks = list(_blocks(section, every=every, charts=charts))
    if section.title and blocks:  # one of charts alone would be a title above nothing
        yield from (Text(printable(section.title), style="bold"), *blocks, Text())
    else:
        yield from blocks


def _blocks(section: Section, *, every: bool, charts: bool) -> Iterator[RenderableType]:
    findings: list[Finding] = []
    for entry in section.shown:
        if isinstance(entry, Finding):
            findings.append(entry)
            continue
        if findings:
            yield listed(findings)
            findings = []
        if isinstance(entry, Section):
            yield from _section(entry, every=every, charts=charts)
        elif isinstance(entry, Table):
            yield from (Text(), draw(entry, every=every))
        elif charts and isinstance(entry, Chart):
            yield from (Text(), chart(entry))
    if findings:
        yield listed(findings)


def listed(findings: Sequence[Finding]) -> RenderableType:
    """Return findings as a list, a verdict above them; checks are on one line."""
    verdicts = [Text(printable(finding.text), style="bold") for finding in findings if finding.topic == "verdict"]
    lines = rich_table.Table.grid(padding=(0, 1))
    for finding in findings:
        if not finding.short and finding.state != "note" and finding.topic != "verdict":
            lines.add_row(Text("-"), Text(printable(finding.text)))
    checks = [f"{finding.name} {finding.short}" for finding in findings if finding.short]
    strip = [Text(printable("checks: " + "; ".join(checks)), style="dim")] if checks else []
    notes = _notes([finding.text for finding in findings if finding.state == "note"])
    return Group(*verdicts, *([lines] if lines.row_count else []), *strip, *notes)


def _titled(title: str) -> list[Text]:
    return [Text(printable(title), style="bold")] if title else []


def _notes(notes: Sequence[str]) -> list[Text]:
    return [Text(printable(note), style="dim") for note in notes]


@dataclass(frozen=True)
class Fitted:
    """A table that is no wider than the terminal: without spare columns, or its numbers a few columns at a time.

    Where that does not help, and where words alone are too wide, it becomes a list with a heading for each row.
    A `drawing` never does: its places would be lost.
    """

    table: PlainTable
    drawing: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        if all(column.words for column in self.table.columns) and _width(self.table) > options.max_width:
            yield _as_list(self.table)
            return
        layouts = list(_layouts(self.table))
        fitting = (layout for layout in layouts if all(_width(table) <= options.max_width for table in layout))
        layout = next(fitting, layouts[-1])
        if not self.drawing and any(_width(table, first=NAME) > options.max_width for table in layout):
            yield _as_list(self.table)
            return
        for number, table in enumerate(layout):
            if number:
                yield Text()
            yield _drawn(table)


def _as_list(table: PlainTable) -> rich_table.Table:
    lines = rich_table.Table.grid()
    for first, *cells in table.rows:
        # The heading of several rows has no other cell.
        named = [(column.title, cell) for column, cell in zip(table.columns[1:], cells, strict=bool(cells))]
        named = [(title, cell) for title, cell in named if cell not in ("", NOTHING)]
        whole = [cell for title, cell in named if not title or title.startswith("what")]
        facts = [*whole, *(f"{title}: {cell}" for title, cell in named if title and not title.startswith("what"))]
        lines.add_row(Text(printable(first), style="bold"))
        if facts:
            lines.add_row(Padding(Text(printable("; ".join(facts))), (0, 0, 0, 4)))
    return lines


def _layouts(table: PlainTable) -> Iterator[list[PlainTable]]:
    """Yield ways to lay a table out, the widest first."""
    places = range(len(table.columns))
    yield [table]
    needed = [place for place in places if not table.columns[place].spare]
    words = [place for place in needed if table.columns[place].words]
    shared = [place for place in needed if table.columns[place].shared]
    numbers = [place for place in needed if not table.columns[place].words and place not in shared]
    # A count belongs to the value before it.
    blocks: list[list[int]] = []
    for place in numbers:
        if table.columns[place].title == "n" and blocks:
            blocks[-1].append(place)
        else:
            blocks.append([place])
    for size in range(len(blocks), 0, -1):
        groups = [blocks[at : at + size] for at in range(0, len(blocks), size)]
        picked = [sorted([*shared, *(place for block in group for place in block)]) for group in groups]
        yield [table.picked([*words, *places]) for places in picked]


def _width(table: PlainTable, *, first: int | None = None) -> int:
    """Return how wide a table is, its first column at most that wide: names are folded, other columns are not."""
    rows = [[column.title for column in table.columns], *(row for row in table.rows if len(row) > 1)]
    widths = [max(cell_len(row[place]) for row in rows) + 2 for place in range(len(table.columns))]
    return sum([min(widths[0], (first or widths[0]) + 2), *widths[1:]]) - 2


def _drawn(table: PlainTable) -> rich_table.Table:
    drawn = rich_table.Table(box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(table.columns):
        folds = column.words and (number == 0 or column.spare)
        style = "dim" if column.spare else ""
        justify: Literal["left", "right"] = "left" if column.words else "right"
        drawn.add_column(
            Text(printable(column.title)), justify=justify, no_wrap=not folds, overflow="fold", style=style
        )
    for row in table.rows:
        drawn.add_row(*(Text(printable(cell), "bold" if isinstance(cell, StrongText) else "") for cell in row))
    return drawn


def chart(shown: Chart) -> RenderableType:
    """Return a chart of named rows drawn with letters; of any other, its table."""
    if not all(panel.y.names and not panel.polar for panel in shown.panels):
        return draw(shown.table())
    blocks: list[RenderableType] = [*_titled(shown.title)]
    for panel in shown.panels:
        blocks += [*_titled(panel.title), Fitted(_rows(panel), drawing=True)]
    return Group(*blocks, *_notes([shown.caption] if shown.caption else []))


def _rows(panel: Panel) -> PlainTable:
    rows = []
    for number, name in enumerate(panel.y.names):
        for mark in panel.marks:
            if isinstance(mark, Dot) and round(value_of(mark.y)) == number:
                rows.append([name, _track(panel.x, ends_of(mark.x)), f"{mark.x:.3f}"])
            elif isinstance(mark, Bar) and mark.strength and round(sum(mark.y) / 2) == number:
                full = round(TRACK * (panel.x.share(mark.x[1]) - panel.x.share(mark.x[0])))
                size = mark.x[1] - mark.x[0]
                value = f"{size:.1%}" if panel.x.unit == "%" else panel.x.written(round(size, 3))
                rows.append([name, "█" * full, value])
    titles = (("", True), (panel.x.label, True), ("value", False))
    from .cells import PlainColumn

    return PlainTable("", [PlainColumn(title, words) for title, words in titles], rows)


def _track(axis: Axis, ends: Sequence[float]) -> str:
    """Return a value and its interval on a line: ──●── from one end to the other."""
    places = [round((TRACK - 1) * axis.share(end)) for end in ends]
    letters = [" "] * TRACK
    letters[min(places) : max(places) + 1] = ["─"] * (max(places) - min(places) + 1)
    letters[places[0]] = "●"
    return "".join(letters)
