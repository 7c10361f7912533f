"""Every column of a run's tables is of its kind, and a table is no larger than a run can have."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from equipoise.runs import checked_tables
from equipoise.runs.checked_tables import (
    FLAGS,
    INTEGERS,
    LISTS,
    NUMBERS,
    TEXT_LISTS,
    TEXTS,
    checked_table,
    frame_of,
    read_parquet,
)

NAMES = ("examples.parquet", "outcomes.parquet", "pairs.parquet")
KINDS: dict[str, Any] = {
    "text": pa.array(["a", "b"]),
    "number": pa.array([1.5, 2.5]),
    "count": pa.array([1, 2]),
    "flag": pa.array([True, False]),
    "numbers": pa.array([[1.0], [2.0]]),
    "texts": pa.array([["a"], ["b"]]),
    "nothing": pa.nulls(2),
}
FITTING = (
    (TEXTS, {"text"}),
    (NUMBERS, {"number", "count"}),
    (INTEGERS, {"count"}),
    (FLAGS, {"flag"}),
    (LISTS, {"numbers"}),
    (TEXT_LISTS, {"texts"}),
)


@pytest.fixture(scope="module")
def tables(finished: Path) -> dict[str, Any]:
    return {name: pq.read_table(finished / name) for name in NAMES}


def reason(name: str, table: Any) -> str:
    try:
        checked_table(name, table)
    except ValueError as error:
        return str(error)
    return ""


def filled(kind: str, rows: int) -> Any:
    return pa.concat_arrays([KINDS[kind]] * (rows // 2 + 1)).slice(0, rows)


@pytest.mark.parametrize("name", NAMES)
def test_every_column_that_is_needed_is_there_whole_and_of_its_kind(tables: dict[str, Any], name: str) -> None:
    table = tables[name]
    assert reason(name, table) == ""
    for columns, kinds in FITTING:
        for column in columns.get(name, ()):
            place = table.column_names.index(column)
            assert reason(name, table.remove_column(place)) == f"it has no column {column}"
            for kind in KINDS:
                said = reason(name, table.set_column(place, column, filled(kind, table.num_rows)))
                if kind not in kinds:
                    assert said == f"its column {column} has values of another kind"
                elif column not in ("groups", "slots"):
                    assert said == ""
            values = table.column(column).to_pylist()
            gaps = table.set_column(place, column, pa.array([None, *values[1:]], table.schema.field(column).type))
            assert reason(name, gaps) == ("" if columns in (NUMBERS, INTEGERS) else f"its column {column} has gaps")


@pytest.mark.parametrize(
    ("name", "column", "kinds"),
    [
        ("outcomes.parquet", "own_group", {"text", "nothing"}),
        *(
            ("outcomes.parquet", column, {"number", "count", "flag"})
            for column in ("certainty", "certainty_x", "desirability", "y", "p", "good", "first_named")
        ),
        ("outcomes.parquet", "logprobs_with_marker", {"numbers"}),
        *(("pairs.parquet", column, {"number", "count", "flag"}) for column in ("d_x", "c_male", "u", "u_renyi")),
        ("pairs.parquet", "uu", {"text", "nothing"}),
        ("examples.parquet", "good", {"number", "count", "flag"}),
        ("examples.parquet", "more", {"text", "nothing"}),
    ],
)
def test_other_columns_are_known_by_their_names(
    tables: dict[str, Any], name: str, column: str, kinds: set[str]
) -> None:
    table = tables[name]
    if column in table.column_names:
        table = table.remove_column(table.column_names.index(column))
    fitting = {kind for kind in KINDS if not reason(name, table.append_column(column, filled(kind, table.num_rows)))}
    assert fitting == kinds
    said = f"its column {column} has values of another kind"
    assert {reason(name, table.append_column(column, filled(kind, table.num_rows))) for kind in KINDS} == {"", said}


def test_a_table_has_rows_and_each_column_once(tables: dict[str, Any]) -> None:
    for name in NAMES:
        none = tables[name].slice(0, 0)
        assert reason(name, none) == ("" if name == "pairs.parquet" else "it has no rows")
        first = tables[name].column_names[0]
        assert reason(name, tables[name].append_column(first, tables[name].column(0))) == "two columns have one name"
        assert reason(name, none.append_column(first, none.column(0))) == "two columns have one name"
    for column in ("groups", "slots"):
        table = tables["examples.parquet"]
        place = table.column_names.index(column)
        broken = table.set_column(place, column, pa.array(["{"] * table.num_rows))
        assert reason("examples.parquet", broken) == f"its {column} are not JSON"
    assert reason("other.parquet", pa.table({"a": ["x"]})) == ""


def test_a_frame_keeps_its_numbers_whole(tables: dict[str, Any]) -> None:
    frame = frame_of("examples.parquet", tables["examples.parquet"])
    assert [str(frame[name].dtype) for name in ("gold", "stereotype", "pair")] == ["Int64", "Int64", "object"]
    assert frame_of("pairs.parquet", tables["pairs.parquet"]).equals(tables["pairs.parquet"].to_pandas())


@pytest.mark.parametrize(
    ("values", "size", "said"),
    [
        (8, 10**6, ""),
        (7, 10**6, "it has more than 7 values"),
        (8, 1, "it unpacks to more than 0 GiB"),
        (7, 1, "it has more than 7 values"),
    ],
)
def test_a_table_that_unpacks_to_too_much_is_refused(
    monkeypatch: pytest.MonkeyPatch, values: int, size: int, said: str
) -> None:
    file = io.BytesIO()
    pq.write_table(pa.table({"a": [1, 2, 3, 4], "b": ["x", "y", "z", "w"]}), file, row_group_size=2)
    monkeypatch.setattr(checked_tables, "MOST_VALUES", values)
    monkeypatch.setattr(checked_tables, "MOST_BYTES", size)
    content = file.getvalue()
    if not said:
        read = read_parquet(content)
        assert read.to_pydict() == {"a": [1, 2, 3, 4], "b": ["x", "y", "z", "w"]}
        assert pa.types.is_dictionary(read.schema.field("b").type), "texts are numbers of different texts"
        assert read_parquet(content, ("b",)).column_names == ["b"]
        return
    with pytest.raises(ValueError, match=f"^{said}$"):
        read_parquet(content)


def test_a_table_of_more_columns_than_groups_can_be_is_refused() -> None:
    for columns in (checked_tables.MOST_COLUMNS, checked_tables.MOST_COLUMNS + 1):
        file = io.BytesIO()
        pq.write_table(pa.table({str(number): ["x"] for number in range(columns)}), file)
        if columns == checked_tables.MOST_COLUMNS:
            assert read_parquet(file.getvalue()).num_columns == columns
        else:
            with pytest.raises(ValueError, match=r"^it has more than 10,000 columns$"):
                read_parquet(file.getvalue())


def test_the_limit_of_bytes_is_told_in_gibibytes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Facts:
        num_row_groups = num_columns = num_values = 1
        total_uncompressed_size = 2**34
        schema = SimpleNamespace(to_arrow_schema=lambda: pa.schema([("a", pa.string()), ("b", pa.int64())]))

        def row_group(self, _: int) -> Any:
            return self

        column = row_group

    class File:
        def __init__(self, source: Any, **how: Any) -> None:
            assert source.read() == b"content" and how == {"read_dictionary": ["a"], "pre_buffer": False}

        def read(self, columns: Any, **how: Any) -> Any:
            return columns, how

    monkeypatch.setattr(pq, "read_metadata", lambda handle: Facts())
    monkeypatch.setattr(pq, "ParquetFile", File)
    assert read_parquet(b"content") == (None, {"use_threads": False})
    assert read_parquet(b"content", ("a",)) == (["a"], {"use_threads": False})
    Facts.total_uncompressed_size += 1
    with pytest.raises(ValueError, match=r"^it unpacks to more than 16 GiB$"):
        read_parquet(b"content")
