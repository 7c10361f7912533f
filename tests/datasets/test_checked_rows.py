"""The rows of a user's table, checked one by one: what they say, and what is remembered of it."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise.datasets import checked_rows, occupations, open_dataset
from equipoise.datasets.checked_rows import Item, Remembered, read_items
from equipoise.datasets.columns import map_columns
from equipoise.datasets.rows import rows_in_memory
from equipoise.options import DatasetOptions
from equipoise.records import DatasetError

ROW = {"text": "The cook saw the nurse and he left.", "pronoun": "he", "candidates": ["cook", "nurse"]}


def items(*rows: dict[str, Any]) -> list[Item]:
    table = rows_in_memory(rows)
    return read_items(table, map_columns(table.file, table.columns, {}), "mine", ("he", "she"))


def test_rows_that_say_the_same_share_their_facts_and_ids_count_rows() -> None:
    first, second, other = items(ROW, {**ROW, "text": "He saw the cook and the nurse."}, {**ROW, "pronoun": "He "})
    assert first.facts is second.facts is not other.facts and other.facts.pronoun == "he"
    assert [(item.id, item.line) for item in (first, second, other)] == [
        ("mine-00001", 1),
        ("mine-00002", 2),
        ("mine-00003", 3),
    ]
    assert [(item.start, item.end) for item in (first, second)] == [(27, 29), (0, 2)]


def test_a_cell_of_another_type_is_another_cell() -> None:
    said = [{**ROW, "gold": 1, "group:part": part} for part in (1, True, 1.0, "1", 1)]
    read = items(*said)
    assert [item.facts.groups["part"] for item in read] == ["1", "True", "1", "1", "1"]
    assert read[0].facts is read[4].facts and len({id(item.facts) for item in read}) == 4
    with pytest.raises(DatasetError, match=r"^data:2: gold True is not one of"):
        items({**ROW, "gold": 1}, {**ROW, "gold": True})


@pytest.mark.parametrize(
    ("text", "pronoun", "candidates", "place", "order", "unmentioned"),
    [
        ("The nurse saw the cook; he left.", "he", ("cook", "nurse"), (24, 26), ("nurse", "cook"), ()),
        ("The ex-nurse, the cook, a nurse; he", "he", ("cook", "nurse"), (33, 35), ("nurse", "cook"), ()),
        ("The ex-nurse saw the cook; he left.", "he", ("cook", "nurse"), (27, 29), ("nurse", "cook"), ()),
        ("A cook, an old nurse: he-man, he", "HE", ("cook", "old nurse"), (30, 32), ("cook", "old nurse"), ()),
        ("An old nurse, a cook and he", "he", ("cook", "old nurse"), (25, 27), ("old nurse", "cook"), ()),
        ("An old-nurse, a cook and he", "he", ("cook", "old nurse"), (25, 27), ("cook", "old nurse"), ("old nurse",)),
        ("Née nurse: he saw the cook, and he left.", "he", ("cook", "nurse"), (11, 13), ("nurse", "cook"), ()),
        ("The née nurse saw the cook; he left.", "he", ("cook", "nurse"), (28, 30), ("nurse", "cook"), ()),
        ("The nurse saw; he left.", "he", ("cook", "nurse"), (15, 17), ("cook", "nurse"), ("cook",)),
        ("The nurses saw him, he; the nurse", "he", ("cook", "nurse"), (20, 22), ("cook", "nurse"), ("cook",)),
    ],
)
def test_places_and_the_order_of_mention(
    text: str, pronoun: str, candidates: Any, place: Any, order: Any, unmentioned: Any
) -> None:
    (item,) = items({"text": text, "pronoun": pronoun, "candidates": list(candidates)})
    assert (item.start, item.end) == place
    assert (item.facts.candidates, item.unmentioned) == (order, unmentioned)


def test_right_answers_follow_the_order_of_mention_which_rows_share() -> None:
    rows = [{**ROW, "text": f"The nurse saw the cook {n} times and he left.", "gold": "cook"} for n in (7, 8)]
    first, second = items(*rows)
    assert first.facts is second.facts and first.facts.candidates == ("nurse", "cook")
    assert (first.facts.gold, first.facts.stereotype) == (1, occupations.stereotyped(("nurse", "cook"), "male"))
    assert first.facts.asked == (("nurse", "cook"), 1, "type2")


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("The cook saw the nurse and he left.", False),
        ("The cook saw the nurse and the guard as he left.", True),
        ("The cook saw the nurse and a patient as he left.", True),
        ("The cook saw the nurse in the café as he left.", True),
    ],
)
def test_only_where_others_may_be_named_they_are_looked_for(text: str, others: bool) -> None:
    (item,) = items({**ROW, "text": text})
    assert item.names_others is others


def test_a_cell_that_a_row_lacks_is_empty_and_further_columns_are_slots() -> None:
    table = [ROW, {**ROW, "id": "a", "pair": 7, "topic": " law "}, {"topic": 5, **ROW, "pair": None}]
    read = items(*table)
    assert [(item.id, item.pair, item.slots) for item in read] == [
        ("mine-00001", "", {}),
        ("a", "7", {"topic": "law"}),
        ("mine-00003", "", {"topic": "5"}),
    ]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"pronoun": "she", "candidates": "cook"}, "pronoun 'she' is not in the sentence"),
        ({"candidates": "cook", "id": "a,b"}, "needs at least two candidates, not only 'cook'; write them as a|b"),
        ({"id": "a,b", "pair": "c=d"}, "id 'a,b' may not contain , or ="),
        ({"text": " ", "pronoun": ""}, "text is empty"),
    ],
)
def test_of_several_faults_of_a_row_the_first_is_told(change: dict[str, Any], told: str) -> None:
    with pytest.raises(DatasetError) as error:
        items(ROW, {**ROW, **change}, {**ROW, "text": None})
    assert str(error.value) == f"data:2: {told}"


@pytest.mark.parametrize(("length", "part"), [(59, " as a word of its own: it is a part of '{}'"), (60, "")])
def test_the_word_that_a_pronoun_is_a_part_of_is_told_unless_it_is_long(length: int, part: str) -> None:
    word = "he".ljust(length, "x")
    with pytest.raises(DatasetError) as error:
        items({**ROW, "text": f"A cook saw a nurse, {word}."})
    assert str(error.value) == f"data:1: pronoun 'he' is not in the sentence{part.format(word)}"


def test_a_form_is_read_in_any_case() -> None:
    assert [item.facts.form for item in items({**ROW, "form": "Subject"}, {**ROW, "form": None})] == ["subject", ""]


def test_no_more_is_remembered_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"text": f"The {one} saw the {other} and {word} left.", "pronoun": word, "a": other, "b": one, "type": kind}
        for one, other, kind in (("cook", "nurse", "x"), ("guard", "clerk", "y"), ("baker", "judge", "z"))
        for word in ("he", "she")
    ]
    options = DatasetOptions(columns={"candidate_1": "a", "candidate_2": "b"})
    whole = open_dataset(rows, options)
    for room in (0, 1, 2):
        monkeypatch.setattr(checked_rows, "MOST_REMEMBERED", room)
        assert open_dataset(rows, options).examples == whole.examples
    remembered = Remembered[str]()
    assert [remembered.keep(key, key.upper()) for key in "abc"] == ["A", "B", "C"]
    assert remembered == {"a": "A", "b": "B"}, "there is room for two"
