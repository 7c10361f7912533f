"""What a marker changes: marked against the same sentence unmarked, so a gap that was there before does not count.

The change of each marker and gender, of each marker over the genders, and of each attribute over its markers; and the
interaction, the change with he minus the change with she. Sentences are compared with themselves (stats/paired): the
interval resamples base sentences, the p-value exchanges marked and unmarked within them. p-values are of markers, and
corrected over all markers of an augmentation (Holm). An attribute has the smallest of its markers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..metrics import METRICS
from ..metrics.groups import mean
from ..records import Estimate, Floats
from ..stats.paired import Contest, Difference, Trial, holm, paired_differences
from ..stats.resampling import Statistic
from .sample import Sample
from .sentence_table import NONE, Resampling, SentenceTable

Row = tuple[str, dict[str, str], Estimate]
EXCHANGED = "paired permutation test: marked and unmarked exchanged within base sentences"


@dataclass(frozen=True)
class _Group:
    """A metric of some cells (marker x gender) of an attribute, and its contest; `tested` groups have a p-value."""

    metric: str
    parts: dict[str, str]
    contest: Contest
    tested: bool = False


def changes(table: SentenceTable, plan: Resampling, kind: str, sample: Sample) -> Iterator[Row]:
    """Yield the changes of confidence, their interactions with gender, and the p-values of markers and attributes."""
    groups = list(_groups(table))
    if not plan.intervals:
        for group in groups:
            alone = Estimate(group.contest.difference, np.nan, np.nan, plan.level, group.contest.n, "value alone")
            yield group.metric, group.parts, alone
    if not groups or not plan.intervals:
        return
    trial = Trial(plan.resamples, plan.permutations, sample.level(plan.level), plan.seed)
    differences = paired_differences([group.contest for group in groups], clusters=table.clusters, trial=trial)
    shrink = sample.shrink(kind, table.clusters)
    families: dict[tuple[str, str], list[tuple[_Group, float]]] = {}
    for group, difference in zip(groups, differences, strict=True):
        yield group.metric, group.parts, _estimate(group.metric, difference, plan.level, shrink)
        if group.tested:
            family = families.setdefault((group.metric, group.parts["augmentation"]), [])
            family.append((group, min(1.0, sample.errors * difference.p)))
    for family in families.values():
        yield from _p_values(family, plan.level)


def _estimate(metric: str, difference: Difference, level: float, shrink: float) -> Estimate:
    """Return the difference as an estimate; `shrink` is for a sample that is a good part of all there is."""
    shrink = shrink or 1.0  # all were asked: the interval is that of a full audit
    value, (lowest, highest) = difference.value, METRICS[metric].bounds
    low = max(lowest, value - shrink * (value - difference.low))
    high = min(highest, value + shrink * (difference.high - value))
    return Estimate(value, low, high, level, difference.n, difference.method)


def _p_values(family: Sequence[tuple[_Group, float]], level: float) -> Iterator[Row]:
    """Yield the p-value of every marker, plain and corrected over the family, and the smallest of each attribute."""
    metric = family[0][0].metric
    corrected = {"p": [p for _, p in family], "p_holm": holm(np.array([p for _, p in family])).tolist()}
    for suffix, values in corrected.items():
        smallest: dict[str, Estimate] = {}
        for (group, _), p in zip(family, values, strict=True):
            estimate = Estimate(p, np.nan, np.nan, level, group.contest.n, EXCHANGED)
            yield f"{metric}_{suffix}", group.parts, estimate
            attribute = group.parts["attribute"]
            smallest[attribute] = min(smallest.get(attribute, estimate), estimate, key=lambda e: e.value)
        for attribute, estimate in smallest.items():
            parts = {"augmentation": family[0][0].parts["augmentation"], "attribute": attribute}
            yield f"{metric}_{suffix}", parts, estimate


def _groups(table: SentenceTable) -> Iterator[_Group]:
    """Yield what is compared, by augmentation and attribute."""
    total, count = table.sums("confidence")
    with np.errstate(invalid="ignore", divide="ignore"):
        values: Floats = total / count
    unmarked = {cell["gender"]: n for n, cell in enumerate(table.cells) if cell["augmentation"] == NONE}
    for parts, mask in table.choose(("augmentation", "attribute")):
        cells = [int(n) for n in np.flatnonzero(mask) if table.cells[n]["gender"] in unmarked]
        if parts["augmentation"] == NONE or not cells:
            continue
        sides = {n: (values[:, n], values[:, unmarked[table.cells[n]["gender"]]]) for n in cells}
        by_marker: dict[str, list[int]] = {}
        interactions = []
        for n in cells:
            by_marker.setdefault(table.cells[n]["marker"], []).append(n)
        for marker, numbers in by_marker.items():
            named = {**parts, "marker": marker}
            genders = {table.cells[n]["gender"]: n for n in numbers}
            for gender, n in genders.items():
                if gender:
                    yield from _change({**named, "gender": gender}, [sides[n]])
            yield from _change(named, [sides[n] for n in numbers], tested=True)
            if {"male", "female"} <= set(genders):
                apart = [sides[genders[gender]][0] - sides[genders[gender]][1] for gender in ("male", "female")]
                interactions.append(apart)
                yield from _contest("confidence_interaction", named, apart, tested=True)
        yield from _change(parts, list(sides.values()))
        if interactions:
            yield from _contest("confidence_interaction", parts, list(np.mean(interactions, axis=0)), tested=False)


def _change(parts: dict[str, str], sides: Sequence[tuple[Floats, Floats]], *, tested: bool = False) -> Iterator[_Group]:
    """Yield the change over some cells: in each base sentence the mean of those asked both marked and unmarked."""
    pairs = np.array(sides)
    pairs[np.isnan(pairs).any(axis=1, keepdims=True).repeat(2, axis=1)] = np.nan
    known = ~np.isnan(pairs[:, 0]).all(axis=0)
    if known.any():
        means = np.full(pairs.shape[1:], np.nan)
        means[:, known] = np.nanmean(pairs[:, :, known], axis=0)
        yield from _contest("confidence_change", parts, list(means), tested=tested)


def _contest(metric: str, parts: dict[str, str], sides: Sequence[Floats], *, tested: bool) -> Iterator[_Group]:
    """Yield the contest of two values for each base sentence, over those that have both."""
    known = np.flatnonzero(~np.isnan(sides[0]) & ~np.isnan(sides[1]))
    if len(known):
        first, second = ([Statistic(mean, [side[known]], known)] for side in sides)
        # Each side lies within half of the bounds of their difference.
        width = METRICS[metric].bounds[1]
        yield _Group(metric, parts, Contest(first, second, len(known), width), tested)
