"""Charts as data: axes hold their values, and a chart tells its numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.records import Estimate
from equipoise.records.showing import (
    Axis,
    Bar,
    Chart,
    Column,
    Dot,
    Heat,
    Line,
    Panel,
    Rule,
    Square,
    Table,
)
from equipoise.records.showing.charts import ends_of, value_of

NUMBERS = st.floats(-1e6, 1e6)


def estimate(value: float, low: float = math.nan, high: float = math.nan, n: int = 9) -> Estimate:
    return Estimate(value, low, high, 0.95, n, "bootstrap")


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=8))
def test_an_axis_over_estimates_holds_every_end_and_has_a_length(rows: list[tuple[float, float, float]]) -> None:
    estimates = [estimate(value, min(value, *ends), max(value, *ends)) for value, *ends in rows]
    axis = Axis.over(estimates)
    assert axis.high - axis.low >= 0.05 * (1 - 1e-9) or axis.high > 1e5
    for one in estimates:
        assert axis.low <= one.low and one.high <= axis.high
        assert 0 <= axis.share(one.value) <= 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_an_axis_stays_within_its_bounds_and_keeps_a_least_length(values: list[float]) -> None:
    axis = Axis.over(values, within=(0.0, 1.0), least=0.1)
    assert 0 <= axis.low < axis.high <= 1
    assert axis.high - axis.low >= 0.1 - 1e-9


def test_an_unknown_end_of_an_interval_does_not_stretch_an_axis() -> None:
    assert Axis.over([estimate(0.5), 0.6]) == Axis.over([0.5, 0.6])
    assert (Axis.over([]).low, Axis.over([]).high) == pytest.approx((-0.08, 1.08))


@given(NUMBERS, st.floats(1e-3, 1e6), st.integers(1, 12))
def test_ticks_are_on_the_axis_in_order_and_round(low: float, length: float, count: int) -> None:
    axis = Axis(low=low, high=low + length)
    ticks = axis.ticks(count)
    assert ticks == sorted(ticks) and len(set(ticks)) == len(ticks) <= 4 * count + 2
    room = 1e-6 * max(1.0, abs(low), length)
    assert all(low - room <= tick <= low + length + room for tick in ticks)


def test_an_axis_turned_round_counts_from_its_other_end() -> None:
    ranks = Axis(low=4, high=1)
    assert ranks.share(1) == 1 and ranks.share(4) == 0
    assert ranks.ticks(3) == [1.0, 2.0, 3.0, 4.0]


def test_values_are_written_as_the_axis_says() -> None:
    assert Axis(unit="%").written(0.125) == "12.5%"
    assert Axis().written(0.25) == "0.25" and Axis(low=-1).ticks()[2] == 0.0
    names = Axis.of_names(["he", "she"])
    assert [names.written(place) for place in (0, 1.2, 7)] == ["he", "she", ""]
    assert names.share(0) == 0.25 and names.share(1) == 0.75


def test_a_chart_tells_its_dots_its_bars_and_the_points_of_bare_lines() -> None:
    value = estimate(0.5, 0.4, 0.6)
    rows = Panel(
        [Dot(value, 1.0, label="nurse"), Line([(0.0, 0.0), (1.0, 1.0)], label="not told"), Rule(0.1)],
        Axis("UCerF"),
        Axis.of_names(["clerk", "nurse"]),
    )
    table = Chart("", [rows]).table()
    assert [column.title for column in table.columns] == ["", "UCerF"]
    assert [list(row.cells) for row in table.rows] == [["nurse", value]]
    lines = Panel(
        [Line([(0.0, 0.2), (1.0, 0.3)], label="loss"), Bar((0, 1), (0, 7), label="n"), Bar((0, 1), (0, 9), strength=0)]
    )
    cells = [list(row.cells) for row in Chart("", [lines]).table().rows]
    assert cells == [["loss", 0.0, 0.2], ["loss", 1.0, 0.3], ["n", 1, 7]]
    cell = Panel([Heat(0, 1, 0.25), Heat(1, 0, math.nan)], Axis.of_names(["a", "b"]), Axis.of_names(["c", "d"]))
    grid = Chart("", [cell]).table()
    assert [column.title for column in grid.columns] == ["", "a", "b"]
    assert [[str(content) for content in row.cells] for row in grid.rows] == [
        ["c", "None", "nan"],
        ["d", "0.25", "None"],
    ]


def test_several_panels_are_told_apart_and_a_table_of_its_own_comes_first() -> None:
    panels = [Panel([Dot(0.1, 0.2, label="x")], title=title) for title in ("age", "race")]
    assert [row.cells[0] for row in Chart("", panels).table().rows] == ["age", "race"]
    own = Table("own", (Column("a"),), [])
    assert Chart("", panels, data=own).table() is own


def test_columns_are_filtered_by_what_tells_them_apart() -> None:
    filters = [{"task": "mcq", "type": "type1"}, {"task": "mcq", "type": "type2"}, {"type": "type1"}]
    columns = [Column("model", words=True), *(Column(f"{n}", filters=several) for n, several in enumerate(filters))]
    assert Table("", columns, []).filters == {"type": ["type1", "type2"]}, "all that have a task have the same"
    assert Table("", columns[:1], []).filters == {}


def test_an_axis_of_no_names_still_has_a_length() -> None:
    assert Axis.of_names([]).low < Axis.of_names([]).high


def room(axis: Axis) -> tuple[float, float]:
    return axis.low, axis.high


@pytest.mark.parametrize(
    ("numbers", "options", "ends"),
    [
        ([1.0, 3.0], {}, (0.84, 3.16)),
        ([-3.0, -1.0], {}, (-3.16, -0.84)),
        ([2.0], {}, (1.975, 2.025)),
        ([2.0], {"least": 1.0}, (1.5, 2.5)),
        ([2.0, 2.98], {"least": 1.0}, (1.9216, 3.0584)),
        ([2.0, 2.5], {"least": 1.0}, (1.75, 2.75)),
        ([0.0, 1.0], {"within": (0.0, 1.0)}, (0.0, 1.0)),
        ([0.5, 1.0], {"within": (0.0, 1.0)}, (0.46, 1.0)),
        ([0.0, 0.5], {"within": (0.0, 1.0)}, (0.0, 0.54)),
        ([1.0], {"within": (0.0, 1.0)}, (0.95, 1.0)),
        ([0.0], {"within": (0.0, 1.0)}, (0.0, 0.05)),
        ([0.0], {"within": (0.0, 0.02)}, (0.0, 0.02)),
        ([], {}, (-0.08, 1.08)),
    ],
)
def test_an_axis_has_room_around_its_numbers(numbers: list[float], options: dict[str, Any], ends: object) -> None:
    assert room(Axis.over(numbers, "x", **options)) == pytest.approx(ends)
    assert Axis.over(numbers, "x", **options).label == "x"
    assert room(Axis.over([estimate(number) for number in numbers], **options)) == pytest.approx(ends)


def test_every_number_of_an_estimate_is_an_end() -> None:
    assert ends_of(estimate(0.5, 0.4, 0.6)) == (0.5, 0.4, 0.6) and ends_of(0.5) == (0.5,)
    assert ends_of(estimate(0.5, math.nan, 0.6)) == (0.5, 0.6) and ends_of(math.nan) == ()
    assert value_of(estimate(0.5, 0.4, 0.6)) == 0.5 == value_of(0.5)
    assert room(Axis.over([estimate(0.5, 0.0, 1.0)])) == pytest.approx((-0.08, 1.08))


@pytest.mark.parametrize(
    ("low", "high", "count", "ticks"),
    [
        (0.0, 1.0, 5, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.0, 1.0, 4, [0.0, 0.25, 0.5, 0.75, 1.0]),
        (0.0, 1.0, 2, [0.0, 0.5, 1.0]),
        (0.0, 1.0, 1, [0.0, 1.0]),
        (0.0, 1.0, 0, [0.0, 1.0]),
        (-1.0, 1.0, 5, [-1.0, -0.5, 0.0, 0.5, 1.0]),
        (0.05, 0.95, 5, [0.2, 0.4, 0.6, 0.8]),
        (-30.0, 70.0, 4, [-25.0, 0.0, 25.0, 50.0]),
        (0.0, 0.013, 5, [0.0, 0.0025, 0.005, 0.0075, 0.01, 0.0125]),
        (0.0, 10.0, 10, [float(number) for number in range(11)]),
        (0.0, 96.0, 10, [float(10 * number) for number in range(10)]),
    ],
)
def test_ticks_are_round_numbers(low: float, high: float, count: int, ticks: list[float]) -> None:
    assert Axis(low=low, high=high).ticks(count) == ticks == Axis(low=high, high=low).ticks(count)
    assert not any(str(tick) == "-0.0" for tick in Axis(low=low, high=high).ticks(count))


def test_a_value_beyond_an_end_is_at_the_end() -> None:
    axis = Axis(low=2, high=6)
    assert [axis.share(value) for value in (1, 2, 3, 6, 9)] == [0, 0, 0.25, 1, 1]


def test_names_are_at_whole_places_and_what_is_beside_has_none() -> None:
    axis = Axis.of_names(["he", "she"], "pronoun", tones=[1, 2])
    assert (axis.label, axis.low, axis.high, axis.names, axis.tones) == ("pronoun", -0.5, 1.5, ("he", "she"), [1, 2])
    assert [axis.written(place) for place in (-1, -0.4, 0, 1, 2)] == ["", "he", "he", "she", ""]
    assert room(Axis.of_names([])) == (-0.5, 0.5)
    assert Axis(unit="%").written(1) == "100%" and Axis().written(1234.5) == "1234.5"


def test_a_mark_is_called_by_its_label_and_the_names_that_it_leaves_out() -> None:
    x, y = Axis.of_names(["he", "she"]), Axis.of_names(["clerk", "nurse"])
    assert Panel([], x, y).name_of("gpt2", 1.0, estimate(0.0)) == "gpt2 · she · clerk"
    assert Panel([], x, y).name_of("a nurse", 0, 1) == "a nurse · he"
    assert Panel([], x, y).name_of("", 0, 1) == "he · nurse" and Panel([], x, y).name_of("a", 5, 5) == "a"
    assert Panel([]).name_of("gpt2", 0, 1) == "gpt2" and Panel([], y=y).name_of("gpt2", 0, 1) == "gpt2 · nurse"


def test_marks_are_found_by_their_kind() -> None:
    marks = [Square(1), Dot(0, 0), Square(2)]
    assert list(Panel(marks).marks_of(Square)) == [marks[0], marks[2]]


def test_the_table_of_a_chart_has_a_column_for_each_axis_with_numbers() -> None:
    names = Axis.of_names(["clerk", "nurse"], "occupation")
    dot = Dot(0.1, 1.0, label="a")

    def heads(*panels: Panel) -> list[str]:
        return [column.title for column in Chart("It", panels).table().columns]

    assert heads(Panel([dot], Axis("share"), Axis("bias"))) == ["", "share", "bias"]
    assert heads(Panel([dot])) == ["", "x", "y"] and heads(Panel([dot], names, names)) == [""]
    assert heads(Panel([dot], Axis("share"), names)) == ["", "share"]
    assert heads(Panel([dot], Axis("share"), names), Panel([dot], Axis("bias"), names)) == ["panel", "", "value"]
    assert heads(Panel([dot], Axis("share"), names), Panel([dot], Axis("share"))) == ["panel", "", "share", "value"]
    table = Chart("It", [Panel([dot], Axis("share"), names), Panel([dot], Axis("bias"), title="two")]).table()
    assert table.title == "It" and [column.words for column in table.columns] == [True, True, False, False]
    assert [list(row.cells) for row in table.rows] == [["share", "a · nurse", 0.1, None], ["two", "a", 0.1, 1.0]]


def test_lines_are_told_where_a_panel_has_no_dots_and_bars_by_their_ends() -> None:
    line, bare = Line([(0.0, 0.2)], label="loss"), Line([(0.0, 0.9)])
    panels = [Panel([line, bare], title="lines"), Panel([line, Dot(0.5, 0.6, label="dot")], title="dots")]
    rows = [list(row.cells) for row in Chart("", panels).table().rows]
    assert rows == [["lines", "loss", 0.0, 0.2], ["dots", "dot", 0.5, 0.6]]
    bars = Panel([Bar((1, 2), (3, 4), label="n", strength=0.5), Bar((1, 2), (3, 4), label="place", strength=0)])
    assert [list(row.cells) for row in Chart("", [bars]).table().rows] == [["n", 2, 4]]


def test_the_table_of_a_map_has_its_names_on_both_sides() -> None:
    x, y = Axis.of_names(["a", "b"], "attribute"), Axis.of_names(["c", "d"], "occupation")
    table = Chart("It", [Panel([Heat(0, 1, 0.25), Heat(1, 0, 0.5)], x, y)]).table()
    assert table.title == "It" and [column.title for column in table.columns] == ["occupation", "a", "b"]
    assert [column.words for column in table.columns] == [True, False, False]
    assert [list(row.cells) for row in table.rows] == [["c", None, 0.5], ["d", 0.25, None]]
