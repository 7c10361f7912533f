"""Findings that need the items, too: labels of sentence pairs, and what is left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..metrics.sides import side_columns
from ..records import Estimate, Floats
from ..records.showing import Finding
from ..runs.run import Part
from ..stats.bounded import mean_interval
from .words import sentences as items_of


def left_out(part: Part, kind: str) -> Iterator[Finding]:
    """Yield how many sentences do not enter the comparisons within sets."""
    metrics: dict[tuple[int, int], list[str]] = {}
    for metric in ("desirability_gap", "certainty_gap"):
        gap, pooled = part.measured.get(metric, type=kind), part.measured.get(f"{metric}_pooled", type=kind)
        if gap is not None and pooled is not None and pooled.n > gap.n:
            metrics.setdefault((pooled.n - gap.n, pooled.n), []).append(metric)
    for (missing, of), names in metrics.items():
        pooled_names = " and ".join(f"{name}_pooled" for name in names)
        text = (
            f"{missing:,} of {of:,} {items_of(kind)} do not enter {' and '.join(names)}: their set does not have both"
            f" sides. {pooled_names} take{'s' if len(names) == 1 else ''} all of them."
        )
        yield Finding(text, topic="left out", kind=kind)


@dataclass(frozen=True)
class Labels:
    """The share of sentences that people call by the first side, and the mean probability that the model gives it.

    `labelled` is None where no sentence has a label; `apart` says which way the model misses, "" where that is not
    shown.
    """

    side: str
    other: str
    labelled: float | None
    stated: Estimate
    apart: str

    @property
    def claim(self) -> bool | None:
        """Whether the model is shown to miss what people say; None without labels."""
        return None if self.labelled is None else bool(self.apart)

    @property
    def sentence(self) -> str:
        """Both numbers in words, and which way the model misses where that is shown."""
        model = f"the model gives {self.side} a probability of {self.stated:.2f}"
        if self.labelled is None:
            return f"Over {self.stated.n:,} sentences {model} on average."
        way = f": it {self.apart} {self.side}" if self.apart else ""
        return f"People label {self.labelled:.0%} of {self.stated.n:,} sentences {self.side}; {model} on average{way}."


def labels_of(part: Part) -> Labels | None:
    """Return labels beside stated probabilities of a dataset and task, None where it has no sentence pairs."""
    outcomes, level = part.outcomes, part.run.level
    columns = side_columns(outcomes)
    y, p = columns["y"], columns["p"]
    labelled = ~np.isnan(p) & ~np.isnan(y)
    known = labelled if labelled.any() else ~np.isnan(p)
    if not known.any():
        return None
    sides = {text for text in set(outcomes.sides.tolist()) if text}
    first, other = sides.pop().split("|")[:2] if len(sides) == 1 else ("the first side", "the second side")
    clusters = outcomes.cluster_id[known]
    mean = mean_interval(_by_cluster(p[known], clusters), (0.0, 1.0), level=level)
    share, apart = (float(y[labelled].mean()), "") if labelled.any() else (None, "")
    if share is not None:
        ends = mean_interval(_by_cluster((p - y)[known], clusters), (-1.0, 1.0), level=level)
        apart = "understates" if ends.high < 0 else "overstates" if ends.low > 0 else ""
    stated = replace(mean, value=float(p[known].mean()), n=int(known.sum()))
    return Labels(first, other, share, stated, apart)


def _by_cluster(values: Floats, clusters: NDArray[Any]) -> Floats:
    return np.asarray(pd.Series(values).groupby(clusters).mean(), dtype=np.float64)
