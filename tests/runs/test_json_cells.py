"""Columns of JSON objects: what is refused."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from equipoise.runs.json_cells import check_objects

GOOD = [
    {},
    {"type": "type1"},
    {"a: ": 'b": "c', "d": "\\", "e\n": "\x01"},
    {"späte": "Ünïcode", "a: ": ""},
    {"quote\\": '", "not": "a name'},
]


def column(*texts: str) -> pa.ChunkedArray:
    return pa.chunked_array([[text] for text in texts])


def test_texts_by_name_are_right_in_any_layout() -> None:
    check_objects(column(*(json.dumps(texts, ensure_ascii=False) for texts in GOOD)), "groups")
    check_objects(column('{"b":"x"}', '{ "a" : "y", "b" : "\\u00e9" }', '{"c": "z"}'), "slots")


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ('{"a": "b"', "not JSON"),
        ('{"a": "b"},{"c": "d"}', "not JSON"),
        ('{"a": "b\n"}', "not JSON"),
        ('{"a": "\\x"}', "not JSON"),
        ("", "not JSON"),
        ('["a"]', "not JSON objects of texts"),
        ('{"a": 1}', "not JSON objects of texts"),
        ('{"a": null}', "not JSON objects of texts"),
        ('{"a": "b", "c": 1}', "not JSON objects of texts"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_cell_that_is_not_texts_by_name_is_refused(cell: str, reason: str) -> None:
    cells = column('{"a": "b"}', cell, '{"c": "d"}')
    with pytest.raises(ValueError, match=f"its groups are {reason}"):
        check_objects(cells, "groups")
