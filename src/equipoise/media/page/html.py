"""A page as one file: nothing is fetched when it is opened, and no text of a run can become code."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from ... import __version__, cores
from ...records import Estimate
from ...records.showing import Cell, Chart, Column, Content, Finding, Heat, Panel, Section, Shown, Table
from ..cells import ARROWS, counts_of, estimate_of, plain, shares_counts, words
from ..layout import is_of
from ..palette import style_sheet
from .charts import glyph, svg, swatch
from .elements import web_file

SORTING = ("tables.js",)
"""The scripts of a page with a table that can be sorted."""

LEFT_OUT = (
    "On paper this report keeps to few pages. Left out: all but four cases, what is folded on the page (further"
    " metrics, data tables, settings), the worst cases of further datasets and tasks, and all but the first charts of a"
    " kind and the first five of the sets that carry the result. All of it is in report.html of the run, opened in a"
    " browser; every number is in measurements.csv."
)
"""What a print of a run's page leaves out; `@media print` in page.css does it."""


@dataclass(frozen=True)
class Head:
    """What is at the top of a page: its title, what it is, facts with their names, and the pages above it.

    `tab` is what a browser calls the page where that is not what it is with its title.
    """

    title: str
    kicker: str = ""
    facts: Sequence[tuple[str, str]] = ()
    crumbs: Sequence[tuple[str, str]] = ()
    tab: str = ""


Maker = Callable[[], Section | None]
"""Makes a section of a page; None where there is nothing to show."""


class Drawn(NamedTuple):
    """A section as it is drawn on a page, and what the rest of the page says of it."""

    id: str
    title: str
    label: str
    layout: str
    body: Markup
    is_sortable: bool


def page(
    head: Head,
    sections: Iterable[Section | Maker],
    *,
    scripts: Sequence[str] = ("page.js",),
    cases: Sequence[Callable[[], str]] = (),
    shared: Callable[[], object] | None = None,
    left_out: str = "",
) -> str:
    """Return a whole page; the browser is told to run these scripts and no others, and to fetch nothing.

    `cases` pack the cases of a run. `shared` computes what the sections share: with it they and the cases are made on
    all cores. `left_out` is printed on paper only: what is not there, and where it is.
    """
    _macros()  # read before the work is shared out, once for all cores
    if shared is None:
        made, packed = list(map(_drawn, sections)), [pack() for pack in cases]
    else:
        with ExitStack() as begun:
            packing = [begun.enter_context(cores.aside(pack)) for pack in cases]  # they take longest
            shared()
            made, packed = cores.shared_out(_drawn, list(sections)), [packed() for packed in packing]
    drawn = [section for section in made if section is not None]
    code = code_of((*scripts, *(SORTING if any(section.is_sortable for section in drawn) else ())))
    return (
        _environment()
        .get_template("page.html")
        .render(
            title=head.tab or f"{head.kicker} {head.title}".strip(),
            heading=head.title,
            kicker=head.kicker,
            facts=head.facts,
            crumbs=head.crumbs,
            sections=drawn,
            style=Markup(style()),
            # The hash is of the text between the tags, to the byte.
            script=Markup(code),
            script_hash=script_hash(code),
            cases="\n".join(packed),
            left_out=left_out,
            version=__version__,
        )
    )


def _drawn(made: Section | Maker) -> Drawn | None:
    """Return a section as it is on a page, made first where it is not."""
    section = made if isinstance(made, Section) else made()
    if section is None:
        return None
    is_sortable = any(table.sortable for table in section.every(Table))
    return Drawn(section.id, section.title, section.label, section.layout, _body(section, 3), is_sortable)


def code_of(scripts: Sequence[str]) -> str:
    """Return the code of a page with these scripts."""
    return "\n".join(web_file(name) for name in scripts)


def script_hash(code: str) -> str:
    """Return what a content policy calls a script by."""
    return base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()


def style() -> str:
    """Return the style sheet of every page."""
    return web_file("page.css") + "\n" + style_sheet()


def draw(shown: Shown | Section, level: int = 3) -> Markup:
    """Return a finding, table, chart or section as HTML."""
    return _body(Section("", [shown]), level)


def _body(section: Section, level: int) -> Markup:
    """Return all of a section but its title."""
    return Markup(_macros().body_of(section, level))


def _macros() -> Any:
    """Return what draws the things that a section shows."""
    return _environment().get_template("shown.html").module


@cache
def _environment() -> Environment:
    """Return what renders the templates in `web/`: everything is escaped."""
    made = Environment(
        loader=PackageLoader("equipoise.media.page", "web"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    made.globals.update(alike=alike, arrows=ARROWS, estimate_of=estimate_of, glyph=glyph, inner=_inner)
    made.globals.update(
        interval=_interval, is_crowded=_is_crowded, is_map=_is_map, number=_number, only=_only, plain=plain
    )
    made.globals.update(counts_of=counts_of, shares_counts=shares_counts)
    made.filters["coded"] = _coded
    made.globals.update(sort_value=_sort_value, svg=svg, swatch=swatch, words=words)
    return made


def alike(shown: Iterable[Shown | Section]) -> list[tuple[str, list[Shown | Section]]]:
    """Return what is shown in runs of one kind: findings, charts side by side, facts, tables and sections."""
    return [(kind, list(run)) for kind, run in groupby(shown, key=_kind)]


def _kind(shown: Shown | Section) -> str:
    if isinstance(shown, Finding):
        return "note" if shown.state == "note" else "finding"
    if isinstance(shown, Chart):
        return "several" if shown.layout == "multiples" or _is_map(shown) else "chart"
    if isinstance(shown, Table):
        return "facts" if shown.facts else "table"
    return "section"


def _is_map(chart: Chart) -> bool:
    return any(is_of(panel, Heat) for panel in chart.panels)


def _is_crowded(table: Table) -> bool:
    """Return whether values and their intervals have no room side by side: a row has more than three."""
    return any(sum(estimate_of(cell) is not None for cell in row.cells) > 3 for row in table.rows)


def _only(chart: Chart, panel: Panel) -> Chart:
    """Return one panel of a chart as a chart of its own."""
    return replace(chart, panels=[panel], legend=(), title=f"{chart.title}: {panel.title}", caption="")


def _inner(cell: Content) -> Content:
    return cell.content if isinstance(cell, Cell) else cell


def _number(estimate: Estimate, form: str) -> str:
    return format(estimate, form).partition("[")[0].rstrip()


def _interval(estimate: Estimate, form: str) -> str:
    return "[" + format(estimate, form).partition("[")[2]


def _coded(text: Markup) -> Markup:
    """Return escaped text in which what is between backticks is code."""
    # A plain str: re.sub would join the parts of Markup by its own join, which escapes them once more.
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(text)))


def _sort_value(cell: Content, column: Column) -> str:
    """Return what a column is sorted by, "" for a cell that comes last: one without a number in a column of numbers."""
    content = getattr(estimate_of(cell), "value", _inner(cell))
    if isinstance(content, str):
        return content if column.words else ""
    return "" if content is None or content != content else str(content)
