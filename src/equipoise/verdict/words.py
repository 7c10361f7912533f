"""What to call things in a sentence: what changes within a set, what is answered, and the items of a type."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..datasets.templates import KINDS as DECISIONS_BY_FACTS
from ..records import ABSENT, DECIDED
from ..runs.measurements import kind_title
from ..runs.run import Part


@dataclass(frozen=True)
class Words:
    """What the group word and the two genders are called: "pronoun" with he and she, for instance.

    `answer` is what changes with it, `asked` says what a set is.
    """

    group_word: str = "pronoun"
    male: str = "he"
    female: str = "she"
    answer: str = "answer"
    asked: str = "one sentence, asked with each pronoun"

    def gender(self, name: str) -> str:
        """Return what a gender is called."""
        return {"male": self.male, "female": self.female, "neutral": self.neutral}.get(name, name)

    def fitted(self, summary: str) -> str:
        """Return what a metric is; of a decision it says that this changes, not the answer."""
        return summary.replace(CHANGES, f"decision changes with the {self.group_word}") if self is DECISION else summary

    @property
    def neutral(self) -> str:
        """What no gender is called."""
        return "they" if self is PRONOUN else "neutral"


CHANGES = "answer changes with the group word"
"""How metrics say what flips."""

DECISIONS = tuple(DECISIONS_BY_FACTS.values())
PRONOUN = Words()
GROUP_WORD = Words("group word", "male", "female", asked="one sentence, asked with each group word")
ROLES = Words(
    "group word",
    "male",
    "female",
    asked="one question, asked with the two people in exchanged places; to name the same person twice is a change",
)
DECISION = Words("person’s group", "male", "female", "decision", "one decision, asked about a person of each group")


def words_of(parts: Iterable[Part]) -> Words:
    """Return what to call the group words of all these parts: pronouns only where every example names its own."""
    parts = list(parts)
    if parts and all(is_decision(part) for part in parts):
        return DECISION
    if parts and all(map(_exchanges_people, parts)):
        return ROLES
    return PRONOUN if all(part.has_items and part.has_pronouns for part in parts) else GROUP_WORD


def is_decision(part: Part) -> bool:
    """Return whether every answer decides about a person: one of them is good for them."""
    return part.has_items and bool((part.outcomes.good != ABSENT).all())


def _exchanges_people(part: Part) -> bool:
    """Return whether every question is about two people whose places are exchanged, as in BBQ."""
    return part.has_items and "polarity" in part.outcomes.groups and bool((part.outcomes.group("polarity") != "").all())


def sentences(kind: str) -> str:
    """Return what the items of a type are called: "ambiguous sentences"."""
    if kind in DECISIONS:
        return f"{kind} decisions"
    return "sentences that the group word decides" if kind == DECIDED else f"{adjective(kind)}sentences"


def adjective(kind: str) -> str:
    """Return the word for a type before a noun, with its space: "ambiguous "; nothing where items have no type."""
    return "" if not kind else f"{kind_title(kind).partition(' (')[0]} "


def ways(variants: Iterable[str]) -> str:
    """Return what the variants of a question are: "option orders", "wordings", or "ways to ask" where they are both."""
    parts = {part.partition("=")[0] for variant in variants for part in variant.split(",") if part}
    return {frozenset({"seed"}): "option orders", frozenset({"wording"}): "wordings"}.get(
        frozenset(parts), "ways to ask"
    )
