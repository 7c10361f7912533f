"""The 40 occupations of WinoBias and SynthBias (UCerF paper, Table 3), and where a text names them.

`occupations.csv` holds the share of women in each in per cent (U.S. Bureau of Labor Statistics, as the paper
prints it); `side` is "female" where it is over 50, and agrees with the two occupation lists of WinoBias.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

from .. import packaged
from ..records import Floats, Strings
from ..records.scripts import find_word

Side = Literal["male", "female"]


@dataclass(frozen=True, slots=True)
class Occupation:
    """An occupation, the share of women in it in per cent, and which gender's stereotype it is."""

    name: str
    female_share: int
    side: Side


class Mention(NamedTuple):
    """Where a text names an occupation, and its canonical name."""

    start: int
    end: int
    name: str


def _read() -> Mapping[str, Occupation]:
    text = packaged.text(__package__, "occupations.csv")
    table = {}
    for row in csv.DictReader(text.splitlines()):
        side: Side = "female" if row["side"] == "female" else "male"
        table[row["occupation"]] = Occupation(row["occupation"], int(row["female_share"]), side)
    return MappingProxyType(table)


OCCUPATIONS: Mapping[str, Occupation] = _read()
"""Name -> occupation, in the order of Table 3 (fewest women first)."""


def _plural(name: str) -> str:
    if name == "salesperson":
        return "salespeople"
    return f"{name[:-1]}ies" if re.search(r"[^aeiou]y$", name) else f"{name}s"


_CANONICAL = {name.lower(): name for name in OCCUPATIONS}


