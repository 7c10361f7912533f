"""A dataset keeps whole clusters and sets, has a hash of what it asks, and lists faults in the order of the file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

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
from equipoise.records import DatasetError, Example, SentencePair

BUILTIN = open_dataset("builtin")


def test_a_limit_keeps_whole_clusters_spread_over_the_file() -> None:
    few = BUILTIN.limited(10)
    assert len({example.cluster_id for example in few.examples}) == 10
    assert few.sets == 10 and len(few.examples) == 20
    assert set(count_by(few.examples, "type")) == {"type1", "type2"}
    assert BUILTIN.limited(None) is BUILTIN.limited(10**6) is BUILTIN
    with pytest.raises(DatasetError, match="limit must be at least 1, not 0"):
        BUILTIN.limited(0)


def test_the_hash_is_the_same_however_many_examples_are_hashed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    few = BUILTIN.limited(3)
    for together in (1, 4, 5, 6, 7):
        monkeypatch.setattr("equipoise.datasets.dataset.TOGETHER", together)
        assert replace(few).sha256 == few.sha256


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


ROW = Example("a", "x", ("nurse", "cook"), 0, True, 1, {"type": "t"}, "s")


@pytest.mark.parametrize(
    "change",
    [
        {"id": "b"},
        {"text": "y"},
        {"candidates": ("nurse", "pilot")},
        {"gold": 1},
        {"gold": None, "answerable": False},
        {"answerable": False},
        {"stereotype": 0},
        {"stereotype": None},
        {"groups": {"type": "u"}},
        {"groups": {}},
        {"set_id": "z"},
        {"cluster_id": "z"},
        {"slots": {"pronoun": "he"}},
        {"good": 0},
        {"good": 1},
        {"pair": SentencePair("x", ("nurse a", "cook a"), ("more", "less"))},
    ],
)
def test_the_hash_follows_every_field(change: dict[str, Any]) -> None:
    assert Dataset("m", (replace(ROW, **change),)).sha256 != Dataset("m", (ROW,)).sha256


def test_the_hash_is_of_json_in_the_order_of_names() -> None:
    row = replace(ROW, groups={"z": 'ü"', "a": "1"}, slots={"q": "ß"}, good=1)
    plain = {name: getattr(row, name) for name in ("answerable", "cluster_id", "gold", "good", "id", "set_id", "text")}
    plain |= {"candidates": list(row.candidates), "groups": dict(row.groups), "pair": None, "slots": dict(row.slots)}
    text = json.dumps({**plain, "stereotype": 1}, sort_keys=True, ensure_ascii=False)
    assert Dataset("m", (row,)).sha256 == hashlib.sha256(text.encode()).hexdigest()
    pair = SentencePair("Ü", ("nurse a", "cook a"), ("more", "less"))
    inside = {"before": "Ü", "rests": ["nurse a", "cook a"], "sides": ["more", "less"]}
    paired = json.dumps({**plain, "pair": inside, "stereotype": 1}, sort_keys=True, ensure_ascii=False)
    assert Dataset("m", (replace(row, pair=pair),)).sha256 == hashlib.sha256(paired.encode()).hexdigest()
    two = (row, replace(row, id="b"))
    both = text + text.replace('"id": "a"', '"id": "b"')
    assert Dataset("m", two).sha256 == hashlib.sha256(both.encode()).hexdigest()
    assert Dataset("m", two).label == f"m-{Dataset('m', two).sha256[:8]}"
    assert Dataset("m", two, listed=True).label == "m"


def test_errors_name_the_source_where_there_is_one() -> None:
    with pytest.raises(DatasetError, match=r"^here: holds no sentence$"):
        Dataset("m", (), source="here")
    other = replace(ROW, id="b")
    with pytest.raises(DatasetError, match=r"^here: duplicate id 'a'$"):
        Dataset("m", (ROW, other, ROW, other), source="here")


def test_sets_are_those_of_several_and_pairs() -> None:
    pair = SentencePair("x", ("nurse a", "cook a"), ("more", "less"))
    rows = [replace(ROW, id=id, set_id=set_id) for id, set_id in (("a", "s"), ("b", "s"), ("c", "t"), ("d", "s"))]
    assert Dataset("m", tuple(rows)).sets == 1
    assert Dataset("m", (*rows, replace(ROW, id="e", pair=pair), replace(ROW, id="f", pair=pair))).sets == 3


def test_a_limit_takes_every_nth_cluster() -> None:
    rows = tuple(replace(ROW, id=f"{n}", set_id=f"s{n}", cluster_id=f"c{n // 2}") for n in range(20))
    assert [e.id for e in Dataset("m", rows).limited(3).examples] == ["0", "1", "6", "7", "12", "13"]
    assert len(Dataset("m", rows).limited(9).examples) == 18 and Dataset("m", rows).limited(10).examples == rows


@pytest.mark.parametrize(
    ("gold", "stereotype", "gender", "candidates", "expected"),
    [
        (
            0,
            0,
            "male",
            ("wizard", "elf"),
            {"occupation": "wizard", "other": "elf", "stereotype": "pro", "side": "male"},
        ),
        (0, 1, "male", ("wizard", "elf"), {"stereotype": "anti", "side": "female"}),
        (1, 1, "female", ("wizard", "elf"), {"position": "second", "stereotype": "pro", "side": "female"}),
        (1, 0, "female", ("wizard", "elf"), {"stereotype": "anti", "side": "male"}),
        (1, 0, "neutral", ("wizard", "elf"), {"stereotype": "anti", "side": None}),
        (1, None, "male", ("wizard", "elf"), {"stereotype": None, "side": None}),
        (1, None, "male", ("wizard", "nurse"), {"stereotype": None, "side": "female"}),
        (
            2,
            2,
            "male",
            ("wizard", "elf", "orc"),
            {"position": "third", "other": None, "stereotype": "pro", "side": None},
        ),
        (7, None, "male", tuple("abcdefghi"), {"position": "eighth"}),
        (8, None, "male", tuple("abcdefghi"), {"position": "9"}),
    ],
)
def test_every_group_of_a_pronoun_sentence(
    gold: int, stereotype: int | None, gender: str, candidates: tuple[str, ...], expected: dict[str, str | None]
) -> None:
    groups = gender_groups(kind="k", gender=gender, form="f", candidates=candidates, gold=gold, stereotype=stereotype)
    assert {name: groups.get(name) for name in expected} == expected
    assert (groups["type"], groups["gender"], groups["form"]) == ("k", gender, "f")


def test_a_third_person_is_a_fault_with_its_word() -> None:
    (fault,) = third_occupations("f:1", "The nurse told the clerk that the guest and a boy left.", ("nurse", "clerk"))
    assert fault == Fault("f:1", "third person", "also names the guest, the boy", "not a candidate")


def test_counts_are_by_group_in_order() -> None:
    rows = [replace(ROW, id=str(n), groups=g) for n, g in enumerate([{"g": "z"}, {}, {"g": "a"}, {"g": "z"}])]
    assert list(count_by(rows, "g").items()) == [("", 1), ("a", 1), ("z", 2)]
