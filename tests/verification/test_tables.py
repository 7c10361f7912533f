"""Two tables hold the same, cell by cell: every way in which they may differ has its own sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from equipoise.runs.checked_tables import read_parquet
from equipoise.runs.tables import column_rows
from equipoise.verification import tables
from equipoise.verification.finding import Finding
from equipoise.verification.tables import TOLERANCE, compared


def compared_tables(name: str, fresh: pd.DataFrame, claimed: pd.DataFrame, source: str) -> Finding:
    """Compare two tables at once and row by row: it makes no difference."""
    most = max(len(fresh), len(claimed))
    single = [(fresh[at : at + 1], claimed[at : at + 1]) for at in range(most)]
    whole = tables.compared_tables(name, [(fresh, claimed)], source)
    assert tables.compared_tables(name, single, source) == whole
    return whole


def outcomes(**changes: Any) -> pd.DataFrame:
    columns = {
        "id": ["a", "b", "c"],
        "gold": [0, 1, 2],
        "value": [0.5, np.nan, 1e9],
        "probs": [np.array([0.1, 0.9]), np.array([0.2, 0.8]), None],
        "note": ["x", None, ""],
    }
    return pd.DataFrame({**columns, **changes})


def test_equal_tables_are_recomputed() -> None:
    same = Finding("outcomes", True, "3 rows with 5 columns recomputed from the scores")
    assert compared_tables("outcomes.parquet", outcomes(), outcomes(), "scores") == same
    # Rounding, an index of its own, and an empty text for nothing are the same.
    near = {"value": [0.5 + 9e-7, np.nan, 1e9 + 0.5], "note": ["x", "", None], "gold": [0.0, 1.0, 2.0]}
    other = outcomes(**near)
    other.index = pd.Index([7, 8, 9])
    assert compared_tables("outcomes.parquet", outcomes(), other, "scores") == same
    many = pd.DataFrame({"n": range(1200)})
    assert compared_tables("a.csv", many, many, "x").what == "1,200 rows with 1 columns recomputed from the x"


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"id": ["a", "b", "d"]}, "id of 1 rows"),
    ({"gold": [0, 2, 1]}, "gold of 2 rows"),
    ({"value": [0.5 + 3e-6, np.nan, 1e9]}, "value of 1 rows"),
    ({"value": [0.5, 0.0, 1e9]}, "value of 1 rows"),
    ({"value": [0.5, np.nan, 1e9 + 5]}, "value of 1 rows"),
    ({"value": [np.nan] * 3}, "value of 2 rows"),
    ({"probs": [np.array([0.1, 0.9]), np.array([0.3, 0.8]), None]}, "probs of 1 rows"),
    ({"probs": [np.array([0.1, 0.9]), np.array([0.2, 0.8]), np.array([0.2, 0.8])]}, "probs of 1 rows"),
    ({"probs": [np.array([0.1, 0.9, 0.0]), np.array([0.2, 0.8]), None]}, "probs of 1 rows"),
    ({"probs": [None, np.array([0.2, 0.8]), None]}, "probs of 1 rows"),
    ({"probs": ["0.1", np.array([0.2, 0.8]), None]}, "probs of 1 rows"),
    ({"note": ["x", "y", ""]}, "note of 1 rows"),
    ({"id": ["", "", ""], "note": ["y", None, ""]}, "id of 3 rows, note of 1 rows"),
]


@pytest.mark.parametrize(("changes", "faults"), CHANGES, ids=[faults for _, faults in CHANGES])
def test_each_other_cell_is_counted_by_its_column(changes: dict[str, Any], faults: str) -> None:
    expected = Finding("outcomes", False, f"not what follows from the scores: {faults}")
    assert compared_tables("outcomes.parquet", outcomes(), outcomes(**changes), "scores") == expected
    if "probs" not in changes:
        assert compared_tables("outcomes.parquet", outcomes(**changes), outcomes(), "scores") == expected


def test_other_rows_and_columns_are_told() -> None:
    many = pd.DataFrame({"n": range(1234)})
    assert compared_tables("pairs.parquet", many, many[:1000], "outcomes") == Finding(
        "pairs", False, "pairs.parquet has 1,000 rows, from the outcomes follow 1,234"
    )
    more = many.assign(z=1, y=2)
    for fresh, claimed in ((many, more), (more, many)):
        assert compared_tables("pairs.parquet", fresh, claimed, "outcomes") == Finding(
            "pairs", False, "these columns of pairs.parquet do not follow from the outcomes, or are missing: y, z"
        )


def measurements(count: int = 3) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "metric": [f"m{number}" for number in range(count)],
            "model": "model",
            "dataset": "data",
            "task": "task",
            "group": [f"g{number}" for number in range(count)],
            "value": [0.125 * (number + 1) for number in range(count)],
            "low": 0.0,
            "n": 7,
            "method": "exact",
        }
    )


def test_the_same_measurements_in_any_order_hold() -> None:
    table = measurements()
    same = Finding("measurements", True, "3 recomputed from the outcomes, all within 1e-06")
    assert compared(table, table) == same
    assert compared(table, table[::-1]) == same
    assert compared(pd.concat([table, table]), pd.concat([table, table])).passed
    assert compared(measurements(1500), measurements(1500)).what.startswith("1,500 recomputed")


def test_other_measurements_are_told_by_the_first_column_that_differs() -> None:
    table = measurements()
    changed = table.assign(value=[0.125, 0.3333333333, 0.375], low=[0.0, 0.1, 0.2], method=["exact", "exact", "x"])
    assert compared(table, changed) == Finding(
        "measurements", False, "2 of 3 are others: m1[g1] is 0.25, not 0.333333, m2[g2] low is 0, not 0.2"
    )
    worded = table.assign(method=["exact", "other", "exact"])
    assert compared(table, worded[::-1]).what == "1 of 3 are others: m1[g1] method is exact, not other"
    assert compared(table, table.assign(n=8)).what.startswith("3 of 3 are others: m0[g0] n is 7, not 8, m1")


def test_missing_and_added_measurements_are_counted_and_named() -> None:
    table = measurements(4)
    less, more = table[:2], table[1:]
    assert compared(table, less) == Finding(
        "measurements", False, "2 that follow from the outcomes are missing, 0 do not follow: m2[g2], m3[g3]"
    )
    assert compared(less, more) == Finding(
        "measurements",
        False,
        "1 that follow from the outcomes are missing, 2 do not follow: m0[g0], m2[g2], m3[g3]",
    )
    doubled = pd.concat([table, table[:1]])
    assert compared(table, doubled) == Finding(
        "measurements",
        False,
        "0 that follow from the outcomes are missing, 0 do not follow, 1 are listed more than once: m0[g0]",
    )


@pytest.mark.parametrize("within", [float, lambda number: np.array([0.5, number])], ids=["a number", "an array"])
def test_the_tolerance_is_a_little_wider_for_a_large_number_of_the_folder(within: Any) -> None:
    def same(fresh: float, claimed: float) -> bool:
        tables = [pd.DataFrame({"value": [within(number)]}) for number in (fresh, claimed)]
        return compared_tables("outcomes.parquet", *tables, "scores").passed

    # By 1e-9 of the number in the folder, which tells the two apart even here.
    beyond = TOLERANCE * (1 + 5e-10)
    assert same(0.0, beyond) and not same(beyond, 0.0)
    assert same(0.0, TOLERANCE) and same(TOLERANCE, 0.0) and not same(0.0, TOLERANCE * (1 + 2e-9))
    assert same(1e9, 1e9 + 1) and not same(1e9, 1e9 + 1.1)


def test_a_table_is_compared_in_the_groups_that_it_is_written_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.runs.tables.ROWS", 2)
    fresh = column_rows([{"n": np.arange(5.0), "name": np.array(list("abcde"), dtype=object)}])
    claimed = read_parquet(fresh.content())

    def found(table: Any) -> str:
        blocks = list(tables.blocks_of("pairs.parquet", fresh, table))
        assert max(len(block) for block, _ in blocks) == 2
        return tables.compared_tables("pairs.parquet", blocks, "outcomes").what

    assert found(claimed) == "5 rows with 2 columns recomputed from the outcomes"
    assert found(claimed.slice(0, 4)) == "pairs.parquet has 4 rows, from the outcomes follow 5"
    more = pa.concat_tables([claimed, claimed.slice(0, 1)])
    assert found(more) == "pairs.parquet has 6 rows, from the outcomes follow 5"
    assert found(claimed.take([0, 1, 2, 4, 3])) == "not what follows from the outcomes: n of 2 rows, name of 2 rows"
    assert found(claimed.select(["n"])).endswith("or are missing: name")
