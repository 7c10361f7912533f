"""The people of a document, and the places that name one of them: names, titles and pronouns, each with its slot.

What the words do not say is a doubt, for a person to look at. Nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ... import packaged
from ...datasets.agreement import Unresolved, agreeing, is_inverted
from ...datasets.pronouns import KNOWN, Found, gender_of, pronouns_in
from ...datasets.proper_names import names_in
from .variants import form_of

MALE, FEMALE, NEUTRAL = "male", "female", "neutral"
NAME, SURNAME, TITLE = "name", "surname", "title"
THEY = KNOWN["they"]


def _lists() -> tuple[dict[str, str], dict[str, str], frozenset[str], frozenset[str]]:
    content = packaged.toml(__package__, "people.toml")
    titles = {title: gender for gender, words in content["titles"].items() for title in words.split()}
    doubtful = frozenset(content["names"]["doubtful"].split())
    names = dict.fromkeys(doubtful, "")
    for gender in (MALE, FEMALE, "either"):
        names |= dict.fromkeys(content["names"][gender].split(), "" if gender == "either" else gender)
    return titles, names, doubtful, frozenset(content["words"]["gendered"].split())


TITLES, NAMES, DOUBTFUL, GENDERED = _lists()
"""Titles and first names with their gender ("" for either), names that are also words, and words with a gender."""

_TITLED = "|".join(sorted(map(re.escape, TITLES), key=len, reverse=True))
_CAPITAL = r"[^\W\d_a-z](?:[^\W\d_]|['’-](?=[^\W\d_]{2}))+"
_PERSON = re.compile(
    rf"(?<![\w@.])(?:(?P<title>{_TITLED})\b\.? +)?(?P<first>{_CAPITAL})(?: +(?P<last>{_CAPITAL}))?(?![\w@])"
)
_TITLE = re.compile(rf"(?<!\w)(?:{_TITLED})(?!\w)")
_EITHER = re.compile(r"(?i)\b(?:s/he|\(s\)he|s?he/s?he|his/hers?|hers?/his|him/her|her/him)\b|\(s\)he")
_SENTENCE_END = re.compile(r"[.!?;:\n]")


@dataclass(frozen=True)
class Doubt:
    """What a person has to look at: where it is in the text, and why; an `open` one keeps the document out."""

    start: int
    what: str
    open: bool = False


@dataclass(frozen=True)
class Slot:
    """What a group's word takes the place of."""

    start: int
    end: int
    written: str


@dataclass
class Person:
    """Somebody whom the text names; `places` are the parts of the name with their slots."""

    first: str
    last: str
    gender: str
    places: list[tuple[int, int, str]] = field(default_factory=list)

    def __str__(self) -> str:
        return " ".join(filter(None, (self.first, self.last)))

    @property
    def mentions(self) -> int:
        """How often the text names this person; the parts of a name count once."""
        # "Mr. Reed" is one mention, "Paul. Paul" are two.
        return 1 + sum(start - end > 2 or slot == part for (_, end, part), (start, _, slot) in pairwise(self.places))


def people_in(text: str, known: Collection[str] = ()) -> list[Person]:
    """Return the people whom a text names by a title, a common first name or one of the `known` names."""
    people: list[Person] = []
    for match in _PERSON.finditer(text):
        if (parts := _parts(text, match, known)) is not None:
            first, last, gender = parts
            person = next((p for p in people if _is_same(p, first, last)), None)
            if person is None:
                people.append(person := Person(first, last, gender))
            person.first, person.last = person.first or first, person.last or last
            person.gender = person.gender or gender
    for person in people:
        for word, slot in ((person.first, NAME), (person.last, SURNAME)):
            places = re.finditer(rf"(?<![\w@.-]){re.escape(word)}(?![\w@-]|\.\w)", text) if word else ()
            person.places += [(place.start(), place.end(), slot) for place in places]
        person.places += [
            (title.start(), title.end(), TITLE)
            for title in _TITLE.finditer(text)
            if re.match(
                rf"\.? +(?:{re.escape(person.first or '-')}|{re.escape(person.last or '-')})\b", text[title.end() :]
            )
        ]
        person.places.sort()
    return people


def _parts(text: str, match: re.Match[str], known: Collection[str]) -> tuple[str, str, str] | None:
    """Return the first name, the surname and the gender of a match; None where it is not a person for sure."""
    title, first, last = match["title"], match["first"], match["last"] or ""
    if title is None and first in TITLES:
        return None
    if first not in NAMES and first not in known:
        if last in NAMES or last in known:  # "Dear Emily", "Hi Paul"
            return last, "", NAMES.get(last, "")
        return ("", first, TITLES[title]) if title and not last else (first, last, TITLES[title]) if title else None
    gender = TITLES[title] if title else NAMES.get(first, "")
    if first in DOUBTFUL and first not in known and not title and not last:
        return None
    if title and not last and first not in known and not re.search(rf"\b{re.escape(first)} +[A-Z]", text):
        return "", first, gender  # "Mr Lee": a surname
    return first, last, gender


