"""Sentences in which the group word decides: resolvable by that word alone, and by no rule of position."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import pytest

from equipoise.datasets import open_dataset
from equipoise.datasets.gendered import CONTROL, IDENTITY, MARKERS, load_gendered, pairs
from equipoise.datasets.markers import choose, read_markers
from equipoise.datasets.pronouns import gender_of
from equipoise.records import DECIDED, DatasetError, Example
from equipoise.tasks.next_word import NextWord

EXAMPLES = load_gendered().examples


def sets() -> dict[str, list[Example]]:
    grouped: dict[str, list[Example]] = defaultdict(list)
    for example in EXAMPLES:
        grouped[example.set_id].append(example)
    return grouped


def test_there_are_enough_sets_of_every_kind() -> None:
    assert len(sets()) >= 400
    clues = Counter(members[0].groups["clue"] for members in sets().values())
    assert set(clues) == {"noun", "name", "title", "reflexive", "number", *MARKERS}
    assert min(clues.values()) >= 40
    assert len({example.text for example in EXAMPLES}) == len(EXAMPLES)
    assert all(example.groups["type"] == DECIDED and example.answerable for example in EXAMPLES)


def test_a_rule_of_position_is_right_in_half_of_every_set() -> None:
    for members in sets().values():
        assert sorted(member.gold for member in members) == [0, 1]
        assert members[0].candidates == members[1].candidates


def test_members_differ_in_the_group_word_alone() -> None:
    for members in sets().values():
        words = [member.slots.get("pronoun") or member.groups["group"] for member in members]
        first, second = (re.sub(rf"\b{word}\b", "_", member.text) for word, member in zip(words, members, strict=True))
        assert first == second
        assert words[0] != words[1]


def test_people_are_named_once_before_the_pronoun_and_in_order() -> None:
    for example in EXAMPLES:
        places = [example.text.lower().find(candidate.lower()) for candidate in example.candidates]
        assert -1 not in places
        assert places == sorted(places)
        one, other = (candidate.lower() for candidate in example.candidates)
        assert not one.startswith(other), "the shorter one would hold the longer one's probability"
        assert not other.startswith(one), "the shorter one would hold the longer one's probability"
        if pronoun := example.slots.get("pronoun"):
            assert max(places) < re.search(rf"\b{pronoun}\b", example.text).start()
            assert gender_of(pronoun) == example.groups["gender"]


@pytest.mark.parametrize("clue", ["noun", "name", "title", "reflexive", "number"])
def test_either_gender_is_first_in_about_half_of_the_sets(clue: str) -> None:
    first = [example.groups["gender"] for example in EXAMPLES if example.groups["clue"] == clue and example.gold == 0]
    share = max(Counter(first).values()) / len(first)
    assert share <= 0.6


def test_every_marker_that_can_be_trained_away_has_a_test() -> None:
    asked = {candidate.lower() for example in EXAMPLES for candidate in example.candidates}
    for attribute in choose(read_markers(), None, crossed=False):
        for marker in attribute.markers:
            assert any(name.startswith(f"{marker.word.lower()} ") for name in asked), marker


def test_people_with_names_are_asked_for_without_an_article() -> None:
    for example in EXAMPLES:
        (prompt,) = NextWord().prompts(example)
        named = example.groups["clue"] in ("name", "title")
        assert str(prompt.context).endswith("refers to" if named else "the")


def test_the_control_is_a_spread_of_forty_sets() -> None:
    control = open_dataset("gendered:control")
    assert control.sets == CONTROL
    clues = {example.groups["clue"] for example in EXAMPLES}
    assert {example.groups["clue"] for example in control.examples} == clues - {IDENTITY}
    with pytest.raises(DatasetError, match="one part, control"):
        open_dataset("gendered:other")


def test_words_that_begin_one_another_are_never_a_pair() -> None:
    words = {"male": ["Prince", "host", "man"], "female": ["princess", "Hostess", "manager", "wife"]}
    made = list(pairs(words, 12, 0))
    starts = [(p["male"].lower(), p["female"].lower()) for p in made]
    assert made and not any(woman.startswith(man) or man.startswith(woman) for man, woman in starts)
    turned = [
        {"male": p["female"], "female": p["male"]}
        for p in pairs({"male": words["female"], "female": words["male"]}, 12, 0)
    ]
    assert turned and not any(p["female"].lower().startswith(p["male"].lower()) for p in turned)
    assert [len(list(pairs(words, count, place))) for count in (1, 2, 3) for place in (0, 1)] == [1, 1, 2, 2, 3, 3]


def test_a_part_that_is_unknown_is_refused() -> None:
    with pytest.raises(DatasetError, match=r"^gendered has one part, control, not 'all'$"):
        load_gendered("all")
