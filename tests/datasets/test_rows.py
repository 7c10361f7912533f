"""A table in memory is the same dataset as its file."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest

import equipoise
from equipoise.datasets import open_dataset
from equipoise.datasets.dataset import Fault
from equipoise.datasets.rows import READERS, parse_toml, read_rows, read_text, rows_in_memory
from equipoise.options import DatasetOptions
from equipoise.records import DatasetError, EquipoiseError

ROWS = [
    {
        "text": f"The {boss} thanked the {aide} because {pronoun} was {word}.",
        "pronoun": pronoun,
        "candidates": [boss, aide],
        "gold": aide,
        "weight": number,
    }
    for number, (boss, aide, word) in enumerate([("chief", "nurse", "kind"), ("cook", "guard", "early")])
    for pronoun in ("he", "she")
]
FRAME = pd.DataFrame(ROWS)


class Columnar:
    """What a Dataset of the datasets library offers."""

    column_names = tuple(FRAME.columns)

    def to_list(self) -> list[dict[str, Any]]:
        return ROWS


@pytest.mark.parametrize("data", [FRAME, ROWS, tuple(ROWS), Columnar()], ids=["frame", "list", "tuple", "columnar"])
def test_it_is_the_dataset_of_its_file(data: Any, tmp_path: Path) -> None:
    FRAME.to_json(tmp_path / "data.jsonl", orient="records", lines=True)
    file, memory = open_dataset(tmp_path / "data.jsonl"), open_dataset(data)
    assert memory.examples == file.examples
    assert (memory.name, memory.source, memory.sha256) == ("data", "in memory", file.sha256)
    assert len(open_dataset(data, DatasetOptions(limit=1)).examples) == 2


def test_cells_of_numpy_and_missing_cells_are_read() -> None:
    frame = FRAME.assign(gold=[np.int64(2), np.int64(2), pd.NA, None], answerable=[True, True, False, np.bool_(False)])
    examples = open_dataset(frame).examples
    assert [example.gold for example in examples] == [1, 1, None, None]
    assert [example.answerable for example in examples] == [True, True, False, False]


def test_a_list_of_dicts_is_one_dataset_of_an_audit_and_a_list_of_names_several(tmp_path: Path) -> None:
    choices: dict[str, Any] = {"resamples": 20, "metrics": ["accuracy"]}
    run = equipoise.audit("planted", data=ROWS, out=tmp_path / "rows", **choices)
    assert list(run.manifest.datasets) == ["data"]
    both = equipoise.audit("planted", data=[FRAME, "builtin"], out=tmp_path / "both", limit=1, **choices)
    assert list(both.manifest.datasets) == ["data", "builtin"]


def test_sentence_pairs_in_memory_are_pairs() -> None:
    rows = [{"sent_more": "He is a nurse.", "sent_less": "She is a nurse.", "y": 0}] * 2
    rows[1] = {**rows[1], "sent_more": "He drives.", "sent_less": "She drives."}
    assert all(example.pair is not None for example in open_dataset(rows).examples)


@pytest.mark.parametrize("data", [None, 7, object(), [1, 2], [{"text": "x"}, 2], {"text": "x"}])
def test_anything_else_is_one_sentence(data: Any) -> None:
    with pytest.raises(DatasetError, match="data must be a name, a path, a Dataset, a DataFrame"):
        open_dataset(data)
    with pytest.raises(DatasetError, match="data has no rows"):
        open_dataset([])
    with pytest.raises(EquipoiseError):
        equipoise.audit("planted", data=data)


def test_rows_before_the_header_of_a_sheet_are_passed_over_and_lines_are_those_of_the_sheet(tmp_path: Path) -> None:
    book = importlib.import_module("openpyxl").Workbook()
    sheet = book.create_sheet("second")
    for row in ((), (None, ""), ("text", None, "candidate_1", "candidate_2", "gold", "pronoun", "pair")):
        sheet.append(row)
    sheet.append(("The nurse met the cook because he was late.", 9, "nurse", "cook", "nurse", "he", "1"))
    sheet.append(("The nurse met the cook because she was late.", 9, "nurse", "cook", "nurse", "she", "1"))
    book.save(tmp_path / "mine.xlsx")
    dataset = open_dataset(tmp_path / "mine.xlsx")
    assert [example.text for example in dataset.examples] == [
        "The nurse met the cook because he was late.",
        "The nurse met the cook because she was late.",
    ]
    assert dataset.sets == 1


def read(folder: Path, name: str, content: bytes | str) -> Any:
    """Return what a file holds as columns, lines with cells and blank lines, or why it is refused."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    try:
        table = read_rows(path)
    except DatasetError as error:
        return str(error)
    return table.columns, [(row.line, row.cells) for row in table.rows], table.blank


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", " a ,b\n1, x \n", (("a", "b"), [(2, {"a": "1", "b": " x "})], ())),
        ("a.CSV", "a;b\n1;2,5\n", (("a", "b"), [(2, {"a": "1", "b": "2,5"})], ())),
        ("a.csv", "a\tb\n1\t2\n", (("a", "b"), [(2, {"a": "1", "b": "2"})], ())),
        ("a.csv", "a;b,c\n1;2,3\n", (("a;b", "c"), [(2, {"a;b": "1;2", "c": "3"})], ())),
        ("a.tsv", "a;b\tc\n1\t2\n", (("a;b", "c"), [(2, {"a;b": "1", "c": "2"})], ())),
        ("a.tsv", "a;b\n1\n", (("a;b",), [(2, {"a;b": "1"})], ())),
        (
            "a.csv",
            '\n ,\n"a\nx",b\n"1\n2",3\n\n4,5\n,\n',
            (("a\nx", "b"), [(5, {"a\nx": "1\n2", "b": "3"}), (8, {"a\nx": "4", "b": "5"})], (7,)),
        ),
        ("a.csv", b"\xef\xbb\xbfa,b\n\xc3\xbc,2\n", (("a", "b"), [(2, {"a": "ü", "b": "2"})], ())),
        ("a.csv", "a,b\nü,2\n".encode("utf-16"), (("a", "b"), [(2, {"a": "ü", "b": "2"})], ())),
        ("a.jsonl", '\n{"a": 1}\n \n{"b": "x\u2028y"}\n', (("a", "b"), [(2, {"a": 1}), (4, {"b": "x\u2028y"})], ())),
        ("a.ndjson", '{"a": 1}\n{"a": null}\n{"a": 2}\n{"a": " "}\n', (("a",), [(1, {"a": 1}), (3, {"a": 2})], (2,))),
        ("a.json", ' [{"a": 1},\n {"b": [2]}]', (("a", "b"), [(1, {"a": 1}), (2, {"b": [2]})], ())),
        ("a.json", '{"a": 0}', (("a",), [(1, {"a": 0})], ())),
        ("a.csv", "", "a.csv: is empty"),
        ("a.csv", " \n ", "a.csv: is empty"),
        ("a.csv", "a,b\n,\n", "a.csv: holds no row"),
        ("a.csv", "a,b\n", "a.csv: holds no row"),
        ("a.json", "[]", "a.json: holds no row"),
        ("a.csv", "a, a\n1,2\n", "a.csv: duplicate column 'a'; its first row names the columns"),
        ("a.csv", "a,b,a,b\n1,2,3,4\n", "a.csv: duplicate column 'a'; its first row names the columns"),
        ("a.csv", "a,b\n1\n", "a.csv:2: has 1 cells, but the header has 2"),
        ("a.csv", 'a,b\n\n1,"2\n', "a.csv:3: is not well-formed (unexpected end of data)"),
        ("a.csv", 'a,b\n1,"2"x\n', "a.csv:2: is not well-formed (',' expected after '\"')"),
        ("a.csv", b"a,b\n1,2\n\xe9,1\n", "a.csv:3: byte 0xe9 is not UTF-8 text"),
        ("a.csv", b"\xef\xbb\xbfa,b\n\xe9,1\n", "a.csv:2: byte 0xe9 is not UTF-8 text"),
        (
            "a.csv",
            ("text,b\n" + "1,2\n" * 9).encode("utf-16-le"),
            "a.csv: looks like UTF-16 without a byte-order mark; save it as UTF-8",
        ),
        (
            "a.csv",
            "a,b\n" + "x" * 200_000 + ",1\n",
            "a.csv:2: has a cell of more than 131,072 characters; is a quote missing?",
        ),
        ("a.jsonl", '{"a": 1}\n{"a"\n', "a.jsonl:2: is not JSON (Expecting ':' delimiter at column 5)"),
        ("a.json", '[{"a": 1},\n\n {"b"}]', "a.json:3: is not JSON (Expecting ':' delimiter at column 6)"),
        ("a.jsonl", "3\n", "a.jsonl:1: is not a JSON object with the columns as keys"),
        ("a.json", '[{"a": 1}, 3]', "a.json:2: is not a JSON object with the columns as keys"),
        ("a.parquet", "x", None),
        ("a.xlsx", "x", "a.xlsx: cannot be read as an Excel file (BadZipFile)"),
        ("a.ods", "x", "a.ods: .ods files are not read; save it as .xlsx or .csv"),
        ("a.txt", "x", "a.txt: is not a table that can be read; known file endings: " + ", ".join(READERS)),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else None,
)
def test_a_file_is_read_or_refused(tmp_path: Path, name: str, content: bytes | str, expected: Any) -> None:
    got = read(tmp_path, name, content)
    if expected is None:
        assert got.startswith(f"{name}: cannot be read as Parquet (") and "\n" not in got
    else:
        assert got == expected


