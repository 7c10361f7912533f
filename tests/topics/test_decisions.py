"""Decisions by group: every group is there, with its lean, on the page and in the terminal; other data has none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kept_texts import assert_kept

from equipoise import audit
from equipoise.records.showing import Chart, Dot
from equipoise.report import run_page
from equipoise.runs.run import Run
from equipoise.topics import decisions as topic
from equipoise.topics.decisions import decisions, leading_chart, summary
from equipoise.topics.first_screen import leading_picture

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


def test_the_first_picture_is_of_the_groups_furthest_from_the_mean(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (part,) = run.parts
    whole, picture = leading_chart(part), leading_picture(part)
    assert whole is not None and picture is not None and picture.title == whole.title
    assert picture.topic == "", "it is published by its own section"
    monkeypatch.setattr(topic, "LEADING", 2)
    some = leading_chart(part)
    assert some is not None and "The 2 of 3 groups furthest from 0" in some.caption
    dots = [mark for mark in some.panels[0].marks if isinstance(mark, Dot)]
    leans = {name: part.measured.get("good_lean", group=name, type="open").value for name in ("Rome", "Oslo", "Lima")}
    furthest = sorted(leans, key=lambda name: -abs(leans[name]))[:2]
    assert [dot.label for dot in dots] == sorted(furthest, key=lambda name: -leans[name])
    assert [dot.y for dot in dots] == [0.0, 1.0] and list(some.panels[0].y.names) == [dot.label for dot in dots]


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


def test_the_first_picture_is_of_the_first_type(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (part,) = run.parts
    (own, *_) = topic._charts(part, "open")
    monkeypatch.setattr(topic, "_charts", lambda _, kind: iter([replace(own, title=kind)]))
    some: Any = SimpleNamespace(measured=SimpleNamespace(kinds=["first", "last"]))
    shown = leading_chart(some)
    assert shown is not None and shown.title == "first"
    none: Any = SimpleNamespace(measured=SimpleNamespace(kinds=[]))
    assert leading_chart(none) is None


def test_the_tables_are_those_of_the_charts_that_have_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (part,) = run.parts
    (own, *_) = topic._charts(part, "open")
    monkeypatch.setattr(topic, "_charts", lambda *_: [own, replace(own, data=None), own])
    section = summary(run)
    assert section is not None and section.shown == [own.data, own.data]
