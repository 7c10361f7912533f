"""A neutral word in the place of the occupation, and StereoSet's file as pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from kept_texts import assert_kept

from equipoise.datasets import neutral as module
from equipoise.datasets import open_dataset
from equipoise.datasets.neutral import family, neutralised, row_name
from equipoise.datasets.occupations import named
from equipoise.options import DatasetOptions
from equipoise.records import DatasetError


def neutral(data: object, word: str):
    return open_dataset(data, DatasetOptions(neutral=word))


def pairs(*befores: str) -> list[dict[str, str]]:
    return [{"sent_more": f"{text} him.", "sent_less": f"{text} her.", "y": "1"} for text in befores]


def test_the_whole_name_of_an_occupation_is_replaced() -> None:
    rows = pairs("The fashion designer said it was made by", "An engineer thanked", "We met the CEO's friend and")
    person, someone = neutral(rows, "person"), neutral(rows, "someone")
    assert [e.text for e in person.examples] == [
        "The person said it was made by him.",
        "A person thanked him.",
        "We met the person's friend and him.",
    ]
    assert [e.pair.before for e in someone.examples if e.pair] == [
        "Someone said it was made by",
        "Someone thanked",
        "We met someone's friend and",
    ]
    original = open_dataset(rows)
    assert [(e.id, e.gold, e.groups["occupation"]) for e in person.examples] == [
        (e.id, e.gold, e.groups["occupation"]) for e in original.examples
    ]
    assert [e.groups["occupation"] for e in person.examples] == ["designer", "engineer", "CEO"]


def test_a_sentence_with_candidates_loses_the_referent_s_occupation() -> None:
    original, changed = open_dataset("builtin"), neutral("builtin", "someone")
    assert changed.name == "builtin-someone" and len(changed.examples) == len(original.examples)
    for before, after in zip(original.examples, changed.examples, strict=True):
        lost = before.candidates[before.gold or 0]
        assert lost not in after.text and "omeone" in after.text
        assert [a for a, b in zip(after.candidates, before.candidates, strict=True) if a != b] == ["person"]
        assert (after.gold, after.groups, after.set_id) == (before.gold, before.groups, before.set_id)


def test_what_names_no_occupation_is_left_out_with_its_reason() -> None:
    changed = neutral(pairs("The nurse thanked", "The rain soaked"), "person")
    assert len(changed.examples) == 1
    assert [f.what for f in changed.faults if f.kind == "no neutral form"] == ["names no occupation, or several"]
    with pytest.raises(DatasetError, match="no sentence has an occupation"):
        neutral(pairs("The rain soaked"), "person")


@pytest.mark.parametrize(
    ("text", "occupation"),
    [
        ("The marine biologist confirmed that the study was led by him", "marine biologist"),
        ("The teenager confided in the therapist because he was sad.", "therapist"),
        ("The IT specialist fixed it", "IT specialist"),
        ("The engineer informed the broker that he was late.", "engineer"),
        ("The nurse told the engineer about the model.", "nurse"),
        ("The homeowner asked the inspector if he had seen it.", "inspector"),
        ("The rain soaked him.", ""),
    ],
)
def test_occupations_beyond_the_forty_are_recognised(text: str, occupation: str) -> None:
    assert named(text) == occupation


def test_genderlex_is_recognised_and_made_neutral_as_its_authors_did(real_data: Callable[[str], Path]) -> None:
    real_data("gender-ece")
    original = open_dataset("genderlex")
    assert sum(bool(e.groups.get("occupation")) for e in original.examples) == 836
    for word in ("person", "someone"):
        ours = {row_name(e.id, "genderlex"): e.text for e in neutral("genderlex", word).examples}
        theirs = {row_name(e.id, f"genderlex-{word}"): e.text for e in open_dataset(f"genderlex-{word}").examples}
        different = [theirs[row] for row in ours if ours[row] != theirs[row]]
        # Their file kept half of a name in 14 rows: "The person planner shared that".
        assert len(ours) == 836 and len(different) == 14
        assert all(text.lower().startswith((f"the {word} ", f"{word} ")) for text in different)


def test_rows_are_named_without_their_dataset() -> None:
    assert row_name("genderlex-00017", "genderlex") == row_name("genderlex-someone-00017", "genderlex-someone")
    assert row_name("genderlex-00017", "genderlex-someone") == "00017"
    assert (family("genderlex-person"), family("winobias")) == ("genderlex", "winobias")


TABLE = [
    {
        "text": "An engineer met the nurse, who saw that she left the engineer.",
        "pronoun": "she",
        "candidates": "engineer|nurse",
        "gold": "nurse",
    },
    {
        "text": "An engineer met the nurse, who saw that he left the engineer.",
        "pronoun": "he",
        "candidates": "engineer|nurse",
        "gold": "nurse",
    },
    {
        "text": "The engineer met the wizard as he ran.",
        "pronoun": "he",
        "candidates": "wizard|engineer",
        "gold": "wizard",
    },
    {
        "text": "The engineer met the wizard as she ran.",
        "pronoun": "she",
        "candidates": "wizard|engineer",
        "gold": "wizard",
    },
    {"text": "The elf met the wizard as she sat.", "pronoun": "she", "candidates": "wizard|elf"},
    {"text": "The person met the nurse as she sat.", "pronoun": "she", "candidates": "person|nurse"},
    {
        "text": "The Nurse met a co-nurse; The NURSE and Nurse met as she sat with the cook.",
        "pronoun": "she",
        "candidates": "nurse|cook",
        "gold": 1,
    },
    {"text": "We saw the cook as she sat.", "pronoun": "she", "candidates": "nurse|cook", "gold": "nurse"},
]
PAIRS = [
    {"sent_more": "The fashion designer met him.", "sent_less": "The fashion designer met her.", "y": 1},
    {"sent_more": "We met him, the nurse.", "sent_less": "We met her, the nurse.", "y": 1},
    {"sent_more": "The nurse saw the cook and met him.", "sent_less": "The nurse saw the cook and met her.", "y": 1},
    {"sent_more": "A nurse met him.", "sent_less": "A nurse met her.", "y": 0},
]


@pytest.mark.parametrize("word", ["person", "someone"])
def test_neutral_sentences_and_what_has_none_are_as_they_were_kept(word: str) -> None:
    told = []
    for rows in (TABLE, PAIRS):
        changed = neutralised(open_dataset(rows), word)
        told += [
            changed.name,
            changed.source,
            changed.examples,
            [f for f in changed.faults if f.kind == "no neutral form"],
        ]
    assert_kept(f"datasets/neutral-{word}", *told)


def test_a_dataset_without_an_occupation_is_refused() -> None:
    with pytest.raises(DatasetError, match=r"^data: no sentence has an occupation that 'person' could stand for$"):
        neutralised(open_dataset(TABLE[4:5]), "person")


@pytest.mark.parametrize(
    ("id", "dataset", "row"),
    [
        ("d-1", "d", "1"),
        ("d-1", "d-person", "1"),
        ("d-person-1", "d-person", "1"),
        ("e-1", "d", "e-1"),
        ("d1", "d", "d1"),
    ],
)
def test_a_row_is_named_without_its_dataset(id: str, dataset: str, row: str) -> None:
    assert row_name(id, dataset) == row


def test_a_capital_is_kept_at_the_beginning_alone() -> None:
    for text, expected in (
        (" An engineer ran.", " Someone ran."),
        ("An engineer ran.", "Someone ran."),
        ("Then An engineer ran.", "Then someone ran."),
        ("engineer", "someone"),
    ):
        assert module._replaced(text, "engineer", "someone") == expected


def test_of_two_longer_names_the_first_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    phrases = [SimpleNamespace(name=name) for name in ("web designer", "fashion designer", "cook")]
    monkeypatch.setattr(module.occupations, "phrases", lambda text: phrases)
    assert module._whole("text", "designer") == "web designer" and module._whole("text", "baker") == "baker"


def test_a_set_is_left_out_whole() -> None:
    dataset = open_dataset("builtin", DatasetOptions(limit=2))
    first, *others = dataset.examples
    odd = replace(first, candidates=("xx", "yy"))
    found = module.neutralised(replace(dataset, examples=(odd, *others)), "person")
    assert {example.set_id for example in found.examples} == {e.set_id for e in others} - {first.set_id}
    (fault,) = found.faults[len(dataset.faults) :]
    reason = "has no occupation among its candidates that the neutral word could stand for"
    assert (fault.where, fault.kind, fault.what, fault.handling) == (
        *(first.id, "no neutral form", reason, "left out with its set"),
    )
