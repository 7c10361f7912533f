"""Sets of third-person pronouns: he, she, they, neopronouns, or a user's own, in the five forms of a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from .steps import BuildError

FORMS = ("subject", "object", "possessive", "reflexive")


@dataclass(frozen=True, slots=True)
class PronounSet:
    """One set of pronouns; `group` names the people in results, `plural` marks verbs as in "they were"."""

    subject: str
    object: str
    possessive: str
    reflexive: str
    group: str
    plural: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the set, without repeats."""
        return tuple(dict.fromkeys((self.subject, self.object, self.possessive, self.reflexive)))

    def in_form(self, form: str) -> str:
        """Return the pronoun in this form."""
        return str(getattr(self, form))


HE = PronounSet("he", "him", "his", "himself", "male")
SHE = PronounSet("she", "her", "her", "herself", "female")
THEY = PronounSet("they", "them", "their", "themself", "neutral", plural=True)
KNOWN = {
    pronouns.subject: pronouns
    for pronouns in (
        HE,
        SHE,
        THEY,
        PronounSet("xe", "xem", "xyr", "xemself", "xe"),
        PronounSet("ze", "zir", "zir", "zirself", "ze"),
        PronounSet("ey", "em", "eir", "emself", "ey"),
        PronounSet("fae", "faer", "faer", "faerself", "fae"),
    )
}
"""Sets by their subject form. Others are written as subject/object/possessive/reflexive."""


class Mention(NamedTuple):
    """Where a text has a pronoun, and the pronoun in lower case."""

    start: int
    end: int
    word: str


def parse_pronouns(names: Sequence[str]) -> tuple[PronounSet, ...]:
    """Return the sets by name ("they") or written out ("ve/ver/vis/verself"); at least two different ones."""
    sets = tuple(dict.fromkeys(_parse(name.strip().lower()) for name in names if name.strip()))
    if len(sets) < 2:
        raise BuildError("at least two sets of pronouns are needed, such as he and they")
    return sets


def _parse(name: str) -> PronounSet:
    if name in KNOWN:
        return KNOWN[name]
    forms = name.split("/")
    if len(forms) != 4 or not all(re.fullmatch(r"[^\W\d_]+", form) for form in forms):
        names = ", ".join(KNOWN)
        raise BuildError(f"unknown pronouns {name!r}; known: {names}, or subject/object/possessive/reflexive")
    known = KNOWN.get(forms[0])
    written = (known.subject, known.object, known.possessive, known.reflexive) if known else ()
    return known if known and written == tuple(forms) else PronounSet(forms[0], forms[1], forms[2], forms[3], forms[0])


def mentions_of(text: str, sets: Iterable[PronounSet]) -> list[Mention]:
    """Return every pronoun of these sets in the text, as whole words in any case, in order."""
    pattern = _pattern(frozenset(word for pronouns in sets for word in pronouns.words))
    return [Mention(m.start(), m.end(), m.group().lower()) for m in pattern.finditer(text)]


@cache
def _pattern(words: frozenset[str]) -> re.Pattern[str]:
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])", re.IGNORECASE)


def set_of(word: str, sets: Iterable[PronounSet]) -> PronounSet | None:
    """Return the first set that has the word."""
    return next((pronouns for pronouns in sets if word.lower() in pronouns.words), None)
