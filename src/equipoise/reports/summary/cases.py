"""Sentences that need the items as well as the measurements: stated probabilities, occupations, what is left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from ...runs.run import Part, main_estimator
from ...stats.bounded import mean_interval
from ...stats.separation import Separation, separations
from ..validity import adjective
from ..validity import sentences as items_of
from .sentences import Sentence

NAMED = 3
"""At most this many occupations are named at each end."""

ALPHA = 0.05


def stated_probabilities(part: Part, kind: str) -> Iterator[Sentence]:
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
    apart, low, high = estimate.value, estimate.low, estimate.high
    yield Sentence(
        "stated",
        f"It is {'over' if apart > 0 else 'under'}confident: it gives its answers a probability of {stated.mean():.0%}"
        f" on average, and is right in {right.mean():.0%} of {items['example_id'].nunique():,} {items_of(kind)} (a"
        f" difference of {100 * abs(apart):.0f} points"
        f" [{100 * min(abs(low), abs(high)):.0f}, {100 * max(abs(low), abs(high)):.0f}]).",
        kind,
    )


def occupations(part: Part, kind: str) -> Iterator[Sentence]:
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
        yield Sentence("occupations", text, kind)
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
            yield Sentence("occupations", text, kind)


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


def left_out(part: Part, kind: str) -> Iterator[Sentence]:
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
        yield Sentence("left out", text, kind)


def _list(rows: Sequence[Separation]) -> str:
    names = [f"{row.group} ({row.mean:.3f}, n = {row.n})" for row in rows]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
