"""Every figure is of its own run, dataset and task: planted runs with different values, side by side."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise
from equipoise.comparing.comparison import compare
from equipoise.records.showing import Chart, Dot, Line, value_of
from equipoise.runs import Run
from equipoise.runs.run import Part
from equipoise.topics.comparison import standings
from equipoise.topics.occupations import occupations
from equipoise.topics.scale import histograms, outline, scale_chart, scales

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


def dots(chart: Chart, panel: int = 0) -> list[float]:
    """Return where the dots of a panel are, from left to right of its x axis."""
    return [value_of(dot.x) for dot in chart.panels[panel].marks_of(Dot)]


def test_scales(parts: list[Part]) -> None:
    for part in parts:
        (scale,) = [scale for scale in scales(part) if scale.kind == "type2"]
        items = part.items[part.items["type"] == "type2"]
        expected = [items[items["stereotype"] == name]["desirability"].mean() for name in ("pro", "anti")]
        chart = scale_chart(scale)
        assert [x for panel in range(2) for x in dots(chart, panel)] == pytest.approx(expected, abs=1e-9)


def test_histograms(parts: list[Part]) -> None:
    for part in parts:
        drawn = [chart for chart in histograms(part) if chart.about["quantity"] == "U"]
        assert {chart.about["type"] for chart in drawn} == {"type1", "type2"}
        for chart in drawn:
            values = part.pairs[part.pairs["type"] == chart.about["type"]]["u"]
            edges = np.linspace(0, 1, 41)
            counts = np.histogram(np.clip(values, 0, 1), edges)[0]
            assert next(chart.panels[0].marks_of(Line)).points == outline(edges, counts)


def test_occupations(parts: list[Part]) -> None:
    for part in parts:
        (chart,) = [chart for chart in occupations(part) if chart.about["type"] == "type2"]
        names = [row.cells[0] for row in chart.table().rows]
        rows = [part.measured.get("ucerf", type="type2", occupation=name) for name in names]
        assert dots(chart) == [row.value for row in rows if row is not None]


def test_scatter_and_ranks(runs: list[Run]) -> None:
    comparison = compare(runs, resamples=20)
    for matched in comparison.matches:
        chart = standings.scatter_chart(matched, standings.places_of(matched, comparison.names, "type2"), "type2")
        points = [(value_of(dot.x), value_of(dot.y)) for dot in chart.panels[0].marks_of(Dot)]
        own = [next(part for part in run.parts if part.task == matched.task).measured for run in runs]
        wanted = [[measured.get(name, type="type2") for name in ("accuracy", "ucerf")] for measured in own]
        assert points == [tuple(row.value for row in rows if row is not None) for rows in wanted]
        ranks = standings.rank_chart(matched, comparison.names, "type2")
        assert ranks is not None and {"ucerf", "eo_sum"} <= set(ranks.panels[0].x.names)
        assert matched.ranks("ucerf", "type2") == [1, 2]


def test_spreads_of_a_comparison(runs: list[Run]) -> None:
    section = standings.spreads(compare(runs, resamples=20))
    assert section is not None
    charts = [chart for chart in section.every(Chart) if chart.topic == "spread"]
    assert {chart.about["task"] for chart in charts} == set(TASKS)
    for chart in charts:
        quantity, kind = chart.about["quantity"], chart.about["type"]
        for run, key in zip(runs, chart.legend, strict=True):
            part = next(part for part in run.parts if part.task == chart.about["task"])
            table = part.pairs if quantity == "U" else part.items
            values = table[table["type"] == kind][{"U": "u", "D": "desirability", "certainty": "certainty"}[quantity]]
            assert key.label.endswith(f"({run.name}): mean {values.mean():.3f} (n = {len(values):,})")
