"""Words in any script: found as whole words, whatever the casing, the accents or the spaces."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.records.scripts import (
    HARMLESS,
    SPACELESS,
    find_word,
    first_mention,
    folded,
    is_spaceless,
    is_word,
    lowered,
    printable,
    space_before,
    spaced,
    spaced_word,
    word_around,
)

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


@given(
    st.text(st.sampled_from("heHE -x._\n,’“—é"), max_size=20),
    st.sampled_from(["he", "H", "x-h", "_h", "e x", "é", "’", ""]),
)
def test_what_is_found_in_a_spaced_text_is_the_first_whole_word(text: str, word: str) -> None:
    places = find_word(text, word)
    start = spaced(text).find(spaced_word(word))
    assert start == (places[0][0] if places and "é" not in text and word not in ("e x", "é", "’") else -1)
    mentions = find_word(text, word, hyphens=False)
    assert first_mention(text, word) == (mentions[0][0] if mentions else -1)


def test_a_spaced_text_has_words_in_lower_case_and_nothing_else() -> None:
    assert spaced("“Co-op’s”") == b"  co-op s  "
    assert spaced("Co-op, X_1 (é)") == b"" and spaced("Co-op, X_1 (e)") == b" co-op  x_1  e  " and spaced("") == b"  "
    assert spaced_word("Co-op") == b" co-op " and spaced_word("a b") == spaced_word("a.") == spaced_word("") == b"\0"


@pytest.mark.parametrize(("first", "last"), SPACELESS)
def test_a_range_without_spaces_has_both_its_ends_and_nothing_beside(first: int, last: int) -> None:
    assert is_spaceless(chr(first)) and is_spaceless(chr(last))
    outside = [code for code in (first - 1, last + 1) if not any(low <= code <= high for low, high in SPACELESS)]
    assert outside and not any(is_spaceless(chr(code)) for code in outside)
    assert space_before(chr(first) + "a") == "" and space_before("a" + chr(first)) == " "


@pytest.mark.parametrize(
    ("text", "word", "around"),
    [
        ("the nurses left", "nurse", "nurses"),
        ("a half-nurse, nursery", "nurse", "nursery"),
        ("nursery and half-nurse-maid", "nurse", "nursery"),
        ("ex-nurse", "nurse", "ex-nurse"),
        ("prenurse", "nurse", "prenurse"),
        ("Nurse", "nurse", "Nurse"),
        ("她们来了", "她", "她们"),
        ("nurse", "nurses", ""),
        ("doctor", "nurse", ""),
        ("nurse", "", ""),
        ("", "nurse", ""),
    ],
)
def test_the_shortest_longer_word_around_a_word_is_told(text: str, word: str, around: str) -> None:
    assert word_around(text, word) == around


@pytest.mark.parametrize(
    ("text", "word", "places"),
    [
        ("he, he and the hen; he", "he", [(0, 2), (4, 6), (20, 22)]),
        ("hehe he", "he", [(5, 7)]),
        ("ab-he he-ab he", "he", [(12, 14)]),
        ("é he é", "HE", [(2, 4)]),
        ("1he he1 _he he_ he", "he", [(16, 18)]),
        ("ab他cd", "他", [(2, 3)]),
        ("ab他们", "他", []),
        ("他", "他", [(0, 1)]),
        ("他 he他", "he", [(2, 4)]),
        ("a.b aXb é", "a.b", [(0, 3)]),
        ("é ahe", "he", []),
        ("ที่", "ที", []),
        ("ที ก", "ที", [(0, 2)]),
    ],
)
def test_whole_words_are_found_at_their_places(text: str, word: str, places: list[tuple[int, int]]) -> None:
    assert find_word(text, word) == places


def test_a_word_far_longer_than_the_text_is_not_searched_for() -> None:
    # Two letters of a decomposed text are one of the word, so a word may be longer than the text, but not by far.
    assert find_word("é", unicodedata.normalize("NFD", "é")) == [(0, 1)]
    assert find_word("ệ", unicodedata.normalize("NFD", "ệ")) == [(0, 1)], "three characters for one"
    assert find_word("he", "hehehe") == [] and find_word("he", "hehehehehehe") == []


def test_marks_and_joiners_belong_to_a_word_but_begin_none() -> None:
    assert is_word("می\u200cروم") and is_word("e\u0301") and is_word("a\u200d")
    assert not is_word("\u0301e") and not is_word("\u200ca") and not is_word("a-b") and not is_word("a1")


def test_letters_are_lowered_one_by_one() -> None:
    assert lowered("AbÇİ") == "abçi" and folded("É") == "é" == folded("E\u0301")


@given(st.text())
def test_a_text_is_printed_letter_by_letter_without_what_moves_the_cursor(text: str) -> None:
    shown = printable(text)
    assert len(shown) == len(text)
    for before, after in zip(text, shown, strict=True):
        assert after == (before if before.isprintable() or before in HARMLESS else "\N{REPLACEMENT CHARACTER}")


def test_joiners_are_kept_and_escapes_are_not() -> None:
    assert printable("a\u200cb\x1b[31m\n") == "a\u200cb\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}"
