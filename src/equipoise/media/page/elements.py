"""The elements of a page's drawings: all text is escaped, and colours are classes, so that the page's theme decides."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

from ... import packaged
from ...records.showing import Point, Tone
from ..palette import class_of, shape_of

EM = 12.0
"""Size of a letter, in units of the drawing."""


def web_file(name: str) -> str:
    """Return a file of `web/`: what pages and pictures need beside their content."""
    return packaged.text(__package__, "web", name).strip()


def element(name: str, *children: str | Markup, **attributes: object) -> Markup:
    """Return an element; `class_` is written class, `_` in a name `-`, and an attribute of None is left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = Markup("").join(escape(child) for child in children)
    return Markup(f"<{name}{written}>{inside}</{name}>" if inside else f"<{name}{written}/>")


def _number(value: object) -> object:
    """Return a number to a tenth of a unit: nobody sees more, and the page stays small."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value


def text(x: float, y: float, content: str, anchor: str = "start", class_: str = "tick", **more: object) -> Markup:
    """Return a line of text."""
    named = None if anchor == "start" else anchor
    return element("text", content, x=EM * x, y=EM * y, text_anchor=named, class_=class_, **more)


def line(start: Point, end: Point, class_: str) -> Markup:
    """Return a straight line."""
    (x1, y1), (x2, y2) = start, end
    return element("line", x1=EM * x1, y1=EM * y1, x2=EM * x2, y2=EM * y2, class_=class_)


def path(points: Iterable[Point], *, closed: bool = False) -> str:
    """Return the steps of a path through the points."""
    steps = " ".join(f"{'L' if number else 'M'}{EM * x:.1f} {EM * y:.1f}" for number, (x, y) in enumerate(points))
    return steps + ("Z" if closed else "")


def group(children: Iterable[Markup], hint: str = "", link: str = "") -> Markup:
    """Return marks as one, with what a pointer says and where a click leads."""
    inside = [*([element("title", hint)] if hint else []), *children]
    return element("a", *inside, href=link) if link else element("g", *inside)


def shape(at: Point, tone: Tone, *, size: float = 0.33, hollow: bool = False) -> Markup:
    """Return the mark of a tone: a circle, diamond, square or triangle, so that colour is never the only sign."""
    (x, y), kind = at, shape_of(tone) % 4
    class_ = f"{'hollow' if hollow else 'mark'} {class_of(tone)}"
    if kind == 0:
        return element("circle", cx=EM * x, cy=EM * y, r=EM * size, class_=class_)
    reach = size * (1.3, 0.9, 1.25)[kind - 1]
    corners = (
        [(x, y - reach), (x + reach, y), (x, y + reach), (x - reach, y)],
        [(x - reach, y - reach), (x + reach, y - reach), (x + reach, y + reach), (x - reach, y + reach)],
        [(x, y - reach), (x + reach, y + reach), (x - reach, y + reach)],
    )[kind - 1]
    return element("path", d=path(corners, closed=True), class_=class_)
