"""Columns of names as numbers: joined, taken, and told in the order of their rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.topics.names import Names

COLUMNS = st.lists(st.lists(st.sampled_from(["", "a", "b", "ä", "cc"]), min_size=1, max_size=8), min_size=1, max_size=4)


@given(columns=COLUMNS)
def test_joined_columns_have_the_rows_of_all_and_each_name_once(columns: list[list[str]]) -> None:
    whole = Names.joined([Names.of(np.array(column, dtype=object)) for column in columns])
    rows = [name for column in columns for name in column]
    assert whole.values().tolist() == rows and len(set(whole.names.tolist())) == len(whole.names)


@given(columns=COLUMNS, data=st.data())
def test_names_by_appearance_are_those_that_rows_have(columns: list[list[str]], data: st.DataObject) -> None:
    whole = Names.joined([Names.of(np.array(column, dtype=object)) for column in columns])
    size = len(whole.numbers)
    rows = np.array(data.draw(st.lists(st.integers(0, size - 1), max_size=size)), dtype=np.int64)
    some = whole.take(rows).by_appearance()
    wanted = whole.values()[rows].tolist()
    assert some.values().tolist() == wanted and some.names.tolist() == list(dict.fromkeys(wanted))


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int32(), pa.string())])
def test_texts_of_a_table_are_numbered_over_all_its_pieces(kind: pa.DataType) -> None:
    column = pa.chunked_array([pa.array(["b", "a"], kind), pa.array(["c", "b", "b"], kind)])
    names = Names.of_texts(column)
    assert names.values().tolist() == ["b", "a", "c", "b", "b"] and sorted(names.names) == ["a", "b", "c"]
