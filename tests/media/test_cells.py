"""Tables as texts: every value has its n beside it, and nothing is lost."""

from __future__ import annotations

import io
import math

from kept_texts import assert_kept
from rich.console import Console
from sample_charts import EVERY, ODD, estimate
from sample_sections import TABLES

from equipoise.media import markdown, notebook, paper, terminal
from equipoise.media.cells import NOTHING, counts_of, estimate_of, heading, plain, shares_counts, words
from equipoise.records import Measurement
from equipoise.records.showing import Cell, Column, Row, Table


def columns(*titles: str) -> list[Column]:
    return [Column(title, words=not number) for number, title in enumerate(titles)]


def test_one_n_for_all_values_of_a_row_where_it_is_the_same() -> None:
    table = Table("", columns("group", "a", "b"), [Row(("x", estimate(0.5, n=7), estimate(0.4, n=7)))])
    made = plain(table)
    assert [column.title for column in made.columns] == ["group", "a", "b", "n"]
    assert made.rows == [["x", "0.500 [0.400, 0.600]", "0.400 [0.300, 0.500]", "7"]]


def test_an_n_for_each_value_where_they_differ() -> None:
    rows = [Row(("x", estimate(0.5, n=1234), estimate(0.4, n=7))), Row(("y", None, estimate(0.1, n=3)))]
    made = plain(Table("", columns("group", "a", "b"), rows))
    assert [column.title for column in made.columns] == ["group", "a", "n", "b", "n"]
    assert made.rows[0][2] == "1,234" and made.rows[1] == ["y", NOTHING, "", "0.100 [0.000, 0.200]", "3"]


def test_every_content_has_its_words() -> None:
    row = Measurement("ucerf", "m", "d", "t", "all", estimate(0.5), "higher")
    assert words(row) == words(estimate(0.5)) == "0.500 [0.400, 0.600]"
    assert [words(content) for content in (None, "a", 1234, 0.5, math.nan, True)] == [
        "–",
        "a",
        "1,234",
        "0.500",
        "–",
        "True",
    ]
    assert words(0.12345, ".4f") == "0.1235" and words(Cell(estimate(0.5), after="±0.1")) == "0.500 [0.400, 0.600] ±0.1"
    assert words(Cell(estimate(0.5), before="1–2")) == "1–2 0.500 [0.400, 0.600]"
    assert estimate_of(Cell(row)) == estimate(0.5) and estimate_of("a") is None


def test_arrows_say_which_direction_is_better() -> None:
    table = Table("", [Column("metric", words=True), Column("value", "lower")], [Row(("ucerf", 0.5), better="higher")])
    made = plain(table)
    assert made.columns[1].title == "value ↓" and made.rows[0][0] == "ucerf ↑"


def test_folded_rows_and_headings() -> None:
    rows = [Row(("of these",), heading=True), Row(("x", 1)), Row(("y", 2))]
    table = Table("", columns("a", "b"), rows, shown=2)
    assert plain(table).rows == [["of these"], ["x", "1"], ["y", "2"]]
    assert plain(table, every=False).rows == [["of these"], ["x", "1"]]
    assert plain(table).picked([1]).rows == [["of these"], ["1"], ["2"]]


def test_what_stands_out_is_bold_in_every_medium_that_has_bold() -> None:
    rows = [Row(("large", Cell(estimate(0.5), strong=True))), Row(("small", Cell(estimate(0.1))))]
    table = Table("", (Column("what", words=True), Column("value")), rows, "sizes")
    assert markdown.draw(table).splitlines()[2:4] == [
        r"| large | **0.500 \[0.400, 0.600\]** | 40 |",
        r"| small | 0.100 \[0.000, 0.200\] | 40 |",
    ]
    assert r"large & \textbf{0.500 {[}0.400, 0.600{]}} & 40" in paper.latex(plain(table))
    assert "<td><b>0.500 [0.400, 0.600]</b></td>" in notebook.draw(table) and notebook.draw(table).count("<b>") == 1
    assert "**" not in (sheet := paper.comma_separated(plain(table))) and "0.500 [0.400, 0.600]" in sheet
    out = io.StringIO()
    Console(file=out, width=80, force_terminal=True, color_system="standard").print(terminal.draw(table))
    large, small = out.getvalue().splitlines()[-2:]
    assert "\x1b[1m0.500 [0.400, 0.600]" in large and "\x1b[1m" not in small
    assert plain(table).picked([0, 1]).rows[0][1] == "0.500 [0.400, 0.600]"


def test_tables_become_the_texts_that_were_kept() -> None:
    assert_kept("media/cells", *(plain(table, every=every) for table in TABLES for every in (True, False)))
    assert_kept("media/cells-of-charts", *(plain(chart.table()) for chart in (*EVERY.values(), *ODD.values())))


def test_counts_are_shared_only_where_several_columns_have_the_same() -> None:
    rows = [Row(("x", estimate(0.5, n=7), estimate(0.4, n=7))), Row(("y", estimate(0.5, n=8), None))]
    assert shares_counts(Table("", columns("g", "a", "b"), rows))
    assert not shares_counts(
        Table("", columns("g", "a", "b"), [*rows, Row(("z", estimate(0.1, n=1), estimate(0.1, n=2)))])
    )
    assert not shares_counts(Table("", columns("g", "a"), [Row(("x", estimate(0.5)))]))
    assert counts_of(Row(("head",), heading=True)) == [] and counts_of(rows[0]) == [7, 7]
    assert [heading(Column("a", better)) for better in ("higher", "lower", "neither")] == ["a ↑", "a ↓", "a"]
