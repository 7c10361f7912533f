"""Consensus: when a sentence is settled, and what is kept."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from survey_raters import vote

from equipoise.builder.steps import BuildError, Sentence
from equipoise.builder.verdict.consensus import (
    CRITERIA,
    Coverage,
    Criteria,
    Rule,
    outcome_of,
    settled,
    share_of,
    shares,
    verdict,
    votes_needed,
)
from equipoise.builder.verdict.questions import questions_of
from equipoise.builder.verdict.votes import Vote

YES, FIRST, SECOND, NO = vote(True, True, True), vote(True, True, False), vote(True, False, True), vote(False)
ALL = (YES, FIRST, SECOND, NO, vote(True, False, False))
VOTES = st.lists(st.sampled_from(ALL), max_size=10)
TYPES = st.sampled_from(["type1", "type2"])
RULES = st.sampled_from([Rule(), Rule(criteria=CRITERIA["appendix-d"]), Rule(Coverage(3, 7), Criteria(0.6, 0.8, 0.3))])
RULE = Rule()


def sentence(kind: str) -> Sentence:
    return Sentence("s", kind, "text", "he", "subject", "cook", "nurse", "nurse", "male", ())


@pytest.mark.parametrize(
    ("kind", "votes", "done"),
    [
        ("type1", [YES] * 3, False),
        ("type1", [YES] * 4, True),
        ("type1", [YES, YES, YES, NO], False),  # 75% is not more than 75%, but four of five would be
        ("type1", [YES, YES, YES, NO, YES], True),
        ("type2", [SECOND, SECOND, SECOND, YES], False),
        ("type2", [SECOND] * 4 + [YES], True),
        ("type1", [NO] * 4, True),
        ("type1", [NO, NO, NO, YES], True),  # 7 of 10 would not be enough
        ("type1", [NO, NO, YES, YES], False),  # 8 of 10 would be
        ("type1", [YES, FIRST] * 5, True),  # ten have answered
        ("type2", [YES] * 4, True),  # nobody can be ruled out any more
    ],
)
def test_settled(kind: str, votes: list[Vote], done: bool) -> None:
    assert settled(votes, kind, RULE) is done


@given(VOTES, TYPES, RULES)
def test_it_is_not_settled_while_it_is_not_kept_but_could_be(votes: list[Vote], kind: str, rule: Rule) -> None:
    """By brute force, along every way of votes that is left: all of one kind are as good as any mixture."""
    left = rule.coverage.most - len(votes)
    could_be = any(
        outcome_of([*votes, *[one] * first, *[other] * more], kind, rule) is not None
        for one in ALL
        for other in ALL
        for first in range(left + 1)
        for more in range(left - first + 1)
    )
    kept_now = outcome_of(votes, kind, rule) is not None
    if len(votes) >= rule.coverage.most:
        assert settled(votes, kind, rule)
    elif len(votes) < rule.coverage.enough:
        assert not settled(votes, kind, rule)
    else:
        assert settled(votes, kind, rule) is (kept_now or not could_be)


@given(VOTES, TYPES, RULES)
def test_votes_needed_is_the_least_that_could_settle_it(votes: list[Vote], kind: str, rule: Rule) -> None:
    needed = votes_needed(votes, kind, rule)
    assert len(votes) + needed <= max(rule.coverage.most, len(votes))
    assert (needed == 0) == settled(votes, kind, rule)
    assert needed >= min(rule.coverage.enough, rule.coverage.most) - len(votes)
    if needed:
        assert any(settled([*votes, *[one] * needed], kind, rule) for one in ALL)
        assert not any(settled([*votes, one], kind, rule) for one in ALL if needed > 1)
    assert votes_needed(votes[::-1], kind, rule) == needed


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
    decision = verdict(sentence(kind), votes, RULE)
    assert (decision.kept, decision.referent) == (kept, referent)
    assert bool(decision.reason) is not kept


@pytest.mark.parametrize(
    ("kind", "votes"),
    [("type1", [YES, YES, YES, NO]), ("type2", [SECOND, SECOND, SECOND, YES])],  # exactly 25% disagree
)
def test_the_papers_two_criteria_differ_at_exactly_a_quarter(kind: str, votes: list[Vote]) -> None:
    kept = {name: verdict(sentence(kind), votes, Rule(criteria=limits)).kept for name, limits in CRITERIA.items()}
    assert kept == {"section-4.3": False, "appendix-d": True}


def test_unsure_never_counts_in_favour() -> None:
    unsure_first, unsure = vote(True, None, True), vote(None)
    assert verdict(sentence("type2"), [SECOND] * 5, RULE).kept
    assert not verdict(sentence("type2"), [SECOND] * 3 + [unsure_first] * 2, RULE).kept
    assert not verdict(sentence("type1"), [YES] * 3 + [unsure_first] * 2, RULE).kept
    assert not verdict(sentence("type1"), [YES] * 3 + [unsure], RULE).kept
    assert not settled([YES, YES, unsure, unsure], "type1", RULE)


@pytest.mark.parametrize(
    ("options", "choices"),
    [
        (Coverage, {"enough": 0}),
        (Coverage, {"enough": 11}),
        (Criteria, {"not_meant": -0.1}),
        (Criteria, {"meant": 1.2}),
    ],
)
def test_options_out_of_range_are_refused(options: type[Coverage | Criteria], choices: dict[str, Any]) -> None:
    with pytest.raises(BuildError):
        options(**choices)


def test_options_may_be_at_the_ends_of_their_range() -> None:
    assert Coverage(enough=1, most=1).enough == 1
    assert Criteria(coherent=1.0, meant=1.0, not_meant=0.0).not_meant == 0


def test_nobody_is_ruled_out_by_raters_who_were_not_asked() -> None:
    assert share_of([NO] * 4, 1, "no") == 0 and share_of([], 0, "yes") == 0


def test_a_rule_comes_back_from_json() -> None:
    rule = Rule(Coverage(3, 7), Criteria(0.6, 0.8, 0.3, inclusive=True))
    assert Rule.of(rule.as_values()) == rule


def test_questions_of_ones_own_are_settled_by_agreement() -> None:
    more = questions_of("mine", [{"name": "more", "choices": ["first", "second", "same"]}])
    rule = Rule(questions=more)
    one, other = ("first",), ("same",)
    assert settled([one] * 4, "type1", rule) and not settled([one, one, one, other], "type1", rule)
    assert settled([one, other, ("second",)] * 3 + [one], "type1", rule)
    decision = verdict(sentence("type2"), [one] * 4 + [other], rule)
    assert decision.kept and decision.outcome == "more: first"
    assert verdict(sentence("type2"), [one, other] * 5, rule).reason == "raters do not agree"


def by_hand(votes: list[Vote], kind: str, limits: Criteria) -> tuple[bool, str, str]:
    """Return whether a sentence is kept, whom it is about, and why it is not: the paper's words, counted."""
    coherent = [vote for vote in votes if vote[0] == "yes"]
    share = len(coherent) / len(votes)
    enough = share >= limits.coherent if limits.inclusive else share > limits.coherent
    if not enough or not share:
        return False, "", "not coherent"

    def said(place: int, reply: str) -> float:
        return sum(vote[place] == reply for vote in coherent) / len(coherent)

    can = [said(place, "yes") >= limits.meant for place in (1, 2)]
    rest = 1 - limits.not_meant
    cannot = [said(place, "no") >= rest if limits.inclusive else said(place, "no") > rest for place in (1, 2)]
    if kind == "type1":
        return (True, "", "") if all(can) else (False, "", "type 1, but not ambiguous")
    if can[0] and cannot[1]:
        return True, "cook", ""
    return (True, "nurse", "") if can[1] and cannot[0] else (False, "", "type 2, but not clear")


