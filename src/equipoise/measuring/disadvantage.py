"""Double disadvantage: a marker of a disadvantaged group where the gender goes against the stereotype, too.

Four means of confidence are compared: privileged or disadvantaged markers, in sentences that go with the stereotype of
the referent's occupation (pro) or against it (anti). By side they are of male- or female-dominated occupations alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..records import Booleans, Estimate, Floats
from .sentence_intervals import METHOD, Contrast
from .sentence_table import NONE, Resampling, SentenceTable, resampled_means

Row = tuple[str, dict[str, str], Estimate]

GROUPS = (("privileged", "pro"), ("disadvantaged", "pro"), ("privileged", "anti"), ("disadvantaged", "anti"))
CONTRASTS = {"double_disadvantage": (1, 0, 0, -1), "disadvantage_interaction": (-1, 1, 1, -1)}
"""Metric -> what each of the four means counts."""


def disadvantages(table: SentenceTable, plan: Resampling) -> Iterator[Row]:
    """Yield both contrasts for each augmentation: over all occupations, by side, and by attribute."""
    sides = table.groups["side"]
    everywhere = np.ones(len(sides), dtype=bool)
    bases = [({}, everywhere), *(({"side": name}, sides == name) for name in ("male", "female"))]
    for level in (("augmentation",), ("augmentation", "attribute")):
        for parts, cells in table.choose(level):
            if parts["augmentation"] == NONE:
                continue
            for side, rows in bases if level == ("augmentation",) else bases[:1]:
                yield from _contrasts(table, plan, {**parts, **side}, cells, rows)


def _contrasts(
    table: SentenceTable, plan: Resampling, parts: dict[str, str], cells: Booleans, rows: Booleans
) -> Iterator[Row]:
    sums = [_sums(table, cells, rows, privilege, stereotype) for privilege, stereotype in GROUPS]
    total, count = (np.stack(columns, axis=1) for columns in zip(*sums, strict=True))
    if not count.any(axis=0).all():
        return
    means, drawn = resampled_means(total, count, table.weights)
    sentences = np.asarray((count > 0).sum(axis=0), dtype=np.int64)
    for metric, signs in CONTRASTS.items():
        weights = np.array(signs, dtype=np.float64)
        value, samples = float(means @ weights), drawn @ weights
        deviation = np.abs(samples - value)
        radius = float(np.quantile(deviation[~np.isnan(deviation)], plan.level))
        terms = int(np.abs(weights).sum())
        used = sentences[weights != 0]
        contrast = Contrast(metric, "confidence", used, plan.level, plan.level, terms)
        yield metric, parts, contrast.estimate(value, radius, int(used.min()), METHOD.format(resamples=plan.resamples))


def _sums(
    table: SentenceTable, cells: Booleans, rows: Booleans, privilege: str, stereotype: str
) -> tuple[Floats, Floats]:
    """Return sums and counts of confidence by base sentence, over the markers and sentences of one group."""
    chosen = np.array([cell["privilege"] == privilege for cell in table.cells]) & cells
    inside = np.flatnonzero(rows & (table.groups["stereotype"] == stereotype) & chosen[table.cell])
    total, count = table.sums("confidence", inside)
    return total.sum(axis=1), count.sum(axis=1)
