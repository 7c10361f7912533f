"""Who is named in a document, by which words, and what a person has to decide."""

from __future__ import annotations

import pytest
from kept_texts import assert_kept

from equipoise.builder.rules.people import NAME, SURNAME, TITLE, Wanted, people_in, slotted

BOTH = Wanted(frozenset({NAME, TITLE}))
THREE = Wanted(frozenset({NAME, TITLE}), plural=True)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Emily Clark came. Ms Clark left, and Emily called.", ["Emily Clark"]),
        ("Dear Emily, thank you.", ["Emily"]),
        ("Mr Okonkwo asked Mrs Lee.", ["Okonkwo", "Lee"]),
        ("We met Paul and Anna Reed.", ["Paul", "Anna Reed"]),
        ("Will you come in May? Grace is a virtue.", []),
        ("Will Baker and Grace Hill came.", ["Will Baker", "Grace Hill"]),
        ("Northgate Timber is in York.", []),
        ("Write to paul@example.org.", []),
    ],
)
def test_people_are_known_by_a_title_or_a_first_name(text: str, names: list[str]) -> None:
    assert [str(person) for person in people_in(text)] == names


def test_a_title_without_a_name_is_nobody_even_if_a_group_is_called_so() -> None:
    assert [str(person.first) for person in people_in("Alex met Sir, who left.", ["Sir"])] == ["Alex"]


def test_a_name_of_the_groups_is_known_too() -> None:
    assert not people_in("Zorblax came late.")
    assert [str(person) for person in people_in("Zorblax came late.", {"Zorblax"})] == ["Zorblax"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Emily's bag is here.", "{name}'s bag is here."),
        ("Mr. Paul Reed saw himself. He was late.", "{title}. {name} Reed saw {themself}. {They} {was|were} late."),
        ("Anna rests. We thank her for her work.", "{name} rests. We thank {them} for {their} work."),
        ("Anna says she is ill and tired.", "{name} says {they} {is|are} ill and tired."),
        ("She walked home.", "{They} walked home."),
        ("Ann called. Annual leave starts.", "{name} called. Annual leave starts."),
    ],
)
def test_every_word_that_names_the_person_becomes_a_slot(text: str, expected: str) -> None:
    made = slotted(text, THREE)
    assert made.text == expected and not made.is_open


def test_verbs_have_slots_only_where_a_group_is_they_and_surnames_where_groups_have_them() -> None:
    assert slotted("Anna Reed says she is ill.", BOTH).text == "{name} Reed says {they} is ill."
    wanted = Wanted(frozenset({NAME, SURNAME, TITLE}))
    assert slotted("Anna Reed came. Ms Reed left.", wanted).text == "{name} {surname} came. {title} {surname} left."


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The firm brought her lunch.", "can mean 'him' or 'his'"),
        ("The choice is hers.", "'hers' has no noun after it"),
        ("Anna Reed met Karen Hill. She was late.", "'she' can mean Anna Reed or Karen Hill"),
        ("Paul met Anna. He left. She stayed.", "means somebody else"),
        ("He asked, and she said no.", "has both he and she"),
        ("Anna was here. He left.", "'he' does not fit Anna"),
        ("The applicant says that he/she can drive.", "for either gender"),
        ("HE MUST LEAVE.", "is in capitals"),
        ("Anna wrote {name} here.", "has a brace"),
        ("The lamp is new.", "nothing in it names a person"),
        ("Anna says that she leads and plans.", "is followed by a second verb"),
    ],
)
def test_what_the_words_leave_open_is_decided_by_a_person(text: str, reason: str) -> None:
    made = slotted(text, THREE)
    assert made.is_open and any(reason in doubt.what and doubt.open for doubt in made.doubts)


