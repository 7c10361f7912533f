"""The viewer's own pages, drawn from templates in `web/`; everything that a run says is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from .. import __version__, packaged
from ..media.page.charts import glyph
from ..media.page.html import SORTING, code_of, script_hash, style
from ..records import Estimate
from ..report import RUN_SCRIPTS
from ..runs.measurements import kind_title
from .index import DAMAGED, FINISHED, LISTED, RUNNING, STOPPED, Entry, ListedPart

BOUNDS = (0.0, 1.0)
"""Of the list's axes: the same for all runs, so that dots can be compared."""

MOST_ROWS = 100
"""Rows of the list that are drawn before a reader asks for all; search and filters look through all of them."""

TITLES = {"flip_rate": "Flip rate", "ucerf": "UCerF"}
HINTS = {
    "flip_rate": "Share of sets whose answer changes with the group word; lower is better.",
    "ucerf": "How alike the groups are treated, by the certainty of the answers; higher is better.",
}
STATES = {FINISHED: "", RUNNING: "running", STOPPED: "stopped", DAMAGED: "damaged"}

TRUSTED = tuple(script_hash(code_of(scripts)) for scripts in (RUN_SCRIPTS, (*RUN_SCRIPTS, *SORTING)))
"""What may run on a run's page: exactly the scripts that a page of this version has."""

MADE_SCRIPTS = tuple(script_hash(code_of(scripts)) for scripts in (("page.js",), ("page.js", *SORTING)))
"""What may run on a page of a comparison or a history."""


def style_file() -> str:
    """Return the style sheet of the viewer: that of all pages, and what lists and boxes need."""
    return f"{style()}\n{_web_file('view.css')}"


def script_file() -> str:
    """Return the script of the viewer: the theme and sorting of all pages, and what is live."""
    return "\n".join([code_of(("page.js", *SORTING)), _web_file("view.js"), _web_file("ask.js")])


def is_ours(page: bytes) -> bool:
    """Return whether a stored page has exactly the script of this version: any other would not be run."""
    scripts = page.rpartition(b"<script>")[2].partition(b"</script>")[0]
    return script_hash(scripts.decode("utf-8", "replace")) in TRUSTED


def with_bar(page: str | bytes, links: Sequence[tuple[str, str]]) -> bytes:
    """Return a page of media/ with a line of links to the viewer's other pages above its own."""
    content = page.encode("utf-8", "replace") if isinstance(page, str) else page
    bar = _environment().get_template("bar.html").render(links=links).encode()
    at = content.find(b'<div class="bar">')
    at = at if at >= 0 else content.find(b"<body>") + len(b"<body>")
    return content[:at] + bar + content[at:]


def list_page(entries: Iterable[Entry], **more: Any) -> str:
    """Return the list of runs."""
    return drawn_page("list.html", "Runs", entries=list(entries), **more)


def going_page(entry: Entry, seen: int) -> str:
    """Return the page of a run that is not finished: how far it is, and what it says so far."""
    more = {"kicker": entry.place, "seen": seen, "only": entry.slug}
    return drawn_page("going.html", entry.model, entry=entry, entries=[entry], **more)


def rows_of(entry: Entry) -> str:
    """Return the rows of the list that belong to one run."""
    macros: Any = _environment().get_template("rows.html").make_module()
    return str(macros.rows_of(entry))


def message_page(title: str, text: str, *, refresh: int = 0, **more: Any) -> str:
    """Return a page with one sentence; it is asked for again after some seconds where that helps."""
    return drawn_page("message.html", title, text=text, refresh=refresh, **more)


def drawn_page(template: str, title: str, **more: Any) -> str:
    """Return a page of the viewer from one of its templates."""
    return _environment().get_template(template).render(title=title, version=__version__, **more)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("equipoise.view", "web"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    made.globals.update(
        most=MOST_ROWS, listed=LISTED, titles=TITLES, hints=HINTS, states=STATES, dots=_dots, first_value=_first_value
    )
    made.globals.update(kind_of=_kind, search_text=_search_text, address=address)
    return made


def address(page: str, *pairs: tuple[str, str], **fields: str) -> str:
    """Return the address of a page with these fields; empty ones are left out."""
    given = [(name, value) for name, value in (*pairs, *fields.items()) if value]
    return f"{page}?{urlencode(given)}" if given else page


def _web_file(name: str) -> str:
    return packaged.text(__package__, "web", name).strip()


def _dots(part: ListedPart, metric: str) -> list[tuple[str, Estimate, Markup]]:
    """Return the type, the estimate and its drawing for each type of a part."""
    several = part.metrics.get(metric, {})
    return [(_kind(kind), estimate, glyph(estimate, BOUNDS)) for kind, estimate in several.items()]


def _kind(kind: str) -> str:
    return kind_title(kind).partition(" (")[0] if kind else ""


def _first_value(part: ListedPart, metric: str) -> str:
    return next((f"{estimate.value:.6f}" for estimate in part.metrics.get(metric, {}).values()), "")


def _search_text(entry: Entry, part: ListedPart | None) -> str:
    """Return what a search in the list looks through."""
    words = [entry.model, entry.place, entry.note]
    words += [part.dataset, part.task, part.sentence] if part else []
    return " ".join(words).lower()
