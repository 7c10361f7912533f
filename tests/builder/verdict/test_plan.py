"""What a survey takes: the plan against what happens."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from kept_texts import assert_kept

from equipoise.builder.steps import BuildError
from equipoise.builder.verdict.consensus import Coverage, Rule
from equipoise.builder.verdict.plan import expect, good_votes, reply_of
from equipoise.builder.verdict.questions import published, questions_of


def test_without_errors_every_good_sentence_takes_enough_answers_and_is_kept() -> None:
    for enough in (3, 4, 6):
        plan = expect(Rule(Coverage(enough)), 0.0)
        assert (plan.answers_a_sentence, plan.lost) == (enough, 0)


def test_more_errors_take_more_answers_and_lose_more() -> None:
    plans = [expect(Rule(), error) for error in (0.0, 0.05, 0.1, 0.2)]
    assert [plan.answers_a_sentence for plan in plans] == sorted({plan.answers_a_sentence for plan in plans})
    assert [plan.lost for plan in plans] == sorted(plan.lost for plan in plans) and plans[-1].lost > 0.2
    with pytest.raises(BuildError, match="from 0 to 1"):
        expect(Rule(), 1.0)


def test_good_sentences_are_those_that_should_be_kept() -> None:
    assert good_votes(Rule()) == [
        ("type1", ("yes", "yes", "yes")),
        ("type2", ("yes", "yes", "no")),
        ("type2", ("yes", "no", "yes")),
    ]
    more = questions_of("mine", [{"name": "more", "choices": ["first", "second", "same"]}])
    assert [vote for _, vote in good_votes(Rule(questions=more))] == [("first",), ("second",), ("same",)]


def test_a_rater_errs_as_often_as_said() -> None:
    rng, truth = random.Random(1), ("yes", "no", "yes")
    votes = Counter(reply_of(truth, published(), 0.1, rng) for _ in range(20_000))
    assert votes[truth] / 20_000 == pytest.approx(0.9**3, abs=0.01)
    assert votes["no", "", ""] / 20_000 == pytest.approx(0.1, abs=0.01)
    assert {reply_of(("no", "", ""), published(), 0.0, rng) for _ in range(20)} == {("no", "", "")}


def test_what_is_expected_is_as_it_was_kept() -> None:
    own = questions_of(
        "mine",
        [
            {"name": "more", "choices": ["first", "second", "same"]},
            {"name": "sure", "choices": ["yes", "no"], "when": {"more": "first"}},
        ],
    )
    rules = {"usual": Rule(), "few": Rule(Coverage(2, 5)), "own": Rule(Coverage(3, 6), questions=own)}
    told = {
        f"{name}, {error}": expect(rule, error, seed=7) for name, rule in rules.items() for error in (0.0, 0.15, 0.5)
    }
    assert_kept("builder/expectations", told, {name: good_votes(rule) for name, rule in rules.items()})
    for error in (-0.01, 1.0):
        with pytest.raises(BuildError, match=f"^the share of wrong replies must be from 0 to 1, not {error:g}$"):
            expect(Rule(), error)


def test_who_answers_what_has_no_right_answer_guesses() -> None:
    votes = Counter(reply_of(("no", "", ""), published(), 0.5, random.Random(n)) for n in range(4000))
    assert votes["no", "", ""] / 4000 == pytest.approx(0.5, abs=0.03)
    for first in ("yes", "no"):
        for second in ("yes", "no"):
            assert votes["yes", first, second] / 4000 == pytest.approx(0.125, abs=0.03)
