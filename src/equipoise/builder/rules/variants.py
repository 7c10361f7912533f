"""The counterfactual variants of a sentence: every other set of pronouns, and every other identity marker.

Where the grammar leaves a variant open ("her lunch", "they need"), the sentence is set aside instead of guessed.
`swapped` compares our variants with those of a published dataset.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...datasets import Dataset
from ...datasets.agreement import Unresolved, agreeing, is_inverted
from ...datasets.markers import Attribute, Marker
from ...datasets.pronouns import FORMS, Found, PronounSet, pronouns_in
from ...records import Example, grouped
from ..steps import Variant
from ..wordlist import HE, SHE, mentions_of
from .her import her_form, is_without_noun

_ARTICLE = re.compile(r"(?<![\w-])(an?)\s+$", re.IGNORECASE)


def form_of(text: str, mention: Found, pronouns: PronounSet) -> str:
    """Return the form of the pronoun in this sentence; raise Unresolved if it can be object or possessive."""
    forms = [form for form in FORMS if pronouns.in_form(form) == mention.word]
    if forms == ["possessive"] and is_without_noun(text, mention):
        raise Unresolved(f"'{mention.word}' has no noun after it: its counterpart can be 'hers'")
    if len(forms) == 1:
        return forms[0]
    return her_form(text, mention)


def with_pronouns(text: str, mention: Found, form: str, new: PronounSet, old: PronounSet) -> str:
    """Return the sentence with the pronoun of the new set; a verb after a subject is made to agree."""
    word = new.in_form(form)
    before, after = text[: mention.start], text[mention.end :]
    if form == "subject" and new.plural is not old.plural:
        if is_inverted(before):
            raise Unresolved("a verb that agrees with the pronoun comes before it")
        after = agreeing(after, plural=new.plural)
    return f"{before}{word.capitalize() if text[mention.start].isupper() else word}{after}"


def variants_of(
    text: str, target: str, sets: Sequence[PronounSet], attribute: Attribute | None = None, marker: str = ""
) -> tuple[str, list[Variant]]:
    """Return the form of the pronoun, and the variants with other pronouns and markers, unmarked included."""
    mentions = mentions_of(text, sets)
    if len(mentions) != 1:
        raise Unresolved(f"has {len(mentions)} of the chosen pronouns; exactly one can be swapped")
    (place,) = mentions
    old = next(pronouns for pronouns in sets if place.word in pronouns.words)
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


@dataclass(frozen=True, slots=True)
class Swapped:
    """How often our counterpart equals the dataset's, for one pronoun."""

    pronoun: str
    pairs: int
    equal: int
    other: int
    aside: int

    @property
    def share(self) -> float:
        """The share of equal counterparts among those made; sentences set aside do not count."""
        made = self.equal + self.other
        return self.equal / made if made else float("nan")


def swapped(dataset: Dataset) -> list[Swapped]:
    """Return how often swapping a pronoun gives the sentence that the dataset pairs with it, for each pronoun."""
    pairs: Counter[str] = Counter()
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    for example, partner in _paired(dataset):
        pronoun = example.slots["pronoun"]
        pairs[pronoun] += 1
        try:
            if len(pronouns_in(example.text)) != 1:
                raise Unresolved("has several pronouns, such as a they beside a she")
            _, (ours,) = variants_of(example.text, "", (HE, SHE))
        except Unresolved:
            outcomes[pronoun]["aside"] += 1
        else:
            outcomes[pronoun]["equal" if ours.text == partner.text else "other"] += 1
    return [
        Swapped(pronoun, pairs[pronoun], counts["equal"], counts["other"], counts["aside"])
        for pronoun, counts in sorted(outcomes.items())
    ]


def _paired(dataset: Dataset) -> Iterator[tuple[Example, Example]]:
    """Yield both examples of every minimal pair, each with its partner."""
    for members in grouped(dataset.examples, lambda example: example.set_id).values():
        if len(members) == 2 and all("pronoun" in member.slots for member in members):
            yield members[0], members[1]
            yield members[1], members[0]
