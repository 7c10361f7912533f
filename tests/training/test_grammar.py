"""The grammar's own sentences: many, different, and balanced."""

from __future__ import annotations

from collections import Counter, defaultdict

from kept_texts import assert_kept

from equipoise.training.decided import decided_sets
from equipoise.training.grammar import grammar_dataset, marker_sets, templates
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
