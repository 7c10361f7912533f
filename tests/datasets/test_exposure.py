"""Sentences that a model was trained on are recognised, whatever their pronoun, and named in a note."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.datasets import open_dataset
from equipoise.datasets.exposure import TRAINED_ON, exposure_notes, sentence_hash, sentence_of, trained_on
from equipoise.records import DatasetError

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
