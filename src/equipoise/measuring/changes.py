"""What a marker changes: marked against the same sentence unmarked, so a gap that was there before does not count.

The change of each marker and gender, of each marker over the genders, and of each attribute over its markers; and the
interaction, the change with he minus the change with she. All intervals of an attribute hold at once. An attribute's
p-value tests "none of its markers changes anything", corrected for the number of attributes (Holm).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ..records import Estimate, Floats, Integers
from ..stats import maximum
from .sample import Sample
from .sentence_intervals import Contrast, Means
from .sentence_table import NONE, Resampling, SentenceTable, resampled_means

Row = tuple[str, dict[str, str], Estimate]
METHOD = "simultaneous bootstrap of the changes of an attribute"
TERMS = {"confidence_change": 2, "confidence_interaction": 4}
"""How many means each is a sum or difference of."""


def changes(table: SentenceTable, plan: Resampling, kind: str, sample: Sample) -> Iterator[Row]:
    """Yield the changes of confidence, their interactions with gender, and the p-values of each attribute."""
    confidence_means = Means(
        "confidence", *table.sums("confidence"), *resampled_means(*table.sums("confidence"), table.weights)
    )
    means, resampled = confidence_means.means, confidence_means.resampled
    level, shrink = sample.level(plan.level), sample.shrink(kind, table.clusters)
    unmarked = {cell["gender"]: n for n, cell in enumerate(table.cells) if cell["augmentation"] == NONE}
    tests: dict[tuple[str, str], list[tuple[dict[str, str], float]]] = {}
    for parts, mask in table.choose(("augmentation", "attribute")):
        cells = [int(n) for n in np.flatnonzero(mask) if table.cells[n]["gender"] in unmarked]
        if parts["augmentation"] == NONE or not cells:
            continue
        base = [unmarked[table.cells[n]["gender"]] for n in cells]
        change, drawn = means[cells] - means[base], resampled[:, cells] - resampled[:, base]
        named = [{**parts, **{k: table.cells[n][k] for k in ("marker", "gender") if table.cells[n][k]}} for n in cells]
        family = _Family(plan, level, shrink, parts, confidence_means.sentences[[*cells, *base]])
        for metric, groups, values, resamples in (
            ("confidence_change", named, change, drawn),
            *family.interactions(named, change, drawn),
        ):
            contrast, radius = family.contrast(metric), family.radius(values, resamples)
            for group, value in family.values(groups, values):
                yield metric, group, contrast.estimate(value, radius, table.clusters, METHOD)
            p = contrast.p_value(float(np.abs(values).max()), radius, family.p_value(values, resamples))
            tests.setdefault((metric, parts["augmentation"]), []).append((parts, min(1.0, sample.errors * p)))
    for (metric, _), several in tests.items():
        for (parts, p), p_holm in zip(several, maximum.holm([p for _, p in several]), strict=True):
            for suffix, value in (("p", p), ("p_holm", p_holm)):
                estimate = Estimate(value, np.nan, np.nan, plan.level, table.clusters, METHOD)
                yield f"{metric}_{suffix}", parts, estimate


class _Family:
    """The changes of one attribute and augmentation, from means over `sentences` base sentences each."""

    def __init__(
        self, plan: Resampling, level: float, shrink: float, parts: Mapping[str, str], sentences: Integers
    ) -> None:
        self.plan, self.level, self.shrink = plan, level, shrink
        self.parts, self.sentences = dict(parts), sentences

    def contrast(self, metric: str) -> Contrast:
        """Return what the differences of that metric are made of."""
        return Contrast(metric, "confidence", self.sentences, self.level, self.plan.level, TERMS[metric])

    def radius(self, values: Floats, drawn: Floats) -> float:
        """Return how far all values at once may lie from their truths."""
        return maximum.absolute_radius(values, drawn, level=self.level, shrink=self.shrink)

    def p_value(self, values: Floats, drawn: Floats) -> float:
        """Return the p-value of "all are 0": how often deviations alone are as large as the largest value."""
        return maximum.absolute_p_value(values, drawn, shrink=self.shrink)

    def values(self, named: list[dict[str, str]], values: Floats) -> Iterator[tuple[dict[str, str], float]]:
        """Yield each value, the mean of each marker over the genders, and the mean of all.

        A mean lies no further from its truth than the furthest of its parts, so one radius covers all of them.
        """
        yield from zip(named, map(float, values), strict=True)
        for marker in dict.fromkeys(group["marker"] for group in named):
            chosen = [n for n, group in enumerate(named) if group["marker"] == marker]
            if len(chosen) > 1:
                yield {**self.parts, "marker": marker}, float(values[chosen].mean())
        yield self.parts, float(values.mean())

    def interactions(
        self, named: list[dict[str, str]], change: Floats, drawn: Floats
    ) -> Iterator[tuple[str, list[dict[str, str]], Floats, Floats]]:
        """Yield the change with he minus the change with she of each marker; nothing where no marker has both."""
        places = {(group["marker"], group.get("gender", "")): n for n, group in enumerate(named)}
        markers = dict.fromkeys(group["marker"] for group in named)
        both = [marker for marker in markers if {(marker, "male"), (marker, "female")} <= set(places)]
        if both:
            male, female = ([places[marker, gender] for marker in both] for gender in ("male", "female"))
            groups = [{**self.parts, "marker": marker} for marker in both]
            yield "confidence_interaction", groups, change[male] - change[female], drawn[:, male] - drawn[:, female]
