"""Reliability diagrams, calibration before and after, P(male) by occupation, for a paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from ...metrics.calibration import reliability
from ...runs.run import Part
from ..palette import Named
from ..paper.figures import LOOK, QUIET, WIDTHS, Drawn, colour, saved, shape, stroke
from . import views
from .views import Reliability, Workforce, reliability_of, workforce_of


def part_figures(part: Part, *, width: str, formats: Sequence[str]) -> Iterator[Drawn]:
    """Yield the calibration figures of a dataset and task, nothing where its items have no human label."""
    stem = f"{part.dataset}-{part.task}"
    diagram = views.reliability(part) if views.is_calibrated(part.measured) else None
    if diagram is not None:
        yield from saved(f"reliability-{stem}", formats, reliability_diagram, diagram, width)
    work = views.workforce(part) if views.is_calibrated(part.measured) else None
    if work is not None:
        yield from saved(f"workforce-{stem}", formats, _workforce, work, width)


def draw_reliability(table: pd.DataFrame, path: Path, *, title: str) -> list[str]:
    """Draw a reliability diagram, one line a group, with intervals and the number of items in each bin below.

    Returns the groups that are not drawn: beyond five a diagram can no longer be read.
    """
    view = reliability_of(table)
    with matplotlib.rc_context(LOOK):
        figure = reliability_diagram(view, WIDTHS["page"])
        figure.suptitle(title)
        figure.savefig(path, dpi=150)
    return list(view.left_out)


def reliability_diagram(view: Reliability, width: float) -> Figure:
    """Return a reliability diagram, one line a group, with the number of items in each bin below."""
    figure = Figure(figsize=(width, 1.25 * width))
    above, below = figure.subplots(2, 1, height_ratios=[3, 1], sharex=True)
    _diagonal(above)
    beside = 1 if view.apart else len(view.lines)
    for number, (name, rows) in enumerate(view.lines):
        tone = views.line_tone(name, number)
        _line(above, rows, tone, f"{name} (n = {int(rows['items'].sum()):,})")
        _counts(below, rows, tone, (number % beside, beside))
    above.set(ylabel=f"share labelled {view.side}", xlim=(0, 1), ylim=(0, 1))
    figure.legend(loc="outside upper center", ncols=1)
    below.set(xlabel=f"the model's P({view.side})", ylabel="items", xlim=(0, 1))
    below.set_xticks([k / 10 for k in range(0, 11, 2)])
    below.margins(y=0.2)
    return figure


def draw_before_after(sample: pd.DataFrame, table: pd.DataFrame, path: Path, *, title: str, method: str) -> None:
    """Draw the tested half of one split before and after a map, and the mean ECE of every method beside its floor."""
    with matplotlib.rc_context(LOOK):
        figure = Figure(figsize=(12, 4.6))
        figure.suptitle(title)
        before, after, methods = figure.subplots(1, 3)
        for axes, column, words in ((before, "before", "before"), (after, "after", f"after {method}")):
            _diagonal(axes)
            filled = reliability(sample["y"].to_numpy(), sample[column].to_numpy())
            bins = pd.DataFrame([filled_bin.row() for filled_bin in filled])
            _line(axes, bins, 0, "")
            title = f"{words} ({len(sample)} items of one tested half)"
            axes.set(title=title, xlabel="probability", xlim=(0, 1), ylim=(0, 1))
        before.set_ylabel("share labelled with the first side")
        _methods(methods, table[(table["metric"] == "ece") & (table["group"] == "all")])
        figure.savefig(path, dpi=150)


def _methods(axes: Any, rows: pd.DataFrame) -> None:
    labels = [f"{row.method} ({row.maps})" for row in rows.itertuples()]
    places = range(len(labels))
    axes.hlines(places, rows["before"], rows["after"], color=QUIET, linewidth=2)
    axes.plot(rows["before"], places, shape(0), color=colour(0), label="before")
    errors = [(rows["after"] - rows["low"]).clip(lower=0), (rows["high"] - rows["after"]).clip(lower=0)]
    axes.errorbar(
        rows["after"], places, xerr=errors, fmt=shape(1), color=colour(1), capsize=2, label="after (95% of splits)"
    )
    axes.plot(rows["floor"], places, "|", color=colour(2), markersize=14, label="by chance alone")
    axes.set(title="ECE of the tested half, mean over splits", xlabel="ECE (lower is better)")
    axes.set_yticks(places, labels, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3)


def draw_occupations(table: pd.DataFrame, path: Path, *, title: str) -> None:
    """Draw mean P(male) of each occupation against the share of men who work in it."""
    view = workforce_of(table)
    if view is None:
        return
    with matplotlib.rc_context(LOOK):
        figure = _workforce(view, WIDTHS["page"])
        figure.suptitle(title)
        figure.savefig(path, dpi=150)


def _workforce(view: Workforce, width: float) -> Figure:
    figure = Figure(figsize=(width, width))
    axes = figure.subplots()
    _diagonal(axes)
    rows = pd.DataFrame(view.rows)
    errors = [(rows["p"] - rows["low"]).fillna(0).clip(lower=0), (rows["high"] - rows["p"]).fillna(0).clip(lower=0)]
    tone = colour("neither")
    axes.errorbar(rows["men"], rows["p"], yerr=errors, fmt="o", color=tone, ecolor=QUIET, elinewidth=0.6, markersize=3)
    for row in view.named:
        side = "left" if row.men < 0.7 else "right"
        offset = (4, 3) if side == "left" else (-4, 3)
        axes.annotate(row.name, (row.men, row.p), offset, textcoords="offset points", ha=side, fontsize=6.5)
    axes.set(xlabel="share of men in the occupation\n(U.S. Bureau of Labor Statistics)", xlim=(-0.02, 1.02))
    axes.set(ylabel="mean P(male) of the model", ylim=(-0.02, 1.02))
    return figure


def _counts(axes: Any, rows: pd.DataFrame, tone: Named, place: tuple[int, int]) -> None:
    """Draw the number of items in each bin; groups that share bins are drawn side by side."""
    number, beside = place
    width = 0.08 / beside
    middle = (rows["start"] + rows["end"]) / 2 + (number - (beside - 1) / 2) * width
    axes.bar(middle, rows["items"], width=width, color=colour(tone))
    if beside == 1:
        for x, items in zip(middle, rows["items"], strict=True):
            axes.annotate(str(items), (x, items), ha="center", va="bottom", fontsize=6)


def _diagonal(axes: Any) -> None:
    axes.plot([0, 1], [0, 1], color=QUIET, linestyle="--", linewidth=1, zorder=0)


def _line(axes: Any, rows: pd.DataFrame, tone: Named, name: str) -> None:
    errors: Sequence[Any] = [(rows["rate"] - rows["low"]).clip(lower=0), (rows["high"] - rows["rate"]).clip(lower=0)]
    bars = axes.errorbar(
        rows["confidence"],
        rows["rate"],
        yerr=errors,
        color=colour(tone),
        marker=shape(tone),
        linestyle=stroke(tone),
        markersize=4,
        capsize=2,
        label=name,
    )
    for drawn in bars.get_children():
        drawn.set_clip_on(False)  # a mark at 0 or 1 is whole
