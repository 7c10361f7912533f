"""Consensus and agreement: when a sentence is settled, what is kept, and Krippendorff's alpha."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.builder.steps import BuildError, Sentence
from equipoise.builder.verdict.consensus import (
    CRITERIA,
    Coverage,
    Criteria,
    Tally,
    agreed,
    settled,
    verdict,
    votes_needed,
)
from equipoise.builder.verdict.votes import Vote

YES, FIRST, SECOND, NO = (
    Vote(True, True, True),
    Vote(True, True, False),
    Vote(True, False, True),
    Vote(False, None, None),
)


VOTES = st.lists(st.sampled_from([YES, FIRST, SECOND, NO, Vote(True, False, False)]), max_size=10)


RULE = Coverage()


def sentence(kind: str) -> Sentence:
    return Sentence("s", kind, "text", "he", "subject", "cook", "nurse", "nurse", "male", ())


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
    assert settled(Tally.of(votes), RULE) is done


@given(VOTES)
def test_votes_needed_is_the_least_that_could_settle_it(votes: list[Vote]) -> None:
    needed = votes_needed(Tally.of(votes), RULE)
    assert len(votes) + needed <= max(RULE.most, len(votes))
    assert (needed == 0) == settled(Tally.of(votes), RULE)
    if needed > 0:
        assert needed >= RULE.enough - len(votes)


@given(VOTES)
def test_agreed_needs_enough(votes: list[Vote]) -> None:
    assert not agreed(Tally.of(votes[: RULE.enough - 1]), RULE)
    assert not agreed(Tally.of(votes), RULE) or len(votes) >= RULE.enough


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
    decision = verdict(sentence(kind), Tally.of(votes), Criteria())
    assert (decision.kept, decision.referent) == (kept, referent)
    assert bool(decision.reason) is not kept


@pytest.mark.parametrize(
    ("kind", "votes"),
    [("type1", [YES, YES, YES, NO]), ("type2", [SECOND, SECOND, SECOND, YES])],  # exactly 25% disagree
)
def test_the_papers_two_criteria_differ_at_exactly_a_quarter(kind: str, votes: list[Vote]) -> None:
    kept = {name: verdict(sentence(kind), Tally.of(votes), criteria).kept for name, criteria in CRITERIA.items()}
    assert kept == {"section-4.3": False, "appendix-d": True}


def test_unsure_never_counts_in_favour() -> None:
    unsure_first, unsure = Vote(True, None, True), Vote(None, None, None)
    assert verdict(sentence("type2"), Tally.of([SECOND] * 5), Criteria()).kept
    assert not verdict(sentence("type2"), Tally.of([SECOND] * 3 + [unsure_first] * 2), Criteria()).kept
    assert not verdict(sentence("type1"), Tally.of([YES] * 3 + [unsure_first] * 2), Criteria()).kept
    assert not verdict(sentence("type1"), Tally.of([YES] * 3 + [unsure]), Criteria()).kept
    assert not agreed(Tally.of([YES, YES, unsure, unsure]), RULE)


@given(VOTES, VOTES)
def test_taking_votes_away_again_leaves_the_tally(votes: list[Vote], more: list[Vote]) -> None:
    tally = Tally.of([*votes, *more])
    for vote in more:
        tally = tally.plus(vote, -1)
    assert tally == Tally.of(votes)


@pytest.mark.parametrize(
    ("options", "choices"),
    [
        (Coverage, {"enough": 0}),
        (Coverage, {"enough": 11}),
        (Coverage, {"share": 0.5}),
        (Coverage, {"share": 1.2}),
        (Criteria, {"not_meant": -0.1}),
        (Criteria, {"meant": 1.2}),
    ],
)
def test_options_out_of_range_are_refused(options: type[Coverage | Criteria], choices: dict[str, Any]) -> None:
    with pytest.raises(BuildError):
        options(**choices)


def test_options_may_be_at_the_ends_of_their_range() -> None:
    assert Coverage(enough=1, most=1, share=1.0).enough == 1
    assert Coverage(enough=10, share=0.51).share == 0.51
    assert Criteria(coherent=1.0, meant=1.0, not_meant=0.0).not_meant == 0


def test_nobody_is_ruled_out_by_raters_who_were_not_asked() -> None:
    assert not any(criteria.cannot_mean(0, 0) for criteria in CRITERIA.values())


def test_a_tie_is_followed_as_coherent_so_that_the_other_questions_are_asked() -> None:
    # Three more who call it coherent: 4 of 5 do, and 3 of these 4 answer the question that the first was unsure of.
    assert votes_needed(Tally.of([Vote(True, None, None), NO]), RULE) == 3


def test_without_votes_every_share_is_0() -> None:
    assert Tally.share(0, 0) == 0 and set(Tally.of([]).shares().values()) == {0.0}
