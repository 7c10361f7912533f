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


def test_what_is_wrong_with_a_row_is_said_with_the_table() -> None:
    with pytest.raises(ValueError, match=r"^table 'numbers': 1 cells in 2 columns$"):
        Table("numbers", (Column("a"), Column("b")), [Row((1, 2)), Row((1,))])


def test_facts_are_words_beside_their_names() -> None:
    facts = Table.of_facts("It", [("a", "1"), ("d", 0), ("e", False)])
    assert facts.title == "It" and [list(row.cells) for row in facts.rows] == [["a", "1"], ["d", 0], ["e", False]]
    assert [(column.title, column.words) for column in facts.columns] == [("fact", True), ("value", True)]


def test_a_column_writes_numbers_in_its_form_or_with_its_digits() -> None:
    assert (Column("a").written, Column("a", digits=1).written, Column("a", digits=1, form="+.2%").written) == (
        ".3f",
        ".1f",
        "+.2%",
    )


def test_columns_that_are_picked_keep_all_else() -> None:
    row = Row((1, 2), bounds=(0, 1), better="lower")
    table = Table("It", (Column("a"), Column("b")), [row], topic="t", notes=["n"], shown=3, sortable=True)
    assert table.picked([0, 1]).rows[0] == Row([1, 2], bounds=(0, 1), better="lower")
    assert table.picked([1]) == Table(
        "It", [Column("b")], [Row([2], (0, 1), "lower")], "t", notes=["n"], shown=3, sortable=True
    )


def test_a_table_is_chosen_by_what_differs_in_the_order_of_its_columns() -> None:
    columns = [Column("", filters={"b": value, "a": "1"}) for value in ("y", "x", "y")]
    assert Table("", columns, []).filters == {"b": ["y", "x"]}
    assert Table("", [*columns, Column("", filters={"a": "2"})], []).filters == {"b": ["y", "x"], "a": ["1", "2"]}
