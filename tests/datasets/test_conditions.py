"""Conditions on groups choose examples: joined by and within one, by or between several."""

from __future__ import annotations

from dataclasses import replace

import pytest

from equipoise.datasets import DatasetOptions, open_dataset
from equipoise.datasets.conditions import NAMED_GROUPS, Condition, Described, chosen, conditions, select
from equipoise.records import DatasetError, EquipoiseError

NURSES = "occupation=nurse"


def test_conditions_are_joined_by_and_within_and_by_or_between() -> None:
    def texts(*where: str) -> set[str]:
        return {example.id for example in open_dataset("builtin", DatasetOptions(where=where)).examples}

    nurses, women = texts(NURSES), texts("gender=female")
    assert texts("occupation=nurse,gender=female") == nurses & women != nurses
    assert texts(NURSES, "gender=female") == nurses | women
    assert texts("gender=female|male") == texts("gender=female") | texts("gender=male")
    dataset = open_dataset("builtin")
    both = {e.id for e in dataset.examples if {"nurse"} <= set(e.candidates)}
    assert texts("candidate=nurse") == both > nurses
    assert open_dataset("builtin", DatasetOptions(where=["type=type1"], limit=5)).sets == 5


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("job=nurse", "builtin has no group 'job'; where can name: candidate, form, gender"),
        ("occupation=nures", "builtin has nothing with occupation=nures; known: nurse"),
        ("occupation=nurse,other=nurse", "builtin has nothing with occupation=nurse,other=nurse"),
        ("nurse", "where takes key=value parts joined by commas, not 'nurse'"),
        ("occupation=nurse,", "where takes key=value parts"),
    ],
)
def test_a_condition_that_selects_nothing_is_an_error_that_says_why(where: str, reason: str) -> None:
    with pytest.raises(EquipoiseError, match=r"^" + reason.replace("?", r"\?")):
        open_dataset("builtin", DatasetOptions(where=[where]))


def test_what_a_condition_may_ask_of_an_example() -> None:
    plain = Described({"type": "a", "empty": ""}, ("x", "y"))
    assert (plain.values("type"), plain.values("empty"), plain.values("other")) == (["a"], [], [])
    assert (list(plain.values("candidate")), plain.values("paired")) == (["x", "y"], ["no"])
    own = Described({"candidate": "z", "paired": "maybe"}, ("x", "y"), paired=True)
    assert (own.values("candidate"), own.values("paired")) == (["z"], ["maybe"])
    assert Described({}, (), paired=True).values("paired") == ["yes"]
    assert conditions([" a = x | y , b=z"]) == [Condition(" a = x | y , b=z", (("a", ("x", "y")), ("b", ("z",))))]


ROWS = [Described({"a": str(n), "b": "x" if n < 10 else "y"}, (str(n), "z"), paired=n == 3) for n in range(14)]


@pytest.mark.parametrize(
    ("where", "chosen_rows"),
    [
        ([], [*range(14)]),
        (["a=1|2,b=x", "a=13"], [1, 2, 13]),
        (["paired=yes"], [3]),
        (["candidate=z,b=y"], [10, 11, 12, 13]),
    ],
)
def test_conditions_choose_rows(where: list[str], chosen_rows: list[int]) -> None:
    assert [n for n, keep in enumerate(chosen(ROWS, where, "rows")) if keep] == chosen_rows


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("c=1", "rows has no group 'c'; where can name: a, b, candidate, paired"),
        ("b=q|xx", "rows has nothing with b=q; known: x, y"),
        ("b=x,a=99", "rows has nothing with a=99; known: 9"),
        ("a=zz", "rows has nothing with a=zz; known: 0, 1, 10, 11, 12, 13, 2, 3, 4, 5, 6, 7"),
        ("b=y,a=3", "rows has nothing with b=y,a=3"),
        (" =x", "where takes key=value parts joined by commas, not '=x'"),
        ("a=1|", "where takes key=value parts joined by commas, not 'a=1|'"),
        ("b=x, a", "where takes key=value parts joined by commas, not 'a'"),
    ],
)
def test_what_no_row_meets_is_said_with_what_there_is(where: str, reason: str) -> None:
    with pytest.raises(EquipoiseError) as error:
        chosen(ROWS, ["b=x", where], "rows")
    assert str(error.value) == reason


def test_without_conditions_a_dataset_stays_what_it_is() -> None:
    dataset = open_dataset("builtin")
    assert select(dataset, []) is dataset
    assert len(select(dataset, ["paired=yes"]).examples) == len(dataset.examples)


def test_close_values_are_named_at_most_three_and_else_the_first() -> None:
    rows = [Described({"city": name}, ()) for name in ("Aaab", "Aaac", "Aaad", "Aaae", "Berlin")]
    with pytest.raises(DatasetError) as caught:
        chosen(rows, ["city=Aaaa"], "mine")
    known = str(caught.value).partition("; known: ")[2].split(", ")
    assert len(known) == 3 and set(known) < {"Aaab", "Aaac", "Aaad", "Aaae"}
    many = [Described({"city": f"{letter * 9}"}, ()) for letter in "zyxwvutsrqponmlkjihgfedcba"]
    with pytest.raises(DatasetError) as caught:
        chosen(many, ["city=1"], "mine")
    expected = ", ".join(letter * 9 for letter in "abcdefghijklmnopqrstuvwxyz"[:NAMED_GROUPS])
    assert str(caught.value) == f"mine has nothing with city=1; known: {expected}"


def test_a_sentence_alone_in_its_set_is_not_paired() -> None:
    dataset = open_dataset("builtin", DatasetOptions(limit=2))
    lone = replace(dataset, examples=dataset.examples[1:])
    assert [example.id for example in select(lone, ["paired=no"]).examples] == [lone.examples[0].id]
    assert select(lone, ["paired=yes"]).examples == lone.examples[1:]
