"""WinoIdentity: an Example in, Examples with identity markers out (Arif Khan et al. 2025).

R puts a marker before the referent, NR before the other candidate, C before both, contrasting ones. A marker goes
directly before the noun, at its first mention only, and an "a" or "an" before it is made to fit. All variants of a
sentence keep its `cluster_id`, and those with the same marking share a `set_id`; the sentence without a marker comes
first and is listed once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..options import DatasetOptions
from ..records import DatasetError, Example, marked_slot
from .dataset import Dataset, Fault
from .markers import Attribute, Marker, choose, read_markers

NAME = "winoidentity"
MARKED = f"{NAME}-"
"""What the name of a dataset with markers begins with, and (next) what its source ends with."""
WITH_MARKERS = ", with markers"
AUGMENTATIONS = DatasetOptions.augment
NONE = "none"
"""The augmentation of a sentence as it was."""

PAPER_SENTENCES = 1575
"""Sentences the paper counts in WinoBias (783 + 792), each with two pronouns; no uniform filter gives them."""

_ARTICLE = re.compile(r"(?<![\w-])(an?)\s+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Marking:
    """The markers of the referent and of the other candidate, and what they add to a sentence's ids and groups."""

    referent: Marker | None
    other: Marker | None
    ending: str
    groups: Mapping[str, str]

    @classmethod
    def of(cls, augmentation: str, marker: Marker, contrast: Marker | None = None) -> Marking:
        """Return the marking of an augmentation by a marker; `contrast` is the other candidate's, for C."""
        words = marker.word if contrast is None else f"{marker.word}-{contrast.word}"
        groups = {"augmentation": augmentation, "attribute": marker.attribute, "marker": marker.word}
        groups |= {"privilege": marker.side} | ({} if contrast is None else {"contrast": contrast.word})
        referent, other = (None, marker) if augmentation == "NR" else (marker, contrast)
        return cls(referent, other, f"+{augmentation}-{words}", groups)


@dataclass(frozen=True)
class Recipe:
    """What to make of a sentence: which augmentations, with the markers of which attributes."""

    augmentations: Sequence[str] = AUGMENTATIONS
    attributes: Sequence[Attribute] = ()

    def __post_init__(self) -> None:
        for name in self.augmentations:
            if name not in AUGMENTATIONS:
                raise DatasetError(f"unknown augmentation {name!r}; known: {', '.join(AUGMENTATIONS)}")
        if not self.augmentations or not self.attributes:
            raise DatasetError("at least one augmentation and one attribute are needed")

    @property
    def markers(self) -> list[Marker]:
        """The markers of all attributes."""
        return [marker for attribute in self.attributes for marker in attribute.markers]

    @cached_property
    def markings(self) -> list[Marking]:
        """What every sentence is marked with, in the order of augmentations, attributes and markers."""
        return [
            Marking.of(augmentation, marker, contrast)
            for augmentation in self.augmentations
            for attribute in self.attributes
            for marker in attribute.markers
            for contrast in (attribute.contrasts[marker.word] if augmentation == "C" else (None,))
        ]


def recipe(
    *,
    augmentations: Sequence[str] = AUGMENTATIONS,
    attributes: Sequence[str] | None = None,
    markers: str | None = None,
    crossed: bool = False,
) -> Recipe:
    """Return what to make of sentences; `markers` is a user's TOML file, `attributes` a choice of its sections."""
    chosen = choose(read_markers(markers), attributes, crossed=crossed)
    return Recipe(tuple(dict.fromkeys(augmentations)), tuple(chosen))


def identity_dataset(base: Dataset, how: Recipe, *, limit: int | None = None) -> Dataset:
    """Return the base's labelled sentences with every marker of the recipe; what cannot be marked is a fault.

    `limit` keeps at most that many sentences before they are marked, spread evenly (see `Dataset.limited`).
    """
    fit: list[Example] = []
    faults = list(base.faults)
    for example in base.examples:
        reason = _unfit(example)
        if reason:
            faults.append(Fault(example.id, "cannot be marked", reason, "left out"))
        else:
            fit.append(example)
    if not fit:
        raise DatasetError(f"{base.name}: no sentence has a referent on record, so none can be marked")
    chosen = replace(base, examples=tuple(fit))
    if limit is not None:
        chosen = chosen.limited(limit)
    examples = tuple(variant for example in chosen.examples for variant in augment(example, how))
    source = f"{base.source or base.name}{WITH_MARKERS}"
    return Dataset(f"{MARKED}{base.name}", examples, tuple(faults), source, base.licence)


