"""What people label and what the model says, for sentence pairs such as "… he slept" and "… she slept"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...metrics.sides import side_columns
from ...records import Floats
from ...runs.run import Part
from ...stats.bounded import mean_interval


@dataclass(frozen=True)
class LabelView:
    """The share of sentences that people call by the first side, and the mean probability that the model gives it.

    `low` and `high` are the ends of the interval of the mean; `labelled` is None where no sentence has a label.
    """

    side: str
    other: str
    n: int
    labelled: float | None
    stated: float
    low: float
    high: float
    apart: str

    @property
    def sentence(self) -> str:
        """Both numbers in words, and which way the model misses where that is shown."""
        model = f"the model gives {self.side} a probability of {self.stated:.2f} [{self.low:.2f}, {self.high:.2f}]"
        if self.labelled is None:
            return f"Over {self.n:,} sentences {model} on average."
        way = f": it {self.apart} {self.side}" if self.apart else ""
        return f"People label {self.labelled:.0%} of {self.n:,} sentences {self.side}; {model} on average{way}."


def label_view(part: Part) -> LabelView | None:
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
    stated = mean_interval(_by_cluster(p[known], clusters), (0.0, 1.0), level=level)
    share, apart = (float(y[labelled].mean()), "") if labelled.any() else (None, "")
    if share is not None:
        ends = mean_interval(_by_cluster((p - y)[known], clusters), (-1.0, 1.0), level=level)
        apart = "understates" if ends.high < 0 else "overstates" if ends.low > 0 else ""
    return LabelView(first, other, int(known.sum()), share, float(p[known].mean()), stated.low, stated.high, apart)


def _by_cluster(values: Floats, clusters: NDArray[Any]) -> Floats:
    return np.asarray(pd.Series(values).groupby(clusters).mean(), dtype=np.float64)