def test_a_slot_that_the_groups_lack_keeps_the_document_out() -> None:
    made = slotted("Mr Reed came.", Wanted(frozenset({NAME})))
    assert next(doubt.what for doubt in made.doubts if doubt.open) == "the groups have no slot 'title' for 'Mr'"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Anna came. They were kind to her.", "can mean one person or several, and stays as it is: they"),
        ("Anna called her husband.", "'husband' says a gender"),
        ("Anna is at anna.reed@example.org.", "'Anna' is also a part of 'anna.reed@example.org'"),
        ("Anna met Oluwaseun today.", "names that are not known are left as is: Oluwaseun"),
        ("Dear Sir, Anna came.", "'Sir' has no name that is known after it"),
        ("Anna met Paul Hill.", "names a second person, Paul Hill"),
    ],
)
def test_what_stays_as_it_is_is_told_and_asked_all_the_same(text: str, reason: str) -> None:
    made = slotted(text, BOTH)
    assert not made.is_open and any(reason in doubt.what for doubt in made.doubts)


TEXTS = (
    "Emily Clark came. Ms Clark left, and Emily called; Clark's son wrote.",
    "Mr. Paul Reed saw himself. He was late. His bag is his.",
    "Dr Lee and Mrs Anna Lee met. She was glad that Anna could sing.",
    "Dear Anna,\nwe thank you. She isn't here; HER work is hers.\nMr Reed",
    "Anna met Emily. She sang.",
    "Anna met Paul. She sang.",
    "Anna met Paul. He sang, and she danced.",
    "Paul met him. She left.",
    "Anna left. He stayed.",
    "They met him and her.",
    "Only then was she told. Never has she lost her keys.",
    "Anna always runs and is late. She runs and is late.",
    "Will Baker came in May. Will you ask Grace? Mark it.",
    "Zorblax asked Kim Zorblax. Write to anna@example.org or anna.reed, Anna-Lena.",
    "The actress and her mother met Northgate Timber in York.",
    "He/she or s/he, his/her {brace} and (s)he may come. Mr  Unknown; Dr is here.",
    "Kim said that he was late. Kim Park's dog saw him.",
    "Anna brought her lunch. We met Ms O'Neill, Ms O'Neill.",
    "annabel and Anna's ANNA.\nAnna: she likes it. We told her that she has won!",
    "It rained.",
    "",
    "Anna met Emily. He saw her, and she sang.",
    "Anna met Paul. Paul saw Anna. She left.",
    "Paul met Anna. Anna saw Paul and Paul. He left her.",
    "Kim met Robin. She took her hat.",
    "Kim met Robin and Anna. She took her hat.",
    "Anna knows it. She always runs home. She was there; she was was.",
    "Anna knows it. She always was late. She left. She hasn't called. She doesn’t know.",
    "Will May came. May is kind. Mr May left; Mrs. May stayed.",
    "Ms Anna saw Ms Reed. Anna Reed's and Anna Park's hats: Reed left.",
    "Dr. Kim Lee and Anna O'Neill-Park met. O'Neill-Park sang, and Lee-Park did not.",
    "We met Anna.She left. (Anna) <anna@x.org> Anna_x, x.Anna, Anna.org, Annas.",
    "HE saw Paul. He Was late. His. Is his bag his?",
    "Who is she? Is she here: is she? Then has Anna left.",
    "Mother and father, Sir Paul, Lady Anna and uncle Paul met a king.",
    "She is\nher own boss.\nHer cat likes her\nvery much.",
)
SLOTS = (frozenset({NAME, TITLE}), frozenset({NAME, SURNAME, TITLE}), frozenset[str]())


def test_what_is_made_of_every_text_is_as_it_was_kept() -> None:
    made = {}
    for text in TEXTS:
        people = [(str(p), p.gender, p.mentions, p.places) for p in people_in(text, {"Zorblax"})]
        versions = [slotted(text, Wanted(slots, frozenset({"Zorblax"}), plural=True)) for slots in SLOTS]
        plain = slotted(text, Wanted(SLOTS[0]))
        made[text] = {"people": people, "plain": plain, "versions": [(v, v.is_open) for v in versions]}
    assert_kept("builder/people", made)


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("We met Mr. Paul Reed.", 1),
        ("We met Paul. Paul left.", 2),
        ("We met Paul Reed. Reed left.", 2),
        ("Paul, Paul and Paul met.", 3),
    ],
)
def test_the_parts_of_a_name_count_once(text: str, mentions: int) -> None:
    (person,) = people_in(text)
    assert person.mentions == mentions
