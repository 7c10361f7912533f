"""A table in memory is the same dataset as its file."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import equipoise
from equipoise.datasets import open_dataset
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


@pytest.mark.parametrize("data", [None, 7, object(), [1, 2], {"text": "x"}])
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
