"""Columns of JSON objects: what is refused, and the names that they have."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from equipoise.runs.json_cells import SHAPES, check_objects, object_names

GOOD = [
    {},
    {"type": "type1"},
    {"a: ": 'b": "c', "d": "\\", "e\n": "\x01"},
    {"späte": "Ünïcode", "a: ": ""},
    {"quote\\": '", "not": "a name'},
]


def column(*texts: str) -> pa.ChunkedArray:
    return pa.chunked_array([[text] for text in texts])


def test_names_come_in_the_order_of_their_first_cell() -> None:
    cells = column(*(json.dumps(texts, ensure_ascii=False) for texts in GOOD))
    check_objects(cells, "groups")
    assert object_names(cells, "groups") == ["type", "a: ", "d", "e\n", "späte", "quote\\"]


def test_json_in_another_layout_is_read_all_the_same() -> None:
    cells = column('{"b":"x"}', '{ "a" : "y", "b" : "\\u00e9" }', '{"c": "z"}')
    check_objects(cells, "slots")
    assert object_names(cells, "slots") == ["b", "a", "c"]


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
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_cell_that_is_not_texts_by_name_is_refused(cell: str, reason: str) -> None:
    cells = column('{"a": "b"}', cell, '{"c": "d"}')
    for read in (check_objects, object_names):
        with pytest.raises(ValueError, match=f"its groups are {reason}"):
            read(cells, "groups")


def test_one_cell_in_another_layout_is_enough_to_read_them_all() -> None:
    assert object_names(column('{"a": "x"}', '{"b":"y"}', '{"a": "z", "c": "w"}'), "slots") == ["a", "b", "c"]
    assert object_names(column('{"a": "x: \\"b\\": \\"c\\""}', '{"d": "y"}'), "slots") == ["a", "d"]


def test_cells_may_have_more_different_names_than_are_looked_for() -> None:
    names = [f"({number}) \\d*" for number in range(SHAPES + 4)]
    cells = [json.dumps({name: "x", **({"late": "y"} if number > 9 else {})}) for number, name in enumerate(names)]
    assert object_names(column(*cells, *cells), "groups") == [*names[:11], "late", *names[11:]]
