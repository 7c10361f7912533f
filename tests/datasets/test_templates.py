"""Templates become sets that differ in the people alone, in good grammar; every mistake in a file is one sentence."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.datasets import open_dataset
from equipoise.datasets.templates import KINDS_OF_DECISION, load_decisions, load_templates
from equipoise.options import DatasetOptions
from equipoise.records import DatasetError, Example

FILE = """
candidates = ["yes", "no"]
good = "yes"
questions = ["Should {they} get it?", "Would you give it to {them}?"]

[groups.gender]
woman = { person = "woman", pronoun = "she" }
person = { person = "artist" }

[[scenario]]
id = "flat"
text = "{A person} wants a flat. {They} {has|have} {their} papers with {them}."
right = "yes"

[[scenario]]
id = "loan"
text = "We met {a person} by chance."
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_slots_agree_with_whom_the_text_is_about(tmp_path: Path) -> None:
    first, second, third, *_ = load_templates(written(tmp_path, FILE)).examples
    assert first.text == "A woman wants a flat. She has her papers with her."
    assert first.slots["question"] == "Should she get it?"
    assert second.text == "An artist wants a flat. They have their papers with them."
    assert third.slots["question"] == "Would you give it to her?"
    assert (first.gold, first.answerable, first.good) == (0, True, 0)
    assert first.set_id == second.set_id != third.set_id
    assert first.cluster_id == third.cluster_id


def test_a_file_a_dict_and_a_path_are_the_same_dataset(tmp_path: Path) -> None:
    path = written(tmp_path, FILE)
    by_path, by_dict = open_dataset(str(path)), open_dataset(tomllib.loads(FILE))
    assert [(e.text, e.groups, e.gold) for e in by_path.examples] == [
        (e.text, e.groups, e.gold) for e in by_dict.examples
    ]
    assert by_path.name == "mine" and by_path.sets == 4
    assert len(open_dataset(str(path), DatasetOptions(limit=1)).examples) == 4
    assert {e.groups["group"] for e in open_dataset(str(path), DatasetOptions(where=["group=woman"])).examples} == {
        "woman"
    }


AN = ("hour", "8-year-old", "owl", "umbrella", "11", "atheist")


@given(st.sampled_from([*AN, "uniform", "European", "user", "118", "one-off", "woman"]))
def test_the_article_follows_the_sound(word: str) -> None:
    content: dict[str, Any] = tomllib.loads(FILE)
    content["groups"]["gender"]["person"]["person"] = word
    article = "an" if word in AN else "a"
    texts = [example.text for example in load_templates(content).examples]
    assert f"We met {article} {word} by chance." in texts


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('id = "loan"', "", r"mine.toml:15: scenario 2: id is missing"),
        (
            "{a person} by",
            "{a robot} by",
            r"mine.toml:15: scenario 'loan': the group 'woman' has no slot \{robot\}; it has",
        ),
        (
            'right = "yes"',
            'right = "maybe"',
            r"mine.toml:10: scenario 'flat': right 'maybe' is not one of the candidates",
        ),
        ('good = "yes"', "", r"mine.toml:10: scenario 'flat': good is missing"),
        ('id = "loan"', 'id = "flat"', "two scenarios have the id 'flat'"),
        (
            'right = "yes"',
            'vary = ["age"]',
            r"mine.toml:10: scenario 'flat': vary names 'age', but the groups are: gender",
        ),
        ('right = "yes"', 'wright = "yes"', "unknown key 'wright'; the keys are: id, text"),
        ('person = { person = "artist" }', "", "groups.gender needs at least two groups to compare"),
        ('{ person = "artist" }', '{ people = "artist" }', "not all groups have the slot 'people'"),
        ('pronoun = "she"', 'pronoun = "shee"', "unknown pronoun 'shee'; known: he, she"),
        ('{ person = "artist" }', '"artist"', "groups.gender.person must be a table of slots"),
        ("[groups.gender]", "[people]", "unknown key 'people'; the keys are: licence, groups, scenario"),
        ("candidates = [", "candidates = ", "is not TOML"),
    ],
)
def test_a_mistake_is_one_sentence_with_its_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in FILE
    with pytest.raises(DatasetError, match=message) as caught:
        load_templates(written(tmp_path, FILE.replace(old, new, 1)))
    assert "\n" not in str(caught.value)


