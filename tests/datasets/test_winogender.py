"""Winogender's sentences with he, she, they, and any other pronoun in the place of he."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from equipoise.datasets import DatasetOptions, open_dataset


def test_winogender_takes_neopronouns_in_place_of_he(real_data: Callable[[str], Path]) -> None:
    real_data("winogender")
    dataset = open_dataset("winogender", DatasetOptions(pronouns=["he", "she", "they", "fae"]))
    assert (len(dataset.examples), dataset.sets) == (960, 240)
    texts = {example.id: example for example in dataset.examples}
    for id, example in texts.items():
        if id.endswith("-fae"):
            male = texts[id.removesuffix("fae") + "male"]
            assert example.set_id == male.set_id and example.gold == male.gold
            words = zip(example.text.lower().split(), male.text.lower().split(), strict=True)
            changed = {(new.strip(".,;"), old.strip(".,;")) for new, old in words if new != old}
            assert changed <= {("fae", "he"), ("faer", "him"), ("faer", "his")} and changed


def test_winogender_has_he_she_and_they_on_request(real_data) -> None:
    real_data("winogender")
    two, three = open_dataset("winogender"), open_dataset("winogender", DatasetOptions(pronouns=("he", "she", "they")))
    assert (len(two.examples), two.sets, len(three.examples), three.sets) == (480, 240, 720, 240)
    assert Counter(example.groups["gender"] for example in three.examples) == dict.fromkeys(
        ("male", "female", "neutral"), 240
    )
    first = three.examples[0]
    assert first.candidates == ("technician", "customer") and first.gold == 1
    assert Counter(e.groups["form"] for e in three.examples) == {"subject": 534, "possessive": 162, "object": 24}
