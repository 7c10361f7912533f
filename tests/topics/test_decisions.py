"""Decisions by group: every group is there, with its lean, on the page and in the terminal; other data has none."""

from __future__ import annotations

from pathlib import Path

import pytest
from kept_texts import assert_kept

from equipoise import audit
from equipoise.records.showing import Chart, Dot
from equipoise.report import run_page
from equipoise.runs.run import Run
from equipoise.topics.decisions import decisions, summary

DATA = {
    "candidates": ["yes", "no"],
    "good": "yes",
    "questions": ["Will it be done?"],
    "groups": {"home": {name: {"someone": f"a person from {name}"} for name in ("Rome", "Oslo", "Lima")}},
    "scenario": [{"id": str(number), "text": f"Case {number}: {{someone}} asks."} for number in range(32)],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return audit("planted:favour=1", DATA, out=tmp_path_factory.mktemp("run") / "run", resamples=60)


def test_every_group_has_a_dot_at_its_lean_in_the_order_of_the_data(run: Run) -> None:
    section = decisions(run)
    assert section is not None
    (chart,) = section.shown
    assert isinstance(chart, Chart)
    dots = [mark for mark in chart.panels[0].marks if isinstance(mark, Dot)]
    assert [dot.label for dot in dots] == ["Rome", "Oslo", "Lima"]
    measured = run.parts[0].measured
    for dot in dots:
        row = measured.get("good_lean", group=dot.label, type="open")
        assert row is not None and dot.x == row.estimate
    assert dots[0].x.value > 0 > dots[1].x.value  # type: ignore[union-attr]


def test_the_terminal_and_the_page_show_them(run: Run) -> None:
    section = summary(run)
    assert section is not None and [row.cells[0].content for row in section.shown[0].rows] == ["Rome", "Oslo", "Lima"]  # type: ignore[union-attr]
    page = run_page(run)
    assert "Decisions by group" in page and "who gets the good answer in open decisions" in page


def test_other_data_has_no_such_section(tmp_path: Path) -> None:
    run = audit("planted", "builtin", limit=4, out=tmp_path / "run", resamples=10, metrics=["flip_rate"])
    assert decisions(run) is None and summary(run) is None


def test_what_is_described_is_as_it_was_kept(run: Run) -> None:
    assert_kept("topics/decisions", decisions(run), summary(run))
