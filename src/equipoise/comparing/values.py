"""What a comparison shows of each run apart from its measurements: single values, and true positives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from ..records import Estimate, Floats
from ..runs.run import Part, Run, column, main_estimator
from ..stats.bounded import mean_interval


def parts_of(runs: Sequence[Run], dataset: str, task: str) -> list[Part]:
    """Return the part of each run that is of a dataset and task."""
    return [part for run in runs for part in run.parts if (part.dataset, part.task) == (dataset, task)]


def values(part: Part, kind: str, quantity: str) -> Floats:
    """Return D of sentences with a right answer, the certainty of those without, or U of sets, where it is known."""
    if bool((part.outcomes.sides != "").any()) or kind not in part.kinds:
        return np.empty(0)
    if quantity == "U":
        table = part.of_kind(part.pairs, kind)
        name = "u"
    else:
        items = part.of_kind(part.items, kind)
        table = items[items["answerable"].astype(bool) == (quantity == "D")]
        name = "desirability" if quantity == "D" else "certainty"
    known = column(table, main_estimator(table, name))
    return known[~np.isnan(known)]


def rates(part: Part) -> Iterator[tuple[str, Estimate, Estimate]]:
    """Yield TPR and TPD with and against the stereotype: positive is the occupation stereotyped as male, as in EO.

    TPD is the mean desirability, scaled to 0..1.
    """
    items = part.items[part.items["answerable"].astype(bool)]
    desirability = main_estimator(items, "desirability")
    if not {"stereotype", "gender", desirability} <= set(items):
        return
    for side, gender, words in (("pro", "male", "with the stereotype"), ("anti", "female", "against the stereotype")):
        rows = items[(items["stereotype"] == side) & (items["gender"] == gender) & items["correct"].notna()]
        if len(rows):
            right, scaled = (rows["correct"], (rows[desirability] + 1) / 2)
            yield words, _mean(rows, right, part.run.level), _mean(rows, scaled, part.run.level)


def _mean(rows: pd.DataFrame, values: pd.Series, level: float) -> Estimate:
    units = np.asarray(values.astype(float).groupby(rows["cluster_id"].to_numpy()).mean(), dtype=np.float64)
    return replace(mean_interval(units, (0.0, 1.0), level=level), n=len(rows))