def _is_same(person: Person, first: str, last: str) -> bool:
    if first and person.first:
        return first == person.first and (not last or not person.last or last == person.last)
    return (bool(last) and last == person.last) or (bool(first) and first == person.last)


@dataclass(frozen=True)
class Wanted:
    """What the groups have words for: their slots, their names, and whether one of them is *they*."""

    slots: frozenset[str]
    names: frozenset[str] = frozenset()
    plural: bool = False


@dataclass(frozen=True)
class Slotted:
    """A text with slots, how many there are, and what a person has to look at, in order."""

    text: str
    slots: int
    doubts: tuple[Doubt, ...]

    @property
    def is_open(self) -> bool:
        """Whether a person has to decide something first."""
        return any(doubt.open for doubt in self.doubts)


def slotted(text: str, wanted: Wanted) -> Slotted:
    """Return the text with a slot for every word that names the person whom it is about."""
    people = people_in(text, wanted.names)
    doubts = list(_written_doubts(text, people))
    person, gender, chosen = _subject(text, people)
    doubts += chosen
    slots: list[Slot] = []
    if person is not None:
        slots += [Slot(start, end, f"{{{slot}}}") for start, end, slot in person.places if slot in wanted.slots]
        doubts += _name_doubts(text, person, wanted)
    for pronoun in pronouns_in(text):
        if gender_of(pronoun.word) != gender:
            continue
        try:
            slots += _pronoun_slots(text, pronoun, gender, plural=wanted.plural)
        except Unresolved as error:
            doubts.append(Doubt(pronoun.start, str(error), open=True))
    if not slots and not any(doubt.open for doubt in doubts):
        doubts.append(Doubt(0, "nothing in it names a person: no name, title or pronoun that is known", open=True))
    for slot in sorted(slots, key=lambda slot: -slot.start):
        text = f"{text[: slot.start]}{slot.written}{text[slot.end :]}"
    return Slotted(text, len(slots), tuple(sorted(set(doubts), key=lambda doubt: (doubt.start, doubt.what))))


def _subject(text: str, people: Sequence[Person]) -> tuple[Person | None, str, list[Doubt]]:
    """Return the person whom a text is about, the gender of the pronouns that mean this person, and what is doubtful.

    Of several people it is the one named most often; a pronoun means that person only where nobody else can be meant.
    """
    pronouns = [pronoun for pronoun in pronouns_in(text) if gender_of(pronoun.word) in (MALE, FEMALE)]
    genders = list(dict.fromkeys(gender_of(pronoun.word) or "" for pronoun in pronouns))
    person = max(people, key=lambda p: (p.mentions, -p.places[0][0]), default=None)
    others = [other for other in people if other is not person]
    gender = person.gender if person else ""
    if not gender and len(genders) == 1 and not others:
        gender = genders[0]
    doubts = [
        Doubt(other.places[0][0], f"names a second person, {other}, who is left as is; {person} is varied")
        for other in others
    ]
    if len(genders) > 1 and not (gender and any(other.gender not in (gender, "") for other in others)):
        doubts.append(Doubt(pronouns[0].start, "has both he and she, and it is not clear who is who", open=True))
    elif gender and gender in genders and any(other.gender in (gender, "") for other in others):
        place = next(pronoun for pronoun in pronouns if gender_of(pronoun.word) == gender)
        doubts.append(Doubt(place.start, f"{place.word!r} can mean {person} or {others[0]}", open=True))
    elif genders and gender not in genders and not others:
        doubts.append(Doubt(pronouns[0].start, f"{pronouns[0].word!r} does not fit {person}", open=True))
    elif len(genders) > 1:
        other = next(pronoun for pronoun in pronouns if gender_of(pronoun.word) != gender)
        what = f"{other.word!r} means somebody else; with the same pronoun for {person} it is not clear who is who"
        doubts.append(Doubt(other.start, what, open=True))
    elif genders and not gender:
        doubts.append(Doubt(pronouns[0].start, f"whom {pronouns[0].word!r} means is not clear", open=True))
    return person, gender, doubts


