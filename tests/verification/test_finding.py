"""The first few of many names, and how many more there are."""

from __future__ import annotations

from equipoise.verification.finding import some


def test_five_names_are_told_and_the_rest_counted() -> None:
    names = [f"n{number}" for number in range(2000)]
    assert some([]) == "" and some(names[:1]) == "n0"
    assert some(names[:5]) == "n0, n1, n2, n3, n4"
    assert some(names[:6]) == "n0, n1, n2, n3, n4 and 1 more"
    assert some(names) == "n0, n1, n2, n3, n4 and 1,995 more"
