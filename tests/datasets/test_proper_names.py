"""Names are found by their capitals: at any place, in any script with capitals, and never after an article."""

from __future__ import annotations

import pytest

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