def test_deep_json_is_refused_by_its_line(tmp_path: Path) -> None:
    got = read(tmp_path, "a.jsonl", '{"a": 1}\n{"a": ' + "[" * 200_000)
    assert got.startswith("a.jsonl:2: is not JSON that can be read (")


def test_what_cannot_be_opened_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DatasetError, match=r"folder\.csv: cannot be read: Is a directory$"):
        read_rows(tmp_path / "folder.csv")
    with pytest.raises(DatasetError, match=r"a\.csv: cannot be read: No such file or directory$"):
        read_rows(tmp_path / "a.csv")
    with pytest.raises(DatasetError, match=r"a\.txt: cannot be read: No such file or directory$"):
        read_text(tmp_path / "a.txt")


def test_zeros_in_a_text_make_it_utf_16_from_six_on(tmp_path: Path) -> None:
    for zeros, seen in ((5, False), (6, True)):
        path = tmp_path / "a.txt"
        path.write_bytes(b"a\0" * zeros + b"plain")
        if seen:
            with pytest.raises(DatasetError, match="looks like UTF-16"):
                read_text(path)
        else:
            assert read_text(path) == "a\0" * zeros + "plain"
    path.write_bytes(b"\0\0" * 50)
    assert read_text(path) == "\0" * 100
    path.write_bytes(b"\0a" * 6)
    with pytest.raises(DatasetError, match="looks like UTF-16"):
        read_text(path)


