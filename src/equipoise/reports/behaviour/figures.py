"""Figures for a paper, drawn with matplotlib: one look, sized for a column or a page, fonts embedded."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...records import EquipoiseError
from ...runs.measurements import kind_title
from ...runs.run import Run
from ..comparison.compare import Comparison, ranks
from ..comparison.page import BUMPED, Place, places
from . import views

try:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.figure import Figure
except ImportError as missing:  # pragma: no cover - the tests' environment has it
    raise EquipoiseError("figures need matplotlib: pip install 'equipoise[figures]'") from missing

WIDTHS = {"column": 3.25, "page": 6.75}
"""In inches: one column of a two-column paper, and a whole page."""

FORMATS = ("pdf", "svg", "png")

COLOURS = ("#0b5fa5", "#b4460a", "#00735a", "#7a3e9d", "#7d6200", "#a3145c", "#4d5560", "#006878")
MARKS = ("o", "D", "s", "^", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":")

LOOK: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e3e6ea",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.linewidth": 0.7,
    "lines.linewidth": 1.3,
    "legend.frameon": False,
    "savefig.dpi": 300,
    # Not cut to its content when saved: a figure for a column is as wide as a column.
    "figure.constrained_layout.use": True,
    # Fonts go into the file, as TrueType in PDF and as outlines in SVG: a figure looks the same everywhere.
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "equipoise",
    # A model's name may hold a dollar sign, which is no mathematics.
    "text.parse_math": False,
}


@dataclass(frozen=True)
class Drawn:
    """A figure's file, as bytes."""

    name: str
    content: bytes


def run_figures(run: Run, *, width: str = "column", formats: Sequence[str] = ("pdf",)) -> Iterator[Drawn]:
    """Yield every figure of a run in the formats asked for."""
    for part in run.parts:
        stem = f"{part.dataset}-{part.task}"
        for scale in views.scales(part):
            yield from _saved(f"scale-{stem}-{scale.kind}", formats, draw_scale, scale, width)
        for histogram in views.histograms(part):
            name = f"histogram-{histogram.quantity}-{stem}-{histogram.kind}"
            yield from _saved(name, formats, _draw_histogram, histogram, width)
        for table in views.occupations(part):
            yield from _saved(f"occupations-{stem}-{table.kind}", formats, draw_occupations, table, width)


def comparison_figures(
    comparison: Comparison, *, width: str = "column", formats: Sequence[str] = ("pdf",)
) -> Iterator[Drawn]:
    """Yield the figures of a comparison: UCerF against performance, and the ranks from metric to metric."""
    for matched in comparison.matches:
        for kind in matched.kinds:
            stem = f"{matched.dataset}-{matched.task}-{kind_title(kind)}"
            several = places(matched, comparison.names, kind)
            if len(several) > 1:
                yield from _saved(f"scatter-{stem}", formats, _draw_scatter, several, width)
            placed = {name: ranks(matched, name, kind) for name in BUMPED}
            known = {name: several for name, several in placed.items() if None not in several}
            if len(known) > 1:
                yield from _saved(f"ranks-{stem}", formats, _draw_ranks, (comparison.names, known), width)


def _saved(
    name: str, formats: Sequence[str], draw: Callable[[Any, float], Figure], view: Any, width: str
) -> Iterator[Drawn]:
    if width not in WIDTHS:
        raise EquipoiseError(f"width must be one of {', '.join(WIDTHS)}, not {width!r}")
    stem = re.sub(r"[^\w.+-]+", "-", name).strip("-.")
    with matplotlib.rc_context(LOOK):
        figure = draw(view, WIDTHS[width])
        for ending in formats:
            if ending not in FORMATS:
                raise EquipoiseError(f"format must be one of {', '.join(FORMATS)}, not {ending!r}")
            out = io.BytesIO()
            # No dates inside: the same run gives the same file.
            dateless: Mapping[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}[ending]
            figure.savefig(out, format=ending, metadata=dict(dateless))
            yield Drawn(f"{stem}.{ending}", out.getvalue())
        pyplot.close(figure)


