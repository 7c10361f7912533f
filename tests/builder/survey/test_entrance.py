"""The entrance test: drawn from a pool, shuffled and balanced."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from equipoise.builder.steps import BuildError
from equipoise.builder.survey.entrance import read_test


def test_the_entrance_test_is_drawn_from_a_pool_shuffled_and_balanced() -> None:
    for name, count in (("section-4.3", 10), ("appendix-d", 15)):
        test = read_test(name)
        orders = set()
        for seed in range(20):
            drawn = test.draw(random.Random(seed))
            assert len(drawn) == len(set(drawn)) == test.length == 2 * count
            assert Counter(question.type for question in drawn) == {"type1": count, "type2": count}
            kinds = Counter(question.kind for question in drawn if question.type == "type2")
            assert kinds["incoherent"] >= 1
            assert abs(kinds["yes-yes-no"] - kinds["yes-no-yes"]) <= 1  # the referent is as often first as second
            orders.add(tuple(question.key for question in drawn))
        assert len(orders) == 20
    with pytest.raises(BuildError, match="questions of type1, not 99"):
        read_test("section-4.3", per_type=99)
