"""Consensus and agreement: when a sentence is settled, what is kept, and Krippendorff's alpha."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.builder.steps import BuildError, Sentence
from equipoise.builder.verdict.agreement import agreement_with_others, krippendorff_alpha
from equipoise.builder.verdict.consensus import Coverage, Thresholds, agreed, settled, verdict, votes_needed
from equipoise.builder.verdict.votes import Vote
from equipoise.records import UndefinedMetric

YES, FIRST, SECOND, NO = (
    Vote(True, True, True),
    Vote(True, True, False),
    Vote(True, False, True),
    Vote(False, None, None),
)
VOTES = st.lists(st.sampled_from([YES, FIRST, SECOND, NO, Vote(True, False, False)]), max_size=10)
RULE = Coverage()


def sentence(kind: str) -> Sentence:
    return Sentence("s", kind, "text", "he", "subject", "cook", "nurse", "nurse", "twin", "she")


@pytest.mark.parametrize(
    ("votes", "done"),
    [
        ([YES] * 3, False),
        ([YES] * 4, True),
        ([YES, YES, YES, FIRST], True),  # 75% agree on the second person
        ([YES, YES, FIRST, FIRST], False),
        ([NO] * 4, True),
        ([NO, NO, NO, YES], True),
        ([NO, NO, YES, YES], False),
        ([YES, FIRST] * 5, True),  # ten have answered
    ],
)
def test_settled(votes: list[Vote], done: bool) -> None:
    assert settled(votes, RULE) is done


@given(VOTES)
def test_votes_needed_is_the_least_that_could_settle_it(votes: list[Vote]) -> None:
    needed = votes_needed(votes, RULE)
    assert len(votes) + needed <= max(RULE.most, len(votes))
    assert (needed == 0) == settled(votes, RULE)
    if needed > 0:
        assert needed >= RULE.enough - len(votes)


@given(VOTES)
def test_agreed_needs_enough(votes: list[Vote]) -> None:
    assert not agreed(votes[: RULE.enough - 1], RULE)
    assert not agreed(votes, RULE) or len(votes) >= RULE.enough


@pytest.mark.parametrize(
    ("kind", "votes", "kept", "referent"),
    [
        ("type1", [YES] * 4, True, ""),
        ("type1", [YES, YES, YES, FIRST], True, ""),
        ("type1", [FIRST] * 4, False, ""),
        ("type1", [YES, YES, YES, NO], False, ""),  # coherent must be more than 75%
        ("type2", [SECOND] * 4, True, "nurse"),
        ("type2", [FIRST] * 4, True, "cook"),
        ("type2", [SECOND, SECOND, SECOND, YES], False, ""),  # 25% for the other is not under 25%
        ("type2", [SECOND] * 4 + [YES], True, "nurse"),
        ("type2", [YES] * 4, False, ""),
        ("type2", [], False, ""),
    ],
)
def test_the_papers_criteria(kind: str, votes: list[Vote], kept: bool, referent: str) -> None:
    found = verdict(sentence(kind), votes, Thresholds())
    assert (found.kept, found.referent) == (kept, referent)
    assert bool(found.reason) is not kept


def test_options_are_checked() -> None:
    for wrong in (lambda: Coverage(enough=11), lambda: Coverage(share=0.4), lambda: Thresholds(meant=1.2)):
        with pytest.raises(BuildError):
            wrong()


def test_alpha_of_krippendorffs_own_example() -> None:
    # Krippendorff (2011), nominal data of four observers, twelve units: 0.743.
    observers = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    units = [[value for value in unit if value is not None] for unit in zip(*observers, strict=True)]
    assert krippendorff_alpha(units) == pytest.approx(0.743, abs=5e-4)


@given(st.lists(st.lists(st.booleans(), max_size=6), max_size=12))
def test_alpha_is_at_most_one_and_ignores_order(units: list[list[bool]]) -> None:
    try:
        alpha = krippendorff_alpha(units)
    except UndefinedMetric:
        said = {answer for unit in units if len(unit) > 1 for answer in unit}
        assert len(said) < 2
        return
    assert alpha <= 1 + 1e-12
    assert krippendorff_alpha([unit[::-1] for unit in reversed(units)]) == pytest.approx(alpha)
    unanimous = all(a == b for unit in units for a, b in pairwise(unit))
    assert (alpha == pytest.approx(1.0)) is unanimous


def test_agreement_with_the_others() -> None:
    answers = {1: {"a": True, "b": True, "c": False}, 2: {"a": True, "b": True, "c": True}, 3: {"a": True}}
    assert agreement_with_others(answers) == {"a": (1, 1), "b": (1, 1), "c": (1, 2)}