def augment(example: Example, how: Recipe) -> Iterator[Example]:
    """Yield the example as it is, then with every marking of the recipe."""
    yield replace(example, groups={**example.groups, "augmentation": NONE})
    if example.gold is None:
        raise DatasetError(f"example {example.id}: has no referent on record")
    # From the end, so that the earlier place is still where it was.
    places = sorted(((start, index) for index, (start, _) in enumerate(_mentions(example))), reverse=True)
    for marking in how.markings:
        yield _variant(example, marking, places)


def _variant(example: Example, marking: Marking, places: Sequence[tuple[int, int]]) -> Example:
    """Return the example with a marking; `places` are where each candidate begins, the last first."""
    text, slots = example.text, dict(example.slots)
    for start, index in places:
        marker = marking.referent if index == example.gold else marking.other
        if marker is not None:
            text = _insert(text, start, marker)
            slots[marked_slot(index)] = f"{marker.word} {example.candidates[index]}"
    # Not `replace`, which takes twice as long: there are a quarter of a million.
    return Example(
        id=example.id + marking.ending,
        text=text,
        candidates=example.candidates,
        gold=example.gold,
        answerable=example.answerable,
        stereotype=example.stereotype,
        groups={**example.groups, **marking.groups},
        set_id=example.set_id + marking.ending,
        cluster_id=example.cluster_id,
        slots=slots,
        pair=example.pair,
        good=example.good,
    )


def _insert(text: str, start: int, marker: Marker) -> str:
    """Return the text with the marker before the noun at `start`, and the article before it made to fit."""
    before, after = text[:start], text[start:]
    article = _ARTICLE.search(before)
    if article:
        fitting = marker.article.capitalize() if article[1][0].isupper() else marker.article
        before = before[: article.start(1)] + fitting + before[article.end(1) :]
    word = marker.word
    # A noun that begins the sentence gives up its capital, unless it is all capitals ("CEO").
    if not before.strip() and after[:1].isupper() and after[1:2].islower():
        word, after = word[0].upper() + word[1:], after[0].lower() + after[1:]
    return f"{before}{word} {after}"


def _mentions(example: Example) -> list[tuple[int, int]]:
    """Return where each candidate is first mentioned, as a whole word in any case."""
    places = []
    for candidate in example.candidates:
        match = re.search(rf"(?<![\w-]){re.escape(candidate)}(?![\w-])", example.text, re.IGNORECASE)
        if match is None:
            raise DatasetError(f"example {example.id}: does not name {candidate!r}")
        places.append(match.span())
    return places


def _unfit(example: Example) -> str:
    """Return why an example cannot be marked, "" if it can."""
    if example.gold is None:
        return "has no referent on record"
    if len(example.candidates) != 2:
        return f"has {len(example.candidates)} candidates, not two"
    try:
        _mentions(example)
    except DatasetError:
        return "does not name both candidates"
    return ""


def identity_counts(dataset: Dataset) -> list[tuple[str, str]]:
    """Return how many markers, attributes and prompts there are: by the paper's counting, distinct, and ours."""
    how = recipe()
    markers, genders, ways = len(how.markers), 2, len(AUGMENTATIONS)
    # One contrast a marker, and the sentence without a marker counted once an augmentation.
    counted = PAPER_SENTENCES * genders * (markers + 1) * ways
    distinct = PAPER_SENTENCES * genders * (markers * ways + 1)
    kinds = Counter(example.groups["augmentation"] for example in dataset.examples)
    texts = len({(example.text, example.slots.get("pronoun"), example.candidates) for example in dataset.examples})
    neutral = [marker.word for marker in recipe(attributes=["non-demographic"]).markers]
    facts = [
        (
            "markers",
            f"{markers} in {len(how.attributes)} attributes, and {len(neutral)} non-demographic ones on request",
        ),
        ("the paper", f"{counted:,} prompts on its {PAPER_SENTENCES:,} sentences; {distinct:,} of them distinct"),
        ("ours", f"{len(dataset.examples):,} prompts, {texts:,} distinct: each line with a referent, each contrast"),
        ("by kind", ", ".join(f"{name} {kinds[name]:,}" for name in (NONE, *AUGMENTATIONS) if kinds[name])),
    ]
    for attribute in (*how.attributes, *recipe(attributes=["non-demographic"]).attributes):
        sides = dict.fromkeys(marker.side for marker in attribute.markers)
        words = " | ".join(", ".join(m.word for m in attribute.markers if m.side == side) for side in sides)
        facts.append(("attribute", f"{attribute.name}: {words}"))
    first = next(iter(dataset.examples)).cluster_id
    for way in AUGMENTATIONS:
        marked = next(e for e in dataset.examples if e.cluster_id == first and e.groups["augmentation"] == way)
        facts.append((f"e.g. {way}", marked.text))
    return facts