def draw_scale(scale: views.Scale, width: float) -> Figure:
    """Return the distributions of a scale, with means and intervals below."""
    figure, axes = pyplot.subplots(figsize=(width, 0.62 * 3.25))
    at = np.linspace(scale.low, 1.0, 241)
    for number, strip in enumerate(scale.strips):
        curve = views.density(strip.values, at, low=scale.low)
        axes.fill_between(at, curve, color=COLOURS[number], alpha=0.15, linewidth=0)
        axes.plot(at, curve, LINES[number % 4], color=COLOURS[number], label=views.short(strip.name, 30))
        depth = -0.12 * (number + 1) * curve.max()
        axes.plot([strip.mean.low, strip.mean.high], [depth, depth], color=COLOURS[number])
        axes.plot(strip.mean.value, depth, MARKS[number], color=COLOURS[number], markersize=4)
    axes.set_xlabel("desirability D" if scale.low < 0 else "certainty c")
    axes.set_xlim(scale.low, 1.0)
    axes.set_yticks([])
    axes.set_ylabel("density")
    axes.locator_params(axis="x", nbins=5)
    figure.legend(loc="outside upper center", ncols=2)
    return figure


def _draw_histogram(histogram: views.Histogram, width: float) -> Figure:
    figure, axes = pyplot.subplots(figsize=(width, 0.55 * 3.25))
    for number, (name, counts) in enumerate(histogram.series):
        axes.stairs(counts, histogram.edges, fill=True, alpha=0.15, color=COLOURS[number])
        axes.stairs(
            counts,
            histogram.edges,
            label=views.short(name, 30),
            linewidth=1.2,
            color=COLOURS[number],
            linestyle=LINES[number % 4],
        )
    axes.set_xlabel(histogram.quantity)
    axes.set_ylabel("pairs" if histogram.quantity == "U" else "sentences")
    axes.set_xlim(histogram.edges[0], histogram.edges[-1])
    axes.locator_params(axis="x", nbins=5)
    if len(histogram.series) > 1:
        figure.legend(loc="outside upper center", ncols=2)
    return figure


def draw_occupations(view: views.Occupations, width: float) -> Figure:
    """Return UCerF and equalized odds of every occupation."""
    figure, (left, right) = pyplot.subplots(1, 2, sharey=True, figsize=(width, 0.4 + 0.125 * len(view.rows)))
    names = [views.short(r.name, 22) + ("" if r.share is None else f" ({r.share}%)") for r in view.rows]
    for axes, series, chosen in ((left, 0, [r.ucerf for r in view.rows]), (right, 1, [r.odds for r in view.rows])):
        for number, one in enumerate(chosen):
            if one is not None:
                axes.plot([one.low, one.high], [number, number], color=COLOURS[series])
                axes.plot(one.value, number, MARKS[series], color=COLOURS[series], markersize=3)
    left.set_yticks(range(len(names)), names, fontsize=6)
    left.set_ylim(len(names) - 0.5, -0.5)
    left.set_xlabel("UCerF (1: alike)")
    right.set_xlabel("eo_sum (0: alike)")
    return figure


def _draw_scatter(several: Sequence[Place], width: float) -> Figure:
    figure, axes = pyplot.subplots(figsize=(width, 0.85 * 3.25))
    for number, place in enumerate(several):
        x, y, colour = place.performance, place.ucerf, COLOURS[number % 8]
        axes.plot([x.low, x.high], [y.value, y.value], color=colour)
        axes.plot([x.value, x.value], [y.low, y.high], color=colour)
        axes.plot(x.value, y.value, MARKS[number % 8], color=colour, markersize=4.5, label=views.short(place.name))
    axes.margins(0.1)
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    right, high = min(right, 1.0), min(high, 1.0)
    across, up = np.meshgrid(np.linspace(left, right, 100), np.linspace(low, high, 100))
    lines = axes.contour(across, up, across * up, levels=6, colors="#8a929c", linewidths=0.6, linestyles="dotted")
    axes.clabel(lines, fmt="FP %.2f", fontsize=6)
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)
    axes.set_xlabel("performance")
    axes.set_ylabel("UCerF")
    figure.legend(loc="outside upper center", ncols=1)
    return figure


def _draw_ranks(view: tuple[Sequence[str], Mapping[str, Sequence[int]]], width: float) -> Figure:
    names, placed = view
    figure, axes = pyplot.subplots(figsize=(width, 0.5 + 0.3 * len(names)))
    for number, name in enumerate(names):
        heights = [several[number] for several in placed.values()]
        axes.plot(
            range(len(placed)), heights, color=COLOURS[number % 8], marker=MARKS[number % 8], label=views.short(name)
        )
    axes.set_xticks(range(len(placed)), list(placed))
    axes.set_yticks(range(1, len(names) + 1))
    axes.set_ylim(len(names) + 0.3, 0.7)
    axes.set_ylabel("rank")
    figure.legend(loc="outside upper center", ncols=1)
    return figure
