"""What is shown, apart from how: axes hold their values, tables are whole, and a chart tells its numbers."""

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
    Finding,
    Heat,
    Line,
    Panel,
    Row,
    Rule,
    Section,
    Table,
    case_link,
    cases_link,
    every,
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


def test_a_row_has_as_many_cells_as_there_are_columns() -> None:
    columns = (Column("a"), Column("b"))
    Table("", columns, [Row((1, 2)), Row(("of these",), heading=True)])
    with pytest.raises(ValueError, match="3 cells in 2 columns"):
        Table("numbers", columns, [Row((1, 2, 3))])


def test_a_table_is_named_by_what_it_is_about_and_only_then_published() -> None:
    table = Table("", (Column("a"),), [], topic="metrics", about={"dataset": "d", "task": "t", "type": ""})
    assert table.name == "metrics-d-t" and Table("", (), []).name == ""
    assert Chart("", [], "scale", {"dataset": "d", "type": "type1"}).name == "scale-d-type1"


def test_columns_can_be_picked_and_headings_stay() -> None:
    table = Table("", (Column("a"), Column("b"), Column("c")), [Row((1, 2, 3)), Row(("x",), heading=True)])
    picked = table.picked([2, 0])
    assert [column.title for column in picked.columns] == ["c", "a"]
    assert [list(row.cells) for row in picked.rows] == [[3, 1], ["x"]]


def test_facts_without_a_value_are_left_out() -> None:
    facts = Table.of_facts("", [("a", "1"), ("b", ""), ("c", None), ("d", 0)])
    assert [row.cells[0] for row in facts.rows] == ["a", "d"] and facts.facts


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


def test_everything_of_one_kind_is_found_however_deep() -> None:
    table, chart, finding = Table("t", (), []), Chart("c", []), Finding("f")
    sections = [Section("a", [finding, Section("b", [chart, Section("c", [table, chart])])]), Section("d", [finding])]
    assert list(every(sections, Chart)) == [chart, chart]
    assert list(every(sections, Table)) == [table] and len(list(every(sections, Finding))) == 2


def test_addresses_can_hold_any_text() -> None:
    assert case_link("a,b", "d · t") == "#case=a%2Cb,d%20%C2%B7%20t"
    assert cases_link(part="d:t", type="", group="x=y,z") == "#filter=part:d%3At,group:x%3Dy%2Cz"


def test_an_estimate_reads_as_a_sentence_needs_it() -> None:
    value = estimate(0.0984, 0.0456, 0.1684)
    assert f"{value}" == "0.098 [0.046, 0.168]" and f"{value:%}" == "9.8% [4.6%, 16.8%]"
    assert f"{value:points}" == "9.8 points [4.6, 16.8]" and f"{value:+}" == "+0.098 [+0.046, +0.168]"
    assert f"{value:.1f}" == "0.1 [0.0, 0.2]" and f"{estimate(0.5)}" == "0.500 [no interval]"
    assert Finding("f").estimate is None


def test_columns_are_filtered_by_what_tells_them_apart() -> None:
    filters = [{"task": "mcq", "type": "type1"}, {"task": "mcq", "type": "type2"}, {"type": "type1"}]
    columns = [Column("model", words=True), *(Column(f"{n}", filters=several) for n, several in enumerate(filters))]
    assert Table("", columns, []).filters == {"type": ["type1", "type2"]}, "all that have a task have the same"
    assert Table("", columns[:1], []).filters == {}


def test_an_axis_of_no_names_still_has_a_length() -> None:
    assert Axis.of_names([]).low < Axis.of_names([]).high
