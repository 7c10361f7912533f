"""Training sets in which the group word decides: no word and no sentence of the evaluation is in them."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from kept_texts import assert_kept

from equipoise.datasets import open_dataset
from equipoise.datasets.pronouns import gender_of
from equipoise.training import decided
from equipoise.training.decided import KINDS, decided_sets
from equipoise.training.training_sets import open_training_sets, split_sets


def test_the_seed_draws_the_sets() -> None:
    assert decided_sets(seed=1, count=30) == decided_sets(seed=1, count=30)
    assert decided_sets(seed=1, count=30) != decided_sets(seed=2, count=30)


def test_the_right_answer_changes_with_the_word() -> None:
    sets = decided_sets(count=120)
    assert {members[0].groups["clue"] for members in sets} == set(KINDS)
    for members in sets:
        assert sorted(member.gold for member in members) == [0, 1]
        assert len({member.text for member in members}) == 2
        for member in members:
            assert "{" not in member.text
            if pronoun := member.slots.get("pronoun"):
                assert gender_of(pronoun) == member.groups["gender"]


def test_neither_words_nor_sentences_of_the_evaluation_are_trained_on() -> None:
    evaluated = open_dataset("gendered").examples
    people = {candidate.lower() for example in evaluated for candidate in example.candidates}
    frames = {_frame(example) for example in evaluated}
    for members in decided_sets(count=300):
        assert not people & {candidate.lower() for candidate in members[0].candidates}
        assert _frame(members[0]) not in frames


def _frame(example) -> str:  # type: ignore[no-untyped-def]
    """Return a sentence without its people and its group word."""
    words = [*example.candidates, example.slots.get("pronoun") or example.groups["group"]]
    return re.sub("|".join(rf"\b{re.escape(word)}\b" for word in words), "_", example.text, flags=re.IGNORECASE)


@pytest.mark.slow
def test_sets_of_a_template_are_on_one_side_of_the_split() -> None:
    splits = split_sets(open_training_sets(markers=False))
    trained = {item.template for item in splits.train}
    assert not trained & {item.template for item in splits.validation}
    assert any(item.decided for item in splits.train)
    assert any(item.decided for item in splits.validation)
    ambiguous = {item.template for item in splits.train if not item.answerable}
    assert {item.template for item in splits.train if item.decided} & ambiguous, "contrastive sets share templates"


def test_no_set_is_drawn_twice_and_each_is_as_it_was_kept() -> None:
    sets = decided_sets(seed=3, count=250)
    assert len({members[0].text for members in sets}) == len(sets) == 250
    assert [members[0].set_id for members in sets[:3]] == ["decided-0000", "decided-0001", "decided-0002"]
    shown = [[(m.text, m.candidates, m.gold, dict(m.groups), m.cluster_id) for m in members] for members in sets]
    assert_kept("training/decided", shown[:48])
    assert decided_sets(count=0) == []


def test_a_sentence_that_was_drawn_before_is_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = iter([("a", "x"), ("b", "x"), ("a", "y"), ("a", "x"), ("c", "x")])
    asked: list[tuple[str, str]] = []

    def drawn(kind: str, name: str, rng: object) -> Any:
        asked.append((kind, name))
        return [SimpleNamespace(text=text) for text in next(texts)]

    monkeypatch.setattr(decided, "_drawn", drawn)
    found: Any = decided_sets(count=3)
    assert [[member.text for member in members] for members in found] == [["a", "x"], ["b", "x"], ["c", "x"]]
    numbers = [0, 1, 2, 2, 2]
    assert asked == [(kind, f"decided-{number:04}") for kind, number in zip(decided.KINDS, numbers, strict=False)]
