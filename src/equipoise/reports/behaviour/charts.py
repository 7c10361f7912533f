"""The charts of a run's page, drawn as SVG from views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import numpy as np
from markupsafe import Markup

from ...records import Floats
from ..palette import Named, class_of
from ..svg.drawing import WIDTH, Axis, element, group, line, mark, path, picture, steps, text, whisker
from .sets import FATE_WORDS, SetFates
from .views import Estimated, Histogram, Occupations, Scale, profile, short

SQUARE, GAP = 10.5, 2.5
"""Of the picture of sets."""

RIDGE = 52.0
ROW = 17.0


def squares_chart(view: SetFates) -> Markup:
    """Return a square for each set, changed ones first; each opens its case."""
    columns = int((WIDTH - 4) // (SQUARE + GAP))
    rows = -(-len(view.shown) // columns)
    parts = []
    for number, (name, fate) in enumerate(view.shown):
        square = element(
            "rect",
            x=2 + number % columns * (SQUARE + GAP),
            y=2 + number // columns * (SQUARE + GAP),
            width=SQUARE,
            height=SQUARE,
            rx=2.0,
            class_=f"mark {class_of(fate)}",
            data_case=case_key(name, view.part),
        )
        parts.append(square)
    caption = ", ".join(f"{FATE_WORDS[fate]}: {count:,}" for fate, count in view.counts.items() if count)
    title = f"The {view.n:,} sets of {view.part}, {view.title}"
    return picture(rows * (SQUARE + GAP) + 4, title, f"{caption}.", parts, class_="chart squares")


def case_key(set_id: str, part: str, variant: str = "") -> str:
    """Return what comes after `#case=` in the address of a case."""
    return ",".join(quote(word, safe="") for word in (set_id, part, variant)).rstrip(",")


def filter_link(**wanted: str) -> str:
    """Return the address that opens the case browser with these filters."""
    return "#filter=" + ",".join(f"{key}:{quote(value, safe='')}" for key, value in wanted.items() if value)


def linked(children: Sequence[Markup], address: str, *, tab: bool = True) -> Markup:
    """Return marks that open the case browser."""
    return element("a", *children, href=address, tabindex=None if tab else "-1")


def scale_chart(scale: Scale) -> Markup:
    """Return the linear scale with a curve for each group, its mean and interval, and how far the means lie apart."""
    x = Axis(scale.low, 1.0, 14.0, WIDTH - 14.0)
    at = np.linspace(scale.low, 1.0, 241)
    curves = [profile(strip.values, at, low=scale.low) for strip in scale.strips]
    top = max(float(curve.max()) for curve in curves)
    bottom = 16.0 + len(scale.strips) * (RIDGE + 40) - 10
    parts: list[Markup] = []
    base = 16.0
    for strip, curve in zip(scale.strips, curves, strict=True):
        # Name and mean from both ends of the line: together they are too long for a phone.
        parts.append(text(14, base - 2, strip.title, class_="label"))
        parts.append(text(WIDTH - 14, base - 2, _span(strip.mean), anchor="end", class_="tick"))
        base += RIDGE + 8
        parts += _ridge(x, at, curve / top * RIDGE, base, strip.tone)
        place = x(strip.mean.value)
        # The pin of the paper's figure: down to the scale itself, where the groups' places are compared.
        parts += [line(place, base + 7, place, bottom + 9, f"pin {class_of(strip.tone)}")]
        parts += [whisker(x, base + 7, strip.mean.low, strip.mean.high, strip.tone), mark(place, base + 7, strip.tone)]
        base += 32
    parts += _scale_bar(scale, x, bottom)
    means = [strip.mean.value for strip in scale.strips]
    gap = max(means) - min(means)
    caption = "; ".join(f"{strip.name} {_span(strip.mean)}" for strip in scale.strips)
    title = f"Where {scale.part}, {scale.kind}, lies on the scale"
    return picture(base + 48, title, f"Means: {caption}; {gap:.3f} apart.", parts)


def _ridge(x: Axis, at: Floats, heights: Floats, base: float, tone: Named) -> list[Markup]:
    curve = [(x(float(value)), base - float(height)) for value, height in zip(at, heights, strict=True)]
    area = [(x.start, base), *curve, (x.end, base)]
    return [
        path(area, f"area {class_of(tone)}", closed=True),
        path(curve, f"outline {class_of(tone)}"),
        line(x.start, base, x.end, base, "axis"),
    ]


def _scale_bar(scale: Scale, x: Axis, y: float) -> list[Markup]:
    """Return the scale itself: a bar from the worst behaviour to the best, with its ends in words."""
    pieces = 24
    width = (x.end - x.start) / pieces
    bar = []
    for piece in range(pieces):
        value = scale.low + (piece + 0.5) / pieces * (1 - scale.low)
        side = "neither" if scale.low >= 0 else "right" if value > 0 else "wrong"
        bar.append(
            element(
                "rect",
                x=x.start + piece * width,
                y=y,
                width=width + 0.4,
                height=9.0,
                class_=f"mark {class_of(side)}",
                fill_opacity=round(0.12 + 0.8 * abs(value), 3),
            )
        )
    low, middle, high = scale.ends
    words = [text(x.start, y + 42, low, class_="tick"), text(x.end, y + 42, high, anchor="end", class_="tick")]
    if middle:
        words.append(text(x(0.0), y + 42, middle, anchor="middle", class_="tick"))
    return [group(bar), x.below(y + 10, ticks=x.ticks(8 if scale.low < 0 else 5)), *words]


def histogram_chart(histogram: Histogram) -> Markup:
    """Return a histogram with an outline for each group."""
    height = 170.0
    low, high = float(histogram.edges[0]), float(histogram.edges[-1])
    x = Axis(low, high, 44.0, WIDTH - 12.0)
    most = max(float(counts.max()) for _, counts in histogram.series) or 1.0
    y = Axis(0.0, most * 1.05, height, 26.0)
    parts = [y.beside(x.start, grid_to=x.end), x.below(height)]
    for (_, counts), tone in zip(histogram.series, histogram.tones, strict=True):
        outline = steps(histogram.edges, counts, x, y)
        parts += [path(outline, f"area {class_of(tone)}", closed=True), path(outline, f"outline {class_of(tone)}")]
    parts += _bars_that_open(histogram, x, y)
    if len(histogram.series) > 1:
        for number, ((name, _), tone) in enumerate(zip(histogram.series, histogram.tones, strict=True)):
            down, label = height + 54 + number * 17, f"{short(name, 30)} ({_size(histogram, number)})"
            parts += [mark(x.start + 6, down - 4, tone), text(x.start + 16, down, label, class_="label")]
    unit = "pairs" if histogram.quantity == "U" else "sentences"
    parts.append(text((x.start + x.end) / 2, height + 32, histogram.quantity, anchor="middle", class_="tick"))
    parts.append(text(2, 13, unit, class_="tick"))
    caption = "; ".join(
        f"{name}: {int(counts.sum()):,}, most at {_mode(histogram.edges, counts)}" for name, counts in histogram.series
    )
    title = f"Histogram of {histogram.quantity}, {histogram.part}, {histogram.kind}"
    rows = len(histogram.series) if len(histogram.series) > 1 else 0
    return picture(height + 44 + rows * 17, title, caption, parts)


def _size(histogram: Histogram, number: int) -> str:
    """Return n of a series in words: sentences, and how many answers they gave where that is more."""
    answers = int(histogram.series[number][1].sum())
    n = histogram.sizes[number] if histogram.sizes else answers
    return f"n = {n:,}" if n == answers else f"n = {n:,}, {answers:,} answers"


def _bars_that_open(histogram: Histogram, x: Axis, y: Axis) -> list[Markup]:
    """Return an invisible bar over each step that opens the cases counted there."""
    totals = np.sum([counts for _, counts in histogram.series], axis=0)
    bars = []
    for left, right, total in zip(histogram.edges[:-1], histogram.edges[1:], totals, strict=True):
        if total:
            hint = element("title", f"{left:.2f} to {right:.2f}: {int(total):,}")
            size = {"x": x(float(left)), "y": y.end, "width": x(float(right)) - x(float(left))}
            bar = element("rect", hint, height=y.start - y.end, class_="hit", **size)
            within = f"{left:.3f}~{right:.3f}"
            quantity = {"U": "u", "D": "d"}.get(histogram.quantity, "c")
            address = filter_link(part=histogram.part, type=histogram.type, **{quantity: within})
            bars.append(linked([bar], address, tab=False))
    return bars


def _mode(edges: Floats, counts: Floats) -> str:
    peak = int(np.argmax(counts))
    return f"{edges[peak]:.2f} to {edges[peak + 1]:.2f}"


def occupation_chart(view: Occupations) -> Markup:
    """Return UCerF and equalized odds of each occupation in rows, from the fewest women at work to the most."""
    top, names = 40.0, 132.0
    bottom = top + len(view.rows) * ROW
    left = Axis(_floor(view), 1.0, names + 8, names + 148)
    most = max(
        (row.odds.high if not np.isnan(row.odds.high) else row.odds.value for row in view.rows if row.odds), default=1.0
    )
    right = Axis(0.0, max(0.1, min(2.0, float(np.ceil(most * 5) / 5))), names + 168, WIDTH - 8)
    parts = [
        text(left.start, 14, "UCerF (1: alike)", class_="label"),
        text(right.start, 14, "equalized odds", class_="label"),
        text(right.start, 28, "eo_sum (0: alike)", class_="tick"),
        text(names, 14, "women in", anchor="end", class_="tick"),
        text(names, 28, "the workforce", anchor="end", class_="tick"),
        left.below(bottom, ticks=left.ticks(3), grid_to=top - 6),
        right.below(bottom, ticks=right.ticks(3), grid_to=top - 6),
    ]
    for number, row in enumerate(view.rows):
        y = top + number * ROW + ROW / 2
        name = text(0, y + 4, short(row.name, 17), class_="name")
        address = filter_link(part=view.part, type=view.type, group=f"occupation={row.name}")
        parts.append(linked([name], address))
        if row.share is not None:
            parts.append(text(names, y + 4, f"{row.share}%", anchor="end", class_="tick"))
        for axis, estimate, series in ((left, row.ucerf, 0), (right, row.odds, 1)):
            if estimate is not None:
                parts.append(_point(axis, y, estimate, series, row.name))
    lowest = sorted((row for row in view.rows if row.ucerf), key=lambda row: row.ucerf.value if row.ucerf else 0)[:3]
    caption = "Least alike by UCerF: " + ", ".join(f"{row.name} {_span(row.ucerf)}" for row in lowest if row.ucerf)
    return picture(bottom + 24, f"Occupations of {view.part}, {view.kind}", caption, parts)


def _floor(view: Occupations) -> float:
    """Return where the axis of UCerF begins: at a round value under all intervals."""
    ends = [row.ucerf.low if not np.isnan(row.ucerf.low) else row.ucerf.value for row in view.rows if row.ucerf]
    return float(max(0.0, min(0.9, np.floor(min(ends) * 10) / 10)))


def _point(axis: Axis, y: float, estimate: Estimated, series: int, name: str) -> Markup:
    hint = element("title", f"{name}: {_span(estimate)}")
    return group(
        [hint, whisker(axis, y, estimate.low, estimate.high, series), mark(axis(estimate.value), y, series, size=3.4)]
    )


def interval_glyph(row: Any, low: float, high: float) -> Markup:
    """Return a small line with the interval and the value on the metric's whole range, for a table's cell."""
    axis = Axis(low, high, 4.0, 96.0)
    estimate = Estimated(float(row.value), float(row.low), float(row.high))
    parts = [
        line(4, 7, 96, 7, "grid"),
        whisker(axis, 7, estimate.low, estimate.high, 0),
        mark(axis(estimate.value), 7, 0, size=3),
    ]
    if low < 0:
        parts.insert(0, line(axis(0.0), 2, axis(0.0), 12, "axis"))
    drawn = Markup("").join(parts)
    return element("svg", drawn, viewBox="0 0 100 14", class_="glyph", aria_hidden="true")


def _span(estimate: Estimated) -> str:
    if np.isnan(estimate.low) or np.isnan(estimate.high):
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
