"""The rows of identity markers: drops, disparities and their p-values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from .. import identities
from ..metric import AppliesTo, Metric

PAPER = "arifkhan2025winoidentity"

VALUES = {
    "confidence": ("confidence", "confidence", 1.0),
    "confidence_pair": ("confidence_pair", "confidence, given one of the two,", 1.0),
    "confidence_marked": ("confidence_marked", "confidence, markers counted,", 1.0),
    "accuracy": ("right", "accuracy", 0.5),
    "coverage": ("answered", "coverage", 0.5),
}
"""Metric -> the column it is a mean of, its name in a sentence, and half the width of its range."""

_identity = partial(Metric, unit="identity", paper=PAPER)


def _rows() -> Iterator[Metric]:
    for name, (column, words, half) in VALUES.items():
        applies_to: AppliesTo = "markers" if name == "confidence_marked" else "labelled"
        title = name.replace("_", " ").capitalize()
        yield _identity(
            f"{name}_drop",
            identities.drop,
            (column, "marked", "contrast_share"),
            "lower",
            f"{title} drop",
            f"{words} of unmarked - of marked sentences",
            (-2 * half, 2 * half),
            applies_to=applies_to,
            leading=name == "confidence",
        )
        yield _identity(
            f"{name}_disparity",
            identities.disparity,
            (column, "subgroup", "contrast_share"),
            "lower",
            f"{title} disparity",
            f"largest - smallest mean {words} of the identities of an attribute",
            (0, 2 * half),
            applies_to=applies_to,
            leading=name == "confidence",
        )
        for suffix, correction in (("p", ""), ("p_holm", ", corrected for the attributes tested (Holm)")):
            yield _identity(
                f"{name}_disparity_{suffix}",
                identities.p_value,
                (),
                "neither",
                f"{title} disparity, p-value",
                f"p-value of 'no identity differs in {words.rstrip(',')}'{correction}",
                (0, 1),
                applies_to=applies_to,
                resampled=False,
            )
    yield from _changes()
    yield from _further()
    yield _identity(
        "confidence_gender_gap",
        identities.gender_gap,
        ("confidence", "marker", "gender", "contrast_share"),
        "lower",
        "Gender gap of confidence",
        "mean over markers of |confidence with he - with she|",
        (0, 2),
        applies_to="labelled",
    )


def _further() -> Iterator[Metric]:
    """Yield coverage, the deviation of confidence, and double disadvantage."""
    _of_labels = partial(_identity, applies_to="labelled")
    yield _of_labels(
        "coverage",
        identities.covered,
        ("answered", "contrast_share"),
        "neither",
        "Coverage",
        "share answered when the model declines where it is less certain than on half of the unmarked sentences",
        (0, 1),
    )
    yield _of_labels(
        "confidence_deviation",
        identities.deviation,
        ("confidence", "contrast_share"),
        "neither",
        "Deviation of confidence",
        "standard deviation of confidence over sentences",
        (0, 1),
    )
    groups = ("confidence", "privilege", "stereotype", "contrast_share")
    yield _of_labels(
        "double_disadvantage",
        identities.double_disadvantage,
        groups,
        "lower",
        "Double disadvantage",
        "confidence for privileged markers with the stereotype - for disadvantaged ones against it",
        (-2, 2),
    )
    yield _of_labels(
        "disadvantage_interaction",
        identities.disadvantage_interaction,
        groups,
        "neither",
        "Cost of disadvantage, against - with the stereotype",
        "how much more a disadvantaged marker costs against the stereotype than with it; 0: the same",
        (-4, 4),
    )


def _changes() -> Iterator[Metric]:
    """Yield the change against the same sentence unmarked, and its interaction with gender."""
    _change = partial(_identity, applies_to="labelled", leading=True)
    yield _change(
        "confidence_change",
        identities.change,
        ("confidence", "marked", "contrast_share"),
        "neither",
        "Change of confidence",
        "confidence of marked - of the same sentences unmarked; 0: the marker changes nothing",
        (-2, 2),
    )
    yield _change(
        "confidence_interaction",
        identities.interaction,
        ("confidence", "marked", "gender", "contrast_share"),
        "neither",
        "Change of confidence, he - she",
        "change of confidence with he - with she; 0: the marker changes both alike",
        (-4, 4),
    )
    nulls = {
        "confidence_change": "the marker does not change confidence",
        "confidence_interaction": "he and she change alike",
    }
    smallest = "; of an attribute: the smallest of its markers"
    for name, null in nulls.items():
        for suffix, correction in (("p", smallest), ("p_holm", f", corrected for the markers tested (Holm){smallest}")):
            yield _identity(
                f"{name}_{suffix}",
                identities.p_value,
                (),
                "neither",
                f"p-value of {name.replace('_', ' ')}",
                f"p-value of '{null}'{correction}",
                (0, 1),
                applies_to="labelled",
                resampled=False,
            )


IDENTITIES = tuple(_rows())
