"""What is trained on: the grammar's own sentences, never an evaluation's; splits that share nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest
from kept_texts import assert_kept

from equipoise.datasets import open_dataset
from equipoise.datasets.exposure import sentence_of
from equipoise.training import TrainingError, TrainingSet, open_training_sets, split_sets
from equipoise.training.grammar import grammar_dataset
from equipoise.training.training_sets import (
    SYNTHBIAS_EVALUATION,
    control_sets,
    held_out_occupations,
    outside_sets,
    sets_of,
)


@pytest.mark.parametrize("name", ["builtin", "winobias", "winoidentity"])
def test_an_evaluation_dataset_is_refused(name: str) -> None:
    with pytest.raises(TrainingError, match=f"{name} is for evaluation"):
        open_training_sets(name)


@pytest.mark.slow
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
    of_the_table = [item for item in kept if not item.decided]
    assert {sentence_of(item.members[0]) for item in of_the_table} == {sentence_of(example) for example in ours}
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


@pytest.mark.slow
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


def test_outside_sets_are_balanced_and_never_trained_on() -> None:
    sets = outside_sets()
    gold = [item.members[0].gold for item in sets]
    assert len(sets) == 266 and gold.count(0) == gold.count(1)
    few = [item.members[0].gold for item in outside_sets(10)]
    assert few.count(0) == few.count(1) == 5
    trained = {example.text for example in grammar_dataset().examples}
    assert not trained & {member.text for item in sets for member in item.members}


def test_training_sets_are_as_they_were_kept() -> None:
    sets = sets_of(grammar_dataset(seed=3, resolvable=4, ambiguous=3))
    assert_kept("training/sets", sets[:4], outside_sets(2), control_sets(2), held_out_occupations(seed=2))
