"""What the real files and our own sentences become, as it was kept: hashes of examples and of faults."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
from kept_texts import assert_kept

from equipoise.datasets import open_dataset
from equipoise.datasets.dataset import Dataset
from equipoise.options import DatasetOptions

OPENED: dict[str, tuple[str, tuple[dict[str, Any], ...]]] = {
    "winobias": ("winobias", ({}, {"as_published": True})),
    "synthbias": ("synthbias", ({"limit": 1000},)),
    "winogender": (
        "winogender",
        ({}, {"pronouns": ("she", "they", "fae")}, {"pronouns": ("xe", "ve/ver/vis/verself")}),
    ),
    "bbq:Age": ("bbq", ({"limit": 40},)),
    "bbq:nationality": ("bbq", ({},)),
    "bbq:physical appearance": ("bbq", ({"as_published": True},)),
    "bbq:Disability": ("bbq", ({},)),
    "genderlex": ("gender-ece", ({},)),
    "genderlex-person": ("gender-ece", ({},)),
    "genderlex-someone": ("gender-ece", ({},)),
    "gender-ece-winobias": ("gender-ece", ({}, {"without_faults": True})),
    "gender-ece-winogender": ("gender-ece", ({},)),
    "winoidentity": (
        "winobias",
        ({"limit": 3}, {"limit": 4, "augment": ("C", "NR"), "crossed": True, "attributes": ("body-type", "age")}),
    ),
}
"""What is opened -> the folder that it needs, and with which options."""


def described(dataset: Dataset) -> dict[str, Any]:
    """Return what tells a dataset from any other, without its sentences."""
    faults = hashlib.sha256(repr([astuple(fault) for fault in dataset.faults]).encode()).hexdigest()
    return {
        "label": dataset.label,
        "examples": len(dataset.examples),
        "sets": dataset.sets,
        "hash": dataset.sha256[:20],
        "faults": dict(Counter(fault.kind for fault in dataset.faults)),
        "hash of faults": faults[:20],
        "licence": dataset.licence,
    }


@pytest.mark.parametrize(
    "spec", [pytest.param(name, marks=pytest.mark.slow if name == "synthbias" else ()) for name in OPENED]
)
def test_a_real_dataset_is_what_it_was(real_data: Callable[[str], Path], spec: str) -> None:
    folder, choices = OPENED[spec]
    real_data(folder)
    opened = {str(options): described(open_dataset(spec, DatasetOptions(**options))) for options in choices}
    assert_kept(f"datasets/real/{spec.lower().replace(':', '-').replace(' ', '-')}", opened)


THEY = ("he", "she", "they")
OURS: dict[str, tuple[dict[str, Any], ...]] = {
    "builtin": (
        {},
        {"pronouns": THEY},
        {"pronouns": ("xe", "ze", "ey", "fae")},
        {"pronouns": ("she", "they"), "where": ("type=type1", "form=possessive,gender=neutral"), "limit": 7},
        {"neutral": "person"},
        {"neutral": "someone"},
        {"where": ("paired=yes",), "limit": 3},
    ),
    "fresh": ({"limit": 6}, {"limit": 7, "seed": 5}, {"limit": 1}, {"limit": 31, "pronouns": THEY}),
    "gendered": ({},),
    "gendered:control": ({},),
    "sentiment": ({},),
    "decisions": ({},),
    "decisions:hiring": ({},),
    "decisions:triage": ({"limit": 5},),
    "winoidentity": ({"limit": 2, "augment": ("R",), "attributes": ("non-demographic",), "base": "fresh"},),
}


@pytest.mark.parametrize("spec", OURS)
def test_our_own_dataset_is_what_it_was(spec: str) -> None:
    opened = {str(options): described(open_dataset(spec, DatasetOptions(**options))) for options in OURS[spec]}
    assert_kept(f"datasets/ours/{spec.replace(':', '-')}", opened)
