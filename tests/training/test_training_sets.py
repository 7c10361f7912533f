"""What is trained on: the grammar's own sentences, never an evaluation's; splits that share nothing."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_texts import assert_kept
from planted_training import few_sets

from equipoise.datasets import open_dataset
from equipoise.datasets.exposure import sentence_of
from equipoise.datasets.occupations import OCCUPATIONS
from equipoise.records import DatasetError, SentencePair
from equipoise.training import TrainingError, TrainingSet, open_training_sets, split_sets, training_sets
from equipoise.training.grammar import grammar_dataset
from equipoise.training.training_sets import (
    EVALUATED,
    SYNTHBIAS_EVALUATION,
    control_sets,
    evaluated_sentences,
    held_out_occupations,
    outside_sets,
    sets_of,
    spread,
    template_of,
    without,
)


@pytest.mark.parametrize("name", EVALUATED)
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


def test_members_with_other_candidates_are_no_set() -> None:
    first, second = grammar_dataset(resolvable=1, ambiguous=1).examples[:2]
    with pytest.raises(TrainingError, match=r"^set other has members with different candidates$"):
        TrainingSet("other", (first, replace(second, candidates=("a", "b"))), "")
    item = TrainingSet("fine", (first, second), "")
    assert (item.answerable, item.decided, item.candidates) == (True, False, first.candidates)


def test_sentences_without_a_pronoun_or_a_counterpart_are_left_out() -> None:
    dataset = grammar_dataset(resolvable=4, ambiguous=1)
    first, *rest = dataset.examples
    lone = replace(dataset, examples=(*rest, replace(rest[1], id="x", slots={})))
    assert [item.id for item in sets_of(lone)] == list(dict.fromkeys(example.set_id for example in rest[1:]))
    assert all(len(item.members) == 2 for item in sets_of(lone))
    with pytest.raises(TrainingError, match=r"grammar: has no two sentences that differ only in a group word$"):
        sets_of(replace(dataset, examples=(first,)))
    with pytest.raises(TrainingError, match=r"^grammar: has no two sentences"):
        sets_of(replace(dataset, examples=(first,), source=""))


def test_sentence_pairs_are_left_out_with_a_pronoun_or_without() -> None:
    dataset = grammar_dataset(resolvable=2, ambiguous=0)
    pair = SentencePair("The nurse said that", ("he came.", "she came."), ("male", "female"))
    pairs = [replace(e, id=f"{e.id} pair", set_id="pair", pair=pair) for e in dataset.examples[:2]]
    both = (*dataset.examples, *pairs, *(replace(e, id=f"{e.id} bare", slots={}) for e in pairs))
    assert sets_of(replace(dataset, examples=both)) == sets_of(dataset)


def test_a_template_is_the_sentence_without_people_markers_and_pronoun() -> None:
    male, female = grammar_dataset(seed=3, resolvable=1, ambiguous=1).examples[:2]
    text = "The Nurse-aide told the old nurse and the farmer that the farmers saw him."
    people = replace(male, text=text, candidates=("nurse", "Farmer"), slots={"pronoun": "him", "marked:0": "old nurse"})
    assert template_of(people) == "the nurse-aide told the # and the # that the farmers saw _."
    assert template_of(male) == template_of(female) and "#" in template_of(male)


def test_names_with_marks_are_blanked_as_they_are_written() -> None:
    example = grammar_dataset(seed=1, resolvable=1, ambiguous=0).examples[0]
    odd = replace(example, text="The cook (sous) met a C+ and he left. cook sous", candidates=("cook (sous)", "C+"))
    assert "#" in template_of(odd) and "(sous)" not in template_of(odd) and template_of(odd).endswith("cook sous")


def test_sets_of_an_evaluation_are_left_out_by_sentence_and_by_template() -> None:
    sets = few_sets()[:4]
    assert without(sets, set()) == list(sets)
    assert without(sets, {sets[1].template}) == [sets[0], *sets[2:]]
    assert without(sets, {sentence_of(sets[2].members[-1])}) == [*sets[:2], sets[3]]


def test_the_sentences_of_every_evaluation_on_this_machine_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = {
        name: replace(grammar_dataset(seed=number, resolvable=2, ambiguous=1), name=name)
        for number, name in enumerate(("gendered", "winogender", "synthbias"))
    }
    limited: list[int] = []

    def opened(name: str) -> Any:
        if name not in datasets:
            raise DatasetError("not here")
        return datasets[name]

    monkeypatch.setattr(training_sets, "open_dataset", opened)
    monkeypatch.setattr(type(datasets["synthbias"]), "limited", lambda self, count: limited.append(count) or self)
    for synthbias, names in ((False, ("gendered", "winogender")), (True, tuple(datasets))):
        examples = [example for name in names for example in datasets[name].examples]
        expected = {text for example in examples for text in (sentence_of(example), template_of(example))}
        assert evaluated_sentences(synthbias=synthbias) == expected
    assert limited == [1000]


def test_what_is_opened_for_training(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def evaluated(*, synthbias: bool) -> set[str]:
        asked.append(synthbias)
        return {sentence_of(small.examples[0])}

    small = grammar_dataset(seed=9, resolvable=5, ambiguous=2)
    monkeypatch.setattr(training_sets, "grammar_dataset", lambda seed: asked.append(("grammar", seed)) or small)
    monkeypatch.setattr(training_sets, "open_dataset", lambda data: asked.append(data) or small)
    monkeypatch.setattr(training_sets, "evaluated_sentences", evaluated)
    monkeypatch.setattr(
        training_sets, "decided_sets", lambda seed: asked.append(seed) or [m.members for m in few_sets()[-3:]]
    )
    monkeypatch.setattr(
        training_sets, "marker_sets", lambda data, seed: asked.append(("markers", seed)) or [few_sets()[-12].members]
    )
    kept = open_training_sets(seed=4)
    assert asked == [("grammar", 4), ("markers", 4), False, 4]
    assert [item.id for item in kept] == [
        *(item.id for item in sets_of(small)[1:]),
        *(item.id for item in (few_sets()[-12], *few_sets()[-3:])),
    ]
    asked.clear()
    assert [item.id for item in open_training_sets("synthbias", markers=False)] == [
        *(item.id for item in sets_of(small)[1:]),
        *(item.id for item in few_sets()[-3:]),
    ]
    assert asked == ["synthbias", True, 0]
    monkeypatch.setattr(
        training_sets, "evaluated_sentences", lambda synthbias: {item.template for item in sets_of(small)}
    )
    with pytest.raises(TrainingError, match=r"^mine has no set that is not part of an evaluation dataset$"):
        open_training_sets("mine", markers=False)


def test_a_split_keeps_shares_of_every_kind_of_template() -> None:
    sets = sets_of(grammar_dataset(seed=3, resolvable=400, ambiguous=200))
    for validation, test in ((0.1, 0.1), (0.25, 0.5), (0.5, 0.0)):
        splits = split_sets(sets, seed=2, held_out=0, validation=validation, test=test)
        assert splits.occupations == () and splits.held_out == ()
        parts = {"validation": splits.validation, "templates": splits.templates, "train": splits.train}
        assert sum(map(len, parts.values())) == len(sets)
        for answerable in (True, False):
            names = {use: {s.template for s in part if s.answerable == answerable} for use, part in parts.items()}
            every = sum(map(len, names.values()))
            assert len(names["validation"]) == -int(-every * validation // 1)
            assert abs(len(names["templates"]) - every * test) <= 1
    with pytest.raises(TrainingError, match=r"^the split leaves no sets for train; give more sets, or hold out fewer"):
        split_sets(sets, validation=1.0)
    with pytest.raises(TrainingError, match=r"^the split leaves no sets for validation;"):
        split_sets(sets, validation=0.0)
    assert split_sets(sets, seed=2) == split_sets(sets, seed=2) != split_sets(sets, seed=3)


def test_a_split_is_as_it_was_kept() -> None:
    sets = [*sets_of(grammar_dataset(seed=3, resolvable=60, ambiguous=30)), *few_sets()[-9:]]
    splits = split_sets(sets, seed=1)
    parts = {name: [item.id for item in getattr(splits, name)] for name in ("train", "validation", "occupations")}
    assert_kept("training/split", parts, [item.id for item in splits.templates], splits.held_out)


@given(st.integers(0, 9), st.integers(0, 30))
def test_as_many_occupations_of_each_side_are_held_out(seed: int, count: int) -> None:
    names = held_out_occupations(seed=seed, per_side=count)
    sides = {name.lower(): occupation.side for name, occupation in OCCUPATIONS.items()}
    counts = Counter(sides.values())
    assert Counter(sides[name] for name in names) == Counter(
        {side: min(count, counts[side]) for side in ("male", "female") if count}
    )
    assert len(set(names)) == len(names)


@given(st.integers(0, 12), st.integers(0, 12))
def test_sets_are_spread_evenly(length: int, count: int) -> None:
    chosen = spread(few_sets()[:length], count)
    if count == 0 or count >= length:
        assert chosen == list(few_sets()[:length])
    else:
        assert chosen == [few_sets()[number * length // count] for number in range(count)]


def test_one_outside_set_is_one_of_each_position() -> None:
    assert [item.members[0].gold for item in outside_sets(1)] == [0, 1]
    assert len(control_sets()) > 100 and all(item.decided for item in control_sets(7)) and len(control_sets(7)) == 7
