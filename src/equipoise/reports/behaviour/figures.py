"""Figures of a run's behaviour and of comparisons, for a paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...runs.measurements import kind_title
from ...runs.run import Run
from ..calibration.figures import part_figures as calibration
from ..comparison.compare import Comparison
from ..comparison.page import Place, bumped, places
from ..identities.figures import part_figures as identities
from ..paper.figures import FORMATS, QUIET, WIDTHS, Drawn, colour, saved, shape, stroke
from . import views

__all__ = ["FORMATS", "WIDTHS", "comparison_figures", "run_figures"]


def run_figures(run: Run, *, width: str = "column", formats: Sequence[str] = ("pdf",)) -> Iterator[Drawn]:
    """Yield every figure of a run in the formats asked for."""
    for part in run.parts:
        stem = f"{part.dataset}-{part.task}"
        for scale in views.scales(part):
            yield from saved(f"scale-{stem}-{scale.kind}", formats, draw_scale, scale, width)
        for histogram in views.histograms(part):
            name = f"histogram-{histogram.quantity}-{stem}-{histogram.kind}"
            yield from saved(name, formats, _draw_histogram, histogram, width)
        for table in views.occupations(part):
            yield from saved(f"occupations-{stem}-{table.kind}", formats, draw_occupations, table, width)
        yield from calibration(part, width=width, formats=formats)
        yield from identities(part, formats=formats)


def comparison_figures(
    comparison: Comparison, *, width: str = "column", formats: Sequence[str] = ("pdf",)
) -> Iterator[Drawn]:
    """Yield the figures of a comparison: UCerF against performance, and the ranks from metric to metric."""
    for matched in comparison.matches:
        for kind in matched.kinds:
            stem = f"{matched.dataset}-{matched.task}-{kind_title(kind)}"
            several = places(matched, comparison.names, kind)
            if len(several) > 1:
                yield from saved(f"scatter-{stem}", formats, _draw_scatter, several, width)
            placed = bumped(matched, kind)
            known = {name: several for name, several in placed.items() if None not in several}
            if len(known) > 1:
                yield from saved(f"ranks-{stem}", formats, _draw_ranks, (comparison.names, known), width)


def _plane(size: tuple[float, float]) -> tuple[Figure, Any]:
    """Return a figure of that size with one set of axes."""
    figure = Figure(figsize=size)
    return figure, figure.subplots()


def draw_scale(scale: views.Scale, width: float) -> Figure:
    """Return the distributions of a scale, with means and intervals below."""
    figure, axes = _plane((width, 0.62 * 3.25))
    at = np.linspace(scale.low, 1.0, 481)
    for number, strip in enumerate(scale.strips):
        curve = views.profile(strip.values, at, low=scale.low)
        tone = colour(strip.tone)
        axes.fill_between(at, curve, color=tone, alpha=0.15, linewidth=0)
        axes.plot(at, curve, stroke(strip.tone), color=tone, label=strip.title)
        depth = -0.12 * (number + 1) * curve.max()
        axes.plot([strip.mean.low, strip.mean.high], [depth, depth], color=tone)
        axes.plot(strip.mean.value, depth, shape(strip.tone), color=tone, markersize=4, clip_on=False)
    axes.set_xlabel("desirability D" if scale.low < 0 else "certainty c")
    axes.set_xlim(scale.low, 1.0)
    axes.set_yticks([])
    axes.set_ylabel("density")
    axes.locator_params(axis="x", nbins=5)
    figure.legend(loc="outside upper center", ncols=1)
    return figure


def _draw_histogram(histogram: views.Histogram, width: float) -> Figure:
    figure, axes = _plane((width, 0.55 * 3.25))
    for (name, counts), tone in zip(histogram.series, histogram.tones, strict=True):
        axes.stairs(counts, histogram.edges, fill=True, alpha=0.15, color=colour(tone))
        label = f"{views.short(name, 30)} (n = {int(counts.sum()):,})"
        axes.stairs(counts, histogram.edges, label=label, linewidth=1.2, color=colour(tone), linestyle=stroke(tone))
    axes.set_xlabel(histogram.quantity)
    axes.set_ylabel("pairs" if histogram.quantity == "U" else "sentences")
    axes.set_xlim(histogram.edges[0], histogram.edges[-1])
    axes.locator_params(axis="x", nbins=5)
    figure.legend(loc="outside upper center", ncols=1)
    return figure


def draw_occupations(view: views.Occupations, width: float) -> Figure:
    """Return UCerF and equalized odds of every occupation."""
    figure = Figure(figsize=(width, 0.4 + 0.125 * len(view.rows)))
    left, right = figure.subplots(1, 2, sharey=True)
    names = [views.short(r.name, 22) + ("" if r.share is None else f" ({r.share}%)") for r in view.rows]
    for axes, series, chosen in ((left, 0, [r.ucerf for r in view.rows]), (right, 1, [r.odds for r in view.rows])):
        for number, panel in enumerate(chosen):
            if panel is not None:
                axes.plot([panel.low, panel.high], [number, number], color=colour(series))
                axes.plot(panel.value, number, shape(series), color=colour(series), markersize=3, clip_on=False)
    left.set_yticks(range(len(names)), names, fontsize=6)
    left.set_ylim(len(names) - 0.5, -0.5)
    left.set_xlabel("UCerF (1: alike)")
    right.set_xlabel("eo_sum (0: alike)")
    return figure


def _draw_scatter(several: Sequence[Place], width: float) -> Figure:
    figure, axes = _plane((width, 0.85 * 3.25))
    for number, place in enumerate(several):
        x, y, tone = place.performance, place.ucerf, colour(number)
        axes.plot([x.low, x.high], [y.value, y.value], color=tone)
        axes.plot([x.value, x.value], [y.low, y.high], color=tone)
        axes.plot(x.value, y.value, shape(number), color=tone, markersize=4.5, label=views.short(place.name))
    axes.margins(0.1)
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    right, high = min(right, 1.0), min(high, 1.0)
    across, up = np.meshgrid(np.linspace(left, right, 100), np.linspace(low, high, 100))
    lines = axes.contour(across, up, across * up, levels=6, colors=QUIET, linewidths=0.6, linestyles="dotted")
    axes.clabel(lines, fmt="FP %.2f", fontsize=6)
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)
    axes.set_xlabel("performance")
    axes.set_ylabel("UCerF")
    figure.legend(loc="outside upper center", ncols=1)
    return figure


def _draw_ranks(view: tuple[Sequence[str], Mapping[str, Sequence[int]]], width: float) -> Figure:
    names, placed = view
    figure, axes = _plane((width, 0.5 + 0.3 * len(names)))
    for number, name in enumerate(names):
        heights = [several[number] for several in placed.values()]
        axes.plot(range(len(placed)), heights, color=colour(number), marker=shape(number), label=views.short(name))
    axes.set_xticks(range(len(placed)), list(placed))
    axes.set_yticks(range(1, len(names) + 1))
    axes.set_ylim(len(names) + 0.3, 0.7)
    axes.set_ylabel("rank")
    figure.legend(loc="outside upper center", ncols=1)
    return figure
