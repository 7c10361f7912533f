"""Votes in; settled or not, and kept or not, out. Pure: no database, no clock.

A vote answers three questions: is the sentence coherent, can the pronoun mean the first person, can it mean the
second. "Unsure" never counts in favour of a sentence: it is neither a yes nor a no.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from ..steps import BuildError, Sentence
from .votes import Vote


@dataclass(frozen=True, slots=True)
class Coverage:
    """When a sentence is settled: `enough` raters agree by `share` on every question, or `most` have answered."""

    enough: int = 4
    most: int = 10
    share: float = 0.75

    def __post_init__(self) -> None:
        if not 1 <= self.enough <= self.most:
            raise BuildError(f"enough must be between 1 and most ({self.most}), not {self.enough}")
        if not 0.5 < self.share <= 1:
            raise BuildError(f"the share that counts as agreement must be over 0.5 and at most 1, not {self.share:g}")


@dataclass(frozen=True, slots=True)
class Criteria:
    """When a settled sentence is kept, as shares of votes; `inclusive` keeps sentences exactly at a limit."""

    coherent: float = 0.75
    meant: float = 0.75
    not_meant: float = 0.25
    inclusive: bool = False

    def __post_init__(self) -> None:
        if not all(0 <= share <= 1 for share in (self.coherent, self.meant, self.not_meant)):
            raise BuildError("criteria are shares from 0 to 1")

    def is_coherent(self, tally: Tally) -> bool:
        """Return whether enough raters call the sentence coherent."""
        share = tally.share(tally.coherent_yes, tally.votes)
        return share >= self.coherent if self.inclusive else share > self.coherent

    def can_mean(self, yes: int, asked: int) -> bool:
        """Return whether enough raters say that the pronoun can mean the person."""
        return Tally.share(yes, asked) >= self.meant

    def cannot_mean(self, no: int, asked: int) -> bool:
        """Return whether so few raters did not say no that the pronoun cannot mean the person."""
        others = Tally.share(asked - no, asked)
        return asked > 0 and (others <= self.not_meant if self.inclusive else others < self.not_meant)


CRITERIA: Mapping[str, Criteria] = MappingProxyType({"section-4.3": Criteria(), "appendix-d": Criteria(inclusive=True)})
"""The UCerF paper's two statements of its criteria; they differ where exactly 25% of the votes disagree."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The votes on one sentence, counted; raters who are unsure count in `votes` only."""

    votes: int = 0
    coherent_yes: int = 0
    coherent_no: int = 0
    first_yes: int = 0
    first_no: int = 0
    second_yes: int = 0
    second_no: int = 0

    @classmethod
    def of(cls, votes: Iterable[Vote]) -> Tally:
        """Return the counts of these votes."""
        tally = cls()
        for vote in votes:
            tally = tally.plus(vote)
        return tally

    def plus(self, vote: Vote, times: int = 1) -> Tally:
        """Return the tally with this vote added; `times=-1` takes it away."""
        counts = {field.name: getattr(self, field.name) for field in fields(Tally)}
        counts["votes"] += times
        for name, reply in vote._asdict().items():
            if reply is not None:
                counts[f"{name}_{'yes' if reply else 'no'}"] += times
        return Tally(**counts)

    @staticmethod
    def share(part: int, whole: int) -> float:
        """Return part / whole, 0 if there are no votes."""
        return part / whole if whole else 0.0

    def shares(self) -> dict[str, float]:
        """Return the shares of yes: among all raters for `coherent`, among those who said yes to that for the rest."""
        return {
            "votes": self.votes,
            "coherent": self.share(self.coherent_yes, self.votes),
            "first": self.share(self.first_yes, self.coherent_yes),
            "second": self.share(self.second_yes, self.coherent_yes),
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a sentence is kept, the person its pronoun means ("" in type 1), or the reason it is not kept."""

    kept: bool
    referent: str
    reason: str
    settled: bool = True


NOT_ASKED, NOT_SETTLED = "not asked", "not settled"


def agreed(tally: Tally, coverage: Coverage) -> bool:
    """Return whether enough raters agree on every question; "not coherent" ends the questions."""
    if tally.votes < coverage.enough:
        return False
    if Tally.share(max(tally.coherent_yes, tally.coherent_no), tally.votes) < coverage.share:
        return False
    if tally.coherent_no > tally.coherent_yes:
        return True
    questions = ((tally.first_yes, tally.first_no), (tally.second_yes, tally.second_no))
    return all(Tally.share(max(counts), tally.coherent_yes) >= coverage.share for counts in questions)


def settled(tally: Tally, coverage: Coverage) -> bool:
    """Return whether no more raters are needed: enough agree, or the most have answered."""
    return tally.votes >= coverage.most or agreed(tally, coverage)


def votes_needed(tally: Tally, coverage: Coverage) -> int:
    """Return how many more votes would settle the sentence if all followed the majority; 0 if it is settled."""
    first, second = tally.first_yes >= tally.first_no, tally.second_yes >= tally.second_no
    coherent = tally.coherent_yes >= tally.coherent_no
    following = Vote(True, first, second) if coherent else Vote(False, None, None)
    after = tally
    while not settled(after, coverage):
        after = after.plus(following)
    return after.votes - tally.votes


def verdict(sentence: Sentence, tally: Tally, criteria: Criteria) -> Verdict:
    """Return whether the votes keep the sentence, by the UCerF paper's criteria (section 4.3 or appendix D).

    Type 1 is kept if the pronoun can mean both people. Type 2 is kept if it can mean one and cannot mean the other;
    raters decide which, whatever the model was asked to write.
    """
    if not tally.votes:
        return Verdict(False, "", NOT_ASKED, settled=False)
    if not criteria.is_coherent(tally):
        return Verdict(False, "", "not coherent")
    asked = tally.coherent_yes
    first, second = criteria.can_mean(tally.first_yes, asked), criteria.can_mean(tally.second_yes, asked)
    if sentence.type == "type1":
        return Verdict(True, "", "") if first and second else Verdict(False, "", "type 1, but not ambiguous")
    if first and criteria.cannot_mean(tally.second_no, asked):
        return Verdict(True, sentence.first, "")
    if second and criteria.cannot_mean(tally.first_no, asked):
        return Verdict(True, sentence.second, "")
    return Verdict(False, "", "type 2, but not clear")