def test_groups_may_be_in_a_file_of_their_own(tmp_path: Path) -> None:
    head, _, rest = FILE.partition("[groups.gender]\n")
    groups, _, scenarios = rest.partition("\n\n")
    (tmp_path / "people.toml").write_text(f"[gender]\n{groups}", encoding="utf-8")
    apart = load_templates(written(tmp_path, f'{head}groups = "people.toml"\n{scenarios}'))
    assert apart.examples == load_templates(written(tmp_path, FILE)).examples
    (tmp_path / "people.toml").unlink()
    with pytest.raises(DatasetError, match=r"people.toml: cannot be read"):
        load_templates(written(tmp_path, f'{head}groups = "people.toml"\n{scenarios}'))


def test_decisions_are_balanced_and_each_set_differs_in_the_people_alone() -> None:
    dataset = open_dataset("decisions")
    assert (len(dataset.examples), dataset.sets) == (5040, 1296)
    sets: dict[str, list[Example]] = defaultdict(list)
    for example in dataset.examples:
        assert not re.search(r"[{}|]|\b[Aa] [aeio]\w|\b[Aa]n [^aeiouAEIOU8h]", example.text), example.text
        assert example.text[0].isupper() and example.text.endswith(".")
        sets[example.set_id].append(example)
    for members in sets.values():
        assert len({member.groups["group"] for member in members}) == len(members) > 1
        assert len({member.text for member in members}) == len(members)
        assert len({(m.gold, m.candidates, m.slots["question"]) for m in members}) == 1
    for kind in KINDS_OF_DECISION:
        part = load_decisions(kind).examples
        scenarios = {example.cluster_id: example.gold for example in part}
        assert len(scenarios) == 12
        assert sorted(str(gold) for gold in scenarios.values()) == ["0"] * 3 + ["1"] * 3 + ["None"] * 6
    with pytest.raises(DatasetError, match="unknown kind of decision 'war'; the kinds are: hiring"):
        open_dataset("decisions:war")


@pytest.mark.parametrize(
    ("word", "article"),
    [
        *(
            (word, "an")
            for word in (
                "actor",
                "Engineer",
                "idea",
                "old",
                "uncle",
                "hour",
                "honour",
                "heir",
                "8 year",
                "80",
                "11 year",
                "18 year",
                "umpire",
                "onerous",
            )
        ),
        *(
            (word, "a")
            for word in (
                "cook",
                "euro",
                "one",
                "one year",
                "uni",
                "Union",
                "user",
                "utility",
                "hero",
                "110",
                "180",
                "7",
                "young",
            )
        ),
    ],
)
def test_the_article_of_every_beginning(word: str, article: str) -> None:
    content = {
        "candidates": ["yes", "no"],
        "good": "yes",
        "questions": ["Is it {A name}?"],
        "groups": {"g": {"x": {"name": word}, "y": {"name": "z"}}},
        "scenario": [{"id": "s", "text": "We met {a name}; {Name} left."}],
    }
    first, second = load_templates(content).examples
    assert first.text == f"We met {article} {word}; {word[0].upper()}{word[1:]} left."
    assert first.slots["question"] == f"Is it {article.capitalize()} {word}?" and second.text == "We met a z; Z left."


def test_content_in_memory_says_what_is_wrong_without_a_line() -> None:
    for groups, reason in (
        ("people.toml", "data: groups must be a table here, not the name of a file"),
        ({}, 'data: it has no groups: write [groups.gender], or groups = "people.toml"'),
        ({"g": {"x": {"a": "b"}}}, "data: groups.g needs at least two groups to compare"),
    ):
        with pytest.raises(DatasetError) as error:
            load_templates({"groups": groups, "scenario": [{}]})
        assert str(error.value) == reason
    good = {"g": {"x": {"a": "b"}, "y": {"a": "c"}}}
    for scenario, reason in (
        ([], "data: it has no [[scenario]]"),
        (3, "data: it has no [[scenario]]"),
        ([3], "data: scenario 1: a scenario must be a table"),
        ([{"id": "s"}], "data: scenario 's': text is missing"),
        ([{"id": "s", "text": "t"}, {}], "data: scenario 's': candidates is missing"),
    ):
        with pytest.raises(DatasetError) as error:
            load_templates({"groups": good, "scenario": scenario})
        assert str(error.value) == reason
