"""What has the same key is together."""

from __future__ import annotations

from equipoise.records import grouped


def test_what_has_the_same_key_is_together_in_the_order_of_the_first() -> None:
    assert list(grouped([3, 1, 5, 2], lambda number: number % 2).items()) == [(1, [3, 1, 5]), (0, [2])]
    assert grouped([], str) == {}
