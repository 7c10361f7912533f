"""Models in order: who is ahead, by how much, and who cannot be told apart."""

from __future__ import annotations

import math
import re
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept

from equipoise.media import figure
from equipoise.media.page.charts import svg
from equipoise.metrics import METRICS
from equipoise.records import Estimate
from equipoise.records.showing import Bracket, Chart, Dot
from equipoise.topics import ordering as topic
from equipoise.topics.ordering import Ordering, joined


def ordering(values: dict[str, float], apart: set[frozenset[str]], metric: str = "ucerf") -> Ordering:
    """Return an ordering of values, in which the differences of these pairs are detected."""
    differences = {}
    for first, second in combinations(values, 2):
        value, half = values[first] - values[second], 0.01
        found = frozenset({first, second}) in apart
        half = abs(value) / 2 if found else abs(value) + half
        p = 0.004 if found else 0.4
        differences[first, second] = Estimate(value, value - half, value + half, 0.95, 120, "", p, p)
    known = {name: Estimate(value, value - 0.01, value + 0.01, 0.95, 120, "") for name, value in values.items()}
    return Ordering(METRICS[metric], "winobias · mcq", known, differences)


NAMES = ("a", "b", "c", "d", "e")
PAIRS = [frozenset(pair) for pair in combinations(NAMES, 2)]


@given(st.sets(st.sampled_from(PAIRS)), st.permutations([0.5, 0.6, 0.7, 0.8, 0.9]))
def test_two_share_a_bracket_where_and_only_where_they_cannot_be_told_apart(
    apart: set[frozenset[str]], values: list[float]
) -> None:
    made = ordering(dict(zip(NAMES, values, strict=True)), apart)
    groups = [set(group) for group in made.groups()]
    for pair in PAIRS:
        assert any(pair <= group for group in groups) == (pair not in apart)
    assert not any(group < other for group in groups for other in groups)
    panel = made.panel()
    assert [dot.x.value for dot in panel.marks_of(Dot)] == sorted(values, reverse=True), "UCerF: the highest first"
    brackets = list(panel.marks_of(Bracket))
    assert [{panel.y.names[int(at)] for at in bracket.places} for bracket in brackets] == groups
    assert [bracket.column for bracket in brackets] == list(range(len(groups)))


def test_the_sentence_names_the_best_the_size_n_and_the_corrected_p() -> None:
    apart = {frozenset(pair) for pair in (("alpha", "beta"), ("delta", "beta"))}
    text = ordering({"beta": 0.8, "alpha": 0.9, "delta": 0.89}, apart).finding.text
    assert text == (
        "winobias · mcq: by UCerF, alpha is better than beta by 0.100 [0.050, 0.150] (n = 120, p = 0.004 after"
        " correction); delta cannot be told apart from alpha."
    )
    lower = ordering({"beta": 0.2, "alpha": 0.1}, {frozenset({"alpha", "beta"})}, "flip_rate").finding.text
    assert "by flip rate, alpha is better than beta by 10.0 points [5.0, 15.0]" in lower
    same = ordering({"alpha": 0.5, "beta": 0.5}, set()).finding.text
    assert "alpha and beta cannot be told apart by UCerF; the largest difference is 0.000 [" in same
    assert "is better" not in same


@pytest.mark.parametrize("width", [20.0, 40.0])
def test_brackets_are_drawn_beside_the_panel_within_the_chart(width: float) -> None:
    made = ordering({"alpha": 0.9, "beta": 0.85, "gamma": 0.6}, {frozenset({"alpha", "gamma"})})
    chart = Chart("In order", [made.panel()], "order")
    drawn = str(svg(chart, width=width))
    ends = [float(x) for x in re.findall(r'x2="([\d.]+)" y2="[\d.]+" class="bracket"', drawn)]
    dots = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', drawn)]
    assert len(ends) == 2 * 3, "two brackets of a stroke and two ends"
    assert max(dots) < min(ends) and max(ends) <= 12 * width
    assert figure.saved(figure.figure(chart)).startswith(b"\x89PNG")


def test_its_table_says_whom_each_cannot_be_told_from() -> None:
    rows = ordering({"alpha": 0.9, "beta": 0.8}, set()).table().rows
    assert [row.cells[2] for row in rows] == ["beta", "alpha"]


def test_what_is_described_is_as_it_was_kept() -> None:
    values = {"beta": 0.8, "alpha": 0.9, "delta": 0.89, "gamma": 0.3}
    apart = {frozenset(pair) for pair in (("alpha", "beta"), ("delta", "beta"), ("gamma", "alpha"))}
    several = [ordering(values, apart), ordering(values, set(), "flip_rate")]
    for one in several:
        assert_kept(f"topics/ordering-{one.metric.name}", one.finding, one.panel(), one.table(), one.groups())
    assert_kept("topics/ordering-joined", joined(several))


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1, "m0"),
        (2, "m0 and m1"),
        (4, "m0, m1, m2 and m3"),
        (5, "m0, m1, m2 and 2 others"),
        (9, "m0, m1, m2 and 6 others"),
    ],
)
def test_four_models_are_named_and_of_more_three_and_a_number(count: int, text: str) -> None:
    names = [f"m{at}" for at in range(count)]
    assert topic._named(names) == text


@pytest.mark.parametrize(("p", "told"), [(0.0009, "p < 0.001"), (0.001, "p = 0.001"), (math.nan, "p not known")])
def test_small_and_unknown_p_values_are_told_as_such(p: float, told: str) -> None:
    difference = Estimate(0.1, 0.05, 0.15, 0.95, 1200, "", p, p)
    values = {name: Estimate(0.5, 0.4, 0.6, 0.95, 1200, "") for name in ("a", "b")}
    made = Ordering(METRICS["ucerf"], "x", values, {("a", "b"): difference})
    assert made._size("a", "b") == f"0.100 [0.050, 0.150] (n = 1,200, {told} after correction)"
    assert made._size("b", "a") == f"-0.100 [-0.150, -0.050] (n = 1,200, {told} after correction)"
    assert made.is_ahead("a", "b") == (p == p) and not made.is_ahead("b", "a")


def test_models_that_hardly_differ_are_not_drawn_far_apart() -> None:
    values = {name: Estimate(0.5, 0.499, 0.501, 0.95, 9, "") for name in ("a", "b")}
    made = Ordering(METRICS["ucerf"], "x", values, {("a", "b"): Estimate(0.0, -0.1, 0.1, 0.95, 9, "", 0.5, 0.5)})
    panel = made.panel("title", {"a": "there"})
    assert panel.x.high - panel.x.low >= 0.1 and panel.title == "title"
    assert panel.x.label == "UCerF (higher is better)"
    assert [(dot.label, dot.link) for dot in panel.marks_of(Dot)] == [("a", "there"), ("b", "")]


def test_a_small_p_does_not_stand_beside_cannot_be_told_apart() -> None:
    difference = Estimate(0.012, -0.009, 0.032, 0.95, 648, "", 0.001, 0.002)
    values = {
        name: Estimate(value, value - 0.01, value + 0.01, 0.95, 648, "") for name, value in (("a", 0.872), ("b", 0.86))
    }
    text = Ordering(METRICS["ucerf"], "decisions", values, {("a", "b"): difference}).finding.text
    assert text == (
        "decisions: a and b cannot be told apart by UCerF; the largest difference is 0.012 [-0.009, 0.032] (n = 648;"
        " the interval includes 0)."
    )
