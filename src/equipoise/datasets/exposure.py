"""What a tuned model was trained on: hashes of its sentences, kept beside its weights, against an evaluation's."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..files import at_home, sha256
from ..records import DatasetError, Example
from .dataset import Dataset
from .pronouns import find_pronoun

TRAINED_ON = Path("training") / "trained_on.txt"
"""In the folder of an adapter or a model that `equipoise tune` made."""


def sentence_of(example: Example) -> str:
    """Return the example's sentence with the pronoun blanked: equal for all members of a set."""
    text = example.text
    for place in reversed(find_pronoun(text, example.slots.get("pronoun", ""))):
        text = f"{text[: place.start]}_{text[place.end :]}"
    return " ".join(text.lower().split())


def sentence_hash(example: Example) -> str:
    """Return a hash of the example's sentence with the pronoun blanked."""
    return sha256(sentence_of(example))[:16]


def trained_on(folder: Path, examples: Iterable[Example]) -> list[Example]:
    """Return the examples whose sentence the model of that folder was trained on; an evaluation should have none."""
    file = folder / TRAINED_ON
    if not file.is_file():
        raise DatasetError(f"{folder} does not say what it was trained on: it has no {TRAINED_ON}")
    known = set(file.read_text(encoding="utf-8").split())
    return [example for example in examples if sentence_hash(example) in known]


def exposure_notes(places: Iterable[Any], datasets: Iterable[Dataset]) -> list[str]:
    """Return a warning for each dataset that one of the models or adapters was trained on.

    Places that are not folders, and folders that do not say what they were trained on, give none.
    """
    folders = [at_home(place) for place in places if isinstance(place, str | Path) and str(place)]
    notes = []
    for folder in (folder for folder in folders if (folder / TRAINED_ON).is_file()):
        for dataset in datasets:
            count = len(trained_on(folder, dataset.examples))
            if count:
                share = f"{count:,} of {len(dataset.examples):,} sentences of {dataset.name}"
                notes.append(f"{folder} was trained on {share}, so their numbers do not show how it treats others")
    return notes