class AnyCase:
    """A pattern in lower case, found in any case; ASCII texts are searched in lower case, which takes half the time."""

    def __init__(self, pattern: str) -> None:
        self._lower, self._any = re.compile(pattern), re.compile(pattern, re.IGNORECASE)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Return the matches; of an ASCII text they are in lower case."""
        return self._lower.finditer(text.lower()) if text.isascii() else self._any.finditer(text)


def _pattern(words: Iterable[str]) -> AnyCase:
    # Longest first, so that of two names that overlap the longer one counts. A hyphen joins a word: a
    # "co-writer" is not a writer. The apostrophe does not: "the writer's desk" names the writer.
    longest_first = sorted(words, key=len, reverse=True)
    return AnyCase(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])")


class Finder:
    """Finds the names of a list in a text, as whole words in any case; what `mentions` does for the 40."""

    def __init__(self, names: Iterable[str]) -> None:
        self._canonical = {name.lower(): name for name in names}
        self._plurals = {_plural(name).lower(): name for name in self._canonical.values()}
        self._singular = _pattern(self._canonical)
        self._any_number = _pattern([*self._canonical, *self._plurals])

    def __call__(self, text: str, *, plurals: bool = False) -> list[Mention]:
        """Return where the text names one of the list, in order of mention; plurals only if asked for."""
        pattern = self._any_number if plurals else self._singular
        return [Mention(m.start(), m.end(), self._name(m.group().lower())) for m in pattern.finditer(text)]

    def _name(self, word: str) -> str:
        return self._canonical.get(word) or self._plurals[word]


def _words(file: str) -> list[str]:
    return packaged.text(__package__, file).split()


_FIND = Finder(OCCUPATIONS)
_FIND_PEOPLE = Finder(_words("people_nouns.txt"))


def _phrase() -> re.Pattern[str]:
    # "the marine biologist": at most two words before the noun, the fewest that reach one, and no small words.
    modifier = r"(?!(?:the|an?|and|or|that|to|by|in|of|for|with|if|as|was|had|person|someone) )[\w-]+ "
    return re.compile(
        rf"(?<![\w-])(?:the|an?) ((?:{modifier}){{0,2}}?(?:{'|'.join(_words('occupation_nouns.txt'))}))(?![\w-])",
        re.IGNORECASE,
    )


_PHRASE = _phrase()


def phrases(text: str) -> list[Mention]:
    """Return where the text names an occupation after an article, of the 40 or not, such as "the marine biologist"."""
    return [Mention(match.start(1), match.end(1), _lower(match[1])) for match in _PHRASE.finditer(text)]


def people(text: str) -> list[Mention]:
    """Return where the text names a person by kinship or another role, such as "the aunt" or "the patient"."""
    return _FIND_PEOPLE(text)


def _lower(name: str) -> str:
    return " ".join(word if word.isupper() else word.lower() for word in name.split())


def named(text: str) -> str:
    """Return the occupation that a sentence is about: the only one of the 40, else its subject or the only other."""
    several = list(dict.fromkeys(mention.name for mention in mentions(text)))
    if not several:
        others = phrases(text)
        several = list(dict.fromkeys(mention.name for mention in others))
        if others and not text[: others[0].start].strip().count(" "):
            return others[0].name
    return several[0] if len(several) == 1 else ""


@lru_cache(maxsize=4096)
def side(name: str) -> Side | None:
    """Return whose stereotype the occupation is, "male" or "female", or None if it is not one of the 40."""
    known = OCCUPATIONS.get(_CANONICAL.get(name.strip().lower(), ""))
    return known.side if known else None


def mentions(text: str, *, plurals: bool = False) -> list[Mention]:
    """Return where the text names one of the 40, as whole words in any case, in order of mention.

    A plural ("nurses") is not a mention of the singular unless asked for: a pronoun cannot refer to it.
    """
    return _FIND(text, plurals=plurals)


def third_occupations(text: str, candidates: Sequence[str], *, plurals: bool = False) -> list[str]:
    """Return the occupations that the text names beyond the candidates, in order of mention."""
    expected = {candidate.lower() for candidate in candidates}
    named = dict.fromkeys(mention.name for mention in mentions(_without_longer(text, candidates), plurals=plurals))
    return [name for name in named if name.lower() not in expected]


def _without_longer(text: str, candidates: Sequence[str]) -> str:
    """Return the text with marks over candidates of several words: "registered nurse" names no further nurse."""
    for candidate in candidates:
        for start, end in find_word(text, candidate) if " " in candidate else ():
            text = f"{text[:start]}{'_' * (end - start)}{text[end:]}"
    return text


_PEOPLE = (
    "patient|client|customer|student|pupil|colleague|coworker|friend|neighbou?r|guest|visitor|passenger|buyer|shopper"
    "|tenant|boss|employee|employer|intern|trainee|applicant|stranger|victim|witness|suspect|defendant|plaintiff|donor"
    "|child|baby|boy|girl|man|woman|roommate|partner|director|owner|landlord|homeowner|bystander|resident"
)
_THINGS = (
    "service|care|satisfaction|support|base|list|meeting|records?|room|feedback|complaints?|orders?|relations"
    "|files?|charts?|reports?"
)
_PERSON = AnyCase(
    rf"(?<![\w-])(?:the|an?|another|one|every|each|this|that)\s+(?:[a-z]+\s+)?({_PEOPLE})(?![\w-])(?!\s+(?:{_THINGS})\b)"
)


def third_people(text: str, candidates: Sequence[str]) -> list[str]:
    """Return the single people that the text names beyond the candidates by a common word, in order of mention."""
    expected = {candidate.lower() for candidate in candidates}
    named = dict.fromkeys(match[1].lower() for match in _PERSON.finditer(_without_longer(text, candidates)))
    return [name for name in named if name not in expected]


_BEGUN = {
    **{name.lower().split()[0].encode(): name.lower() for name in OCCUPATIONS},
    **{word.encode(): word for word in (*_PEOPLE.replace("u?", "").split("|"), "neighbour")},
}
"""The first word of each of the 40, and the words for other people, which are all different -> the name."""
_FIRST_WORDS = frozenset(_BEGUN)


def names_others(words: bytes, candidates: tuple[str, ...]) -> bool:
    """Return whether a text may name one of the 40, or other single people, beyond the candidates.

    Quickly, as most texts do not: `words` is the text `spaced`.
    """
    return not words or not _FIRST_WORDS.intersection(words.split()) <= _first_words(candidates)


@lru_cache(maxsize=4096)
def _first_words(candidates: tuple[str, ...]) -> frozenset[bytes]:
    """Return the words with which a text names the candidates that are among the 40 or the other people."""
    expected = {candidate.lower() for candidate in candidates}
    return frozenset(word for word, name in _BEGUN.items() if name in expected)


def stereotyped(candidates: Sequence[str], gender: str) -> int | None:
    """Return the index of the one candidate whose side is that gender; None if there is not exactly one."""
    matching = [index for index, name in enumerate(candidates) if side(name) == gender]
    return matching[0] if len(matching) == 1 else None


def workforce_imbalance(occupation: Strings) -> Floats:
    """Return |share of women - 1/2| x 2 of each item's occupation; NaN where it is not one of the 40."""
    known = {name: abs(job.female_share - 50) / 50 for name, job in OCCUPATIONS.items()}
    return np.array([known.get(str(name), np.nan) for name in occupation], dtype=np.float64)
