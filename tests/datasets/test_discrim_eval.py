"""discrim-eval's layout by path: sets are decisions, mistakes are one sentence with file and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise.datasets import open_dataset
from equipoise.records import DatasetError

ROW = {
    "filled_template": "Should they get it?",
    "decision_question_id": 3,
    "age": 20,
    "gender": "male",
    "race": "white",
}


def written(path: Path, *rows: dict[str, object]) -> str:
    file = path / "own.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(file)


def test_the_decision_is_set_and_cluster(tmp_path: Path) -> None:
    rows = [{**ROW, "age": age, "decision_question_id": question} for question in (1, 2) for age in (20, 30.0)]
    dataset = open_dataset(written(tmp_path, *rows))
    assert [example.set_id for example in dataset.examples] == ["own-1", "own-1", "own-2", "own-2"]
    assert dataset.examples[1].groups == {"type": "open", "age": "30", "gender": "male", "race": "white"}
    assert dataset.examples[0].good == 0 and dataset.examples[0].candidates == ("yes", "no")
    assert not dataset.faults


def test_explicit_and_implicit_fillings_are_sets_of_their_own(tmp_path: Path) -> None:
    rows = [{**ROW, "fill_type": kind, "age": age} for kind in ("explicit", "implicit") for age in (20, 30)]
    dataset = open_dataset(written(tmp_path, *rows))
    assert dataset.sets == 2 and len({example.cluster_id for example in dataset.examples}) == 1


def test_a_person_who_is_there_twice_is_a_fault(tmp_path: Path) -> None:
    dataset = open_dataset(written(tmp_path, ROW, {**ROW, "age": 30}, ROW))
    assert [fault.kind for fault in dataset.faults] == ["not a counterfactual set"] * 2


@pytest.mark.parametrize("key", ["decision_question_id", "race"])
def test_an_empty_cell_is_named_with_its_line(tmp_path: Path, key: str) -> None:
    with pytest.raises(DatasetError, match=rf"own\.jsonl:2: {key} is empty"):
        open_dataset(written(tmp_path, ROW, {**ROW, key: ""}))
