"""Which names the columns of a user's table may have."""

from __future__ import annotations

import re
from typing import Any

import pytest

from equipoise.datasets.columns import (
    ALIASES,
    SLOTS,
    as_candidates,
    as_choice,
    as_flag,
    as_kind,
    as_label,
    as_stereotype,
    as_text,
    column_slots,
    is_missing,
    map_columns,
)
from equipoise.records import DatasetError
from equipoise.runs.checked_tables import FLAGS, LISTS, NUMBERS, OPTIONAL_LISTS, TEXTS


def test_a_group_cannot_have_the_name_of_a_column_of_the_outcomes() -> None:
    tables = (TEXTS, NUMBERS, FLAGS, LISTS)
    taken = {name for table in tables for name in table["outcomes.parquet"]} | set(OPTIONAL_LISTS)
    taken |= {"candidate_mass", "certainty_renyi", "desirability", "vocab_bits", "token_probability", "p_true"}
    for name in sorted(taken):
        expected = f"group:{name} is a name that Equipoise uses itself"
        with pytest.raises(DatasetError, match=re.escape(expected)):
            map_columns("mine.csv", ["phrase", "pronoun", "candidates"], {"text": "phrase", f"group:{name}": "phrase"})


HEADER = ("text", "pronoun", "candidates")


def refused(header: list[str], given: dict[str, str] | None = None) -> str:
    with pytest.raises(DatasetError) as error:
        map_columns("mine.csv", header, given or {})
    return str(error.value)


@pytest.mark.parametrize("name", ALIASES)
def test_every_alias_is_found_however_it_is_written_and_the_better_one_wins(name: str) -> None:
    for alias in ALIASES[name]:
        for written in (alias, alias.upper(), f" {alias.replace('_', ' ')} ", alias.replace("_", "--")):
            header = [column for column in HEADER if column != name] + [written]
            assert map_columns("mine.csv", header, {}).by_name[name] == written
    header = [column for column in HEADER if column != name] + list(reversed(ALIASES[name]))
    assert map_columns("mine.csv", header, {}).by_name[name] == ALIASES[name][0]


def test_what_a_user_names_wins_and_its_column_is_nothing_else() -> None:
    used = map_columns("mine.csv", ["text", "sentence", "gold", "pronoun", "candidates"], {"text": "gold"})
    assert used.by_name == {"text": "gold", "pronoun": "pronoun", "candidates": "candidates"}
    used = map_columns("mine.csv", [*HEADER, "Text", "group:town", "group:gender", "Town"], {"group:place": "Town"})
    assert used.by_name["text"] == "text" and used.groups == ["place", "town"]
    assert "group:town" in used and "group:gender" not in used
    assert used.known == {*HEADER, "group:town", "Town", "neutral", "option_order"}


@pytest.mark.parametrize("word", ["candidate", "occ", "occupation", "option", "choice"])
def test_candidates_may_be_columns_with_numbers(word: str) -> None:
    header = ["text", "pronoun", f"{word}_1", f"{word}2", f"{word.upper()} 9", f"{word}_0", f"{word}_10"]
    used = map_columns("mine.csv", header, {})
    numbered = {name: column for name, column in used.by_name.items() if name.startswith("candidate_")}
    assert numbered == {"candidate_1": f"{word}_1", "candidate_2": f"{word}2", "candidate_9": f"{word.upper()} 9"}


def test_the_kind_of_a_table_follows_from_its_columns() -> None:
    assert not map_columns("f", HEADER, {}).is_classification
    assert not map_columns("f", ["text", "form", "candidates"], {}).is_classification
    assert map_columns("f", ["text", "group", "candidates"], {}).is_classification
    synthbias = ["type", "sample", "occ_1", "occ_2", "pronoun"]
    assert map_columns("f", synthbias, {}).is_synthbias and not map_columns("f", HEADER, {}).is_synthbias
    assert not map_columns("f", [*synthbias, "gold"], {}).is_synthbias
    assert not map_columns("f", ["text", *synthbias[1:]], {}).is_synthbias


