"""The scale of behaviour: each group's values, means and intervals, and histograms that lose no value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept

from equipoise.records.showing import Bar, Dot, Line
from equipoise.runs.run import Run
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
