"""Double disadvantage: a marker of a disadvantaged group where the gender goes against the stereotype, too.

Four means of confidence are compared: privileged or disadvantaged markers, in sentences that go with the stereotype of
the referent's occupation (pro) or against it (anti). By side they are of male- or female-dominated occupations alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..records import Booleans, Estimate, Floats
from .sentence_intervals import METHOD, Contrast, Means
from .sentence_table import NONE, Resampling, SentenceTable

Row = tuple[str, dict[str, str], Estimate]

GROUPS = (("privileged", "pro"), ("disadvantaged", "pro"), ("privileged", "anti"), ("disadvantaged", "anti"))
CONTRASTS = {"double_disadvantage": (1, 0, 0, -1), "disadvantage_interaction": (-1, 1, 1, -1)}
"""Metric -> what each of the four means counts."""


def disadvantages(table: SentenceTable, plan: Resampling) -> Iterator[Row]:
    """Yield both contrasts for each augmentation: over all occupations, by side, and by attribute."""
    groups = list(_groups(table))
    if not groups:
        return
    # All groups together: each product reads the weights of all resamples.
    total, count = (np.concatenate([sums[n] for _, sums in groups], axis=1) for n in (0, 1))
    means = Means("confidence", total, count, table.weights)
    for number, (parts, _) in enumerate(groups):
        four = slice(len(GROUPS) * number, len(GROUPS) * (number + 1))
        values, resampled, sentences = means.means[four], means.resampled[:, four], means.sentences[four]
        for metric, signs in CONTRASTS.items():
            weights = np.array(signs, dtype=np.float64)
            value, samples = float(values @ weights), resampled @ weights
            deviation = np.abs(samples - value)
            radius = float(np.quantile(deviation[~np.isnan(deviation)], plan.level))
            used = sentences[weights != 0]
            contrast = Contrast(metric, "confidence", used, plan.level, plan.level, int(np.abs(weights).sum()))
            method = METHOD.format(resamples=plan.resamples)
            yield metric, parts, contrast.estimate(value, radius, int(used.min()), method)


def _groups(table: SentenceTable) -> Iterator[tuple[dict[str, str], tuple[Floats, Floats]]]:
    """Yield sums and counts by base sentence of the four means, where each has an item."""
    sides, stereotypes = table.groups["side"], table.groups["stereotype"]
    privileges = np.array([cell["privilege"] for cell in table.cells])
    rows = {"": np.ones(len(sides), dtype=bool), **{name: sides == name for name in ("male", "female")}}
    sums = {
        (side, stereotype): table.sums("confidence", np.flatnonzero(inside & (stereotypes == stereotype)))
        for side, inside in rows.items()
        for stereotype in ("pro", "anti")
    }
    for level, names in ((("augmentation",), tuple(rows)), (("augmentation", "attribute"), ("",))):
        for parts, cells in table.choose(level):
            if parts["augmentation"] == NONE:
                continue
            for side in names:
                four = [_added(sums[side, s], cells & (privileges == privilege)) for privilege, s in GROUPS]
                total, count = (np.stack(columns, axis=1) for columns in zip(*four, strict=True))
                if count.any(axis=0).all():
                    yield {**parts, **({"side": side} if side else {})}, (total, count)


def _added(sums: tuple[Floats, Floats], cells: Booleans) -> tuple[Floats, Floats]:
    """Return sums and counts by base sentence, over some cells."""
    total, count = ((columns * cells).sum(axis=1) for columns in sums)
    return total, count
