"""Figures of a comparison, for a paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ...runs.measurements import kind_title
from ..behaviour.views import short
from ..paper.figures import QUIET, Drawn, colour, plane, saved, shape
from .compare import Comparison
from .page import Place, bumped, places


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


def _draw_scatter(several: Sequence[Place], width: float) -> Figure:
    figure, axes = plane((width, 0.85 * 3.25))
    for number, place in enumerate(several):
        x, y, tone = place.performance, place.ucerf, colour(number)
        axes.plot([x.low, x.high], [y.value, y.value], color=tone)
        axes.plot([x.value, x.value], [y.low, y.high], color=tone)
        axes.plot(x.value, y.value, shape(number), color=tone, markersize=4.5, label=short(place.name))
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
    figure, axes = plane((width, 0.5 + 0.3 * len(names)))
    for number, name in enumerate(names):
        heights = [several[number] for several in placed.values()]
        axes.plot(range(len(placed)), heights, color=colour(number), marker=shape(number), label=short(name))
    axes.set_xticks(range(len(placed)), list(placed))
    axes.set_yticks(range(1, len(names) + 1))
    axes.set_ylim(len(names) + 0.3, 0.7)
    axes.set_ylabel("rank")
    figure.legend(loc="outside upper center", ncols=1)
    return figure