def test_a_sheet_is_the_first_with_something_and_columns_without_a_name_are_left_out(tmp_path: Path) -> None:
    book = importlib.import_module("openpyxl").Workbook()
    book.active.append((None, " "))
    second, third = book.create_sheet("second"), book.create_sheet("third")
    for row in ((" a ", None, 7), (1, 2), (None, 5, " "), (3, 4, 5)):
        second.append(row)
    third.append(("x",))
    book.save(tmp_path / "a.xlsx")
    table = read_rows(tmp_path / "a.xlsx")
    assert (table.columns, table.blank, table.source) == (("a", "7"), (3,), str(tmp_path / "a.xlsx"))
    assert [(row.line, row.cells) for row in table.rows] == [(2, {"a": 1, "7": None}), (4, {"a": 3, "7": 5})]
    fault = Fault("a.xlsx:3", "blank row", "has no cell with text", "left out")
    assert table.blank_faults == [fault]
    second.append(("a", "b"))
    empty = importlib.import_module("openpyxl").Workbook()
    empty.save(tmp_path / "b.xlsx")
    with pytest.raises(DatasetError, match=r"^b\.xlsx: is empty$"):
        read_rows(tmp_path / "b.xlsx")


FORMULA = "<c r='B2'{kind}><f>A2</f>{value}</c>"


