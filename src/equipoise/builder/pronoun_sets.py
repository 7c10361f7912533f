"""The pronouns of a dataset being built: the sets chosen, and where a text has their words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from ..datasets.pronouns import FORMS as FORMS
from ..datasets.pronouns import KNOWN as KNOWN
from ..datasets.pronouns import PronounSet as PronounSet
from ..datasets.pronouns import pronoun_sets
from ..records import DatasetError
from .steps import BuildError

HE, SHE, THEY = (KNOWN[name] for name in ("he", "she", "they"))


class Mention(NamedTuple):
    """Where a text has a pronoun, and the pronoun in lower case."""

    start: int
    end: int
    word: str


def parse_pronouns(names: Sequence[str]) -> tuple[PronounSet, ...]:
    """Return the sets by name ("they"), written out ("ve/ver/vis/verself") or of a file; at least two of them."""
    try:
        return pronoun_sets(names)
    except DatasetError as error:
        raise BuildError(str(error)) from None


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
