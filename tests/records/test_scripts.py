"""Words in any script: found as whole words, whatever the casing, the accents or the spaces."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.records.scripts import find_word, folded, is_word, lowered, space_before, word_around

WORDS = st.sampled_from(["he", "él", "она", "היא", "هي", "αυτός", "그녀가", "İşçi", "वह", "ß"])


@given(
    WORDS, st.sampled_from([" ", ", ", "“", "(", "\n", "", "。"]), st.sampled_from([" ", ".", "”", ")", "!", "", "，"])
)
def test_a_word_is_found_between_anything_that_is_not_of_it(word: str, before: str, after: str) -> None:
    text = f"{before}{word}{after}"
    assert find_word(text, word) == [(len(before), len(before) + len(word))]
    for form in ("NFC", "NFD"):
        assert len(find_word(unicodedata.normalize(form, text), word)) == 1


@given(WORDS, st.sampled_from(["a", "б", "ש", "\u0301", "\u200c", "7", "_", "-"]))
def test_a_part_of_a_longer_word_is_not_the_word(word: str, more: str) -> None:
    assert find_word(f"x {word}{more} x", word) == []
    assert find_word(f"x {word}{more} x", word, hyphens=False) == ([(2, 2 + len(word))] if more == "-" else [])
    assert word_around(f"x {word}{more} x", word) == f"{word}{more}"


@pytest.mark.parametrize(
    ("text", "word", "count"),
    [
        ("护士告诉农民她迟到了。", "她", 1),
        ("护士告诉农民她们迟到了。", "她", 0),
        ("护士告诉农民她们迟到了。", "她们", 1),
        ("他说他迟到了", "他", 2),
        ("พยาบาลบอกว่าเธอมาสาย", "เธอ", 1),
        ("SHE left. She came, she saw.", "she", 3),
        ("AYŞE İŞÇİYİ GÖRDÜ", "işçiyi", 1),
        ("", "she", 0),
        ("she", "", 0),
    ],
)
def test_words_are_counted(text: str, word: str, count: int) -> None:
    assert len(find_word(text, word)) == count


def test_words_are_compared_without_casing_and_encoding() -> None:
    assert folded("İşçi") == folded("işçi") == folded(unicodedata.normalize("NFD", "işçi"))
    assert folded("STRASSE") == folded("straße") and folded("he") != folded("hé")
    assert lowered("İSMAİL") == "ismail" and len(lowered("İ")) == 1
    assert is_word("वह") and is_word("उसे") and not is_word("he she") and not is_word("") and not is_word("7")
    assert (space_before("护士"), space_before("nurse"), space_before("")) == ("", " ", " ")


@given(
    st.text(st.sampled_from("heHE -x."), max_size=20), st.sampled_from(["he", "He", "eh", "h", "x-h"]), st.booleans()
)
def test_texts_in_ascii_are_searched_as_all_others_are(text: str, word: str, hyphens: bool) -> None:
    """An accent at the end makes the search take the way of other texts, and nothing else."""
    assert find_word(text, word, hyphens=hyphens) == find_word(f"{text} é", word, hyphens=hyphens)
