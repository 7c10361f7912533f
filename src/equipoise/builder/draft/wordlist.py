"""The two-sided list of words a dataset is about, and which of them make a pair: by default the 40 occupations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...datasets.occupations import OCCUPATIONS, Finder
from ...datasets.rows import read_rows
from ...records import DatasetError

MIN_GAP = 10.0
"""Points by which the shares of women in two occupations must differ, more than this, to make a pair."""

_NAMES = ("word", "occupation", "name")
_SHARES = ("share", "female_share")


@dataclass(frozen=True, slots=True)
class Word:
    """A word, whose stereotype it is ("male" or "female"), and the share of women in per cent, if known."""

    name: str
    side: str
    share: float | None


@dataclass(frozen=True)
class WordList:
    """The words by name, in the list's order, and what finds them in a text."""

    name: str
    words: Mapping[str, Word]
    find: Finder

    def pairs(self, min_gap: float = MIN_GAP) -> list[tuple[Word, Word]]:
        """Return every male- and female-stereotyped pair whose shares differ by more than that; unknown shares pass."""
        males = [word for word in self.words.values() if word.side == "male"]
        females = [word for word in self.words.values() if word.side == "female"]
        return [
            (male, female)
            for male in males
            for female in females
            if male.share is None or female.share is None or abs(female.share - male.share) > min_gap
        ]

    def side(self, name: str) -> str:
        """Return whose stereotype the word is."""
        return self.words[name].side


def occupations() -> WordList:
    """Return the 40 occupations of the UCerF paper's Table 3."""
    words = {one.name: Word(one.name, one.side, float(one.female_share)) for one in OCCUPATIONS.values()}
    return WordList("occupations", words, Finder(words))


def read_wordlist(path: Path) -> WordList:
    """Return the list in a table with the columns word, side (male or female) and, if it likes, share (in per cent)."""
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
            raise DatasetError(f"{where}: the word {name!r} is empty or stands twice")
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
        raise DatasetError(f"{where}: share {value!r} is no percentage from 0 to 100")
    return share
