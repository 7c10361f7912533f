"""Reliability diagrams and P(male) by occupation, drawn as SVG from views."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from markupsafe import Markup

from ...runs.measurements import interval
from ..behaviour.views import short
from ..palette import Named, class_of
from ..summary.labels import LabelView
from ..svg.drawing import WIDTH, Axis, element, group, legend, line, mark, path, picture, text
from .views import NAMED, Reliability, Workforce, line_tone

TOP, BOTTOM = 24.0, 270.0
BARS = 64.0
"""Height of the counts under a reliability diagram."""

Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""


def reliability_chart(view: Reliability) -> Markup:
    """Return the diagonal, a line a group with its intervals, and under it how many items each bin has."""
    x, y = Axis(0.0, 1.0, 44.0, WIDTH - 12), Axis(0.0, 1.0, BOTTOM, TOP)
    base = BOTTOM + 56 + BARS
    most = max(int(rows["items"].max()) for _, rows in view.lines)
    counts = Axis(0.0, float(most), base, base - BARS)
    parts = [*_plane(x, y), text(2, 12, f"share that people call {short(view.side, 30)}", class_="tick")]
    beside = 1 if view.apart else len(view.lines)
    for number, (name, rows) in enumerate(view.lines):
        tone = line_tone(name, number)
        parts.append(_line(x, y, rows, tone, name))
        parts += _bars(x, counts, rows, tone, (number % beside, beside))
    names = [short(name, 40) for name, _ in view.lines]
    # Under everything: inside the plane it would lie over lines.
    tones = [line_tone(name, number) for number, (name, _) in enumerate(view.lines)]
    parts.append(legend(names, x.start + 6, base + 24, tones=tones))
    parts.append(text(x.end, BOTTOM + 32, f"P({short(view.side, 30)}) of the model", anchor="end", class_="tick"))
    parts.append(text(2, BOTTOM + 46, "items", class_="tick"))
    parts.append(line(x.start, base, x.end, base, "axis"))
    caption = "; ".join(
        f"{name}: {', '.join(_point_in_words(row) for row in rows.itertuples())}" for name, rows in view.lines
    )
    title = f"Reliability of {view.part}"
    return picture(base + 14 + 16 * len(names), title, f"On the diagonal what it says comes true. {caption}.", parts)


def label_chart(view: LabelView) -> Markup:
    """Return how often people say the first side, over the mean probability that the model gives it."""
    x = Axis(0.0, 1.0, 4.0, WIDTH - 12)
    rows = [("people", view.labelled, None), ("the model, on average", view.stated, (view.low, view.high))]
    parts, top = [], 4.0
    for who, share, ends in rows:
        if share is None:
            continue
        parts.append(text(4, top + 12, f"{who}: {short(view.side, 20)} {share:.0%}", class_="label"))
        for start, end, tone in ((0.0, share, _tone(view.side, 0)), (share, 1.0, _tone(view.other, 1))):
            size = {"x": x(start), "y": top + 18, "width": max(x(end) - x(start) - 1, 0.0), "height": 18.0}
            parts.append(element("rect", class_=f"mark {class_of(tone)}", **size))
        if ends is not None:
            parts.append(line(x(ends[0]), top + 27, x(ends[1]), top + 27, "whisker over"))
        top += 48
    parts.append(x.below(top - 4, ticks=[0, 0.25, 0.5, 0.75, 1]))
    words = f"People: {view.labelled:.2f}. " if view.labelled is not None else ""
    caption = f"{words}The model: {view.stated:.2f} [{view.low:.2f}, {view.high:.2f}] of {view.n:,} sentences."
    return picture(top + 16, f"Share of {view.side}", caption, parts)


def _tone(side: str, number: int) -> Named:
    return {"male": "he", "female": "she"}.get(side, number)


def _plane(x: Axis, y: Axis) -> list[Markup]:
    """Return both axes, and the diagonal where the two are the same."""
    diagonal = line(x(0.0), y(0.0), x(1.0), y(1.0), "contour")
    return [y.beside(x.start, grid_to=x.end), x.below(y.start), diagonal]


def _line(x: Axis, y: Axis, rows: Any, tone: Named, name: str) -> Markup:
    points = [(x(row.confidence), y(row.rate)) for row in rows.itertuples()]
    marks: list[Markup] = []
    for (across, up), row in zip(points, rows.itertuples(), strict=True):
        hint = element("title", f"{name}, {_point_in_words(row)}")
        marks.append(group([hint, _upright(across, y, row, tone), mark(across, up, tone, size=3.6)]))
    return group([path(points, f"outline {class_of(tone)}"), *marks])


def _upright(across: float, y: Axis, row: Any, tone: Named) -> Markup:
    """Return an interval as a vertical line, nothing where it has no ends."""
    if row.low != row.low or row.high != row.high:
        return Markup("")
    return line(across, y(row.low), across, y(row.high), f"whisker thin {class_of(tone)}")


def _point_in_words(row: Any) -> str:
    return f"P {row.confidence:.3f}: {row.rate:.3f} {interval(row)} of {row.items}"


def _bars(x: Axis, counts: Axis, rows: Any, tone: Named, place: tuple[int, int]) -> Iterable[Markup]:
    """Yield the number of items in each bin; groups that share bins are drawn side by side."""
    number, beside = place
    for row in rows.itertuples():
        width = (x(row.end) - x(row.start) - 4) / beside
        left = x(row.start) + 2 + number * width
        top = counts(row.items)
        yield element("rect", x=left, y=top, width=width, height=counts.start - top, class_=f"mark {class_of(tone)}")
        if width > 16:
            yield text(left + width / 2, top - 3, str(row.items), anchor="middle", class_="tick")


def workforce_chart(view: Workforce) -> Markup:
    """Return mean P(male) of each occupation over the share of men who work in it."""
    x, y = Axis(0.0, 1.0, 44.0, WIDTH - 12), Axis(0.0, 1.0, WIDTH - 80, TOP)
    parts = [*_plane(x, y), text(2, 12, "mean P(male) of the model", class_="tick")]
    parts.append(text(x.end, y.start + 32, "share of men in the occupation", anchor="end", class_="tick"))
    for row in view.rows:
        title = f"{row.name}: P(male) {row.p:.3f} {interval(row)}, men {row.men:.2f}, n = {row.n}"
        drawn = [_upright(x(row.men), y, row, 0), mark(x(row.men), y(row.p), 0, size=3.4)]
        parts.append(group([element("title", title), *drawn], class_="faint"))
    parts += _names(view, x, y)
    caption = ", ".join(f"{row.name} {row.p:.3f} where {row.men:.2f} are men" for row in view.named[:5])
    return picture(
        y.start + 40, f"P(male) by occupation of {view.part}", f"Furthest from the workforce: {caption}.", parts
    )


def _names(view: Workforce, x: Axis, y: Axis) -> Iterator[Markup]:
    """Yield names, of those furthest from the diagonal first, on a side where each hides no mark and no other name."""
    taken = [(x(row.men) - 4, y(row.p) - 4, x(row.men) + 4, y(row.p) + 4) for row in view.rows]
    left = NAMED
    for row in sorted(view.rows, key=lambda row: -abs(row.p - row.men)):
        name = short(row.name, 20)
        width = 6.7 * len(name)
        sides = (7.0, -7 - width, -width / 2)
        for across, up in [(sides[0], 4.0), (sides[1], 4.0), *((side, up) for up in (-8.0, 16.0) for side in sides)]:
            start, base = x(row.men) + across, y(row.p) + up
            box = (start, base - 10, start + width, base + 2)
            if left and start > x.start and box[2] < x.end and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                left -= 1
                yield text(start, base, name, class_="label")
                break


def _overlap(box: Box, other: Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
