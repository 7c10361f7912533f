"""Figures of a run's behaviour, for a paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...runs.run import Run
from ..calibration.figures import part_figures as calibration
from ..identities.figures import part_figures as identities
from ..paper.figures import GRID, Drawn, colour, plane, saved, shape, stroke
from . import views


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


def draw_scale(scale: views.Scale, width: float) -> Figure:
    """Return the distributions of a scale, with means and intervals below."""
    figure, axes = plane((width, 0.62 * 3.25))
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
    figure, axes = plane((width, 0.55 * 3.25))
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
    names = [views.short(r.name, 22) + ("" if r.share is None else f" ({r.share}%)") for r in view.rows]
    height = 0.5 + 0.125 * len(names)
    figure = Figure(figsize=(width, height))
    figure.set_layout_engine("none")
    beside = 0.1 + 0.05 * max(map(len, names))
    inside = {"left": beside / width, "right": 1 - 0.1 / width, "bottom": 0.42 / height, "top": 1 - 0.05 / height}
    panels: Any = figure.add_gridspec(1, 2, wspace=0.15, **inside).subplots(sharey=True)
    left, right = panels
    for axes, series, chosen in ((left, 0, [r.ucerf for r in view.rows]), (right, 1, [r.odds for r in view.rows])):
        known = [(number, panel) for number, panel in enumerate(chosen) if panel is not None]
        heights = [number for number, _ in known]
        axes.hlines(
            heights, [panel.low for _, panel in known], [panel.high for _, panel in known], color=colour(series)
        )
        values = [panel.value for _, panel in known]
        axes.plot(values, heights, shape(series), color=colour(series), markersize=3, clip_on=False)
    left.set_yticks([])
    left.set_ylim(len(names) - 0.5, -0.5)
    for axes in (left, right):
        axes.hlines(range(len(names)), 0, 1, transform=axes.get_yaxis_transform(), **GRID)
    # Texts instead of ticks, of which each is six artists: this figure took a third of the time of all.
    for number, name in enumerate(names):
        left.text(-0.04, number, name, transform=left.get_yaxis_transform(), fontsize=6, ha="right", va="center")
    left.set_xlabel("UCerF (1: alike)")
    right.set_xlabel("eo_sum (0: alike)")
    return figure