@pytest.mark.parametrize(
    ("header", "what", "named", "slot"),
    [
        (["pronoun", "candidates"], "the sentence", "text=COLUMN", ""),
        (["text", "candidates"], "the pronoun", "pronoun=COLUMN", SLOTS),
        (["text", "form", "candidate_1"], "the candidates", "candidate_1=COLUMN,candidate_2=COLUMN", ""),
        (["text", "group", "candidate_2"], "the candidates", "candidate_1=COLUMN,candidate_2=COLUMN", ""),
        (["form", "x"], "the sentence and the candidates", "text=COLUMN,candidate_1=COLUMN,candidate_2=COLUMN", ""),
        (
            ["x"],
            "the sentence, the pronoun and the candidates",
            "text=COLUMN,pronoun=COLUMN,candidate_1=COLUMN,candidate_2=COLUMN",
            SLOTS,
        ),
    ],
)
def test_what_no_column_holds_is_named_with_how_to_name_it(header: list[str], what: str, named: str, slot: str) -> None:
    expected = f"mine.csv: no column holds {what}; it has {', '.join(header)}; name with columns {named}{slot}"
    assert refused(header) == expected


def test_a_name_or_a_column_that_is_unknown_is_refused() -> None:
    known = ", ".join([*ALIASES, "candidate_1, candidate_2, …", "group:NAME"])
    for name in ("sentence", "candidate_0", "candidate_10", "group:", "group:1", "group:a b", "xgroup:a"):
        assert refused([*HEADER], {name: "text"}) == f"{name!r} is not a known column; known: {known}"
    expected = "mine.csv: column 'x', named for 'candidate_9', does not exist; the columns are text, pronoun"
    assert refused(["text", "pronoun"], {"candidate_9": "x"}) == expected
    for name in ("type", "split", "sides", "certaintyless", "vocab_x"):
        message = f"group:{name} is a name that Equipoise uses itself; choose another one"
        assert refused([*HEADER], {f"group:{name}": "text"}) == message
        assert f"group:{name}" not in map_columns("f", [*HEADER, f"group:{name}"], {})


def test_a_question_may_quote_the_other_columns() -> None:
    used = map_columns("f", [*HEADER, "town", "age", "share", "none", "list", "neutral", "blank"], {})
    row = {"text": "t", "pronoun": "he", "candidates": "a|b", "town": " Ulm ", "age": 3, "share": 0.5, "none": None}
    row |= {"list": [1], "neutral": "x", "blank": "", "option_order": "y"}
    assert column_slots(row, used) == {"town": "Ulm", "age": "3", "share": "0.5"}
    assert used.cells({"text": "t"}) == {"text": "t", "pronoun": None, "candidates": None}


@pytest.mark.parametrize("value", [None, float("nan"), "", " \t\n"])
def test_what_holds_nothing_is_missing(value: Any) -> None:
    assert is_missing(value) and as_label("x", value) == "" and as_flag("x", value) is None
    assert as_choice("x", value, ("a", "b")) is None and as_stereotype(value, ("a", "b"), 0) is None
    with pytest.raises(DatasetError, match=r"^x is empty$"):
        as_text("x", value)


@pytest.mark.parametrize("value", [0, 0.0, False, "0", "nan", [], "x"])
def test_what_holds_something_is_not_missing(value: Any) -> None:
    assert not is_missing(value)


@pytest.mark.parametrize(
    ("value", "label"),
    [(3, "3"), (3.0, "3"), (-2.0, "-2"), (0.5, "0.5"), (True, "True"), (" Ulm am See ", "Ulm am See"), ("0", "0")],
)
def test_a_label_is_text(value: Any, label: str) -> None:
    assert as_label("x", value) == label


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("a,b", "x 'a,b' may not contain , or ="),
        ("a=b", "x 'a=b' may not contain , or ="),
        (["a"], "x ['a'] is not text"),
        ("a\0", "x has a NUL character, which is not text"),
        ("\ud800", "x has half of a surrogate pair, which is not a character"),
    ],
)
def test_a_label_that_cannot_be_one_is_refused(value: Any, reason: str) -> None:
    with pytest.raises(DatasetError, match=f"^{re.escape(reason)}$"):
        as_label("x", value)