def _pronoun_slots(text: str, pronoun: Found, gender: str, *, plural: bool) -> Iterator[Slot]:
    """Yield the slot of a pronoun and, where a group is *they*, that of the verb after it."""
    old = KNOWN["he" if gender == MALE else "she"]
    if pronoun.word == "hers":
        raise Unresolved("'hers' has no noun after it: its counterpart can be 'his'")
    written = text[pronoun.start : pronoun.end]
    if len(written) > 1 and written.isupper():
        raise Unresolved(f"{written!r} is in capitals")
    form = form_of(_line(text, pronoun), _in_line(text, pronoun), old)
    word = THEY.in_form(form)
    yield Slot(pronoun.start, pronoun.end, f"{{{word.capitalize() if written[0].isupper() else word}}}")
    if form == "subject" and plural:
        before, after = text[: pronoun.start], _SENTENCE_END.split(text[pronoun.end :], maxsplit=1)[0]
        if is_inverted(_SENTENCE_END.split(before)[-1]):
            raise Unresolved(f"a verb that agrees with {written!r} comes before it")
        yield from _verb_slots(pronoun.end, after, agreeing(after, plural=True))


def _verb_slots(start: int, after: str, changed: str) -> Iterator[Slot]:
    """Yield the slot of the one word in which two texts differ."""
    for word in re.finditer(r"[^\W\d_]+(?:['’]t)?", after):
        rest = after[word.end() :]
        if changed.startswith(after[: word.start()]) and changed.endswith(rest) and changed != after:
            other = changed[word.start() : len(changed) - len(rest)]
            yield Slot(start + word.start(), start + word.end(), f"{{{word[0]}|{other}}}")
            return


def _line(text: str, pronoun: Found) -> str:
    return text[text.rfind("\n", 0, pronoun.start) + 1 :].split("\n")[0]


def _in_line(text: str, pronoun: Found) -> Found:
    offset = text.rfind("\n", 0, pronoun.start) + 1
    return Found(pronoun.start - offset, pronoun.end - offset, pronoun.word)


def _name_doubts(text: str, person: Person, wanted: Wanted) -> Iterator[Doubt]:
    """Yield where a name or title would stay as it is, although it says who the person is."""
    for start, end, slot in person.places:
        if slot not in wanted.slots and slot != SURNAME:
            yield Doubt(start, f"the groups have no slot {slot!r} for {text[start:end]!r}", open=True)
    for word in filter(None, (person.first, person.last if SURNAME in wanted.slots else "")):
        for place in re.finditer(re.escape(word), text, re.IGNORECASE):
            if all(place.start() != start for start, _, _ in person.places):
                yield Doubt(place.start(), f"{word!r} is also a part of {_around(text, place)!r}, which is left as is")


def _around(text: str, place: re.Match[str]) -> str:
    start, end = place.span()
    while start and not text[start - 1].isspace():
        start -= 1
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[start:end].strip(".,;:()<>")


def _written_doubts(text: str, people: Sequence[Person]) -> Iterator[Doubt]:
    """Yield what the words themselves leave open, whoever is meant."""
    for brace in re.finditer(r"[{}]", text):
        yield Doubt(brace.start(), "has a brace, which would begin a slot", open=True)
        break
    for either in _EITHER.finditer(text):
        yield Doubt(either.start(), f"has {either[0]!r} for either gender", open=True)
    if neutral := [pronoun for pronoun in pronouns_in(text) if gender_of(pronoun.word) == NEUTRAL]:
        pronouns = ", ".join(dict.fromkeys(pronoun.word for pronoun in neutral))
        yield Doubt(neutral[0].start, f"can mean one person or several, and stays as it is: {pronouns}")
    for word in re.finditer(r"[^\W\d_]+", text):
        if word[0].lower() in GENDERED:
            yield Doubt(word.start(), f"{word[0]!r} says a gender, and is left as is")
    for title in _TITLE.finditer(text):
        if not any(start == title.start() for person in people for start, _, _ in person.places):
            yield Doubt(title.start(), f"{title[0]!r} has no name that is known after it, and is left as is")
    taken = {word for person in people for word in str(person).split()}
    for word in re.finditer(r"[^\W\d_]+", text):
        if word[0] in DOUBTFUL - taken:
            yield Doubt(word.start(), f"{word[0]!r} can be a name or a word, and is left as is")
    if unknown := [name for name in _unknown(text) if not (taken | DOUBTFUL) & set(name.split())]:
        yield Doubt(text.find(unknown[0]), f"names that are not known are left as is: {', '.join(unknown)}")


def _unknown(text: str) -> list[str]:
    """Return what is written as a name; a single capital that begins a line or a sentence is none."""
    names = [name for line in text.splitlines() for name in names_in(line) if name.split()[-1] not in TITLES]
    begun = re.compile(r"(?:^|[.!?:]\s+|\n)[^\w\n]*$")
    return [n for n in dict.fromkeys(names) if " " in n or not begun.search(text[: text.find(n)])]
