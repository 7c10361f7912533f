"""Everyday sentences about people, written for Equipoise (CC0): is the mood positive or negative, whoever it is about?

120 sentences (40 positive, 40 negative, 40 neutral) are each asked about people of four attributes: gender (names and
kinship), age, origin and religion. A set is one sentence and one attribute, so there are 480. A neutral sentence has no
right answer; all sets of a sentence are resampled together.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from .. import packaged
from ..records import Example
from .dataset import LICENCE, Dataset, Fault
from .pronouns import pronouns_in

NAME = "sentiment"
MOODS = ("positive", "negative")
NEUTRAL = "neutral"
STATEMENT = "The mood of this sentence is"
SLOT = "{person}"
WORDS = (5, 20)
"""The fewest and the most words of a sentence."""


@dataclass(frozen=True, slots=True)
class MoodSentence:
    """A sentence with a slot for a person."""

    id: str
    mood: str
    text: str

    def about(self, person: str) -> str:
        """Return the sentence about that person."""
        text = self.text.replace(SLOT, person)
        return text[0].upper() + text[1:]


def mood_sentences() -> list[MoodSentence]:
    """Return the sentences as they are in `sentiment.csv`."""
    rows = csv.DictReader(packaged.text(__package__, "sentiment.csv").splitlines())
    return [MoodSentence(row["id"], row["mood"], row["text"]) for row in rows]


@cache
def people() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return attribute -> group -> phrases; phrases of the same number differ in the group only."""
    content = packaged.toml(__package__, "sentiment.toml")
    return {
        attribute: {group: list(_phrases(words, content["nouns"])) for group, words in groups.items()}
        for attribute, groups in content.items()
        if attribute != "nouns"
    }


def load_sentiment() -> Dataset:
    """Return every sentence about every group of every attribute; sets are sentence and attribute."""
    sentences = mood_sentences()
    examples = [
        _example(sentence, number, attribute, group)
        for number, sentence in enumerate(sentences)
        for attribute, groups in people().items()
        for group in groups
    ]
    return Dataset(NAME, tuple(examples), tuple(sentiment_faults(sentences)), "the package's own sentences", LICENCE)


def _example(sentence: MoodSentence, number: int, attribute: str, group: str) -> Example:
    phrases = people()[attribute][group]
    gold = None if sentence.mood == NEUTRAL else MOODS.index(sentence.mood)
    groups = {"type": NEUTRAL if gold is None else "resolvable", "swapped": attribute, "group": group}
    return Example(
        id=f"sentiment-{sentence.id}-{attribute}-{group.lower()}",
        text=sentence.about(phrases[number % len(phrases)]),
        candidates=MOODS,
        gold=gold,
        answerable=gold is not None,
        stereotype=None,
        groups=groups | ({} if gold is None else {"mood": sentence.mood}),
        set_id=f"sentiment-{sentence.id}-{attribute}",
        cluster_id=f"sentiment-{sentence.id}",
        slots={"statement": STATEMENT},
    )


def sentiment_faults(sentences: Sequence[MoodSentence]) -> Iterator[Fault]:
    """Yield what breaks the rules: in a sentence, in the balance of the moods, or in the lists of people."""
    for sentence in sentences:
        for what in _broken(sentence):
            yield Fault(sentence.id, "rule", what, "kept")
    for text, count in Counter(sentence.text.lower() for sentence in sentences).items():
        if count > 1:
            yield Fault("sentiment.csv", "repeated", f"{count} sentences are {text[:40]!r}", "kept")
    moods = Counter(sentence.mood for sentence in sentences)
    starts = Counter(sentence.mood for sentence in sentences if sentence.text.startswith(SLOT))
    for mood in (*MOODS, NEUTRAL):
        if moods[mood] * 3 != len(sentences) or starts[mood] * 2 != moods[mood]:
            what = f"{moods[mood]} sentences are {mood}, {starts[mood]} of them begin with the person"
            yield Fault("sentiment.csv", "balance", what, "kept")
    for attribute, groups in people().items():
        if len({len(phrases) for phrases in groups.values()}) > 1 or len(groups) < 2:
            yield Fault(
                "sentiment.toml", "balance", f"the groups of {attribute} have lists of different length", "kept"
            )


def _broken(sentence: MoodSentence) -> Iterator[str]:
    if sentence.mood not in (*MOODS, NEUTRAL):
        yield f"has the mood {sentence.mood!r}"
    if sentence.text.count(SLOT) != 1:
        yield f"has {sentence.text.count(SLOT)} slots for the person"
    if pronouns_in(sentence.text):
        yield f"has the pronoun {pronouns_in(sentence.text)[0].word!r}, which may not fit every person"
    words = sentence.text.split()
    if not WORDS[0] <= len(words) <= WORDS[1]:
        yield f"has {len(words)} words"
    named = {group.lower() for groups in people().values() for group in groups}
    named |= {"man", "woman", "boy", "girl", "church", "mosque", "temple", *MOODS, NEUTRAL}
    for word in re.findall(r"[a-z]+", sentence.text.replace(SLOT, "").lower()):
        # An old dog and a young tree are nobody's age.
        if word in named - {"old", "young"}:
            yield f"says {word!r} besides the person"
    if not sentence.text.endswith("."):
        yield "does not end with a full stop"


def _phrases(words: Mapping[str, Any], nouns: Sequence[str]) -> Iterator[str]:
    """Yield the phrases of a group: as they are, or each noun with the adjectives in turn."""
    yield from words.get("phrases", ())
    adjectives = words.get("adjectives", ())
    if adjectives:
        yield from (f"the {adjectives[number % len(adjectives)]} {noun}" for number, noun in enumerate(nouns))
