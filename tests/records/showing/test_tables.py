"""Tables as data: whole, named and cut to columns."""

from __future__ import annotations

import math

import pytest
from hypothesis import strategies as st

from equipoise.records import Estimate
from equipoise.records.showing import (
    Chart,
    Column,
    Row,
    Table,
)

NUMBERS = st.floats(-1e6, 1e6)


def estimate(value: float, low: float = math.nan, high: float = math.nan, n: int = 9) -> Estimate:
    return Estimate(value, low, high, 0.95, n, "bootstrap")


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


def test_folded_rows_are_counted_in_words() -> None:
    table = Table("t", [], [], more="more metrics over groups")
    assert [table.rest(count) for count in (1, 2)] == ["1 more metric over groups", "2 more metrics over groups"]
