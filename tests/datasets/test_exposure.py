"""Sentences that a model was trained on are recognised, whatever their pronoun, and named in a note."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.datasets import open_dataset
from equipoise.datasets.exposure import TRAINED_ON, exposure_notes, sentence_hash, sentence_of, trained_on
from equipoise.records import DatasetError, Example

DATASET = open_dataset("builtin").limited(5)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a model that was trained on the first sentence, with one of its pronouns."""
    (tmp_path / TRAINED_ON).parent.mkdir()
    (tmp_path / TRAINED_ON).write_text(f"{sentence_hash(DATASET.examples[0])}\n{'0' * 16}\n")
    return tmp_path


def test_the_members_of_a_set_are_one_sentence_and_sets_differ(folder: Path) -> None:
    he, she, other = DATASET.examples[:3]
    assert he.set_id == she.set_id != other.set_id
    assert sentence_of(he) == sentence_of(she) != sentence_of(other)
    assert "_" in sentence_of(he)
    assert trained_on(folder, DATASET.examples) == [he, she]


def test_a_note_counts_them_and_names_the_folder(folder: Path, tmp_path: Path) -> None:
    (note,) = exposure_notes([str(folder), None, "owner/name", tmp_path / "none"], [DATASET])
    assert note.startswith(f"{folder} was trained on 2 of 10 sentences of builtin, so their numbers do not show")
    assert exposure_notes([str(folder)], [open_dataset("sentiment")]) == []


def test_a_folder_that_does_not_say_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="does not say what it was trained on"):
        trained_on(tmp_path, DATASET.examples)


def test_a_sentence_is_known_in_any_case_and_by_its_pronoun_alone() -> None:
    row = Example("a", "She  saw HER nurse when she Left.", ("nurse", "cook"), None, False, None, {}, "a")
    about_her = replace(row, slots={"pronoun": "she"})
    assert sentence_of(about_her) == "_ saw her nurse when _ left."
    assert sentence_of(row) == "she saw her nurse when she left."
    assert sentence_hash(about_her) == hashlib.sha256(b"_ saw her nurse when _ left.").hexdigest()[:16]


def test_notes_count_each_dataset_of_each_folder(folder: Path, tmp_path: Path) -> None:
    few = replace(DATASET, name="few", examples=DATASET.examples[:2])
    notes = exposure_notes(["", 7, None, tmp_path / "missing", str(folder), folder], [DATASET, few])
    told = [
        f"{folder} was trained on 2 of {count} sentences of {name}" for count, name in ((10, "builtin"), (2, "few"))
    ]
    end = ", so their numbers do not show how it treats others"
    assert notes == [f"{line}{end}" for line in told] * 2
