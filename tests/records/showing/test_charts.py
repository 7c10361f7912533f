"""Charts as data: axes hold their values, and a chart tells its numbers."""

from __future__ import annotations

import math

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
    Table,
)

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
