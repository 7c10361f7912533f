"""What has the same key is together."""

from __future__ import annotations

from equipoise.records import grouped, listed


def test_what_has_the_same_key_is_together_in_the_order_of_the_first() -> None:
    assert list(grouped([3, 1, 5, 2], lambda number: number % 2).items()) == [(1, [3, 1, 5]), (0, [2])]
    assert grouped([], str) == {}


def test_names_are_listed_as_in_a_sentence() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c"], "or") == "a, b or c"
