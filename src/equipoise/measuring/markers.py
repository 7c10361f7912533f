"""Marked sentences: which they are, what metrics read of them, and what each item counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records import Floats, Integers, Outcomes
from ..stats.bootstrap import cluster_numbers
from ..uncertainty import PERPLEXITY

NONE, NEUTRAL = "none", "neutral"
"""The augmentation of an unmarked sentence; the privilege of a marker that has no side."""


def is_marked(outcomes: Outcomes) -> bool:
    """Return whether there are marked sentences with a referent on record among the items."""
    return bool((outcomes.labelled & (outcomes.group("marker") != "")).any())


def marked_types(outcomes: Outcomes) -> Iterator[tuple[str, Integers]]:
    """Yield each type that has sentences with a referent that were asked marked or for comparison, and their rows."""
    kinds = outcomes.group("type")
    usable = outcomes.labelled & (outcomes.group("augmentation") != "")
    for kind in sorted(set(kinds[usable].tolist())):
        yield kind, np.flatnonzero(usable & (kinds == kind))


MARKER_COLUMNS = ("marked", "subgroup", "marker", "privilege", "answered")


def marker_columns(outcomes: Outcomes) -> dict[str, NDArray[Any]]:
    """Return the columns of marked sentences (see `equipoise.metrics.columns`)."""
    gender, marker = outcomes.group("gender"), outcomes.group("marker")
    subgroup = [f"{g}, {m}" if m else g for g, m in zip(gender.tolist(), marker.tolist(), strict=True)]
    return {
        "marked": (outcomes.group("augmentation") != NONE).astype(np.float64),
        "subgroup": np.array(subgroup, dtype=str),
        "marker": marker.astype(str),
        "privilege": outcomes.group("privilege").astype(str),
        "answered": _answered(outcomes),
    }


def _answered(outcomes: Outcomes) -> Floats:
    """Return 1 for items that a model answers which may decline, else 0; NaN without unmarked sentences of the type.

    It answers where it is at least as certain as on half of the unmarked sentences: who is then declined more often?
    """
    certainty = PERPLEXITY.certainty(outcomes.probs)
    answered = np.full(len(outcomes), np.nan)
    for _, rows in marked_types(outcomes):
        unmarked = rows[outcomes.group("augmentation")[rows] == NONE]
        if len(unmarked):
            answered[rows] = certainty[rows] >= np.median(certainty[unmarked])
    return answered


def contrast_shares(outcomes: Outcomes, rows: Integers) -> Floats:
    """Return what each row counts: a marker with three contrasts has three items for each sentence, a third each."""
    shares = np.ones(len(rows))
    contrasted = np.flatnonzero(outcomes.group("contrast")[rows] != "")
    if len(contrasted):
        names = (outcomes.group(name)[rows[contrasted]] for name in ("marker", "contrast"))
        marker, contrast = (cluster_numbers(column) for column in names)
        pairs = np.unique(np.stack([marker, contrast]), axis=1)
        shares[contrasted] = 1 / np.bincount(pairs[0])[marker]
    return shares
