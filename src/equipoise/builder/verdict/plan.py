"""What a survey will take: answers for each sentence, and the share of good sentences that are lost by chance."""

from __future__ import annotations

import random
from dataclasses import dataclass

from ..steps import BuildError
from .consensus import Rule, outcome_of, settled
from .questions import Questionnaire
from .votes import NOT_ASKED, Vote

SENTENCES = 2000
"""Sentences that are played through for an expectation; its error is then about one point."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What to expect of raters who give a wrong reply with this probability."""

    error: float
    answers_a_sentence: float
    lost: float


def reply_of(truth: Vote, questions: Questionnaire, error: float, rng: random.Random) -> Vote:
    """Return the vote of a rater who gives each reply wrongly with this probability.

    Who takes a sentence for coherent that is not (or the like) guesses what has no right answer.
    """
    replies: dict[str, str] = {}
    for question, right in zip(questions.questions, truth, strict=True):
        if question.when is not None and replies[question.when[0]] != question.when[1]:
            replies[question.name] = NOT_ASKED
        elif not right:
            replies[question.name] = rng.choice(question.choices)
        else:
            wrong = [choice for choice in question.choices if choice != right]
            replies[question.name] = rng.choice(wrong) if rng.random() < error else right
    return tuple(replies.values())


def good_votes(rule: Rule) -> list[tuple[str, Vote]]:
    """Return the type and the right answer of each kind of sentence that should be kept."""
    votes = rule.questions.votes()
    types = ("type1", "type2") if rule.questions.is_published else ("type1",)
    return [(type, vote) for type in types for vote in votes if outcome_of((vote,), type, rule) is not None]


def expect(rule: Rule, error: float, *, seed: int = 0) -> Expectation:
    """Return how many answers a good sentence takes, and the share of good ones that are not kept."""
    if not 0 <= error < 1:
        raise BuildError(f"the share of wrong replies must be from 0 to 1, not {error:g}")
    rng, kinds = random.Random(seed), good_votes(rule)
    answers = lost = 0
    for number in range(SENTENCES):
        type, truth = kinds[number % len(kinds)]
        votes: list[Vote] = []
        while not settled(votes, type, rule):
            votes.append(reply_of(truth, rule.questions, error, rng))
        answers += len(votes)
        lost += outcome_of(votes, type, rule) is None
    return Expectation(error, answers / SENTENCES, lost / SENTENCES)
