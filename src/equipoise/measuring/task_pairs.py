"""One model asked the same sentences in two ways: how far apart are the metrics, and may that be chance?

Each unit (a set, or an item) has a value from either way of asking, averaged over variants such as option orders. The
difference is the mean of first - second; its p-value comes from exchanging the two ways within clusters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..metrics import METRICS, Metric
from ..records import Estimate, Floats, Integers, Outcomes, Strings
from ..stats.bootstrap import resampling_units
from ..stats.paired import Trial, corrected
from ..uncertainty import PERPLEXITY
from .evidence import paired_means
from .items import Items

TESTED = ("flip_rate", "ucerf", "ucerf_signed", "accuracy")
"""The metrics that are compared: means of one value for each set or item, from 0 to 1."""


@dataclass(frozen=True)
class TaskDifference:
    """A metric asked as the first task less the same asked as the second, for items of one type ("" for all).

    Its p-value is corrected for all differences that were tested together, `tests` in number (Holm).
    """

    metric: str
    kind: str
    first: str
    second: str
    estimate: Estimate
    tests: int


@dataclass(frozen=True)
class _Paired:
    """The values of one metric and type by unit, from both tasks."""

    metric: Metric
    kind: str
    tasks: tuple[str, str]
    values: tuple[Floats, Floats]
    clusters: Integers


def task_differences(
    outcomes: Mapping[str, Outcomes], pairs: Sequence[tuple[str, str]], trial: Trial
) -> list[TaskDifference]:
    """Return the tested metrics of each pair of tasks, by type; p-values are corrected over all of them (Holm)."""
    paired = [pair for first, second in pairs for pair in _paired(outcomes[first], outcomes[second], (first, second))]
    estimates = corrected([_tested(pair, trial) for pair in paired])
    return [
        TaskDifference(pair.metric.name, pair.kind, *pair.tasks, estimate, len(paired))
        for pair, estimate in zip(paired, estimates, strict=True)
    ]


def _paired(first: Outcomes, second: Outcomes, tasks: tuple[str, str]) -> Iterator[_Paired]:
    """Yield the values of every tested metric and type on the sets that were asked in both ways, whole."""
    shared = _shared(first, second)
    if not shared:
        return
    items = [
        Items(outcomes.take(pd.Series(outcomes.example_id).isin(shared).to_numpy())) for outcomes in (first, second)
    ]
    for name in TESTED:
        metric = METRICS[name]
        values = [_by_unit(asked, metric) for asked in items]
        both = _about(items[0].outcomes, metric).assign(first=values[0], second=values[1]).dropna()
        for kind in sorted(both["type"].unique()):
            rows = both[both["type"] == kind]
            sides = (rows["first"].to_numpy(np.float64), rows["second"].to_numpy(np.float64))
            yield _Paired(metric, str(kind), tasks, sides, resampling_units(rows["cluster"].to_numpy(object)))


def _shared(first: Outcomes, second: Outcomes) -> list[str]:
    """Return the examples that both were asked, without those of sets that one was asked in part."""
    common = set(first.example_id.tolist()) & set(second.example_id.tolist())
    broken = {
        set_id
        for outcomes in (first, second)
        for set_id, example in zip(outcomes.set_id.tolist(), outcomes.example_id.tolist(), strict=True)
        if example not in common
    }
    kept = zip(first.set_id.tolist(), first.example_id.tolist(), strict=True)
    return list(dict.fromkeys(example for set_id, example in kept if example in common and set_id not in broken))


def _units(outcomes: Outcomes, metric: Metric) -> Strings:
    """Return what each item's value of the metric is about: its set, or the example itself."""
    return outcomes.set_id if metric.unit == "sets" else outcomes.example_id


def _about(outcomes: Outcomes, metric: Metric) -> pd.DataFrame:
    """Return the cluster and type of each unit."""
    columns = {"cluster": outcomes.cluster_id, "type": outcomes.group("type")}
    about = pd.DataFrame(columns, index=_units(outcomes, metric))
    return about[~about.index.duplicated()]


def _by_unit(items: Items, metric: Metric) -> pd.Series:
    """Return the metric's value by unit, averaged over variants; NaN where the metric does not apply."""
    outcomes = items.outcomes
    applies = items.applicable[metric.applies_to]
    if not metric.mixes_answerable and len(np.unique(outcomes.answerable[applies])) > 1:
        # A type is of one kind or the other; without types the two would be pooled.
        applies = applies & (outcomes.group("type") != "")
    values = np.where(applies, items.columns(PERPLEXITY)[metric.inputs[0]], np.nan)
    return pd.Series(values, index=_units(outcomes, metric)).groupby(level=0).mean()


def _tested(paired: _Paired, trial: Trial) -> Estimate:
    """Return the difference with its interval, and its p-value."""
    clusters = int(paired.clusters.max()) + 1
    (estimate,) = paired_means([(*paired.values, paired.clusters)], 1.0, clusters, trial)
    return estimate
