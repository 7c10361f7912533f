"""Tables: typed columns and rows, without how they are laid out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .. import Better, Estimate, Measurement


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
    """A row of a table; `bounds` is the whole range of its values, where a medium may draw them on it.

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

    def rest(self, count: int) -> str:
        """Return that many folded rows in words: "1 more metric", "3 more metrics over groups"."""
        more, noun, *others = self.more.split()
        return " ".join([str(count), more, noun.removesuffix("s") if count == 1 else noun, *others])

    def __post_init__(self) -> None:
        for row in self.rows:
            if not row.heading and len(row.cells) != len(self.columns):
                raise ValueError(f"table {self.title!r}: {len(row.cells)} cells in {len(self.columns)} columns")

    @property
    def name(self) -> str:
        """The name of its file; "" where it is not published."""
        return name_of(self.topic, self.about)

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


def name_of(topic: str, about: Mapping[str, str]) -> str:
    """Return the name of a table's or chart's file: its topic, and what it is about."""
    return "-".join([topic, *filter(None, about.values())]) if topic else ""