@pytest.mark.parametrize(
    "limits", [Criteria(), Criteria(inclusive=True), Criteria(0.5, 0.6, 0.4), Criteria(0.6, 0.75, 0.2, inclusive=True)]
)
@pytest.mark.parametrize("kind", ["type1", "type2"])
def test_every_mix_of_up_to_five_votes_is_decided_as_by_hand(kind: str, limits: Criteria) -> None:
    rule = Rule(criteria=limits)
    for count in range(1, 6):
        for votes in itertools.combinations_with_replacement(ALL, count):
            decision = verdict(sentence(kind), list(votes), rule)
            assert (decision.kept, decision.referent, decision.reason) == by_hand(list(votes), kind, limits), votes
            assert decision.settled
    nothing = verdict(sentence(kind), [], rule)
    assert (nothing.kept, nothing.reason, nothing.settled, nothing.outcome) == (False, "not asked", False, "")


def test_the_outcomes_and_shares_of_votes_have_their_names() -> None:
    names = [
        verdict(sentence(kind), [said] * 4, RULE).outcome
        for kind, said in (("type1", YES), ("type2", FIRST), ("type2", SECOND))
    ]
    assert names == ["both", "first", "second"]
    assert shares([YES, FIRST, NO], RULE.questions) == {
        "votes": 3,
        "coherent": {"yes": 0.6667, "no": 0.3333},
        "first": {"yes": 1.0, "no": 0.0},
        "second": {"yes": 0.5, "no": 0.5},
    }
    for choice in ({"enough": 0}, {"enough": 11}):
        with pytest.raises(BuildError, match=rf"^enough must be between 1 and most \(10\), not {choice['enough']}$"):
            Coverage(**choice)
    for wrong in ({"coherent": 1.1}, {"meant": -0.1}, {"not_meant": 2}):
        with pytest.raises(BuildError, match=r"^criteria are shares from 0 to 1$"):
            Criteria(**wrong)
