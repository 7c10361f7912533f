"""Votes in; settled or not, and kept or not, out. Pure: no database, no clock.

"Unsure" never counts in favour of a sentence: it is asked, but no choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from ..steps import BuildError, Sentence
from .questions import Questionnaire, published, questions_of
from .votes import NOT_ASKED, Vote


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many raters a sentence is shown to: at least `enough`, at most `most`."""

    enough: int = 4
    most: int = 10

    def __post_init__(self) -> None:
        if not 1 <= self.enough <= self.most:
            raise BuildError(f"enough must be between 1 and most ({self.most}), not {self.enough}")


@dataclass(frozen=True, slots=True)
class Criteria:
    """When a settled sentence is kept, as shares of votes; `inclusive` keeps sentences exactly at a limit.

    With questions of one's own there is one share, `meant`: more raters than that must agree on every question.
    """

    coherent: float = 0.75
    meant: float = 0.75
    not_meant: float = 0.25
    inclusive: bool = False

    def __post_init__(self) -> None:
        if not all(0 <= share <= 1 for share in (self.coherent, self.meant, self.not_meant)):
            raise BuildError("criteria are shares from 0 to 1")


CRITERIA: Mapping[str, Criteria] = MappingProxyType({"section-4.3": Criteria(), "appendix-d": Criteria(inclusive=True)})
"""The UCerF paper's two statements of its criteria; they differ where exactly 25% of the votes disagree."""


@dataclass(frozen=True, slots=True)
class Condition:
    """So large a share of those who were asked the question must give this reply."""

    place: int
    reply: str
    share: float
    inclusive: bool

    def holds(self, votes: Sequence[Vote]) -> bool:
        """Return whether the votes meet it; a question that nobody was asked meets nothing."""
        share = share_of(votes, self.place, self.reply)
        return share > 0 and (share >= self.share if self.inclusive else share > self.share)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a kept sentence is kept as; `type` limits it to sentences of one type, `referent` is "first" or "second"."""

    name: str
    conditions: tuple[Condition, ...]
    type: str = ""
    referent: str = ""

    def holds(self, votes: Sequence[Vote]) -> bool:
        """Return whether the votes meet every condition."""
        return all(condition.holds(votes) for condition in self.conditions)


@dataclass(frozen=True, slots=True)
class Rule:
    """The whole rule of a survey, chosen once when it is made: how many are asked, what is asked, what is kept."""

    coverage: Coverage = field(default_factory=Coverage)
    criteria: Criteria = field(default_factory=Criteria)
    questions: Questionnaire = field(default_factory=published)

    def as_values(self) -> dict[str, Any]:
        """Return the rule as JSON holds it."""
        return {
            "coverage": asdict(self.coverage),
            "criteria": asdict(self.criteria),
            "questions": self.questions.as_rows(),
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Rule:
        """Return the rule from the values of JSON."""
        questions = questions_of("the survey", values["questions"])
        return cls(Coverage(**values["coverage"]), Criteria(**values["criteria"]), questions)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a sentence is kept, the person its pronoun means ("" in type 1), or the reason it is not kept."""

    kept: bool
    referent: str
    reason: str
    settled: bool = True
    outcome: str = ""


NOT_ASKED_YET, NOT_SETTLED = "not asked", "not settled"
_UNMET = {"type1": "type 1, but not ambiguous", "type2": "type 2, but not clear"}


def share_of(votes: Sequence[Vote], place: int, reply: str) -> float:
    """Return the share of a reply among those who were asked the question, 0 if nobody was."""
    asked = sum(vote[place] != NOT_ASKED for vote in votes)
    return sum(vote[place] == reply for vote in votes) / asked if asked else 0.0


def shares(votes: Sequence[Vote], questions: Questionnaire) -> dict[str, Any]:
    """Return the number of votes, and for each question the share of each choice."""
    return {"votes": len(votes)} | {
        question.name: {choice: round(share_of(votes, place, choice), 4) for choice in question.choices}
        for place, question in enumerate(questions.questions)
    }


