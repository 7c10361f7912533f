"""Every figure is of its own run, dataset and task: planted runs with different values, side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from equipoise.reports.behaviour import views
from equipoise.reports.behaviour.figures import _draw_histogram, draw_occupations, draw_scale
from equipoise.reports.comparison.compare import compare
from equipoise.reports.comparison.figures import _draw_ranks, _draw_scatter
from equipoise.reports.comparison.matching import ranks
from equipoise.reports.comparison.page import bumped, places
from equipoise.reports.comparison.spreads import run_spreads

import equipoise
from equipoise.runs import Run
from equipoise.runs.run import Part

TASKS = ("next-word", "mcq")
METRICS = ["ucerf", "ucerf_signed", "accuracy", "eo_sum", "fp", "desirability", "certainty", "flip_rate"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Return two runs of equal model name, two tasks each: the second is less sure and follows stereotypes more."""
    folder = tmp_path_factory.mktemp("runs")
    choices = {"limit": 80, "resamples": 40, "progress": False, "metrics": METRICS}
    engines = {"mild": "planted:strength=2,bias=0.4,noise=0.7", "strong": "planted:strength=0.6,bias=1.6,noise=0.7"}
    made = [equipoise.audit(engine, task=list(TASKS), out=folder / name, **choices) for name, engine in engines.items()]
    return [Run(run.path, name=run.path.name) for run in made]


@pytest.fixture(scope="module")
def parts(runs: list[Run]) -> list[Part]:
    several = [part for run in runs for part in run.parts]
    values = {round(row.value, 9) for p in several if (row := p.measured.get("ucerf", type="type2")) is not None}
    assert len(several) == len(values) == 4
    return several


def marks(axes: Any) -> list[tuple[float, float]]:
    """Return the points of a picture that have a mark, however many are drawn at once."""
    lines = [line for line in axes.get_lines() if line.get_marker() not in ("None", "", None)]
    return [(float(x), float(y)) for line in lines for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]


def test_scales(parts: list[Part]) -> None:
    for part in parts:
        (scale,) = [scale for scale in views.scales(part) if scale.type == "type2"]
        items = part.items[part.items["type"] == "type2"]
        expected = [items[items["stereotype"] == name]["desirability"].mean() for name in ("pro", "anti")]
        assert [x for x, _ in marks(draw_scale(scale, 3).axes[0])] == pytest.approx(expected, abs=1e-9)


def test_histograms(parts: list[Part]) -> None:
    for part in parts:
        for histogram in views.histograms(part):
            drawn = _draw_histogram(histogram, 3).axes[0].patches[0].get_data()
            if histogram.quantity == "U":
                values = part.pairs[part.pairs["type"] == histogram.type]["u"]
                expected = np.histogram(np.clip(values, 0, 1), np.linspace(0, 1, 41))[0]
                assert drawn.values.tolist() == expected.tolist()


def test_occupations(parts: list[Part]) -> None:
    for part in parts:
        (view,) = [view for view in views.occupations(part) if view.type == "type2"]
        left, _ = draw_occupations(view, 3).axes
        rows = [part.measured.get("ucerf", type="type2", occupation=row.name) for row in view.rows]
        assert [x for x, _ in marks(left)] == [row.value for row in rows if row is not None]


def test_scatter_and_ranks(runs: list[Run]) -> None:
    comparison = compare(runs, resamples=20)
    for matched in comparison.matches:
        several = places(matched, comparison.names, "type2")
        points = marks(_draw_scatter(several, 3).axes[0])
        own = [next(part for part in run.parts if part.task == matched.task).measured for run in runs]
        wanted = [[measured.get(name, type="type2") for name in ("accuracy", "ucerf")] for measured in own]
        assert points == [tuple(row.value for row in rows if row is not None) for rows in wanted]
        placed = bumped(matched, "type2")
        assert {"ucerf", "eo_sum"} <= set(placed)
        drawn = _draw_ranks((comparison.names, {k: v for k, v in placed.items() if None not in v}), 3).axes[0]
        for number, line in enumerate(drawn.get_lines()):
            shown = [ranks(matched, name, "type2")[number] for name, v in placed.items() if None not in v]
            assert list(line.get_ydata()) == shown
        assert ranks(matched, "ucerf", "type2") == [1, 2]


def test_spreads_of_a_comparison(runs: list[Run]) -> None:
    for spread in run_spreads(runs):
        task = next(task for task in reversed(TASKS) if f"· {task}" in spread.title)
        kind = "type1" if "ambiguous" in spread.title else "type2"
        for (name, values), run in zip(spread.series, runs, strict=True):
            part = next(part for part in run.parts if part.task == task)
            table = part.pairs if spread.quantity == "U" else part.items
            column = {"U": "u", "D": "desirability", "certainty": "certainty"}[spread.quantity]
            assert name == run.name
            assert sorted(values) == sorted(table[table["type"] == kind][column])
