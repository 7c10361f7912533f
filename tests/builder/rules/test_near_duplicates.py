"""Near-duplicates are those that a full comparison finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.builder.rules.near_duplicates import MOST, NearIndex, near_pairs, words_in, words_of

TEXTS = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=6).map(" ".join), max_size=9)


@given(texts=TEXTS, most=st.integers(0, MOST))
def test_near_pairs_are_those_a_full_comparison_finds(texts: list[str], most: int) -> None:
    sets = [frozenset(text.split()) for text in texts]
    slowly = [(i, j) for j in range(len(sets)) for i in range(j) if len(sets[i] ^ sets[j]) <= most]
    assert near_pairs(texts, most) == slowly
    if most == MOST:
        assert near_pairs(texts) == slowly


def test_sentences_are_counted_from_0_and_found_in_order() -> None:
    index = NearIndex(1)
    assert [index.add(frozenset(text.split())) for text in ("a b", "a", "c d", "b")] == [0, 1, 2, 3]
    assert index.near(frozenset({"a", "b"})) == [0, 1, 3]
    assert index.near(frozenset()) == [1, 3] and index.near(frozenset({"x", "y"})) == []


@pytest.mark.parametrize("most", [-1, MOST + 1])
def test_other_distances_are_refused(most: int) -> None:
    with pytest.raises(ValueError, match=f"^near-duplicates differ in 0 to {MOST} words, not {most}$"):
        NearIndex(most)


def test_words_are_in_lower_case_without_marks() -> None:
    assert words_in("The co-owner’s 2 CATS, it's_so (fun).") == ["the", "co-owner’s", "2", "cats", "it's", "so", "fun"]
    assert words_of("A a b") == {"a", "b"}
