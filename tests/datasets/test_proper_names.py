"""Names are found by their capitals: at any place, in any script with capitals, and never after an article."""

from __future__ import annotations

import pytest
from kept_texts import assert_kept

from equipoise.datasets.proper_names import are_names, names_in


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("Anna told Maria that she was late.", ["Anna", "Maria"]),
        ("Yesterday Anna met Maria in Paris.", ["Anna", "Maria"]),
        ("Because Zoë was late, Jean-Luc called her.", ["Zoë", "Jean-Luc"]),
        ("Mr. Hill walked with Grandma Rose to her car.", ["Mr. Hill", "Grandma Rose"]),
        ("Anna Berg thanked Anna Berg's friend O'Neill.", ["Anna Berg", "O'Neill"]),
        ("Ольга позвонила Ивану, потому что она опоздала.", ["Ольга", "Ивану"]),
        ("The nurse told the farmer that she was late.", []),
        ("When I left, the Romans were late.", []),
        ("They met on Friday in May.", []),
        ("护士告诉农民她迟到了。", []),
    ],
)
def test_names_are_found_in_order(sentence: str, names: list[str]) -> None:
    assert names_in(sentence) == names


@pytest.mark.parametrize(
    ("text", "candidates", "named"),
    [
        ("Anna told Maria that she was late.", ["Anna", "Maria"], True),
        ("The CEO told Maria that she was late.", ["CEO", "Maria"], False),
        ("Die Lehrerin traf die Malerin, als sie kam.", ["Lehrerin", "Malerin"], False),
        ("The nurse told the farmer that she was late.", ["nurse", "farmer"], False),
        ("Anna told Maria that she was late.", ["Anna", "Laura"], False),
        ("Ann told Annabel that she was late.", ["Ann", "Annabel"], True),
        ("", [], False),
    ],
)
def test_candidates_are_names_where_the_text_writes_them_so(text: str, candidates: list[str], named: bool) -> None:
    assert are_names(text, candidates) is named


NAMED = (
    "Dr. Anna Reed met Mr Paul in Berlin.",
    "Mr. met Dr. Who on Monday. Uncle Bob came.",
    "The Anna sang; my Paul and that Emily left.",
    "In May, Anna-Lena O'Neill’s dog saw Ünal.",
    "ANNA met B. Reed Smith, Esq.",
    "Anna. Paul Reed. From Paul near Rome Anna left.",
    "Anna  Reed and Anna\tReed.",
    "anna met 3 Pauls and _Reed.",
    "Anna met Anna and Anna Reed.",
    "Lady Gaga, Sir, prof. Smith",
    "",
)


def test_names_in_every_place_are_as_they_were_kept() -> None:
    told = {text: [names_in(text), are_names(text, ("Anna",)), are_names(text, ("Anna", "Paul"))] for text in NAMED}
    assert_kept("datasets/names", told)
    assert not are_names("Anna", ()) and are_names("Anna", ("Anna",)) and not are_names("The Anna", ("Anna",))
    assert not are_names("Annabel", ("Anna",)) and not are_names("Anna met the Anna", ("Anna",))
    assert not are_names("anna", ("anna",)) and are_names("Anna and Paul", ("Paul", "Anna"))
