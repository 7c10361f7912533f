"""Sentences with a neutral word for the occupation: "The person thanked him", "Someone thanked him".

The pair is otherwise as it was: ids, labels and groups stay, so that a run on neutral sentences can be compared with
one on the originals, row by row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ..options import DatasetOptions, options_of
from ..records import DatasetError, Example
from . import occupations
from .dataset import Dataset, Fault

WORDS = options_of(DatasetOptions)["neutral"].choices
"""What may stand for an occupation."""

NOUN = "person"
"""What a question calls the neutral one: "The pronoun 'she' refers to the person"."""


def neutralised(dataset: Dataset, word: str) -> Dataset:
    """Return the dataset with the neutral word for each example's occupation, named `NAME-WORD`.

    A sentence pair loses the occupation that it is about; a sentence with candidates loses the referent's, or, where
    none is on record or it is not an occupation, the first occupation among them. What cannot be replaced is left
    out, whole sets at once.
    """
    kept: list[Example] = []
    faults = list(dataset.faults)
    failed: set[str] = set()
    for example in dataset.examples:
        try:
            kept.append(_neutral(example, word))
        except DatasetError as error:
            failed.add(example.set_id)
            faults.append(Fault(example.id, "no neutral form", str(error), "left out with its set"))
    examples = tuple(example for example in kept if example.set_id not in failed)
    if not examples:
        raise DatasetError(f"{dataset.name}: no sentence has an occupation that {word!r} could stand for")
    source = f"{dataset.source or dataset.name}, {word!r} for the occupation"
    return Dataset(f"{dataset.name}-{word}", examples, tuple(faults), source, dataset.licence)


def family(name: str) -> str:
    """Return the name of the dataset that a neutral one was made from; other names as they are."""
    for word in WORDS:
        name = name.removesuffix(f"-{word}")
    return name


def row_name(id: str, dataset: str) -> str:
    """Return an example's id without the name of its dataset: the same for a row and its neutral form."""
    for name in (dataset, family(dataset)):
        if id.startswith(f"{name}-"):
            return id.removeprefix(f"{name}-")
    return id


def _neutral(example: Example, word: str) -> Example:
    if example.pair is None:
        return _with_candidate(example, word)
    name = example.groups.get("occupation", "")
    if not name:
        raise DatasetError("names no occupation, or several")
    before = _replaced(example.pair.before, _whole(example.pair.before, name), word)
    if before == example.pair.before:
        raise DatasetError(f"does not name {name!r} before the words that differ")
    pair = replace(example.pair, before=before)
    slots = {key: value for key, value in example.slots.items() if key != "female_share"}
    return replace(example, text=f"{before} {pair.rests[0]}", pair=pair, slots=slots)


def _with_candidate(example: Example, word: str) -> Example:
    jobs = [place for place, name in enumerate(example.candidates) if _is_occupation(name)]
    if not jobs:
        raise DatasetError("has no occupation among its candidates that the neutral word could stand for")
    place = example.gold if example.gold in jobs else jobs[0]
    name = example.candidates[place]
    if {*WORDS} & {other.lower() for other in example.candidates}:
        raise DatasetError("speaks of a neutral person already")
    text = _replaced(example.text, name, word)
    if text == example.text:
        raise DatasetError(f"does not name {name!r}")
    candidates: Sequence[str] = [NOUN if n == place else other for n, other in enumerate(example.candidates)]
    return replace(example, text=text, candidates=tuple(candidates))


def _whole(text: str, name: str) -> str:
    """Return the name with the words that belong to it in the text: "fashion designer" for "designer"."""
    longer = [phrase.name for phrase in occupations.phrases(text) if phrase.name.endswith(f" {name}")]
    return longer[0] if longer else name


def _is_occupation(name: str) -> bool:
    return occupations.side(name) is not None or bool(occupations.phrases(f"the {name}"))


def _replaced(text: str, name: str, word: str) -> str:
    """Return the text with the word for every mention of the name; "someone" takes the article's place, too."""

    def neutral(match: re.Match[str]) -> str:
        article = match["article"] or ""
        if word == NOUN:
            # "an engineer" is "a person".
            article = {"an ": "a ", "An ": "A "}.get(article, article)
            return article + NOUN
        capital = (article or match["name"])[0].isupper() and not text[: match.start()].strip()
        return word.capitalize() if capital else word

    pattern = rf"(?<![\w-])(?P<article>(?:the|an?) )?(?P<name>{re.escape(name)})(?![\w-])"
    return re.sub(pattern, neutral, text, flags=re.IGNORECASE)
