"""SVG by hand: elements, axes and marks. All text is escaped; colours are classes, so that the page's theme decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

from ...records import Floats
from ..palette import Named, class_of, tone_of

WIDTH = 440.0
"""Of every chart, in its own units: text is readable on a phone, and two fit side by side on a laptop."""


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
    """Return a number to a hundredth of a unit: nobody sees more, and the page stays small."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def group(children: Iterable[Markup], **attributes: object) -> Markup:
    """Return the elements as one group."""
    return element("g", *children, **attributes)


def text(x: float, y: float, content: str, *, anchor: str = "start", class_: str = "", **more: object) -> Markup:
    """Return a line of text; it is escaped like all text."""
    return element("text", content, x=x, y=y, text_anchor=anchor, class_=class_ or None, **more)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """Return a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def path(points: Iterable[tuple[float, float]], class_: str, *, closed: bool = False) -> Markup:
    """Return a line through the points, or the area they enclose."""
    steps = " ".join(f"{'L' if number else 'M'}{x:.1f} {y:.1f}" for number, (x, y) in enumerate(points))
    return element("path", d=steps + ("Z" if closed else ""), class_=class_)


def mark(x: float, y: float, tone: Named, *, size: float = 4.0) -> Markup:
    """Return the mark of a tone: a circle, diamond, square, triangle … so that colour is never the only sign."""
    shape = tone_of(tone).shape % 4
    class_ = f"mark {class_of(tone)}"
    if shape == 0:
        return element("circle", cx=x, cy=y, r=size, class_=class_)
    if shape == 1:
        reach = size * 1.3
        return path([(x, y - reach), (x + reach, y), (x, y + reach), (x - reach, y)], class_, closed=True)
    if shape == 2:
        return element("rect", x=x - size, y=y - size, width=2 * size, height=2 * size, class_=class_)
    reach = size * 1.25
    return path([(x, y - reach), (x + reach, y + reach), (x - reach, y + reach)], class_, closed=True)


@dataclass(frozen=True)
class Axis:
    """A linear scale from values to places."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a value, kept within the axis."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        """Return about this number of round values along the axis."""
        raw = (self.high - self.low) / max(count, 1)
        size = 10.0 ** np.floor(np.log10(raw))
        step = float(min((size * factor for factor in (1, 2, 2.5, 5, 10)), key=lambda candidate: abs(candidate - raw)))
        first = np.ceil(self.low / step - 1e-9) * step
        # + 0.0: a tick of -0.0 would be written -0.
        return [float(round(value, 10)) + 0.0 for value in np.arange(first, self.high + step * 1e-6, step)]

    def below(self, y: float, *, ticks: Sequence[float] | None = None, grid_to: float | None = None) -> Markup:
        """Return the axis drawn along y, with its values under it and grid lines up to `grid_to`."""
        parts = [line(self.start, y, self.end, y, "axis")]
        for value in self.ticks() if ticks is None else ticks:
            x = self(value)
            parts.append(line(x, y, x, y + 4 if grid_to is None else grid_to, "axis" if grid_to is None else "grid"))
            parts.append(text(x, y + 15, f"{value:g}", anchor="middle", class_="tick"))
        return group(parts)

    def beside(self, x: float, *, grid_to: float) -> Markup:
        """Return the axis drawn along x, with its values to the left and grid lines to `grid_to`."""
        parts = [line(x, self.start, x, self.end, "axis")]
        for value in self.ticks():
            y = self(value)
            parts += [line(x, y, grid_to, y, "grid"), text(x - 6, y + 4, f"{value:g}", anchor="end", class_="tick")]
        return group(parts)


def whisker(axis: Axis, y: float, low: float, high: float, tone: Named) -> Markup:
    """Return an interval as a horizontal line, nothing where it has no ends."""
    if np.isnan(low) or np.isnan(high):
        return Markup("")
    return line(axis(low), y, axis(high), y, f"whisker {class_of(tone)}")


def steps(edges: Floats, heights: Floats, x: Axis, y: Axis) -> list[tuple[float, float]]:
    """Return the outline of a histogram, from its first edge to its last along the base line."""
    points = [(x(float(edges[0])), y(0.0))]
    for left, right, height in zip(edges[:-1], edges[1:], heights, strict=True):
        points += [(x(float(left)), y(float(height))), (x(float(right)), y(float(height)))]
    return [*points, (x(float(edges[-1])), y(0.0))]


def picture(
    height: float,
    title: str,
    description: str,
    children: Iterable[Markup],
    *,
    width: float = WIDTH,
    class_: str = "chart",
    **more: object,
) -> Markup:
    """Return the drawing; a reader of screens hears its title and its description."""
    return element(
        "svg",
        element("title", title),
        element("desc", description),
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        # Not aria-labelledby: ids would have to be unique over a page that anybody may add sections to.
        aria_label=f"{title}. {description}",
        class_=class_,
        **more,
    )


def legend(
    names: Sequence[str], x: float, y: float, *, gap: float = 16.0, tones: Sequence[Named] | None = None
) -> Markup:
    """Return the names with their marks, one under another; without tones they are the series in turn."""
    parts = []
    for number, name in enumerate(names):
        tone = number if tones is None else tones[number]
        parts += [mark(x, y + number * gap - 4, tone), text(x + 10, y + number * gap, name, class_="label")]
    return group(parts)
