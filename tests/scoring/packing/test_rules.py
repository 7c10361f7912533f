"""A plan is in the mode that the model and the prompts allow, and holds every sequence once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from equipoise.records import ModelError
from equipoise.scoring.encoding import Asked, Question
from equipoise.scoring.packing.rules import BRANCH_TOKENS, Mode, Rules


def letters(texts: Sequence[str]) -> list[list[int]]:
    """Return a token for each letter."""
    return [[ord(letter) for letter in text] for text in texts]


def asked(text: str, *continuations: str) -> Asked:
    return Asked("e", (1,), text, continuations)


def mode(rules: Rules, *continuations: str, text: str = "abcdef") -> Mode:
    return rules.plan([asked(text, *continuations)], letters).mode


def test_a_prompt_beyond_the_window_is_not_packed() -> None:
    rules = Rules("m", "packed", "cached", window=8, longest=None, row_tokens=64)
    assert mode(rules, "gh", "ij") == "packed"
    assert mode(rules, "gh", "ij", text="abcdefgh") == "cached"


def test_a_cache_is_used_for_continuations_of_two_tokens_or_a_few_more() -> None:
    rules = Rules("m", "cached", "padded", window=None, longest=None, row_tokens=64)
    assert mode(rules, "g", "h") == "padded"
    assert mode(rules, "g", "hi") == "cached"
    assert mode(rules, "g" * BRANCH_TOKENS) == "cached"
    assert mode(rules, "g" * (BRANCH_TOKENS + 1)) == "padded"


def test_a_prompt_that_is_too_long_is_named() -> None:
    rules = Rules("m", "padded", "padded", window=None, longest=7, row_tokens=64)
    assert mode(rules, "g") == "padded"
    with pytest.raises(ModelError, match="the prompt of e has 8 tokens; m takes at most 7"):
        mode(rules, "gh")
    letters_of = [("a", 5), ("b", 6), ("c", 7), ("d", 8), ("e", 6), ("c", 7)]
    several = [Asked(name, (1,), "x" * count, ("y",)) for name, count in letters_of]
    with pytest.raises(ModelError, match=r"^the prompt of d has 9 tokens; m takes at most 7$") as error:
        rules.plan(several, letters)
    assert error.value.example_ids == ("c", "d"), "those that are too long, each once"


@pytest.mark.parametrize("name", ["packed", "cached", "padded"])
def test_every_sequence_has_its_place_in_a_row(name: Mode) -> None:
    rules = Rules("m", name, "padded", window=None, longest=None, row_tokens=10)
    plan = rules.plan([asked("abc", "de", "df"), asked("abc", "gh"), asked("xyz", "de")], letters)
    assert plan.counts == [2, 1, 1]
    assert plan.firsts == [ord("d"), ord("d"), ord("g"), ord("d")] and plan.lengths == [2, 2, 2, 2]
    predicted = {place: target for row in plan.rows for place, target in zip(row.places, row.targets, strict=True)}
    assert [chr(predicted[place]) for place in range(8)] == [*"dedfghde"], "sequence after sequence"
    assert sorted(int(owner) for row in plan.rows for owner in row.owners) == [0, 1, 2, 3]


def test_continuations_of_two_to_eight_tokens_are_computed_from_a_prompt_s_cache() -> None:
    rules = Rules("m", "cached", "padded", None, None, 512)
    for tail, mode in ((1, "padded"), (2, "cached"), (8, "cached"), (9, "padded")):
        question = Question.of([(1, 2, *range(3, 3 + tail))], 2, split=False)
        assert rules._mode([question], 5) == mode
    packed = replace(rules, mode="packed", fallback="cached", window=6)
    question = Question.of([(1, 2, 3, 4)], 2, split=False)
    assert [packed._mode([question], longest) for longest in (6, 7)] == ["packed", "cached"]
    assert replace(packed, window=None)._mode([question], 99) == "packed"
