"""The rows of identity markers: drops, disparities and changes, and the groups of sentences they are taken for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from .. import identities
from ..columns import ATTRIBUTE, AUGMENTATION, EVERY_LEVEL
from ..groups import mean
from ..metric import AppliesTo, Metric

PAPER = "arifkhan2025winoidentity"

VALUES = {
    "confidence": ("confidence", "confidence", 1.0),
    "confidence_pair": ("confidence_pair", "confidence, given one of the two,", 1.0),
    "confidence_marked": ("confidence_marked", "confidence, markers counted,", 1.0),
    "accuracy": ("correct", "accuracy", 0.5),
    "coverage": ("answered", "coverage", 0.5),
}
"""Metric -> the column it is a mean of, its name in a sentence, and half the width of its range."""

_identity = partial(Metric, unit="identity", paper=PAPER, additive=True)


def _rows() -> Iterator[Metric]:
    for name, (column, words, half) in VALUES.items():
        applies_to: AppliesTo = "markers" if name == "confidence_marked" else "labelled"
        title = name.replace("_", " ").capitalize()
        yield _identity(
            f"{name}_drop",
            identities.drop,
            (column, "marked"),
            "lower",
            f"{title} drop",
            f"{words} of unmarked - of marked sentences",
            (-2 * half, 2 * half),
            applies_to=applies_to,
            leading=name == "confidence",
            levels=EVERY_LEVEL,
            interval="paired",
        )
        yield _identity(
            f"{name}_disparity",
            identities.disparity,
            (column, "subgroup"),
            "lower",
            f"{title} disparity",
            f"largest - smallest mean {words} of the identities of an attribute",
            (0, 2 * half),
            applies_to=applies_to,
            leading=name == "confidence",
            levels=(ATTRIBUTE,),
            interval="simultaneous",
            null=f"no identity differs in {words.rstrip(',')}",
            family=("type", "augmentation"),
        )
    yield from _changes()
    yield from _further()


def _changes() -> Iterator[Metric]:
    """Yield the change against the same sentence unmarked, and its interaction with gender."""
    _change = partial(
        _identity,
        applies_to="labelled",
        leading=True,
        levels=(AUGMENTATION, ATTRIBUTE),
        interval="exchanged",
    )
    yield _change(
        "confidence_change",
        identities.change,
        ("confidence", "marked"),
        "neither",
        "Change of confidence",
        "confidence of marked - of the same sentences unmarked; 0: the marker changes nothing",
        (-2, 2),
        null="the marker does not change confidence",
    )
    yield _change(
        "confidence_interaction",
        identities.interaction,
        ("confidence", "marked", "gender"),
        "neither",
        "Change of confidence, he - she",
        "change of confidence with he minus change with she; 0: the marker changes both alike",
        (-4, 4),
        null="he and she change alike",
    )


def _further() -> Iterator[Metric]:
    """Yield coverage, the deviation of confidence, double disadvantage, and the gender gap."""
    _of_labels = partial(_identity, applies_to="labelled")
    yield _of_labels(
        "coverage",
        mean,
        ("answered",),
        "neither",
        "Coverage",
        "share answered when the model declines where it is less certain than on half of the unmarked sentences",
        (0, 1),
        levels=EVERY_LEVEL,
    )
    _of_means = partial(_of_labels, interval="deviations")
    yield _of_means(
        "confidence_deviation",
        identities.deviation,
        ("confidence",),
        "neither",
        "Deviation of confidence",
        "standard deviation of confidence over sentences",
        (0, 1),
        levels=(AUGMENTATION,),
        additive=False,
    )
    _of_sides = partial(_of_means, levels=(AUGMENTATION, (*AUGMENTATION, "side"), ATTRIBUTE))
    groups = ("confidence", "privilege", "stereotype")
    yield _of_sides(
        "double_disadvantage",
        identities.double_disadvantage,
        groups,
        "lower",
        "Double disadvantage",
        "confidence for privileged markers with the stereotype - for disadvantaged ones against it",
        (-2, 2),
    )
    yield _of_sides(
        "disadvantage_interaction",
        identities.disadvantage_interaction,
        groups,
        "neither",
        "Cost of disadvantage, against - with the stereotype",
        "how much more a disadvantaged marker costs against the stereotype than with it; 0: the same",
        (-4, 4),
    )
    yield _of_means(
        "confidence_gender_gap",
        identities.gender_gap,
        ("confidence", "marker", "gender"),
        "lower",
        "Gender gap of confidence",
        "mean over markers of the difference of confidence between he and she, without sign",
        (0, 2),
        levels=(ATTRIBUTE,),
    )


IDENTITIES = tuple(_rows())