@pytest.mark.parametrize(
    ("cells", "candidates"),
    [
        ({"candidates": "the nurse|a cook | An ant"}, ("nurse", "cook", "ant")),
        ({"candidates": ("nurse", "die cook")}, ("nurse", "die cook")),
        ({"candidates": ["der Koch", "die Köchin", "den Arzt", "einer Ärztin"]}, ("Koch", "Köchin", "Arzt", "Ärztin")),
        ({"candidates": '["nurse", "the cook"]'}, ("nurse", "cook")),
        ({"candidate_2": "b", "candidate_1": "a", "candidate_3": None}, ("a", "b")),
        ({"candidate_2": "b", "candidate_1": "a", "candidate_3": "c", "candidate_4": " "}, ("a", "b", "c")),
        ({"candidate_1": "Theodor", "candidate_2": "anvil maker"}, ("Theodor", "anvil maker")),
    ],
)
def test_candidates_are_bare_nouns(cells: dict[str, Any], candidates: tuple[str, ...]) -> None:
    assert as_candidates(cells) == candidates


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"candidates": "nurse"}, "needs at least two candidates, not only 'nurse'; write them as a|b"),
        ({"candidates": "nurse;cook"}, "needs at least two candidates, not only 'nurse;cook'; write them as a|b"),
        ({"candidates": "nurse, cook"}, "needs at least two candidates, not only 'nurse, cook'; write them as a|b"),
        ({"candidates": ["nurse"]}, "needs at least two candidates, has 1"),
        ({"candidates": []}, "needs at least two candidates, has 0"),
        ({"candidates": "nurse|the NURSE"}, "the candidates nurse, NURSE repeat"),
        ({"candidates": "[1"}, "candidates '[1' is neither a JSON list nor a|b"),
        pytest.param(
            {"candidates": "[" * 9000}, f"candidates {'[' * 9000!r} is neither a JSON list nor a|b", id="deep"
        ),
        ({"candidates": 7}, "candidates 7 is not text"),
        ({"candidates": "a||b"}, "candidate '' is not text"),
        ({"candidates": "a|7"}, "candidate '7' is not text"),
        ({"candidates": "a|NaN"}, "candidate 'NaN' is not text"),
        ({"candidates": ["a", 7]}, "candidate 7 is not text"),
        ({"candidate_1": "a", "candidate_2": None}, "candidate None is not text"),
        ({"candidate_1": "a", "candidate_2": None, "candidate_3": None}, "candidate None is not text"),
        ({"candidates": "a=b|c"}, "candidate 'a=b' may not contain , or ="),
    ],
)
def test_candidates_that_cannot_be_asked_about_are_refused(cells: dict[str, Any], reason: str) -> None:
    with pytest.raises(DatasetError, match=f"^{re.escape(reason)}$"):
        as_candidates(cells)


@pytest.mark.parametrize(
    ("value", "index"),
    [("a", 0), (" The B", 1), ("c", 2), ("die c", 2), (1, 0), (3.0, 2), ("2", 1), ("3", 2), ("2.0", 1)],
)
def test_a_choice_is_a_candidate_or_its_number(value: Any, index: int) -> None:
    assert as_choice("gold", value, ("A", "b", "c")) == index
    assert as_stereotype(value, ("A", "b", "c"), None) == index


@pytest.mark.parametrize(
    "value", ["d", 0, 4, "0", "4", "²", True, 1.5, "-1", "0.0", "1.5", pytest.param("1" * 5000, id="long")]
)
def test_a_choice_that_is_no_candidate_is_refused(value: Any) -> None:
    reason = f"gold {value!r} is not one of the candidates a, b, c"
    with pytest.raises(DatasetError, match=f"^{re.escape(reason)}$"):
        as_choice("gold", value, ("a", "b", "c"))


@pytest.mark.parametrize(
    ("value", "given"),
    [*((word, 1) for word in ("pro", "TRUE", " yes ", True)), *((word, 0) for word in ("anti", "false", "No", False))],
)
def test_a_stereotype_may_be_relative_to_the_right_answer(value: Any, given: int) -> None:
    assert as_stereotype(value, ("a", "b"), 1) == given and as_stereotype(value, ("a", "b"), 0) == 1 - given
    for candidates, gold in ((("a", "b"), None), (("a", "b", "c"), 0)):
        reason = f"stereotype {value!r} needs a right answer and two candidates, which this row does not have"
        with pytest.raises(DatasetError, match=f"^{re.escape(reason)}$"):
            as_stereotype(value, candidates, gold)


@pytest.mark.parametrize("value", ["ambiguous", "None", " UNKNOWN "])
def test_a_stereotype_may_be_none(value: str) -> None:
    assert as_stereotype(value, ("a", "b"), 0) is None


def test_flags_and_types_are_read_however_written() -> None:
    assert [as_flag("x", value) for value in ("TRUE", "yes", 1, True, 1.0)] == [True] * 5
    assert [as_flag("x", value) for value in ("False", "NO", 0, False, "0")] == [False] * 5
    with pytest.raises(DatasetError, match=r"^x 2 is neither true nor false$"):
        as_flag("x", 2)
    assert [as_kind(value) for value in ("Type 1", "type_2", "TYPE-1", "type2", 1, "2.", None)] == [
        *("type1", "type2", "type1", "type2", "type1", "2.", "")
    ]
    assert [as_kind(value) for value in ("type3", "12", "type  1", "Work")] == ["type3", "12", "type  1", "work"]
