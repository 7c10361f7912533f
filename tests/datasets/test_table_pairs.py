"""Which rows of a user's table belong together, and in which order their candidates are."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.datasets.dataset import Dataset
from equipoise.datasets.user_table import load_table


def load(folder: Path, *rows: str) -> Dataset:
    path = folder / "mine.csv"
    path.write_text("\n".join(["text,pronoun,candidate_1,candidate_2,gold", *rows, ""]), encoding="utf-8")
    return load_table(path)


def test_a_candidate_that_begins_the_sentence_is_mentioned_first(tmp_path: Path) -> None:
    text = "Pilot and waiter met before {} left.,{},waiter,pilot,pilot"
    dataset = load(tmp_path, *(text.format(word, word) for word in ("he", "she")))
    assert [(example.candidates, example.gold) for example in dataset.examples] == [(("pilot", "waiter"), 0)] * 2
    assert dataset.faults == ()


@pytest.mark.parametrize(
    ("words", "sets"),
    [(("he", "she"), 1), (("he", "her"), 0), (("him", "her"), 1), (("xe", "she"), 1), (("her", "xe"), 1)],
)
def test_pronouns_go_together_by_their_form_unless_one_is_not_in_the_table(
    tmp_path: Path, words: tuple[str, str], sets: int
) -> None:
    text = "The pilot paid the waiter and saw {}.,{},waiter,pilot,pilot"
    dataset = load(tmp_path, *(text.format(word, word) for word in words))
    assert dataset.sets == sets


def test_the_second_copy_of_a_row_goes_with_the_second_copy_of_its_counterpart(tmp_path: Path) -> None:
    text = "The pilot paid the waiter before {} left.,{},waiter,pilot,pilot"
    dataset = load(tmp_path, *(text.format(word, word) for word in ("he", "he", "she", "she")))
    first, second, third, fourth = (example.set_id for example in dataset.examples)
    assert first == third != second == fourth


def test_the_verb_after_a_subject_agrees_with_they_and_with_nobody_else(tmp_path: Path) -> None:
    rows = (
        "The pilot met the waiter before {pronoun} was paid.,subject",
        "He said that {pronoun} dog was ill.,possessive",
    )
    path = tmp_path / "mine.csv"
    lines = ["text,form,candidate_1,candidate_2", *(f"{row},pilot,waiter" for row in rows), ""]
    path.write_text("\n".join(lines), encoding="utf-8")
    ends = [example.text.split()[-4:] for example in load_table(path, pronouns=("she", "they")).examples]
    assert [" ".join(words) for words in ends] == [
        "before she was paid.",
        "before they were paid.",
        "her dog was ill.",
        "their dog was ill.",
    ]


@pytest.mark.parametrize(("pair", "set_id"), [("mine", "mine-pair-mine"), ("", "mine-pair-00001")])
def test_sentences_from_one_slot_are_a_pair_named_by_the_table_or_by_their_row(
    tmp_path: Path, pair: str, set_id: str
) -> None:
    path = tmp_path / "mine.csv"
    row = f"The pilot met the waiter before {{pronoun}} left.,subject,pilot,waiter,{pair}"
    path.write_text(f"text,form,candidate_1,candidate_2,pair\n{row}\n", encoding="utf-8")
    assert [example.set_id for example in load_table(path).examples] == [set_id] * 2
