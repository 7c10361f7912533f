"""What a sentence pair has, whose candidates are its own two sides: a human label, and a probability for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records import Outcomes

SIDE_COLUMNS = ("y", "p", "p_apart", "prefers", "predicted_side")


def side_columns(outcomes: Outcomes) -> dict[str, NDArray[Any]]:
    """Return y, p, p_apart, prefers and predicted_side of each item (see `equipoise.metrics.columns`)."""
    n = len(outcomes)
    columns: dict[str, NDArray[Any]] = {name: np.full(n, np.nan) for name in ("y", "p", "p_apart", "prefers")}
    columns["predicted_side"] = np.full(n, "", dtype=object)
    rows = np.flatnonzero(outcomes.sides != "")
    probs, gold = outcomes.probs[rows], outcomes.gold[rows]
    with np.errstate(invalid="ignore", divide="ignore"):
        p = probs[:, 0] / (probs[:, 0] + probs[:, 1])
    columns["p"][rows] = p
    columns["y"][rows] = np.where(gold == 0, 1.0, np.where(gold == 1, 0.0, np.nan))
    columns["p_apart"][rows] = p - columns["y"][rows]
    # A tie at exactly 1/2 prefers nobody.
    columns["prefers"][rows] = np.heaviside(p - 0.5, 0.5)
    sides = outcomes.sides[rows]
    for label in set(sides.tolist()):
        first, second = label.split("|")[:2]
        chosen = np.where(p > 0.5, first, np.where(p < 0.5, second, ""))
        same = sides == label
        columns["predicted_side"][rows[same]] = chosen[same]
    return columns


PREDICTED = "predicted_"
"""What the name of the group of predicted sides begins with; its values are known once the model has been asked."""


def is_predicted(name: str) -> bool:
    """Return whether a group is that of the predicted sides."""
    return name.startswith(PREDICTED)


def predicted_group(outcomes: Outcomes) -> str:
    """Return the name of the group that `with_predictions` added."""
    return next(filter(is_predicted, outcomes.groups))


def with_predictions(outcomes: Outcomes) -> Outcomes:
    """Return the outcomes with a group for the side predicted: `predicted_gender` where sides are genders."""
    labels = set(outcomes.sides.tolist()) - {""}
    if not labels:
        return outcomes
    gendered = all(set(label.split("|")) <= {"male", "female", "neutral"} for label in labels)
    name = PREDICTED + ("gender" if gendered else "side")
    return replace(outcomes, groups={**outcomes.groups, name: side_columns(outcomes)["predicted_side"]})
