"""Findings that need the items, too: labels, stated probabilities, occupations, and what is left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..metrics.sides import side_columns
from ..records import Estimate, Floats
from ..records.showing import Finding
from ..runs.run import Part, main_estimator
from ..stats.bounded import mean_interval
from ..stats.separation import Separation, separations
from .words import adjective
from .words import sentences as items_of

NAMED = 3
"""At most this many occupations are named at each end."""

ALPHA = 0.05


def stated_probabilities(part: Part, kind: str) -> Iterator[Finding]:
    """Yield whether the model is surer of its answers than it is right, where that is shown."""
    items = part.of_kind(part.items, kind)
    items = items[(items["gold"] >= 0) & (items["predicted"] >= 0) & items["answerable"] & (items["sides"] == "")]
    if items.empty:
        return
    stated = np.array([max(probs) for probs in items["probs"]])
    right = items["correct"].to_numpy(dtype=np.float64)
    units = pd.Series(stated - right).groupby(items["cluster_id"].to_numpy()).mean().to_numpy()
    estimate = mean_interval(units, (-1.0, 1.0), level=part.run.level)
    if not estimate.excludes_zero:
        return
    apart = estimate.value
    ends = sorted([100 * abs(estimate.low), 100 * abs(estimate.high)])
    text = (
        f"It is {'over' if apart > 0 else 'under'}confident: it gives its answers a probability of {stated.mean():.0%}"
        f" on average, and is right in {right.mean():.0%} of {items['example_id'].nunique():,} {items_of(kind)} (a"
        f" difference of {100 * abs(apart):.0f} points [{ends[0]:.0f}, {ends[1]:.0f}])."
    )
    yield Finding(text, topic="stated", kind=kind)


def occupations(part: Part, kind: str) -> Iterator[Finding]:
    """Yield which occupations differ from the rest by UCerF, or that none does."""
    rows = separated_occupations(part, kind)
    if len(rows) < 2:
        return
    estimator = main_estimator(part.pairs, "u").removeprefix("u").strip("_").replace("_", "-")
    ucerf = f"UCerF by {estimator}" if estimator else "UCerF"
    shown = [row for row in rows if row.corrected < ALPHA]
    tested = f"corrected for {len(rows)} occupations"
    if not shown:
        least = min(row.corrected for row in rows)
        text = (
            f"No occupation is clearly different: none of {len(rows)} differs detectably from the rest in {ucerf} on"
            f" {adjective(kind)}sets (smallest p = {least:.2f}, {tested})."
        )
        yield Finding(text, topic="occupations", kind=kind)
        return
    lower = [row for row in shown if row.mean < row.rest][:NAMED]
    higher = [row for row in shown if row.mean > row.rest][::-1][:NAMED]
    for named, how in ((lower, "more"), (higher, "less")):
        if named:
            most = f"{max(row.corrected for row in named):.3f}"
            text = (
                f"Answers about the {_list(named)} depend {how} on the group word than those about other occupations"
                f" ({ucerf} on {adjective(kind)}sets, each against the rest; p at most {most}, {tested})."
            )
            yield Finding(text, topic="occupations", kind=kind)


def separated_occupations(part: Part, kind: str) -> list[Separation]:
    """Return each occupation's mean U beside that of the rest, with p-values corrected for their number."""
    values = main_estimator(part.pairs, "u")
    if "occupation" not in part.pairs or values not in part.pairs:
        return []
    pairs = part.of_kind(part.pairs, kind)
    pairs = pairs[(pairs["occupation"].fillna("") != "") & pairs[values].notna()]
    if pairs.empty:
        return []
    # Sets that share a base sentence are one piece of evidence.
    units = pairs.groupby(["cluster_id", "occupation"], sort=True)[values].mean().reset_index()
    return separations(units[values].to_numpy(dtype=np.float64), units["occupation"].to_numpy(dtype=object))


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


def _list(rows: Sequence[Separation]) -> str:
    names = [f"{row.group} ({row.mean:.3f}, n = {row.n})" for row in rows]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


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
