"""The pronouns by form and gender, and where a text has them.

"her" is both the object ("saw her") and the possessive ("her car") of "she": the word alone does not say
which, so nothing here guesses it. The form of a "her" comes from its counterpart ("him" or "his"), or is "".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, NamedTuple

from ..records import DatasetError

Form = Literal["subject", "object", "possessive", "reflexive"]
Gender = Literal["male", "female", "neutral"]

PRONOUNS: Mapping[Form, Mapping[Gender, str]] = MappingProxyType(
    {
        "subject": {"male": "he", "female": "she", "neutral": "they"},
        "object": {"male": "him", "female": "her", "neutral": "them"},
        "possessive": {"male": "his", "female": "her", "neutral": "their"},
        "reflexive": {"male": "himself", "female": "herself", "neutral": "themself"},
    }
)

# Known by gender only: a question about these is possible, but they fill no slot of the table.
_OTHER_WORDS: Mapping[str, Gender] = {"hers": "female", "theirs": "neutral", "themselves": "neutral"}

_GENDERS: Mapping[str, Gender] = {
    **{word: gender for row in PRONOUNS.values() for gender, word in row.items()},
    **_OTHER_WORDS,
}


class Found(NamedTuple):
    """Where a text has a pronoun, and the pronoun in lower case."""

    start: int
    end: int
    word: str


def _whole(words: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, words))})(?![\w-])", re.IGNORECASE)


_ANY = _whole(_GENDERS)


def gender_of(pronoun: str) -> Gender | None:
    """Return "male", "female" or "neutral", or None for a word that is not a pronoun of the table."""
    return _GENDERS.get(pronoun.strip().lower())


@lru_cache(maxsize=1024)
def forms_of(pronoun: str) -> frozenset[Form]:
    """Return the forms the word can have: one for most, two for "her", none for a word not in the table."""
    word = pronoun.strip().lower()
    return frozenset(form for form, row in PRONOUNS.items() if word in row.values())


def form_of(pronoun: str, counterparts: Iterable[str] = ()) -> Form | Literal[""]:
    """Return the form of the pronoun, by its counterparts where the word itself leaves it open; "" if unknown."""
    possible = forms_of(pronoun)
    for other in counterparts:
        possible &= forms_of(other) or possible
    return next(iter(possible)) if len(possible) == 1 else ""


def pronoun_in_form(form: str, gender: str) -> str:
    """Return the pronoun of that form and gender, such as "her" for ("possessive", "female")."""
    for known, row in PRONOUNS.items():
        for known_gender, word in row.items():
            if (known, known_gender) == (form, gender):
                return word
    raise DatasetError(
        f"unknown pronoun of form {form!r} and gender {gender!r}; "
        f"forms are {', '.join(PRONOUNS)}, genders {', '.join(PRONOUNS['subject'])}"
    )


def pronouns_in(text: str) -> list[Found]:
    """Return every pronoun of the table in the text, as whole words in any case, in order."""
    return [Found(m.start(), m.end(), m.group().lower()) for m in _ANY.finditer(text)]


def find_pronoun(text: str, pronoun: str) -> list[Found]:
    """Return where the text has this pronoun (any word will do, such as "xe"), as a whole word in any case."""
    word = pronoun.strip()
    # Longer than the text: a pattern of a cell of ten megabytes takes a minute to compile.
    if not word or len(word) > len(text):
        return []
    return [Found(m.start(), m.end(), m.group().lower()) for m in _one_word(word).finditer(text)]


@lru_cache(maxsize=1024)
def _one_word(word: str) -> re.Pattern[str]:
    return _whole([word])
