"""The counterfactual variants of a sentence: every other set of pronouns, and every other identity marker.

Where the grammar leaves a variant open ("her lunch", "they need"), the sentence is set aside instead of guessed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from types import MappingProxyType

from ...datasets.markers import Attribute, Marker
from ...datasets.pronouns import Found
from ..pronoun_sets import FORMS, PronounSet, mentions_of, set_of
from ..steps import Variant
from .counterparts import Unresolved, her_form

_NEXT = re.compile(r"\s+([A-Za-z]+(?:['’]t)?)")
_JOINED = re.compile(r"\b(?:and|or|but)\s+(?:\w+ly\s+)?(\w+(?:['’]t)?)")
_ARTICLE = re.compile(r"(?<![\w-])(an?)\s+$", re.IGNORECASE)


def _grammar() -> tuple[Mapping[str, str], Mapping[str, frozenset[str]]]:
    content = tomllib.loads(resources.files(__package__).joinpath("agreement.toml").read_text(encoding="utf-8"))
    words = {name: frozenset(text.split()) for name, text in content["words"].items()}
    return MappingProxyType(content["pairs"]), MappingProxyType(words)


PLURALS, WORDS = _grammar()
SINGULARS = MappingProxyType({plural: singular for singular, plural in PLURALS.items()})


def form_of(text: str, mention: Found, pronouns: PronounSet) -> str:
    """Return the form of the pronoun in this sentence; raise Unresolved if it can be object or possessive."""
    forms = [form for form in FORMS if pronouns.in_form(form) == mention.word]
    if len(forms) == 1:
        return forms[0]
    return her_form(text, mention)


def with_pronouns(text: str, mention: Found, form: str, new: PronounSet, old: PronounSet) -> str:
    """Return the sentence with the pronoun of the new set; a verb after a subject is made to agree."""
    word = new.in_form(form)
    before, after = text[: mention.start], text[mention.end :]
    if form == "subject" and new.plural is not old.plural:
        after = _agreeing(after, plural=new.plural)
    return f"{before}{word.capitalize() if text[mention.start].isupper() else word}{after}"


def _agreeing(after: str, *, plural: bool) -> str:
    """Return what follows the subject with its verb in the other number; raise Unresolved where that is not sure."""
    if after[:1] in ("'", "’"):
        raise Unresolved("a contraction after the pronoun can be 'is' or 'has'")
    place = 0
    while (match := _NEXT.match(after, place)) and (match[1] in WORDS["between"] or match[1].endswith("ly")):
        place = match.end()
    if not match:
        raise Unresolved("the verb after the pronoun was not found")
    verb = match[1].replace("’", "'").lower()
    other = _plural(verb) if plural else _singular(verb)
    if other != verb:
        joined = _JOINED.search(after, match.end())
        following = joined[1].lower() if joined else ""
        if following in PLURALS or following in SINGULARS or (plural and _is_present(following)):
            raise Unresolved(f"'{verb}' is followed by a second verb, '{following}'")
    return f"{after[: match.start(1)]}{other}{after[match.end(1) :]}"


def _is_present(word: str) -> bool:
    return word.endswith("s") and not word.endswith("ss") and word not in WORDS["not_verbs"]


def _plural(verb: str) -> str:
    if verb in PLURALS:
        return PLURALS[verb]
    if not _is_present(verb):
        return verb
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    return verb[:-2] if verb.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")) else verb[:-1]


def _singular(verb: str) -> str:
    if verb in SINGULARS:
        return SINGULARS[verb]
    if verb in WORDS["unchanged"] or verb.endswith("ed"):
        return verb
    raise Unresolved(f"'they {verb}' can be present or past")


def variants_of(
    text: str, target: str, sets: Sequence[PronounSet], attribute: Attribute | None = None, marker: str = ""
) -> tuple[str, list[Variant]]:
    """Return the form of the pronoun, and the variants with other pronouns and markers, unmarked included."""
    (mention,) = mentions_of(text, sets)
    old = set_of(mention.word, sets)
    if old is None:
        raise Unresolved(f"{mention.word!r} is not in the chosen pronouns")
    place = Found(*mention)
    form = form_of(text, place, old)
    variants = []
    for pronouns in (old, *(pronouns for pronouns in sets if pronouns != old)):
        swapped = text if pronouns == old else with_pronouns(text, place, form, pronouns, old)
        for word, written in _marked(swapped, target, attribute, marker):
            variants.append(Variant(written, pronouns.in_form(form), pronouns.group, word))
    return form, variants[1:]


def _marked(text: str, target: str, attribute: Attribute | None, marker: str) -> Iterator[tuple[str, str]]:
    """Yield the marker as written first, then every other marker of its attribute, then no marker."""
    yield marker, text
    if not attribute or not marker:
        return
    at = re.search(rf"(?<![\w-]){re.escape(marker)}\s+(?={re.escape(target)}(?![\w-]))", text, re.IGNORECASE)
    if at is None:
        raise Unresolved(f"'{marker} {target}' is not in the sentence")
    nothing = Marker("", attribute.name, "", "an" if target[0].lower() in "aeiou" else "a")
    for other in (*attribute.markers, nothing):
        if other.word != marker:
            before, after = text[: at.start()], text[at.end() :]
            if article := _ARTICLE.search(before):
                fitting = other.article.capitalize() if article[1][0].isupper() else other.article
                before = before[: article.start(1)] + fitting + before[article.end(1) :]
            yield other.word, f"{before}{other.word} {after}" if other.word else f"{before}{after}"
