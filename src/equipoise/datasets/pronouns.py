"""Third-person pronouns: sets of them in four forms (`pronouns.toml`, or a user's own), and where a text has them.

"her" is both the object ("saw her") and the possessive ("her car") of "she": the word alone does not say
which, so nothing here guesses it. The form of a "her" comes from its counterpart ("him" or "his"), or is "".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from .. import packaged
from ..records import DatasetError
from ..records.scripts import find_word, is_word, lowered
from .rows import parse_toml, read_text

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
        if form not in FORMS:
            raise DatasetError(f"unknown form {form!r}; forms are {', '.join(FORMS)}")
        return str(getattr(self, form))


def read_pronouns(file: str, text: str) -> dict[str, PronounSet]:
    """Return the sets of a TOML text by their subject form; an error names the file and the set."""
    content = parse_toml(file, text)
    return {subject: _from_fields(file, subject, fields) for subject, fields in content.items()}


def _from_fields(file: str, subject: str, fields: Any) -> PronounSet:
    if not isinstance(fields, dict):
        raise DatasetError(f"{file}: {subject!r} is not a section such as [xe]")
    unknown = set(fields) - {*FORMS[1:], "group", "plural"}
    if unknown:
        raise DatasetError(
            f"{file}: [{subject}] has {min(unknown)!r}; it can have object, possessive, reflexive, group, plural"
        )
    forms = {form: str(fields.get(form, "")).lower() for form in FORMS[1:]} | {"subject": subject.lower()}
    for form in FORMS:
        if not is_word(forms[form]):
            raise DatasetError(f"{file}: [{subject}] needs a word as {form}, not {forms[form]!r}")
    return PronounSet(**forms, group=str(fields.get("group", subject)), plural=bool(fields.get("plural", False)))


def _ours() -> Mapping[str, PronounSet]:
    text = packaged.text(__package__, "pronouns.toml")
    return MappingProxyType(read_pronouns("pronouns.toml", text))


KNOWN = _ours()
"""Sets by their subject form."""


def pronoun_sets(names: Sequence[str]) -> tuple[PronounSet, ...]:
    """Return the sets by name ("they"), written out ("ve/ver/vis/verself"), or all of a TOML file ("mine.toml").

    At least two different ones are needed to compare.
    """
    sets = tuple(dict.fromkeys(pronouns for name in names if name.strip() for pronouns in _parse(name.strip())))
    if len(sets) < 2 or len({pronouns.group for pronouns in sets}) < len(sets):
        raise DatasetError(f"at least two different pronouns are needed to compare, not {', '.join(names)}")
    return sets


def _parse(name: str) -> Iterator[PronounSet]:
    if name.lower().endswith(".toml"):
        yield from read_pronouns(Path(name).name, read_text(Path(name))).values()
        return
    forms = name.lower().split("/")
    known = KNOWN.get(forms[0])
    if known and (len(forms) == 1 or forms == [known.in_form(form) for form in FORMS]):
        yield known
        return
    if len(forms) != 4 or not all(map(is_word, forms)):
        names = ", ".join(KNOWN)
        raise DatasetError(
            f"unknown pronouns {name!r}; known: {names}, subject/object/possessive/reflexive, or a TOML file"
        )
    yield PronounSet(forms[0], forms[1], forms[2], forms[3], forms[0])


def group_of(word: str) -> str | None:
    """Return the group of the first known set that has the word, None for a word of no set."""
    return next((pronouns.group for pronouns in KNOWN.values() if word.strip().lower() in pronouns.words), None)


PRONOUNS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {form: {KNOWN[name].group: KNOWN[name].in_form(form) for name in ("he", "she", "they")} for form in FORMS}
)
"""Form -> gender (male, female, neutral) -> pronoun."""


def side_words(sides: str, form: str) -> list[str]:
    """Return the pronouns of sides ("male|female") in a form; a side that is not a gender stays as it is."""
    return [PRONOUNS.get(form, {}).get(side, side) for side in sides.split("|")]


# Known by gender only: a question about these is possible, but they fill no slot of the table.
_OTHER_WORDS: Mapping[str, str] = {"hers": "female", "theirs": "neutral", "themselves": "neutral"}

_GENDERS: Mapping[str, str] = {
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


def gender_of(pronoun: str) -> str | None:
    """Return "male", "female" or "neutral", or None for a word that is not a pronoun of the table."""
    return _GENDERS.get(pronoun.strip().lower())


@lru_cache(maxsize=1024)
def forms_of(pronoun: str) -> frozenset[str]:
    """Return the forms the word can have: one for most, two for "her", none for a word not in the table."""
    word = pronoun.strip().lower()
    return frozenset(form for form, row in PRONOUNS.items() if word in row.values())


def form_of(pronoun: str, counterparts: Iterable[str] = ()) -> str:
    """Return the form of the pronoun, by its counterparts where the word itself leaves it open; "" if unknown."""
    possible = forms_of(pronoun)
    for other in counterparts:
        possible &= forms_of(other) or possible
    return next(iter(possible)) if len(possible) == 1 else ""


def pronoun_in_form(form: str, gender: str) -> str:
    """Return the pronoun of that form and gender, such as "her" for ("possessive", "female")."""
    if gender in PRONOUNS.get(form, {}):
        return PRONOUNS[form][gender]
    raise DatasetError(
        f"unknown pronoun of form {form!r} and gender {gender!r}; "
        f"forms are {', '.join(PRONOUNS)}, genders {', '.join(PRONOUNS['subject'])}"
    )


def pronouns_in(text: str) -> list[Found]:
    """Return every pronoun of the table in the text, as whole words in any case, in order."""
    return [Found(m.start(), m.end(), m.group().lower()) for m in _ANY.finditer(text)]


def find_pronoun(text: str, pronoun: str) -> list[Found]:
    """Return where the text has this pronoun (any word will do, such as "xe"), as a whole word in any case."""
    return [Found(start, end, lowered(text[start:end])) for start, end in find_word(text, pronoun.strip())]
