"""The first screen of a run's page: one sentence with counts, one picture, the worst case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...metrics.sides import side_columns
from ...runs.run import Part
from ..behaviour.charts import case_key, filter_link, squares_chart
from ..behaviour.sets import FATE_WORDS, SetFates, set_fates, worst_set
from ..calibration import views as calibration_views
from ..identities import views as identity_views
from ..summary import PartSummary, part_summary

FATE_ORDER = ("toward", "against", "neither", "same")


def first_block(part: Part) -> Mapping[str, Any]:
    """Return what the first screen shows of one dataset and task."""
    summary = part_summary(part)
    flips = {sentence.kind: sentence.text for sentence in summary.sentences if sentence.topic == "flips"}
    pictures = [
        (view, flips.get(view.kind, view.sentence), squares_chart(view), list(_links(part, view)))
        for view in set_fates(part)
    ]
    worst = worst_set(part) if pictures else None
    return {
        "title": str(part),
        "pictures": pictures,
        "leads": list(cloze_lead(part)),
        "sentences": list(_sentences(part, summary)),
        "worst": case_key(worst[0], str(part), worst[1]) if worst else "",
        "checks": summary.checks,
        "worst_title": "The pair that it treats least alike",
    }


def _links(part: Part, view: SetFates) -> Iterator[tuple[str, str, int, str]]:
    """Yield each fate with its words, its number of sets and the address that opens them."""
    for fate in FATE_ORDER:
        if view.counts[fate]:
            yield fate, FATE_WORDS[fate], view.counts[fate], filter_link(part=str(part), type=view.kind, flip=fate)


def cloze_lead(part: Part) -> Iterator[str]:
    """Yield what people label and what the model says, for sentence pairs."""
    columns = side_columns(part.outcomes)
    y, p = columns["y"], columns["p"]
    known = ~np.isnan(p)
    if not known.any():
        return
    sides = {text.split("|")[0] for text in set(part.outcomes.sides.tolist()) - {""}}
    side = sides.pop() if len(sides) == 1 else "the first side"
    labelled = known & ~np.isnan(y)
    if labelled.any():
        yield (
            f"People label {y[labelled].mean():.0%} of {int(labelled.sum()):,} sentences {side};"
            f" the model gives {side} a probability of {p[labelled].mean():.2f} on average."
        )
    else:
        yield f"Over {int(known.sum()):,} sentences the model gives {side} a probability of {p[known].mean():.2f}."


def _sentences(part: Part, summary: PartSummary) -> Iterator[str]:
    """Yield what comes after the headline; doubts are in the strip of checks and in the cautions."""
    yield from (sentence.text for sentence in summary.sentences if sentence.topic not in ("flips", "validity"))
    yield from calibration_views.in_words(part.measured)
    yield from identity_views.in_words(part.identities)
