"""The 40 occupations, and where a text names them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept

from equipoise.datasets.occupations import (
    OCCUPATIONS,
    Finder,
    mentions,
    named,
    names_others,
    people,
    phrases,
    side,
    stereotyped,
    third_occupations,
    third_people,
    workforce_imbalance,
)
from equipoise.records.scripts import spaced


def test_there_are_forty_half_of_them_each_side_and_the_side_follows_the_share() -> None:
    assert len(OCCUPATIONS) == 40
    assert sum(occupation.side == "male" for occupation in OCCUPATIONS.values()) == 20
    assert all((occupation.female_share > 50) == (occupation.side == "female") for occupation in OCCUPATIONS.values())
    shares = [occupation.female_share for occupation in OCCUPATIONS.values()]
    assert shares == sorted(shares)


def test_the_sides_agree_with_the_two_lists_of_winobias(real_data) -> None:
    folder = real_data("winobias")
    for gender in ("male", "female"):
        listed = (folder / f"{gender}_occupations.txt").read_text().split("\n")
        assert {side(name) for name in listed if name} == {gender}
        assert {name for name in OCCUPATIONS if side(name) == gender} == {name for name in listed if name}


def test_side_is_found_in_any_case_and_none_for_other_words() -> None:
    assert (side("ceo"), side(" Nurse "), side("astronaut"), side("")) == ("male", "female", None, None)


def test_mentions_are_whole_words_longest_first_and_canonical() -> None:
    text = "The Construction Worker asked the ceo and a NURSE's friend."
    found = mentions(text)
    assert [mention.name for mention in found] == ["construction worker", "CEO", "nurse"]
    assert [text[mention.start : mention.end] for mention in found] == ["Construction Worker", "ceo", "NURSE"]


@pytest.mark.parametrize("text", ["the nurses", "a co-writer", "cookery", "mechanical", "a cashier-less shop", ""])
def test_parts_of_words_and_plurals_are_no_mention(text: str) -> None:
    assert mentions(text) == []


def test_plurals_are_found_when_asked_for() -> None:
    names = [mention.name for mention in mentions("Secretaries, salespeople, CEOs and nurses met.", plurals=True)]
    assert names == ["secretary", "salesperson", "CEO", "nurse"]


def test_a_candidate_of_several_words_names_no_third_person() -> None:
    text = "The registered nurse told the new patient that the guest worker, not the Registered Nurse, was late."
    people = ("registered nurse", "guest worker", "new patient")
    assert third_occupations(text, people) == [] == third_people(text, people)
    assert third_occupations(f"{text} The nurse left.", people) == ["nurse"]
    assert third_people(f"{text} The guest left.", people) == ["guest"]


def test_third_occupations_are_those_beyond_the_candidates() -> None:
    text = "The nurse told the ceo that the baker and the Nurse had seen the drivers."
    assert third_occupations(text, ("nurse", "CEO")) == ["baker"]
    assert third_occupations(text, ("nurse", "ceo"), plurals=True) == ["baker", "driver"]


def test_stereotyped_needs_exactly_one_candidate_of_that_side() -> None:
    assert stereotyped(("nurse", "driver"), "male") == 1
    assert stereotyped(("nurse", "driver"), "female") == 0
    assert stereotyped(("nurse", "driver"), "neutral") is None
    assert stereotyped(("nurse", "baker"), "female") is None
    assert stereotyped(("nurse", "astronaut"), "male") is None


@given(st.lists(st.sampled_from([*OCCUPATIONS, "cat", "Nurses", "-", "."]), max_size=8))
def test_mentions_cut_out_of_the_text_are_the_names(words: list[str]) -> None:
    text = " ".join(words)
    found = mentions(text)
    assert all(text[start:end].lower() == name.lower() for start, end, name in found)
    assert [name for _, _, name in found] == [word for word in words if word in OCCUPATIONS]


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("The attendant explained it to the buyer, and the salesperson encouraged her.", ["buyer"]),
        ("The nurse and the physician discussed the patient's condition before she left.", ["patient"]),
        ("The nurse reviewed the patient charts with the physician before she left.", []),
        ("The clerk praised customer service at the lawyer's desk, and he left.", []),
        ("The teacher met the students and the clerk before she left.", []),
        ("The nurse helped an old friend and another client while he waited.", ["friend", "client"]),
    ],
)
def test_a_third_person_is_one_that_the_pronoun_could_mean(text: str, people: list[str]) -> None:
    assert third_people(text, ("nurse", "physician")) == people
    assert third_people(text, people) == []


PIECES = (
    *("the nurse", "The Nurse", " a PATIENT", "nurse-", "Teacher", "co-", " ", ".", "İ", "ſ", "\u212a"),
    *("construction", " worker", "the construction worker", "'s", ", a neighbour", "an old neighbor;", "_", "\n", "7"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), st.sets(st.sampled_from(["nurse", "construction"])))
def test_texts_in_ascii_are_searched_as_all_others_are(text: str, candidates: set[str]) -> None:
    """An accent at the end makes the search take the way of other texts, and nothing else."""
    assert mentions(text) == mentions(f"{text} é")
    for found in (third_people, third_occupations):
        assert found(text, [*candidates]) == found(f"{text} é", [*candidates])


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), st.sets(st.sampled_from(["Nurse", "construction"])))
def test_where_others_are_named_they_are_looked_for(text: str, candidates: set[str]) -> None:
    listed = tuple(candidates)
    assert names_others(spaced(text), listed) or not third_people(text, listed) + third_occupations(text, listed)


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("the nurse and the construction worker", False),
        ("the nurses, a co-writer", False),
        ("", False),
        ("the nurse and the guard", True),
        ("THE GUARD", True),
        ("the writer's patient", True),
        ("one neighbour", True),
        ("a neighbor", True),
        ("the née nurse", True),
    ],
)
def test_most_texts_surely_name_no_others(text: str, others: bool) -> None:
    assert names_others(spaced(text), ("Nurse", "construction worker")) is others


SENTENCES = (
    "The nurse thanked the driver before she left.",
    "A Marine Biologist met the CEO, and drivers sang with the nurses.",
    "The fashion designer drew an app for the person.",
    "Someone told the head cook that the sous chef was ill.",
    "The very kind old engineer wept.",
    "the designer saw the designer",
    "Yesterday the architect and the surgeon met.",
    "Yesterday evening the architect sang.",
    "The naïve COOK and the co-writer met the writer's aunt.",
    "An accountant told another kind patient that the patient records and the customer were here.",
    "Each child saw one neighbor, one neighbour and the customer service.",
    "The VP of sales and a TV host met this guest, that Boss and the guest list.",
    "Salespeople and secretaries met a salesperson.",
    "We sang.",
    "",
)


def test_whom_a_sentence_names_is_as_it_was_kept() -> None:
    said = {
        sentence: {
            "mentions": [tuple(m) for m in mentions(sentence)],
            "with plurals": [tuple(m) for m in mentions(sentence, plurals=True)],
            "phrases": [tuple(m) for m in phrases(sentence)],
            "people": [tuple(m) for m in people(sentence)],
            "about": named(sentence),
            "third": third_occupations(sentence, ("Nurse", "cook")),
            "third with plurals": third_occupations(sentence, ("nurse",), plurals=True),
            "third people": third_people(sentence, ("Guest", "aunt")),
        }
        for sentence in SENTENCES
    }
    assert_kept("datasets/named", said)


def test_the_imbalance_of_an_occupation_is_its_distance_from_half() -> None:
    shares = {name: known.female_share for name, known in OCCUPATIONS.items()}
    values = workforce_imbalance(np.array([*shares, "astronaut", "Nurse"], dtype=object))
    assert values[:40].tolist() == pytest.approx([abs(share - 50) / 50 for share in shares.values()])
    assert np.isnan(values[40:]).all() and values[list(shares).index("nurse")] == pytest.approx(0.8)


def test_of_two_names_that_overlap_the_longer_one_counts() -> None:
    find = Finder(["police", "Police Officer", "officer", "army"])
    assert [mention.name for mention in find("The police officer met the police.")] == ["Police Officer", "police"]
    assert [mention.name for mention in find("Police officers, officers and armies", plurals=True)] == [
        "Police Officer",
        "officer",
        "army",
    ]
    assert find("co-officer and officer-in-chief") == [] and len(find("the officer's hat")) == 1
