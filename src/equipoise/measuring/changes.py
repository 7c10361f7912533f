"""What a marker changes: marked against the same sentence unmarked, so a gap that was there before does not count.

The change of each marker and gender, of each marker over the genders, and of each attribute over its markers; and the
interaction, the change with he minus the change with she. Sentences are compared with themselves (stats/paired): the
interval resamples base sentences. Those of markers are tested, together with all other claims of a run (claims.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..metrics import METRICS, Metric
from ..metrics.columns import SUBGROUP
from ..metrics.groups import mean
from ..records import Estimate, Floats
from ..stats.paired import Contest, Trial, paired_intervals
from ..stats.resampling import Statistic
from .cells import of_type
from .items import Items
from .markers import NONE
from .measure import Measured, Plan
from .sentences import MarkedType, marked_sentences
from .stopping import Sample

CHANGE, INTERACTION = METRICS["confidence_change"], METRICS["confidence_interaction"]


@dataclass(frozen=True)
class Change:
    """A metric of some subgroups of an attribute, and its contest; `tested` ones are claims."""

    metric: Metric
    parts: dict[str, str]
    contest: Contest
    tested: bool = False


def changes(items: Items, plan: Plan, sample: Sample | None = None) -> list[Measured]:
    """Return the changes of confidence and their interactions with gender, with intervals."""
    rows: list[Measured] = []
    for sentences in marked_sentences(items):
        groups = list(marker_changes(sentences))
        estimates = _estimates(groups, sentences, plan, sample or Sample())
        for group, estimate in zip(groups, estimates, strict=True):
            rows.append(Measured(group.metric, group.metric.name, group.parts, estimate))
    return rows


def _estimates(groups: Sequence[Change], sentences: MarkedType, plan: Plan, sample: Sample) -> Iterator[Estimate]:
    """Yield the estimate of each change."""
    contests = [group.contest for group in groups]
    if not plan.intervals:
        for contest in contests:
            yield Estimate.alone(contest.difference, level=plan.level, n=contest.n, method="value alone")
        return
    trial = Trial(plan.resamples, level=sample.level(plan.level), seed=plan.seed)
    # Where all were asked, the interval is that of a full audit.
    shrink = sample.shrink(sentences.kind, sentences.sentences) or 1.0
    differences = paired_intervals(contests, clusters=sentences.sentences, trial=trial)
    for group, difference in zip(groups, differences, strict=True):
        value, (lowest, highest) = difference.value, group.metric.bounds
        low = max(lowest, value - shrink * (value - difference.low))
        high = min(highest, value + shrink * (difference.high - value))
        yield replace(difference, low=low, high=high, level=plan.level)


def marker_changes(sentences: MarkedType) -> Iterator[Change]:
    """Yield what is compared within a type, by augmentation and attribute."""
    confidence = {"confidence": sentences.items.shared["confidence"]}
    table = sentences.table(SUBGROUP, confidence, sentences.items.outcomes.labelled)
    values = {}
    attributes: dict[tuple[str, str], dict[str, dict[str, Floats]]] = {}
    for parts, rows in table.groups:
        # The mean confidence of each base sentence; NaN where it has no item.
        means = np.full(sentences.sentences, np.nan)
        means[table.numbers[rows]] = table.columns["confidence"][rows]
        gender = parts.get("gender", "")
        if parts["augmentation"] == NONE:
            values[gender] = means
            continue
        markers = attributes.setdefault((parts["augmentation"], parts["attribute"]), {})
        markers.setdefault(parts["marker"], {})[gender] = means
    for (way, attribute), by_marker in attributes.items():
        parts = {"augmentation": way, "attribute": attribute, **of_type(sentences.kind)}
        every: list[tuple[Floats, Floats]] = []
        interactions = []
        for marker, genders in by_marker.items():
            named = {**parts, "marker": marker}
            sides = {gender: (means, values[gender]) for gender, means in genders.items() if gender in values}
            for gender, pair in sides.items():
                if gender:
                    yield from _change({**named, "gender": gender}, [pair])
            if sides:
                yield from _change(named, list(sides.values()), tested=True)
            every += sides.values()
            if {"male", "female"} <= set(sides):
                apart = [sides[gender][0] - sides[gender][1] for gender in ("male", "female")]
                interactions.append(apart)
                yield from _contest(INTERACTION, named, apart, tested=True)
        if every:
            yield from _change(parts, every)
        if interactions:
            yield from _contest(INTERACTION, parts, list(np.mean(interactions, axis=0)))


def _change(parts: dict[str, str], sides: Sequence[tuple[Floats, Floats]], tested: bool = False) -> Iterator[Change]:
    """Yield the change over some subgroups: in each base sentence the mean of those asked both marked and unmarked."""
    pairs = np.array(sides)
    pairs[np.isnan(pairs).any(axis=1, keepdims=True).repeat(2, axis=1)] = np.nan
    known = ~np.isnan(pairs[:, 0]).all(axis=0)
    if known.any():
        means = np.full(pairs.shape[1:], np.nan)
        means[:, known] = np.nanmean(pairs[:, :, known], axis=0)
        yield from _contest(CHANGE, parts, list(means), tested=tested)


def _contest(metric: Metric, parts: dict[str, str], sides: Sequence[Floats], tested: bool = False) -> Iterator[Change]:
    """Yield the contest of two values for each base sentence, over those that have both."""
    known = np.flatnonzero(~np.isnan(sides[0]) & ~np.isnan(sides[1]))
    if len(known):
        first, second = ([Statistic(mean, [side[known]], known)] for side in sides)
        # Each side lies within half of the bounds of their difference.
        yield Change(metric, parts, Contest(first, second, len(known), metric.bounds[1]), tested)
