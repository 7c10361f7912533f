"""UCerF by estimator as a figure: a line for each model; lines that cross are orders that the choice changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..behaviour.views import short
from ..paper.figures import Drawn, colour, saved, shape, stroke
from .studies import PartStudy


def study_figures(studies: Sequence[PartStudy], *, formats: Sequence[str] = ("png",)) -> Iterator[Drawn]:
    """Yield the figure of each study in each format."""
    for part in studies:
        name = "-".join([part.metric.name, part.dataset, part.task, part.kind or "all"])
        yield from saved(name, formats, _lines, part, "page")


def _lines(part: PartStudy, width: float) -> Figure:
    values = part.study.values
    figure = Figure(figsize=(width, 0.5 * width + 0.16 * len(values.runs)))
    axes = figure.add_subplot()
    places = np.arange(len(values.estimators), dtype=np.float64)
    for number, run in enumerate(values.runs):
        rows = [standing.ucerf for standing in part.study.standings if standing.run == run]
        heights = np.array([row.value for row in rows])
        ends = np.nan_to_num(np.array([[row.value - row.low, row.high - row.value] for row in rows]).T)
        # A little to the side of each other, so that intervals can be told apart.
        across = places + 0.04 * (number - (len(values.runs) - 1) / 2)
        style: dict[str, Any] = {"color": colour(number), "marker": shape(number), "linestyle": stroke(number)}
        axes.errorbar(across, heights, yerr=np.maximum(ends, 0), label=short(run), markersize=3, capsize=2, **style)
    axes.set_xticks(places, [name.replace(", ", ",\n") for name in values.estimators])
    axes.set_ylabel(part.metric.label)
    axes.set_title(f"{part.title}, {values.sets:,} sets")
    figure.legend(loc="outside lower center", ncols=2)
    return figure
