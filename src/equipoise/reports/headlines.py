"""Which metrics a table shows at first, and which it folds away: the same choice for the terminal and the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..metrics import METRICS
from ..records import Measurement
from ..runs.measurements import metric_of, metric_place
from ..runs.run import Part

FEW = 12
"""A table of this many metrics or fewer is shown whole."""

OF_A_KIND = ("polarity", "open answers", "both offered")
"""What only some runs have; there it is what the reader came for."""


@dataclass(frozen=True)
class Headlines:
    """The names of a table's metrics: `first` are shown, `rest` can be unfolded. Both in the order of the metrics."""

    first: Sequence[str]
    rest: Sequence[str]


def headlines(part: Part) -> Headlines:
    """Return the metrics of a dataset and task that have a value for a whole type, the leading ones first.

    A run that was asked for certain metrics shows all of them, and so does a short table.
    """
    names = [
        name
        for name in sorted(part.measured.metrics, key=metric_place)
        if any(part.measured.get(name, type=kind) is not None for kind in part.measured.kinds)
    ]
    first = [name for name in names if _is_headline(name)]
    if _are_chosen(part) or not first or len(names) <= FEW:
        return Headlines(names, [])
    return Headlines(first, [name for name in names if name not in first])


def groupings(part: Part, *, every: bool) -> list[Measurement]:
    """Return the metrics over all groups of a name, in the order of the metrics: `every` one, or those asked for."""
    rows = sorted(part.measured.groupings(), key=lambda row: metric_place(row.metric))
    return rows if every or _are_chosen(part) else [row for row in rows if _is_headline(row.metric)]


def _are_chosen(part: Part) -> bool:
    """Return whether the run was asked for certain metrics."""
    asked = part.run.manifest.settings.get("metrics", list(METRICS))
    return not {metric.name for metric in METRICS.values() if metric.leading} <= set(asked)


def _is_headline(name: str) -> bool:
    metric = metric_of(name)
    return metric is None or metric.name not in METRICS or metric.leading or metric.applies_to in OF_A_KIND
