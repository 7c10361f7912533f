"""The scale of behaviour: each group's values, means and intervals, and histograms that lose no value."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept

from equipoise.records.showing import Bar, Dot, Line
from equipoise.runs.run import Run
from equipoise.topics import scale as scale_module
from equipoise.topics.scale import (
    FEW,
    dataset_section,
    density,
    histogram_section,
    histograms,
    outline,
    profile,
    scale_chart,
    scale_section,
    scales,
)

VALUES = st.lists(st.floats(-1, 1), min_size=1, max_size=200)


@given(VALUES)
def test_a_density_is_a_density_also_at_the_ends_of_the_scale(values: list[float]) -> None:
    at = np.linspace(-1, 1, 2001)
    curve = density(np.array(values), at, low=-1.0)
    assert (curve >= 0).all() and np.trapezoid(curve, at) == pytest.approx(1.0, abs=0.02)


def test_few_values_are_drawn_as_bars() -> None:
    at = np.linspace(0, 1, 101)
    few = profile(np.array([0.5] * (FEW - 1)), at, low=0.0)
    assert set(np.unique(few)) == {0.0, 20.0}
    many = profile(np.linspace(0, 1, 10 * FEW), at, low=0.0)
    assert len(np.unique(many)) > 20


def test_means_on_the_scale_are_the_measured_ones(planted_run: Path) -> None:
    (part,) = Run(planted_run).parts
    resolvable, ambiguous = scales(part)
    assert [strip.name for strip in resolvable.strips] == ["with the stereotype", "against the stereotype"]
    assert [strip.name for strip in ambiguous.strips] == ["he", "she"]
    assert (resolvable.quantity, ambiguous.quantity) == ("D", "certainty")
    for scale in (resolvable, ambiguous):
        chart = scale_chart(scale)
        *strips, bar = chart.panels
        assert [strip.values.mean() for strip in scale.strips] == pytest.approx([s.mean.value for s in scale.strips])
        for strip, panel in zip(scale.strips, strips, strict=True):
            (dot,) = panel.marks_of(Dot)
            assert dot.x == strip.mean.estimate and f"n = {strip.n:,}" in panel.title
            assert len(list(panel.marks_of(Line))) == 1
        assert [dot.x for dot in bar.marks_of(Dot)] == [strip.mean.value for strip in scale.strips]
        means = [strip.mean.value for strip in scale.strips]
        assert chart.caption == f"The means of the groups differ by {max(means) - min(means):.3f}."


def test_the_bar_is_wrong_below_0_and_right_above(planted_run: Path) -> None:
    resolvable = next(scales(Run(planted_run).parts[0]))
    for bar in scale_chart(resolvable).panels[-1].marks_of(Bar):
        assert bar.tone == ("right" if bar.x[0] >= -1e-9 else "wrong") and 0 < bar.strength <= 1


def test_histograms_count_every_answer_and_every_set(planted_run: Path) -> None:
    (part,) = Run(planted_run).parts
    for chart in histograms(part):
        kind, quantity = chart.about["type"], chart.about["quantity"]
        counted = sum(int(cell) for row in chart.table().rows for cell in row.cells[1:])
        table = part.pairs if quantity == "U" else part.items
        assert counted == len(part.of_kind(table, kind))
        hits = list(chart.panels[0].marks_of(Bar))
        assert all(not bar.strength and bar.link.startswith("#filter=") for bar in hits)
        assert sum(int(bar.label.rpartition(" ")[2].replace(",", "")) for bar in hits) == counted


@given(st.lists(st.integers(0, 50), min_size=1, max_size=12))
def test_an_outline_has_the_area_of_its_histogram(heights: list[int]) -> None:
    edges = np.linspace(0, 1, len(heights) + 1)
    x, y = np.array(outline(edges, np.array(heights, dtype=float))).T
    assert np.trapezoid(y, x) == pytest.approx(sum(heights) / len(heights))
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 0)


def test_what_is_described_is_as_it_was_kept(planted_run: Path, mild_run: Path) -> None:
    run = Run(planted_run)
    assert_kept("topics/scale", scale_section(run), histogram_section(run), dataset_section([run, Run(mild_run)]))


def test_a_density_is_the_mean_of_bells_reflected_at_both_ends() -> None:
    at, values = np.array([0.0, 0.45, 1.0]), np.array([0.0, 0.5, 1.0] * 20)

    def bell(x: float) -> float:
        return float(np.exp(-0.5 * (x / 0.04) ** 2) / (0.04 * np.sqrt(2 * np.pi)))

    expected = [np.mean([bell(x - v) + bell(x + v) + bell(x - 2 + v) for v in values]) for x in at]
    assert density(values, at, low=0.0) == pytest.approx(expected, rel=0.05, abs=1e-6)


@pytest.mark.parametrize(("count", "is_smooth"), [(FEW - 1, False), (FEW, True)])
def test_enough_different_values_make_a_curve(count: int, is_smooth: bool) -> None:
    at = np.linspace(0, 1, 101)
    different, same = np.linspace(0, 1, count), np.full(10 * FEW, 0.525)
    assert (profile(different, at, low=0.0).tolist() == density(different, at, low=0.0).tolist()) is is_smooth
    heights = profile(same, at, low=0.0)
    assert heights.max() == 20.0 and at[heights > 0].tolist() == pytest.approx([0.5, 0.51, 0.52, 0.53, 0.54])
    below = profile(np.array([-1.0, 1.0]), np.array([-1.0, 0.0, 1.0]), low=-1.0)
    assert below.tolist() == pytest.approx([10.0, 0.0, 10.0])


def test_known_values_of_a_group_come_first_and_at_most_four_others() -> None:
    items = pd.DataFrame({"gender": ["z", "female", "a", "b", "c", "d", "", None, "male"]})
    assert scale_module._values(items, "gender") == ["male", "female", "a", "b", "c", "d"]
    assert scale_module._values(items, "stereotype") == []


def test_sizes_say_how_many_answers_where_they_are_more() -> None:
    series = scale_module.Series("he", np.zeros(2400), 0, 1200)
    assert scale_module._size(series) == "n = 1,200, 2,400 answers"
    assert scale_module._size(replace(series, n=2400)) == "n = 2,400"


def test_runs_that_share_a_dataset_are_not_apart(planted_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale_module, "dataset_spreads", lambda runs: iter(["chart"]))

    def run(*names: str) -> Any:
        return SimpleNamespace(manifest=SimpleNamespace(datasets=dict.fromkeys(names)))

    assert scale_module.spreads_apart([run("a"), run("b", "c")]) == ["chart"]
    assert scale_module.spreads_apart([run("a"), run("b", "a")]) == []
