"""Near-duplicates are those that a full comparison finds."""

from __future__ import annotations

from equipoise.builder.rules.near_duplicates import near_pairs


def test_near_pairs_are_those_a_full_comparison_finds() -> None:
    texts = ["a b c d", "a b c e", "a b c", "a b", "x y z", "a b c d", "q r s t u", "q r s t v w"]
    sets = [frozenset(text.split()) for text in texts]
    slowly = [(i, j) for j in range(len(sets)) for i in range(j) if len(sets[i] ^ sets[j]) <= 2]
    assert sorted(near_pairs(texts)) == sorted(slowly)