@pytest.mark.parametrize(
    ("kind", "value", "cell"),
    [
        ("", "", "the formula in cell B2 has no value; save the file in a spreadsheet program, which computes it"),
        (
            "",
            "<v></v>",
            "the formula in cell B2 has no value; save the file in a spreadsheet program, which computes it",
        ),
        (" t='e'", "<v>#REF!</v>", "the formula in cell B2 gives #REF!"),
        (" t='str'", "<v></v>", None),
        (" t='str'", "<v>nurse</v>", "nurse"),
        ("", "<v>7</v>", 7),
    ],
)
def test_a_formula_is_its_value_and_one_that_was_never_computed_is_refused(
    tmp_path: Path, kind: str, value: str, cell: Any
) -> None:
    book = importlib.import_module("openpyxl").Workbook()
    for row in (("a", "b"), ("x", "=A2"), ("y", "z")):
        book.active.append(row)
    book.save(tmp_path / "plain.xlsx")
    with ZipFile(tmp_path / "plain.xlsx") as plain, ZipFile(tmp_path / "a.xlsx", "w") as changed:
        for name in plain.namelist():
            content = plain.read(name).decode()
            content = re.sub(r'<c r="B2">.*?</c>', FORMULA.format(kind=kind, value=value), content)
            changed.writestr(name, content)
    if str(cell).startswith("the formula"):
        with pytest.raises(DatasetError, match=rf"^a\.xlsx:2: {cell}$"):
            read_rows(tmp_path / "a.xlsx")
    else:
        assert [row.cells["b"] for row in read_rows(tmp_path / "a.xlsx").rows] == [cell, "z"]


def test_rows_in_memory_have_plain_cells_and_all_columns() -> None:
    data = [{"a": np.int64(3), 7: np.array([1, 2])}, {"b": pd.NaT, "a": pd.NA, "c": None}, {}]
    table = rows_in_memory(data)
    assert (table.file, table.columns, table.path, table.source) == ("data", ("a", "7", "b", "c"), None, "in memory")
    assert [(row.line, row.cells) for row in table.rows] == [
        (1, {"a": 3, "7": [1, 2]}),
        (2, {"b": None, "a": None, "c": None}),
        (3, {}),
    ]
    with pytest.raises(DatasetError, match=r"^data: the column 'x' is missing; it has a, 7, b, c$"):
        table.need("a", "x")
    assert table.parsed(lambda where, number, cells: (where, number, len(cells))) == [
        ("data:1", 1, 2),
        ("data:2", 2, 3),
        ("data:3", 3, 0),
    ]


@pytest.mark.parametrize(
    ("told", "reason"), [(" odd file\nmore", "odd file"), ("", "no reason given"), ("\n", "no reason given")]
)
def test_why_parquet_cannot_be_read_is_its_first_line(
    told: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow.parquet

    def failing(_: object) -> None:
        raise ValueError(told)

    monkeypatch.setattr(pyarrow.parquet, "read_table", failing)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(DatasetError) as caught:
        read_rows(tmp_path / "a.parquet")
    assert str(caught.value) == f"a.parquet: cannot be read as Parquet ({reason})"


def test_what_is_not_toml_is_refused_by_its_file() -> None:
    assert parse_toml("a.toml", "x = 1") == {"x": 1}
    with pytest.raises(DatasetError, match=r"^a\.toml: is not TOML \("):
        parse_toml("a.toml", "x")
