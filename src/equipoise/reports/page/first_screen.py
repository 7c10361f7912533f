"""The first screen of a run's page: one sentence with counts, one picture, the worst case, and the checks.

Of several datasets and tasks one comes first, with the reason; each other one has a row, and its own block below.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from ...runs.run import Part
from ..behaviour.charts import case_key, filter_link, squares_chart
from ..behaviour.sets import FATE_WORDS, SetFates, set_fates, worst_label, worst_set
from ..behaviour.values import fate_values
from ..calibration import views as calibration_views
from ..calibration.charts import label_chart
from ..calibration.values import label_values
from ..identities import changes as identity_changes
from ..summary import PartSummary, part_summary
from ..summary.labels import label_view
from ..svg.values import Values
from ..validity import FINE, INVALID, OF_DATA, Check

SHOWN_APART = ("flips", "labels", "validity", "left out")
"""Sentences that have a place of their own: on the first screen, or among the notes."""

FATE_ORDER = ("toward", "against", "neither", "same")


@dataclass(frozen=True)
class Picture:
    """The sets of one type: the sentence about them, the squares, links to the cases, and the counts as a table."""

    view: SetFates
    sentence: str
    chart: Markup
    links: Sequence[tuple[str, str, int, str]]
    values: Values


def first_block(part: Part) -> Mapping[str, Any]:
    """Return what the first screen shows of one dataset and task."""
    summary = part_summary(part)
    flips = {sentence.kind: sentence.text for sentence in summary.sentences if sentence.topic == "flips"}
    invalid = _is_invalid(summary)
    # A picture of answers to a question that was not understood would be read as a finding.
    views = [] if invalid else list(set_fates(part))
    pictures = [
        Picture(
            view, flips.get(view.kind, view.sentence), squares_chart(view), list(_links(part, view)), fate_values(view)
        )
        for view in views
    ]
    labels = None if invalid else label_view(part)
    worst = worst_set(part) if pictures else worst_label(part) if labels else None
    leads = [check.beside or check.text for check in summary.checks if check.state == INVALID]
    return {
        "title": str(part),
        "pictures": pictures,
        "leads": leads or [sentence.text for sentence in summary.sentences if sentence.topic == "labels"],
        "labels": (label_chart(labels), label_values(labels)) if labels else None,
        "beside": [] if invalid else [check.beside for check in summary.checks if check.beside],
        "sentences": list(_sentences(part, summary)),
        "left_out": [sentence.text for sentence in summary.sentences if sentence.topic == "left out"],
        "worst": case_key(worst[0], str(part), worst[1]) if worst else "",
        "checks": summary.checks,
        "doubts": [check.text for check in summary.checks if check.state != FINE],
        "worst_title": "Surest where people say otherwise" if labels else "The set that is treated least alike",
    }


def lead_place(parts: Sequence[Part]) -> tuple[int, str]:
    """Return the place of the part that comes first, and why: sound answers first, then the surest large effect."""
    summaries = [part_summary(part) for part in parts]
    surest = [_surest_flips(part) for part in parts]
    sound = [not any(check.beside for check in summary.checks) for summary in summaries]
    order = [(not _is_invalid(summaries[at]), sound[at], surest[at]) for at in range(len(parts))]
    place = max(range(len(parts)), key=lambda at: (*order[at], -at))
    if surest[place] < 0:
        return place, f"One of {len(parts)} parts of this run."
    effect = f"its flip rate is the highest, by the low end of its interval ({surest[place]:.1%})"
    among = sum(sound)
    if among == len(parts):
        return place, f"Shown first of {len(parts)} parts: {effect}."
    if not sound[place]:
        return place, f"Shown first of {len(parts)} parts, all of them in doubt: {effect}."
    if among == 1:
        return place, f"Shown first of {len(parts)} parts: the only one answered better than chance."
    return place, f"Shown first of {len(parts)} parts: of the {among} answered better than chance, {effect}."


def other_row(block: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    """Return a dataset and task as one row: its name, its finding, and the doubt about it."""
    texts = [picture.sentence for picture in block["pictures"]] or block["leads"] or block["sentences"][:1]
    doubtful = any(check.state == INVALID or check.beside for check in block["checks"])
    views = [(picture.view, _shares(picture.view)) for picture in block["pictures"]]
    return {
        "title": block["title"],
        "address": f"#part-{number}",
        "texts": texts[:2],
        "beside": block["beside"],
        "doubtful": doubtful,
        "views": views,
    }


def data_checks(parts: Sequence[Part], dataset: str) -> list[Check]:
    """Return what is to be said of a dataset itself, each sentence once for all tasks."""
    several = [
        check
        for part in parts
        if part.dataset == dataset
        for check in part_summary(part).checks
        if check.name in OF_DATA and check.state != FINE
    ]
    return list({check.text: check for check in several}.values())


def _shares(view: SetFates) -> list[tuple[str, float]]:
    return [(fate, 100 * view.counts[fate] / view.n) for fate in FATE_ORDER if view.counts[fate]]


def _is_invalid(summary: PartSummary) -> bool:
    return any(check.state == INVALID for check in summary.checks)


def _surest_flips(part: Part) -> float:
    """Return the largest low end of a flip rate's interval, -1 where no flips were measured."""
    rates = [part.measured.get("flip_rate", type=kind) for kind in part.kinds]
    return max((float(rate.low) for rate in rates if rate is not None and rate.low == rate.low), default=-1.0)


def _links(part: Part, view: SetFates) -> Iterator[tuple[str, str, int, str]]:
    """Yield each fate with its words, its number of sets and the address that opens them."""
    for fate in FATE_ORDER:
        if view.counts[fate]:
            yield fate, FATE_WORDS[fate], view.counts[fate], filter_link(part=str(part), type=view.kind, flip=fate)


def _sentences(part: Part, summary: PartSummary) -> Iterator[str]:
    """Yield what comes after the headline; doubts are in the strip of checks and in the cautions."""
    yield from (sentence.text for sentence in summary.sentences if sentence.topic not in SHOWN_APART)
    yield from calibration_views.in_words(part.measured)
    yield from identity_changes.in_words(part.identities, interactions=False)