@lru_cache(maxsize=100)
def outcomes(rule: Rule) -> tuple[Outcome, ...]:
    """Return what a sentence can be kept as."""
    limits = rule.criteria
    if not rule.questions.is_published:
        return tuple(_agreement(rule.questions, vote, limits) for vote in rule.questions.votes())
    coherent = Condition(0, "yes", limits.coherent, limits.inclusive)

    def can(place: int) -> Condition:
        return Condition(place, "yes", limits.meant, True)

    def cannot(place: int) -> Condition:
        return Condition(place, "no", 1 - limits.not_meant, limits.inclusive)

    return (
        Outcome("both", (coherent, can(1), can(2)), "type1"),
        Outcome("first", (coherent, can(1), cannot(2)), "type2", "first"),
        Outcome("second", (coherent, can(2), cannot(1)), "type2", "second"),
    )


def _agreement(questions: Questionnaire, vote: Vote, limits: Criteria) -> Outcome:
    """Return the outcome that raters agree on this vote."""
    replies = {name: reply for name, reply in zip(questions.names, vote, strict=True) if reply}
    conditions = (Condition(place, reply, limits.meant, limits.inclusive) for place, reply in enumerate(vote) if reply)
    return Outcome(", ".join(f"{name}: {reply}" for name, reply in replies.items()), tuple(conditions))


def outcome_of(votes: Sequence[Vote], type: str, rule: Rule) -> Outcome | None:
    """Return what the votes keep a sentence of this type as, None if they do not keep it."""
    fitting = (outcome for outcome in outcomes(rule) if outcome.type in ("", type))
    return next((outcome for outcome in fitting if outcome.holds(votes)), None)


def settled(votes: Iterable[Vote], type: str, rule: Rule) -> bool:
    """Return whether no more raters are needed: see `votes_needed`."""
    return votes_needed(votes, type, rule) == 0


def votes_needed(votes: Iterable[Vote], type: str, rule: Rule) -> int:
    """Return the least number of further votes that could settle the sentence; 0 if it is settled.

    With at least `enough` votes it is settled if the criteria keep it, or if the votes that are left up to `most` could
    not make them keep it.
    """
    return _needed(tuple(sorted(votes)), type, rule)


@lru_cache(maxsize=200_000)
def _needed(votes: tuple[Vote, ...], type: str, rule: Rule) -> int:
    left = rule.coverage.most - len(votes)
    if left <= 0 or _stable(votes, type, rule):
        return 0
    for more in range(1, left):
        for vote in rule.questions.votes():
            if _stable((*votes, *(vote,) * more), type, rule):
                return more
    return left


def _stable(votes: tuple[Vote, ...], type: str, rule: Rule) -> bool:
    if len(votes) < rule.coverage.enough:
        return False
    if outcome_of(votes, type, rule) is not None:
        return True
    # Following one vote to the end is the best that an outcome can get.
    left = rule.coverage.most - len(votes)
    return all(outcome_of((*votes, *(vote,) * left), type, rule) is None for vote in rule.questions.votes())


def verdict(sentence: Sentence, votes: Sequence[Vote], rule: Rule) -> Verdict:
    """Return whether the votes keep the sentence.

    By the UCerF paper's criteria (section 4.3 or appendix D), type 1 is kept if the pronoun can mean both people, type
    2 if it can mean one and cannot mean the other; raters decide which, whatever the model was asked to write.
    """
    if not votes:
        return Verdict(False, "", NOT_ASKED_YET, settled=False)
    outcome = outcome_of(votes, sentence.type, rule)
    if outcome is None:
        return Verdict(False, "", _reason(sentence.type, votes, rule))
    referent = {"first": sentence.first, "second": sentence.second}.get(outcome.referent, "")
    return Verdict(True, referent, "", outcome=outcome.name)


def _reason(type: str, votes: Sequence[Vote], rule: Rule) -> str:
    if not rule.questions.is_published:
        return "raters do not agree"
    coherent = outcomes(rule)[0].conditions[0]
    return _UNMET[type] if coherent.holds(votes) else "not coherent"
