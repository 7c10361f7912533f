"""`run.plot`: the figures of a run for a notebook, each a matplotlib Figure that shows itself."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from ...records import EquipoiseError
from ...runs import Part, Run
from ...runs.measurements import KINDS, metric_named
from ..behaviour import views
from ..behaviour.figures import draw_occupations, draw_scale
from ..calibration.figures import reliability_diagram
from ..calibration.reliability import reliability_table
from ..calibration.views import reliability_of
from ..comparison.compare import Comparison, Tested
from ..identities.radars.figures import radar
from ..identities.views import has_markers, kinds_of, ways_of
from ..paper.figures import LOOK, QUIET, WIDTHS, colour

FLIPS = {"flip_toward": "toward the stereotype", "flip_against": "against it"}


@dataclass(frozen=True)
class Plots:
    """Figures of a run; `dataset` and `task` choose where it has several, else the first is drawn."""

    run: Run

    def flips(self, *, dataset: str = "", task: str = "") -> Figure:
        """Return the share of sets whose answer changes with the group word, by type and direction, with intervals."""
        part = self._part(dataset, task)
        kinds = [kind for kind in part.measured.kinds if part.measured.get("flip_rate", type=kind)]
        if not kinds:
            raise EquipoiseError(f"{part}: has no flip_rate; measure the run with it")
        figure = Figure(figsize=(WIDTHS["page"], 0.9 + 0.7 * len(kinds)), layout="constrained")
        axes = figure.subplots()
        for row, kind in enumerate(kinds):
            left = 0.0
            for number, (name, words) in enumerate(FLIPS.items()):
                share = part.measured.get(name, type=kind)
                if share is not None:
                    axes.barh(row, share.value, left=left, color=colour(number), label=words if row == 0 else None)
                    left += share.value
            rate = part.measured.get("flip_rate", type=kind)
            assert rate is not None
            axes.plot([rate.low, rate.high], [row, row], color="black", linewidth=1)
            axes.annotate(f"{rate.value:.1%} of {rate.n:,}", (rate.high, row), (4, -3), textcoords="offset points")
        axes.set_yticks(range(len(kinds)), [KINDS.get(kind, kind or "all") for kind in kinds])
        axes.set(xlabel="share of sets whose answer changes with the group word", xlim=(0, None), title=str(part))
        axes.margins(x=0.3)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False, fontsize=8)
        return _shown(figure)

    def scale(self, *, dataset: str = "", task: str = "", kind: str = "") -> Figure:
        """Return the distribution of desirability (or certainty) by group, with means and intervals."""
        part = self._part(dataset, task)
        return self._drawn(draw_scale, _of_kind(list(views.scales(part)), kind, part), "column")

    def occupations(self, *, dataset: str = "", task: str = "", kind: str = "") -> Figure:
        """Return UCerF and equalized odds of every occupation, with intervals."""
        part = self._part(dataset, task)
        return self._drawn(draw_occupations, _of_kind(list(views.occupations(part)), kind, part), "page")

    def reliability(self, *, dataset: str = "", task: str = "", by: str = "", bins: int = 10) -> Figure:
        """Return the reliability diagram of sentence pairs, by group."""
        part = self._part(dataset, task)
        if not (part.outcomes.sides != "").any():
            raise EquipoiseError(f"{part}: has no sentence pairs; audit with the task cloze or sentence")
        table = reliability_table(part.outcomes, by=by, bins=bins, level=self.run.level)
        return self._drawn(reliability_diagram, reliability_of(table), "page")

    def identities(self, *, dataset: str = "", task: str = "", kind: str = "", augmentation: str = "") -> Figure:
        """Return radars of coreference confidence by identity, one for each attribute."""
        part = self._part(dataset, task)
        if not has_markers(part.identities):
            raise EquipoiseError(f"{part}: has no marked sentences; audit winoidentity")
        chosen = kind or kinds_of(part.identities)[0]
        way = augmentation or ways_of(part.identities)[0]
        return _shown(radar({self.run.name: part.identities}, chosen, way))

    def _part(self, dataset: str, task: str) -> Part:
        parts = [p for p in self.run.parts if dataset in ("", p.dataset) and task in ("", p.task)]
        if not parts:
            known = ", ".join(map(str, self.run.parts))
            raise EquipoiseError(f"the run has no part with dataset {dataset!r} and task {task!r}; it has {known}")
        return parts[0]

    def _drawn(self, draw: Callable[[Any, float], Figure], view: Any, width: str) -> Figure:
        with matplotlib.rc_context(LOOK):
            return _shown(draw(view, WIDTHS[width]))


def draw_differences(comparison: Comparison) -> Figure:
    """Return every tested difference with its interval, a colour for each pair of runs; hollow: not detected."""
    tests = comparison.tests
    if not tests:
        raise EquipoiseError("the comparison tested no metric that all runs have")
    rows = list(dict.fromkeys((test.metric, test.kind, test.part) for test in tests))
    pairs = list(dict.fromkeys(test.runs for test in tests))
    several = len({test.part for test in tests}) > 1
    with matplotlib.rc_context(LOOK):
        figure = Figure(figsize=(WIDTHS["page"], 1.0 + 0.2 * len(rows) * len(pairs)))
        axes = figure.subplots()
        _draw_tests(axes, tests, rows, pairs)
        labels = [f"{metric_named(name).label}, {kind}" + (f", {part}" if several else "") for name, kind, part in rows]
        axes.set_yticks(range(len(rows)), labels)
        axes.set_xlabel("difference with its interval (hollow: not detected)")
        figure.legend(loc="outside upper center")
    return _shown(figure)


def _draw_tests(axes: Any, tests: Sequence[Tested], rows: Sequence[tuple[str, str, str]], pairs: Sequence[str]) -> None:
    axes.axvline(0, color=QUIET, linewidth=0.8)
    for test in tests:
        number = pairs.index(test.runs)
        row = rows.index((test.metric, test.kind, test.part)) + (number + 0.5) / len(pairs) * 0.8 - 0.4
        tone, difference = colour(number), test.difference
        axes.plot([difference.low, difference.high], [row, row], color=tone, linewidth=1.2)
        axes.plot(difference.value, row, "o", color=tone, markersize=5, fillstyle="full" if test.detected else "none")
    axes.invert_yaxis()
    for number, pair in enumerate(pairs):
        axes.plot([], [], "o-", color=colour(number), label=pair)


def _of_kind(several: list[Any], kind: str, part: Part) -> Any:
    chosen = [view for view in several if view.kind in (kind, KINDS.get(kind, kind)) or not kind]
    if not chosen:
        raise EquipoiseError(f"{part}: has nothing to draw" + (f" for {kind}" if kind else ""))
    return chosen[0]


def _shown(figure: Figure) -> Figure:
    """Return the figure so that a notebook shows it, whatever backend matplotlib has there."""

    def png() -> bytes:
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=110)
        return out.getvalue()

    figure._repr_png_ = png  # type: ignore[attr-defined]
    return figure
