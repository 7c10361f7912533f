"""What a marker changes: marked against the same sentence unmarked, so a gap that was there before does not count.

The change of each marker and gender, of each marker over the genders, and of each attribute over its markers; and the
interaction, the change with he minus the change with she. All intervals of an attribute hold at once. An attribute's
p-value tests "none of its markers changes anything", corrected for the number of attributes (Holm).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ..records import Estimate, Floats
from ..stats import maximum
from .sample import Sample
from .sentence_table import NONE, Resampling, SentenceTable, resampled_means

Row = tuple[str, dict[str, str], Estimate]
METHOD = "simultaneous bootstrap of the changes of an attribute"


def changes(table: SentenceTable, plan: Resampling, kind: str, sample: Sample) -> Iterator[Row]:
    """Yield the changes of confidence, their interactions with gender, and the p-values of each attribute."""
    means, resampled = resampled_means(*table.sums("confidence"), table.weights)
    unmarked = {cell["gender"]: n for n, cell in enumerate(table.cells) if cell["augmentation"] == NONE}
    tests: dict[tuple[str, str], list[tuple[dict[str, str], float]]] = {}
    for parts, mask in table.choose(("augmentation", "attribute")):
        cells = [n for n in np.flatnonzero(mask) if table.cells[n]["gender"] in unmarked]
        if parts["augmentation"] == NONE or not cells:
            continue
        base = [unmarked[table.cells[n]["gender"]] for n in cells]
        change, drawn = means[cells] - means[base], resampled[:, cells] - resampled[:, base]
        named = [{**parts, **{k: table.cells[n][k] for k in ("marker", "gender") if table.cells[n][k]}} for n in cells]
        family = _Family(table, plan, kind, sample, parts)
        for metric, rows, p in (
            ("confidence_change", family.estimates(named, change, drawn), family.p_value(change, drawn)),
            *family.interactions(named, change, drawn),
        ):
            yield from ((metric, group, estimate) for group, estimate in rows)
            tests.setdefault((metric, parts["augmentation"]), []).append((parts, p))
    for (metric, _), several in tests.items():
        for (parts, p), p_holm in zip(several, maximum.holm([p for _, p in several]), strict=True):
            for suffix, value in (("p", p), ("p_holm", p_holm)):
                estimate = Estimate(value, np.nan, np.nan, plan.level, table.clusters, METHOD)
                yield f"{metric}_{suffix}", parts, estimate


class _Family:
    """The changes of one attribute and augmentation."""

    def __init__(
        self, table: SentenceTable, plan: Resampling, kind: str, sample: Sample, parts: Mapping[str, str]
    ) -> None:
        self.plan, self.parts, self.errors = plan, dict(parts), sample.errors
        self.sentences = table.clusters
        self.level, self.shrink = sample.level(plan.level), sample.shrink(kind, table.clusters)

    def estimates(
        self, named: list[dict[str, str]], values: Floats, drawn: Floats
    ) -> Iterator[tuple[dict[str, str], Estimate]]:
        """Yield each value, the mean of each marker over the genders, and the mean of all; the intervals hold at once.

        A mean lies no further from its truth than the furthest of its parts, so one radius covers all of them.
        """
        radius = maximum.absolute_radius(values, drawn, level=self.level, shrink=self.shrink)
        for group, value in zip(named, values, strict=True):
            yield group, self._estimate(float(value), radius)
        for marker in dict.fromkeys(group["marker"] for group in named):
            chosen = [n for n, group in enumerate(named) if group["marker"] == marker]
            if len(chosen) > 1:
                yield {**self.parts, "marker": marker}, self._estimate(float(values[chosen].mean()), radius)
        yield self.parts, self._estimate(float(values.mean()), radius)

    def interactions(
        self, named: list[dict[str, str]], change: Floats, drawn: Floats
    ) -> Iterator[tuple[str, Iterator[tuple[dict[str, str], Estimate]], float]]:
        """Yield the change with he minus the change with she of each marker; nothing where no marker has both."""
        places = {(group["marker"], group.get("gender", "")): n for n, group in enumerate(named)}
        markers = dict.fromkeys(group["marker"] for group in named)
        both = [marker for marker in markers if {(marker, "male"), (marker, "female")} <= set(places)]
        if not both:
            return
        male, female = ([places[marker, gender] for marker in both] for gender in ("male", "female"))
        values, resampled = change[male] - change[female], drawn[:, male] - drawn[:, female]
        groups = [{**self.parts, "marker": marker} for marker in both]
        rows = self.estimates(groups, values, resampled)
        yield "confidence_interaction", rows, self.p_value(values, resampled)

    def p_value(self, values: Floats, drawn: Floats) -> float:
        """Return the p-value of "all are 0": how often deviations alone are as large as the largest value."""
        return min(1.0, self.errors * maximum.absolute_p_value(values, drawn, shrink=self.shrink))

    def _estimate(self, value: float, radius: float) -> Estimate:
        return Estimate(value, value - radius, value + radius, self.plan.level, self.sentences, METHOD)
