"""A comparison begins with the runs in order: a sentence and a chart, before every table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from kept_texts import assert_kept

from equipoise.comparing.comparison import Choices, Comparison, compare
from equipoise.records.showing import Bracket, Chart, Dot, Finding
from equipoise.topics.comparison import order
from equipoise.topics.comparison.differences import findings
from equipoise.topics.comparison.order import ordered, orderings


@pytest.fixture(scope="module")
def three(planted_run: Path, mild_run: Path, twin_run: Path) -> Comparison:
    metrics = ("flip_rate", "accuracy", "ucerf", "ucerf_signed")
    return compare([planted_run, mild_run, twin_run], Choices(permutations=2000, resamples=50, metrics=metrics))


def test_runs_are_in_order_with_their_own_intervals_and_tests(three: Comparison) -> None:
    several = {(ordering.where, ordering.metric.name): ordering for ordering in orderings(three)}
    resolvable, ambiguous = (f"builtin · next-word, {kind}" for kind in ("resolvable (type 2)", "ambiguous (type 1)"))
    expected = {(resolvable, "flip_rate"), (resolvable, "ucerf"), (ambiguous, "flip_rate"), (ambiguous, "ucerf_signed")}
    assert set(several) == expected
    ordering = several[resolvable, "flip_rate"]
    assert ordering.names[-1] == "planted (strong)" and ["planted (mild)", "planted (twin)"] in ordering.groups()
    match = three.matches[0]
    for at, name in enumerate(three.names):
        row = match.measured[at].get("flip_rate", type="type2")
        assert row is not None and ordering.values[name] == row.estimate
    (test,) = [t for t in three.tests if t.row.metric == "flip_rate" and t.second == "planted (mild)" and "2" in t.data]
    assert ordering.differences["planted (strong)", "planted (mild)"] == test.difference


def test_the_page_begins_with_the_answer_the_chart_and_the_sentences(three: Comparison) -> None:
    section = findings(three)
    assert section is not None
    first = [entry for entry in section.shown[:6] if isinstance(entry, Finding)]
    assert [entry.topic for entry in first] == ["answer", *["order"] * 4]
    chart = section.shown[1]
    assert isinstance(chart, Chart) and chart.topic == "order" and list(section.shown[1:6]) == list(ordered(three))
    for panel in chart.panels:
        values = [dot.x.value for dot in panel.marks_of(Dot)]
        assert values == sorted(values, reverse="higher" in panel.x.label)
    assert any(list(panel.marks_of(Bracket)) for panel in chart.panels)


def test_what_is_described_is_as_it_was_kept(three: Comparison) -> None:
    assert_kept("topics/order", list(ordered(three)))


def test_runs_that_are_not_usable_and_metrics_without_a_headline_are_left_out(
    three: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order, "usable_runs", lambda comparison, match: [True, True, False])
    assert {name for ordering in orderings(three) for name in ordering.values} == set(three.names[:2])
    monkeypatch.setattr(order, "usable_runs", lambda comparison, match: [True, False, False])
    assert list(ordered(three)) == []


def test_metrics_come_as_headlines_do(three: Comparison) -> None:
    tests = {test.row.metric: test for test in three.tests}
    places = {name: order.headline_place(test) for name, test in tests.items()}
    assert places == {"flip_rate": 0, "accuracy": 1, "ucerf_signed": 2, "ucerf": 3}
    other = replace(tests["ucerf"], row=replace(tests["ucerf"].row, metric="eo_sum"))
    assert order.headline_place(other) == 6 and not order._is_ranked(other)
    neither = replace(tests["ucerf"], row=replace(tests["ucerf"].row, better="neither"))
    assert order._is_ranked(tests["ucerf"]) and not order._is_ranked(neither)
    assert order._leading([tests["ucerf"], tests["flip_rate"], tests["accuracy"]]) == ["flip_rate", "ucerf"]
    assert order._leading([tests["ucerf"], tests["ucerf_signed"]]) == ["ucerf_signed"]
    assert order._leading([tests["accuracy"]]) == ["accuracy"]


def test_a_metric_that_not_every_pair_was_tested_in_gives_no_order(three: Comparison) -> None:
    def found(comparison: Comparison) -> set[tuple[str, str]]:
        return {(ordering.where, ordering.metric.name) for ordering in orderings(comparison)}

    (left_out, *_) = [test for test in three.tests if test.row.metric == "flip_rate" and test.row.group == "type=type2"]
    fewer = replace(three, tests=[test for test in three.tests if test is not left_out])
    assert found(three) - found(fewer) == {("builtin · next-word, resolvable (type 2)", "flip_rate")}
