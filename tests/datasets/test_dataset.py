"""A dataset keeps whole clusters and sets, has a hash of what it asks, and lists faults in the order of the file."""

from __future__ import annotations

from dataclasses import replace

import pytest

from equipoise.datasets import open_dataset
from equipoise.datasets.dataset import (
    Dataset,
    Fault,
    count_by,
    gender_groups,
    in_file_order,
    nested_candidates,
    odd_letters,
    repeated,
    third_occupations,
)
from equipoise.records import DatasetError, Example

BUILTIN = open_dataset("builtin")


def test_a_limit_keeps_whole_clusters_spread_over_the_file() -> None:
    few = BUILTIN.limited(10)
    assert len({example.cluster_id for example in few.examples}) == 10
    assert few.sets == 10 and len(few.examples) == 20
    assert set(count_by(few.examples, "type")) == {"type1", "type2"}
    assert BUILTIN.limited(None) is BUILTIN.limited(10**6) is BUILTIN
    with pytest.raises(DatasetError, match="limit must be at least 1, not 0"):
        BUILTIN.limited(0)


def test_an_example_is_left_out_with_its_set() -> None:
    few = BUILTIN.limited(10)
    left = few.without([few.examples[3].id])
    assert [example.id for example in left.examples] == [
        example.id for example in few.examples if example.set_id != few.examples[3].set_id
    ]


def test_sets_with_a_fault_are_left_out_where_that_is_asked_for() -> None:
    few = BUILTIN.limited(10)
    faults = [Fault("f:4", "kind", "what", "kept", few.examples[3].id), Fault("f", "whole", "what", "kept")]
    left = replace(few, faults=tuple(faults)).without_faults
    assert left.examples == few.without([few.examples[3].id]).examples
    assert [fault.kind for fault in left.faults] == ["whole", "sets with faults"]
    assert left.faults[1].what == "1 sets have a listed fault" and few.without_faults.examples == few.examples


def test_the_hash_is_of_what_is_asked_and_not_of_where_it_is_from() -> None:
    few = BUILTIN.limited(3)
    assert few.sha256 == replace(few, name="other", source="elsewhere", faults=()).sha256
    changed = replace(few.examples[0], text=few.examples[0].text + " ")
    assert few.sha256 != replace(few, examples=(changed, *few.examples[1:])).sha256


def test_nothing_and_a_repeated_id_are_refused() -> None:
    with pytest.raises(DatasetError, match="mine: holds no sentence"):
        Dataset("mine", ())
    with pytest.raises(DatasetError, match=f"mine: duplicate id '{BUILTIN.examples[0].id}'"):
        Dataset("mine", BUILTIN.examples[:1] * 2)


def test_faults_are_in_the_order_of_their_places() -> None:
    faults = [Fault(f"f:{line}", "kind", "what", "kept") for line in (9, 2, 9, 4)]
    ordered = in_file_order(faults, [("f:2", "two"), ("f:4", "four"), ("f:9", "nine")])
    assert [fault.where for fault in ordered] == ["f:2", "f:4", "f:9", "f:9"]


def test_what_comes_again_is_named_with_the_first_of_it() -> None:
    assert list(repeated(["a1", "b1", "a2", "a3"], key=lambda item: item[0])) == [("a2", "a1"), ("a3", "a1")]


def test_faults_of_a_sentence() -> None:
    text = "The nurse told the clerk that the cook was late."
    (third,) = third_occupations("f:1", text, ("nurse", "clerk"))
    assert third == Fault("f:1", "third occupation", "also names cook", "not a candidate")
    assert not list(third_occupations("f:1", text, ("nurse", "clerk", "cook")))
    assert [fault.kind for fault in odd_letters("f:1", "naïve", "She")] == ["not ASCII", "capitalised pronoun"]
    assert not list(odd_letters("f:1", "plain", "she"))


def test_groups_follow_the_right_answer_and_the_stereotype() -> None:
    facts = {"kind": "type2", "gender": "female", "form": "subject", "candidates": ("nurse", "wizard")}
    groups = gender_groups(**facts, gold=1, stereotype=0)
    assert groups["stereotype"] == "anti" and groups["occupation"] == "wizard" and groups["other"] == "nurse"
    # Not one of the 40: its side follows from what the dataset calls the stereotype.
    assert groups["side"] == "male" and groups["position"] == "second"
    assert gender_groups(**facts, gold=None, stereotype=0) == {"type": "type2", "gender": "female", "form": "subject"}


def test_candidates_that_begin_with_one_another_are_listed() -> None:
    row = Example(
        "e", "The police officer called the police.", ("police officer", "police"), None, False, None, {}, "e"
    )
    (fault,) = nested_candidates([row, replace(row, id="f", candidates=("nurse", "nursery worker"))])
    assert (fault.where, fault.what) == ("e", "'police' begins 'police officer'")
    with pytest.raises(DatasetError, match="repeat"):
        replace(row, candidates=("police", "Police "))
