"""One model over time, as findings and charts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kept_texts import assert_kept

from equipoise.comparing.comparison import compare
from equipoise.metrics.requirement import parse_requirement
from equipoise.records import Estimate, Measurement
from equipoise.records.showing import Chart, Dot, Finding, Line, Rule, Table
from equipoise.topics.history import Moment, _change, history, last_change

PART = ("builtin", "next-word")


def moment(name: str, value: float, *, usable: bool = True) -> Moment:
    estimate = Estimate(value, value - 0.1, value + 0.1, 0.95, 50, "test")
    values = {PART: {"ucerf": {"type2": estimate}, "flip_rate": {}}}
    return Moment(name, f"run-{name}.html", values, () if usable else (PART,))


def test_a_line_goes_through_the_runs_in_their_order_and_limits_lie_across_it() -> None:
    moments = [moment("one", 0.5), moment("two", 0.7, usable=False), moment("three", 0.6)]
    limits = [parse_requirement(text) for text in ("ucerf >= 0.8", "ucerf[dataset=other] >= 0.1", "accuracy >= 0.5")]
    (section,) = history(moments, limits)
    (chart,) = section.every(Chart)
    (panel,) = chart.panels
    assert panel.x.names == ("one", "two", "three")
    assert [line.points for line in panel.marks_of(Line)] == [[(0.0, 0.5), (1.0, 0.7), (2.0, 0.6)]]
    dots = list(panel.marks_of(Dot))
    assert [(dot.hollow, dot.link) for dot in dots] == [
        (False, "run-one.html"),
        (True, "run-two.html"),
        (False, "run-three.html"),
    ]
    assert [rule.at for rule in panel.marks_of(Rule)] == [0.8], "of this metric and data only"
    assert panel.y.low <= 0.4 and panel.y.high >= 0.8
    (table,) = section.every(Table)
    assert [getattr(row.cells[0], "content", "") for row in table.rows] == ["three", "two", "one"]


def test_a_run_that_lacks_a_part_is_left_out_of_its_line() -> None:
    other = Moment("x", "run-x.html", {("other", "mcq"): {"ucerf": {"": Estimate(0.5, 0.4, 0.6, 0.95, 5, "")}}})
    sections = list(history([moment("one", 0.5), other, moment("two", 0.6)]))
    assert [section.title for section in sections] == ["builtin · next-word", "other · mcq"]
    (chart,) = sections[0].every(Chart)
    assert chart.panels[0].x.names == ("one", "two")


def test_the_last_change_is_that_of_the_second_run_and_says_what_the_test_says(
    planted_run: Path, mild_run: Path
) -> None:
    few = {"resamples": 200, "permutations": 200, "metrics": ("ucerf",)}
    worse = last_change(compare([mild_run, planted_run], **few))
    better = last_change(compare([planted_run, mild_run], **few))
    tests = compare([mild_run, planted_run], **few).tests
    for finding, back, test in zip(worse.every(Finding), better.every(Finding), tests, strict=True):
        if test.detected:
            assert ("is worse" in finding.text) == ("is better" in back.text) == (test.better == test.first)
            assert f"{-test.difference:+}" in finding.text
        else:
            assert "no change of " in finding.text and "no change of " in back.text
    assert any("is worse" in finding.text for finding in worse.every(Finding))


def test_what_is_described_is_as_it_was_kept(planted_run: Path, mild_run: Path) -> None:
    moments = [moment("one", 0.5), moment("two", 0.7, usable=False), moment("three", 0.6)]
    few = {"resamples": 40, "permutations": 40, "metrics": ("ucerf", "flip_rate")}
    change = last_change(compare([mild_run, planted_run], **few))
    assert_kept("topics/history", list(history(moments, [parse_requirement("ucerf >= 0.8")])), change)


def test_a_metric_without_a_better_end_says_none() -> None:
    values = {PART: {"flip_bias": {"": Estimate(0.1, 0.0, 0.2, 0.95, 5, "")}}}
    (section,) = history([Moment("one", "run-one.html", values), Moment("two", "run-two.html", values)])
    (chart,) = section.every(Chart)
    assert "better" not in chart.title and len(list(section.every(Table))) == 1


def test_what_is_not_measured_has_no_section() -> None:
    assert list(history([Moment("one", "", {PART: {"ucerf": {}}}), Moment("two", "", {})])) == [] == list(history([]))


@pytest.mark.parametrize(
    ("detected", "better", "says", "state"),
    [
        (False, "b", "no change of UCerF is detected", "fine"),
        (True, "", "UCerF changed", "found"),
        (True, "b", "UCerF is better", "found"),
        (True, "a", "UCerF is worse", "found"),
    ],
)
def test_a_change_is_told_of_the_second_run(detected: bool, better: str, says: str, state: str) -> None:
    estimate = Estimate(0.1, 0.05, 0.2, 0.95, 1200, "", 0.01, 0.02)
    row = Measurement("ucerf", "m", "d", "t", "all", estimate, "higher")
    facts = {"detected": detected, "better": better, "second": "b", "data": "d · t", "row": row}
    test: Any = SimpleNamespace(difference=estimate, **facts)
    finding = _change(test)
    numbers = f"{-estimate:+} (n = 1,200, corrected p = 0.020)."
    assert finding.text == f"d · t: {says}, {numbers}"
    assert (finding.state, finding.claim, finding.topic, list(finding.rests_on)) == (state, detected, "change", [row])


def test_small_changes_are_not_drawn_large() -> None:
    tight = Estimate(0.5, 0.499, 0.501, 0.95, 50, "")
    moments = [Moment(name, "", {PART: {"ucerf": {"type2": tight}}}) for name in ("one", "two")]
    (section,) = history(moments)
    (chart,) = section.every(Chart)
    y = chart.panels[0].y
    assert y.high - y.low >= 0.1
