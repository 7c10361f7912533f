"""An example refuses what is not valid, and says which item is wrong."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from equipoise.records import (
    DatasetError,
    Example,
    SentencePair,
    marked_names,
    marked_slot,
)


def example(**changes: Any) -> Example:
    valid: dict[str, Any] = {
        "id": "a",
        "text": "The baker thanked the clerk because he had helped.",
        "candidates": ("baker", "clerk"),
        "gold": 1,
        "answerable": True,
        "stereotype": 0,
        "groups": {"type": "type2"},
        "set_id": "p",
    }
    return Example(**{**valid, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": ""}, "id and set_id must not be empty"),
        ({"set_id": ""}, "example 'a': id and set_id must not be empty"),
        ({"text": " \n"}, "example a: the text is empty"),
        ({"text": math.nan}, "example a: the text is empty"),
        ({"candidates": ("baker",), "gold": 0, "stereotype": None}, "example a: needs at least two candidates, has 1"),
        ({"candidates": ("baker", " ")}, "example a: candidate ' ' is not text"),
        ({"candidates": ("baker", 3.0)}, "example a: candidate 3.0 is not text"),
        ({"candidates": ("baker", "Baker ")}, r"example a: candidates \['baker', 'Baker '\] repeat"),
        ({"gold": 2}, "example a: gold 2 is not one of 2 candidates"),
        ({"gold": -1}, "example a: gold -1 is not one of 2 candidates"),
        ({"stereotype": 5}, "example a: stereotype 5 is not one of 2 candidates"),
        ({"gold": None}, "example a: answerable, but no right answer is given"),
        ({"good": 2}, "example a: good 2 is not one of 2 candidates"),
        ({"good": -1}, "example a: good -1 is not one of 2 candidates"),
        ({"pair": SentencePair("The ", ("a", "b"), ("male",))}, "example a: needs one side for each of 2 candidates"),
        ({"id": "", "text": "Who?"}, "example 'Who\\?': id and set_id must not be empty"),
    ],
)
def test_an_invalid_example_is_refused_by_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DatasetError, match=f"{message}$"):
        example(**changes)


def test_an_unanswerable_example_may_have_a_label_or_none() -> None:
    assert example(answerable=False).gold == 1
    assert example(answerable=False, gold=None).gold is None


def test_examples_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        example().gold = 0  # type: ignore[misc]


def test_an_example_is_in_the_cluster_of_its_set_or_in_its_own() -> None:
    assert example().cluster_id == "p" and example(cluster_id="c").cluster_id == "c"
    first, last = example(gold=0, stereotype=1, good=0), example(gold=1, stereotype=0, good=1)
    assert (first.gold, first.stereotype, first.good) == (0, 1, 0) and (last.gold, last.good) == (1, 1)


def test_the_sides_of_a_pair_are_named_in_order() -> None:
    pair = SentencePair("The ", ("man left.", "woman left."), ("male", "female"))
    assert pair.label == "male|female" and example(pair=pair).pair is pair
    assert marked_slot(3) == "marked:3"


def test_the_candidates_that_have_a_marker_are_named_in_their_order() -> None:
    assert marked_names(example()) == marked_names(example(slots={"pronoun": "he"})) == {}
    slots = {"marked:1": "young clerk", "pronoun": "he", "marked:0": "old baker", "marked:2": "nobody"}
    assert list(marked_names(example(slots=slots)).items()) == [(0, "old baker"), (1, "young clerk")]
    assert marked_names(example(slots={**slots, "marked:0": ""})) == {1: "young clerk"}


def test_candidates_are_told_apart_by_their_letters_in_lower_case() -> None:
    assert example(candidates=("straße", "strasse")).candidates == ("straße", "strasse")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": "", "pair": SentencePair("", (), ())}, "id and set_id"),
        ({"pair": SentencePair("", (), ()), "text": ""}, "needs one side"),
        ({"text": "", "candidates": ("a",)}, "the text is empty"),
        ({"candidates": (" ",)}, "needs at least two candidates"),
        ({"candidates": (" ", " ")}, "is not text"),
        ({"candidates": ("a", "a"), "gold": 7}, "repeat"),
        ({"gold": 7, "stereotype": 8}, "gold 7"),
        ({"gold": None, "stereotype": 8}, "stereotype 8"),
    ],
)
def test_of_several_faults_the_first_is_told(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        example(**changes)
