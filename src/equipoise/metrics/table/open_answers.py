"""The rows of answers that are not one candidate: how often one names nobody, both, or cannot be read."""

from __future__ import annotations

from functools import partial

from ..groups import mean
from ..metric import Metric

MEANINGS = {
    "both": "open answers: share that names both",
    "neither": "open answers: share that names nobody or leaves it open",
    "refused": "open answers: share that declines to answer",
    "unparsed": "open answers: share that no rule can read",
}
"""Meaning -> summary, in the order of the last classes of an open answer."""

_share = partial(Metric, function=mean, better="neither", bounds=(0, 1), applies_to="open answers")

OPEN_ANSWERS = tuple(
    _share(name=f"{meaning}_share", inputs=(f"said_{meaning}",), label=f"Answers: {meaning}", summary=summary)
    for meaning, summary in MEANINGS.items()
)

BOTH_CHOSEN = Metric(
    "both_chosen",
    mean,
    ("chose_both",),
    "neither",
    "Chose “Both of them”",
    "multiple choice: share that chooses “Both of them”",
    bounds=(0, 1),
    applies_to="both offered",
)
