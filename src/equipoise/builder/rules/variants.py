"""The counterfactual variants of a sentence: every other set of pronouns, and every other identity marker.

Where the grammar leaves a variant open ("her lunch", "they need"), the sentence is set aside instead of guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...datasets.agreement import Unresolved, agreeing
from ...datasets.markers import Attribute, Marker
from ...datasets.pronouns import Found
from ..pronoun_sets import FORMS, PronounSet, mentions_of, set_of
from ..steps import Variant
from .counterparts import her_form

_ARTICLE = re.compile(r"(?<![\w-])(an?)\s+$", re.IGNORECASE)


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
        after = agreeing(after, plural=new.plural)
    return f"{before}{word.capitalize() if text[mention.start].isupper() else word}{after}"


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
