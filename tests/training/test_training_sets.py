"""What is trained on: the grammar's own sentences, never an evaluation's; splits that share nothing."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from pathlib import Path

import pandas as pd
import pytest

from equipoise.datasets import open_dataset
from equipoise.training import TrainingError, TrainingSet, open_training_sets, split_sets
from equipoise.training.grammar import grammar_dataset, marker_sets, templates
from equipoise.training.training_sets import SYNTHBIAS_EVALUATION, sentence_of, sets_of


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


@pytest.mark.parametrize("name", ["builtin", "winobias", "winoidentity"])
def test_an_evaluation_dataset_is_refused(name: str) -> None:
    with pytest.raises(TrainingError, match=f"{name} is for evaluation"):
        open_training_sets(name)


def test_evaluation_sentences_are_left_out_of_a_users_table(tmp_path: Path) -> None:
    ours = [example for example in grammar_dataset(resolvable=6, ambiguous=1).examples if example.answerable]
    evaluated = [example for example in open_dataset("builtin").examples if example.answerable][:8]
    rows = [
        {
            "text": example.text,
            "candidates": "|".join(example.candidates),
            "gold": example.candidates[example.gold],
            "pronoun": example.slots["pronoun"],
            "set_id": example.set_id,
        }
        for example in [*ours, *evaluated]
    ]
    file = tmp_path / "mine.csv"
    pd.DataFrame(rows).to_csv(file, index=False)
    kept = open_training_sets(str(file), markers=False)
    assert {sentence_of(item.members[0]) for item in kept} == {sentence_of(example) for example in ours}
    pd.DataFrame(rows[len(ours) :]).to_csv(file, index=False)
    with pytest.raises(TrainingError, match="no set that is not part of an evaluation"):
        open_training_sets(str(file), markers=False)


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("EQUIPOISE_DATA"), reason="EQUIPOISE_DATA is not set: SynthBias is not here")
def test_the_evaluation_sets_of_synthbias_are_never_trained_on() -> None:
    evaluated = {sentence_of(example) for example in open_dataset("synthbias").limited(SYNTHBIAS_EVALUATION).examples}
    sets = open_training_sets("synthbias", markers=False)
    assert len(sets) > 14_000
    assert not evaluated & {sentence_of(member) for item in sets for member in item.members}


def test_splits_share_no_template_and_training_sees_no_held_out_occupation() -> None:
    splits = split_sets(open_training_sets(), seed=3)
    used = {name: {item.template for item in getattr(splits, name)} for name in ("train", "validation", "templates")}
    assert not used["train"] & used["validation"] and not used["train"] & used["templates"]
    assert not used["validation"] & used["templates"]
    assert len(splits.held_out) == 8
    for name in ("train", "validation", "templates"):
        people = {person.lower() for item in getattr(splits, name) for person in item.candidates}
        assert not people & set(splits.held_out)
        assert {item.answerable for item in getattr(splits, name)} == {True, False}
    assert all(set(splits.held_out) & {p.lower() for p in item.candidates} for item in splits.occupations)


def test_a_set_of_one_or_of_mixed_answerability_is_an_error() -> None:
    examples = grammar_dataset(resolvable=1, ambiguous=1).examples
    with pytest.raises(TrainingError, match="set lone has one member"):
        TrainingSet("lone", examples[:1], "")
    with pytest.raises(TrainingError, match="mixes answerable"):
        TrainingSet("mixed", (examples[0], examples[2]), "")
