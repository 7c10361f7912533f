"""What a sentence pair, whose candidates are its own two sides, has: a human label, and a probability for it.

The group `sides` names the candidates of such an item in order, as "male|female"; other items do not have it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records import Outcomes


def side_columns(outcomes: Outcomes) -> dict[str, NDArray[Any]]:
    """Return y, p, prefers and predicted_side of each item (see `equipoise.measuring.measure.COLUMNS`)."""
    sides = outcomes.group("sides")
    sided = sides != ""
    first, second = outcomes.probs[:, 0], outcomes.probs[:, 1]
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.where(sided, first / (first + second), np.nan)
    y = np.where(sided & (outcomes.gold == 0), 1.0, np.where(sided & (outcomes.gold == 1), 0.0, np.nan))
    names = {text: (text.split("|") * 2)[:2] for text in set(sides.tolist())}
    decided = ~np.isnan(p) & (p != 0.5)
    predicted = [
        names[text][0 if value > 0.5 else 1] if clear else ""
        for text, value, clear in zip(sides, p, decided, strict=True)
    ]
    prefers = np.where(np.isnan(p), np.nan, np.where(p == 0.5, 0.5, p > 0.5))
    return {"y": y, "p": p, "prefers": prefers, "predicted_side": np.array(predicted, dtype=object)}


def with_predictions(outcomes: Outcomes) -> Outcomes:
    """Return the outcomes with a group for the side predicted: `predicted_gender` where sides are genders."""
    sides = set(outcomes.group("sides").tolist()) - {""}
    if not sides:
        return outcomes
    gendered = all(set(text.split("|")) <= {"male", "female", "neutral"} for text in sides)
    name = "predicted_gender" if gendered else "predicted_side"
    return replace(outcomes, groups={**outcomes.groups, name: side_columns(outcomes)["predicted_side"]})
