"""The words of a dataset: a two-sided list, by default the 40 occupations, with its pairs; and sets of pronouns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..datasets.occupations import OCCUPATIONS, Finder
from ..datasets.pronouns import KNOWN, Found, PronounSet
from ..datasets.rows import read_rows
from ..records import DatasetError

HE, SHE, THEY = (KNOWN[name] for name in ("he", "she", "they"))

MIN_GAP = 10.0
"""Two occupations make a pair if their shares of women differ by more than this many points."""

_NAMES = ("word", "occupation", "name")
_SHARES = ("share", "female_share")


@dataclass(frozen=True, slots=True)
class Word:
    """A word, its stereotype ("male" or "female"), and the share of women in per cent, if known."""

    name: str
    side: str
    share: float | None


@dataclass(frozen=True)
class WordList:
    """The words by name, in the order of the list, and a finder for them."""

    name: str
    words: Mapping[str, Word]
    find: Finder

    def pairs(self, min_gap: float = MIN_GAP) -> list[tuple[Word, Word]]:
        """Return the (male, female) pairs whose shares differ by more than `min_gap`; unknown shares pass."""
        males = [word for word in self.words.values() if word.side == "male"]
        females = [word for word in self.words.values() if word.side == "female"]
        return [
            (male, female)
            for male in males
            for female in females
            if male.share is None or female.share is None or abs(female.share - male.share) > min_gap
        ]

    def side(self, name: str) -> str:
        """Return the stereotype of the word, "male" or "female"."""
        return self.words[name].side


def occupations() -> WordList:
    """Return the 40 occupations of the UCerF paper's Table 3."""
    words = {job.name: Word(job.name, job.side, float(job.female_share)) for job in OCCUPATIONS.values()}
    return WordList("occupations", words, Finder(words))


def read_wordlist(path: Path) -> WordList:
    """Return the list of a table with columns word, side (male or female) and optionally share (in per cent)."""
    table = read_rows(path)
    name_column = next((name for name in _NAMES if name in table.columns), None)
    share_column = next((name for name in _SHARES if name in table.columns), None)
    if name_column is None or "side" not in table.columns:
        raise DatasetError(f"{table.file}: a word list needs the columns word and side, and has {list(table.columns)}")
    words: dict[str, Word] = {}
    for row in table.rows:
        where = f"{table.file}:{row.line}"
        name, side = str(row.cells[name_column]).strip(), str(row.cells["side"]).strip().lower()
        if not name or name.lower() in {known.lower() for known in words}:
            raise DatasetError(f"{where}: the word {name!r} is empty or a duplicate")
        if side not in ("male", "female"):
            raise DatasetError(f"{where}: side {side!r} is neither male nor female")
        words[name] = Word(name, side, _share(where, row.cells[share_column]) if share_column else None)
    if {word.side for word in words.values()} != {"male", "female"}:
        raise DatasetError(f"{table.file}: a two-sided list needs words of both sides")
    return WordList(path.stem, words, Finder(words))


def _share(where: str, value: object) -> float | None:
    text = str(value).strip().rstrip("%")
    if not text:
        return None
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 100:
        raise DatasetError(f"{where}: share {value!r} is not a percentage from 0 to 100")
    return share


def mentions_of(text: str, sets: Iterable[PronounSet]) -> list[Found]:
    """Return every pronoun of these sets in the text, as whole words in any case, in order."""
    pattern = _pattern(frozenset(word for pronouns in sets for word in pronouns.words))
    return [Found(m.start(), m.end(), m.group().lower()) for m in pattern.finditer(text)]


@cache
def _pattern(words: frozenset[str]) -> re.Pattern[str]:
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])", re.IGNORECASE)


def set_of(word: str, sets: Iterable[PronounSet]) -> PronounSet | None:
    """Return the first set that has the word."""
    return next((pronouns for pronouns in sets if word.lower() in pronouns.words), None)
