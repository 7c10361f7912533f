"""Columns are computed when they are read, once, and those of nothing are one array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise.measuring.columns import LazyColumns, each

NOTHING = np.full(3, np.nan)


def test_a_column_is_computed_when_it_is_first_read() -> None:
    made: list[str] = []

    def maker(name: str, values: Any) -> Any:
        return lambda: made.append(name) or np.array(values)

    others = {"c": np.arange(3), "a": np.zeros(3)}
    columns = LazyColumns({"a": maker("a", [1.0, 2.0, 3.0]), "b": maker("b", ["x", "y", "z"])}, NOTHING, others)
    assert list(columns) == ["c", "a", "b"] and len(columns) == 3 and columns.own == ("a", "b") and not made
    assert columns["a"].tolist() == [1.0, 2.0, 3.0] and columns["a"] is columns["a"] and made == ["a"]
    assert columns["c"] is others["c"] and "d" not in columns
    assert columns.take("b", np.array([2, 0])).tolist() == ["z", "x"] and made == ["a", "b"]
    with pytest.raises(KeyError):
        columns["d"]


def test_columns_that_apply_to_no_item_are_one_array() -> None:
    makers = {
        "nothing": lambda: np.full(3, np.nan),
        "some": lambda: np.array([np.nan, 1.0, np.nan]),
        "table": lambda: np.full((3, 2), np.nan),
        "names": lambda: np.array(["", "", ""], dtype=object),
    }
    columns = LazyColumns(makers, NOTHING)
    assert [name for name in columns if columns[name] is NOTHING] == ["nothing"]


def test_columns_that_are_computed_together_are_computed_once() -> None:
    made: list[int] = []

    def both() -> dict[str, Any]:
        made.append(1)
        return {"a": np.array([1.0]), "b": np.array([2.0])}

    makers = each(("a", "b"), both)
    assert not made and [makers[name]().tolist() for name in ("b", "a", "b")] == [[2.0], [1.0], [2.0]]
    assert made == [1]
