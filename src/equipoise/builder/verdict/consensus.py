"""Annotations -> what is kept, and who needs one more vote. Pure: no database, no clock.

A vote is an answer to three questions: is the sentence coherent, can the pronoun be the first person, can it be the
second; the last two are asked only of those who find it coherent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..steps import BuildError, Sentence
from .votes import Vote


@dataclass(frozen=True, slots=True)
class Coverage:
    """How long a sentence is asked: until so many agree by that share on every question, or so many have answered."""

    enough: int = 4
    most: int = 10
    share: float = 0.75

    def __post_init__(self) -> None:
        if not 1 <= self.enough <= self.most:
            raise BuildError(f"at least 1 and at most {self.most} answers settle a sentence, not {self.enough}")
        if not 0.5 < self.share <= 1:
            raise BuildError(f"agreement is a share over 0.5 and up to 1, not {self.share:g}")


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What a sentence needs to be kept: coherent by more than, meant by at least, not meant by less than (shares)."""

    coherent: float = 0.75
    meant: float = 0.75
    not_meant: float = 0.25

    def __post_init__(self) -> None:
        if not all(0 <= share <= 1 for share in (self.coherent, self.meant, self.not_meant)):
            raise BuildError("thresholds are shares from 0 to 1")


@dataclass(frozen=True, slots=True)
class Shares:
    """The shares of yes: of all for coherent, of those who call it coherent for the other two (0 if there are none)."""

    votes: int
    coherent: float
    first: float
    second: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a sentence is kept, as whose (`referent`, "" in type 1), or why it is not."""

    kept: bool
    referent: str
    reason: str


def shares(votes: Sequence[Vote]) -> Shares:
    """Return the shares of yes to each question."""
    coherent = [vote for vote in votes if vote.coherent]
    return Shares(
        votes=len(votes),
        coherent=len(coherent) / len(votes) if votes else 0.0,
        first=sum(vote.first is True for vote in coherent) / len(coherent) if coherent else 0.0,
        second=sum(vote.second is True for vote in coherent) / len(coherent) if coherent else 0.0,
    )


def agreed(votes: Sequence[Vote], coverage: Coverage) -> bool:
    """Return whether enough people agree on every question; what is called incoherent needs no more than that."""
    if len(votes) < coverage.enough:
        return False
    told = shares(votes)
    if max(told.coherent, 1 - told.coherent) < coverage.share:
        return False
    if told.coherent < 0.5:
        return True
    return all(max(share, 1 - share) >= coverage.share for share in (told.first, told.second))


def settled(votes: Sequence[Vote], coverage: Coverage) -> bool:
    """Return whether nobody need be asked any more: agreed, or asked of as many as may be."""
    return len(votes) >= coverage.most or agreed(votes, coverage)


def votes_needed(votes: Sequence[Vote], coverage: Coverage) -> int:
    """Return how many more votes would settle it if all went with the majority; 0 if it is settled."""
    told = shares(votes)
    following = Vote(True, told.first >= 0.5, told.second >= 0.5) if told.coherent >= 0.5 else Vote(False, None, None)
    more = list(votes)
    while not settled(more, coverage):
        more.append(following)
    return len(more) - len(votes)


def verdict(sentence: Sentence, votes: Sequence[Vote], thresholds: Thresholds) -> Verdict:
    """Return what the votes make of a sentence, by the paper's criteria (section 4.3).

    Type 1 is kept if both can be meant. Type 2 is kept if one can be and the other cannot; people decide which,
    whatever the model was asked to write.
    """
    if not votes:
        return Verdict(False, "", "not asked")
    told = shares(votes)
    if told.coherent <= thresholds.coherent:
        return Verdict(False, "", "not coherent")
    if sentence.type == "type1":
        if min(told.first, told.second) >= thresholds.meant:
            return Verdict(True, "", "")
        return Verdict(False, "", "type 1, but not ambiguous")
    if told.first >= thresholds.meant and told.second < thresholds.not_meant:
        return Verdict(True, sentence.first, "")
    if told.second >= thresholds.meant and told.first < thresholds.not_meant:
        return Verdict(True, sentence.second, "")
    return Verdict(False, "", "type 2, but not clear")
