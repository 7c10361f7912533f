"""The grammar's own sentences: many, different, and balanced."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import pytest
from kept_texts import assert_kept

from equipoise.datasets.occupations import OCCUPATIONS
from equipoise.records import DatasetError, SentencePair
from equipoise.training import grammar
from equipoise.training.decided import decided_sets
from equipoise.training.grammar import Template, filled, grammar_dataset, marker_sets, templates
from equipoise.training.training_sets import sets_of


def test_the_grammar_makes_over_2000_different_sets_in_balance() -> None:
    dataset = grammar_dataset()
    sets = sets_of(dataset)
    assert len(sets) >= 2000 and dataset.licence == "CC0-1.0"
    assert len({example.text for example in dataset.examples}) == len(dataset.examples)
    assert {item.template for item in sets} == {f"grammar-{template.ending}" for template in templates()}
    answerable = [item for item in sets if item.answerable]
    fits = Counter(member.groups["stereotype"] for item in answerable for member in item.members)
    assert fits["pro"] == fits["anti"]
    kinds = Counter((item.members[0].groups["form"], item.members[0].gold) for item in answerable)
    assert len(kinds) == 6 and max(kinds.values()) - min(kinds.values()) <= 1


def test_neither_beginning_nor_ending_tells_the_position_of_the_referent() -> None:
    beginnings, endings = defaultdict(set), defaultdict(set)
    for template in templates():
        if template.referent is not None:
            beginnings[template.text.removesuffix(template.ending)].add(template.referent)
            endings[template.ending].add(template.referent)
    assert len(beginnings) > 60 and all(referents == {0, 1} for referents in beginnings.values())
    # Where people go on to act or react, the order of mention is fixed; elsewhere it is turned around.
    assert sum(referents == {0, 1} for referents in endings.values()) > 0.7 * len(endings)


def test_a_seed_gives_the_same_sentences_and_another_seed_others() -> None:
    texts = [[example.text for example in grammar_dataset(seed=seed).examples] for seed in (0, 0, 1)]
    assert texts[0] == texts[1]
    assert len(set(texts[0]) & set(texts[2])) < len(texts[0]) / 10


def test_marker_sets_differ_in_pronoun_and_marker_only() -> None:
    for members in marker_sets(grammar_dataset(resolvable=60, ambiguous=1), count=30):
        assert len(members) == 4
        assert len({member.groups["marker"] for member in members}) == 2
        assert len({member.groups["attribute"] for member in members}) == 1
        assert len({member.slots["pronoun"] for member in members}) == 2
        assert len({(member.candidates, member.gold) for member in members}) == 1


def test_what_is_drawn_is_as_it_was_kept() -> None:
    dataset = grammar_dataset(seed=3, resolvable=6, ambiguous=4)
    sets = [marker_sets(dataset, seed=3, count=3), decided_sets(seed=3, count=4)]
    assert_kept("training/grammar", len(dataset.examples), dataset.examples[::3], *sets)


def test_the_templates_and_a_hundred_sentences_are_as_they_were_kept() -> None:
    made = templates()
    assert len(made) == len({template.text for template in made})
    shown = [(template.text, template.referent, template.ending, template.form) for template in made[::37]]
    texts = [example.text for example in grammar_dataset(seed=8, resolvable=30, ambiguous=20).examples]
    assert_kept("training/templates", len(made), shown, texts)


def test_each_set_has_one_person_of_each_stereotype_in_either_order() -> None:
    examples = grammar_dataset(seed=1, resolvable=60, ambiguous=20).examples
    sides = {name: occupation.side for name, occupation in OCCUPATIONS.items()}
    orders = Counter(tuple(sides[name] for name in example.candidates) for example in examples)
    assert set(orders) == {("male", "female"), ("female", "male")} and min(orders.values()) > 20
    leads = [example.text.partition(",")[0] in grammar._content()["words"]["lead"] for example in examples]
    assert 0.1 < sum(leads) / len(leads) < 0.6
    assert len({example.cluster_id for example in examples}) > 5


def test_a_grammar_that_runs_out_of_sentences_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DatasetError, match=r"^the grammar cannot make 3 different sentences; ask for fewer$"):
        _drawn_from_one(3, monkeypatch)
    assert len(_drawn_from_one(1, monkeypatch)) == 1


def _drawn_from_one(count: int, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    only = Template("The {first} met the {second} at the {place} when {subject} left.", 0, "when {subject} left.")
    monkeypatch.setattr(grammar, "filled", lambda template, people, rng: "always the same")
    return list(grammar._sentences([only], count, random.Random(0)))


def test_slots_are_filled_and_the_pronoun_s_is_left() -> None:
    rng = random.Random(2)
    people = {"first": "nurse", "second": "farmer"}
    with_place = filled("The {first} met {object} at the {place}.", people, rng)
    assert with_place.startswith("The nurse met {object} at the ") and "{place}" not in with_place
    texts = {filled("The {first} saw {object}.", people, rng) for _ in range(60)}
    assert "The nurse saw {object}." in texts
    assert all(text.endswith("he nurse saw {object}.") for text in texts) and len(texts) > 3


def test_a_sentence_that_breaks_a_rule_is_a_fault_of_the_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammar, "broken_rules", lambda sentence, people: ["is odd", "is long"])
    with pytest.raises(DatasetError, match=r"^grammar\.toml: '.*' makes a sentence that is odd$"):
        grammar_dataset(resolvable=1, ambiguous=0)


def test_only_answerable_sentences_of_two_people_with_a_counterpart_are_marked() -> None:
    dataset = grammar_dataset(seed=4, resolvable=6, ambiguous=3)
    first, second, third, *rest = dataset.examples
    pair = SentencePair("The", ("a", "b"), ("male", "female"))
    three = replace(third, candidates=(*third.candidates, "somebody"))
    changed = replace(dataset, examples=(replace(first, pair=pair), second, three, *rest))
    marked = marker_sets(changed, count=99)
    assert len(marked) == 4, "sets without two sentences that can be marked are left out"
    assert all(member.answerable for members in marked for member in members)
    assert len(marker_sets(dataset, count=2)) == 2 and marker_sets(dataset, seed=1) != marker_sets(dataset, seed=2)


def test_a_sentence_that_cannot_be_marked_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = grammar_dataset(seed=4, resolvable=4, ambiguous=0)
    every = marker_sets(dataset, count=99)
    real, odd = grammar.augment, dataset.examples[0].set_id

    def augmented(example: Any, how: Any) -> Any:
        if example.set_id == odd:
            raise DatasetError("names no candidate")
        return real(example, how)

    monkeypatch.setattr(grammar, "augment", augmented)
    kept = marker_sets(dataset, count=99)
    assert kept == [members for members in every if not members[0].id.startswith(dataset.examples[0].id)]
    assert len(kept) == len(every) - 1 > 1
