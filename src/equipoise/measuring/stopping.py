"""Which metrics an audit with a precision waits for, and their intervals, which hold whenever it stops.

Each of them is a mean over base sentences: of all of a type, in an order drawn at random. So its interval comes from a
betting sequence without replacement, and is about the whole dataset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..metrics.columns import COLUMNS
from ..records import ABSENT, Estimate, Example, Floats, Integers, Measurement, group_label
from ..stats.bootstrap import cluster_numbers
from ..stats.sequential import BETTING, betting_sequence
from ..uncertainty import PERPLEXITY
from .items import Items
from .sample import Sample

COLUMN_OF = {
    "ucerf": "u",
    "ucerf_signed": "u_signed",
    "flip_rate": "flipped",
    "accuracy": "correct",
    "accuracy_gap": "correct",
    "certainty_gap": "certainty",
    "desirability_gap": "desirability",
}
"""The metrics that carry the guarantee, and the column that each is a mean of."""

ABSOLUTE = ("accuracy_gap",)


@dataclass(frozen=True)
class Facts:
    """What is known of each example before it is asked, as columns."""

    kind: NDArray[np.object_]
    set_id: NDArray[np.object_]
    cluster: Integers
    labelled: NDArray[np.bool_]
    answerable: NDArray[np.bool_]
    stereotype: NDArray[np.object_]
    gender: NDArray[np.object_]

    def signs(self, metric: str, kind: str) -> NDArray[np.float64]:
        """Return whether an example counts for a metric of a type (1), counts against it (-1), or neither (0)."""
        if metric == "accuracy":
            sign: Floats = self.labelled.astype(np.float64)
        elif metric == "accuracy_gap":
            sign = self.labelled * _contrast(self.stereotype, "pro", "anti")
        elif metric == "desirability_gap":
            sign = self.answerable * self._within(_contrast(self.stereotype, "pro", "anti"))
        elif metric == "certainty_gap":
            sign = self._within(_contrast(self.gender, "male", "female"))
        else:
            sign = self._firsts() * (~self.answerable if metric == "ucerf_signed" else 1.0)
        return np.asarray(sign * (self.kind == kind), dtype=np.float64)

    def _firsts(self) -> Floats:
        """Return 1 for the first example of each set with several."""
        _, firsts, counts = np.unique(self.set_id.astype(str), return_index=True, return_counts=True)
        sign = np.zeros(len(self.set_id))
        sign[firsts[counts > 1]] = 1
        return sign

    def _within(self, sign: Floats) -> Floats:
        """Return the signs of examples whose set has both."""
        sets = cluster_numbers(self.set_id)
        both = (np.bincount(sets, sign > 0) > 0) & (np.bincount(sets, sign < 0) > 0)
        return sign * both[sets]


def _contrast(names: NDArray[np.object_], plus: str, minus: str) -> Floats:
    return np.where(names == plus, 1.0, np.where(names == minus, -1.0, 0.0))


def _shares(signs: Floats, plus: float, minus: float) -> Floats:
    """Return what each example counts in a mean, or in a difference of two means, given how many there are in all."""
    return np.where(signs > 0, 1 / max(plus, 1), 0) - np.where(signs < 0, 1 / max(minus, 1), 0)


def facts_of(examples: Sequence[Example]) -> Facts:
    """Return what is known of examples."""

    def names(values: Iterator[str]) -> NDArray[np.object_]:
        return np.array(list(values), dtype=object)

    return Facts(
        names(e.groups.get("type", "") for e in examples),
        names(e.set_id for e in examples),
        cluster_numbers(names(e.cluster_id for e in examples)),
        np.array([e.gold is not None for e in examples]),
        np.array([e.answerable for e in examples]),
        names(e.groups.get("stereotype", "") for e in examples),
        names(e.groups.get("gender", "") for e in examples),
    )


def planned_sample(examples: Sequence[Example], metrics: Sequence[str], precision: float, *, joint: bool) -> Sample:
    """Return how the base sentences are sampled: how many there are, and each metric's totals and bounds."""
    facts = facts_of(examples)
    population = {kind: len(np.unique(facts.cluster[facts.kind == kind])) for kind in sorted(set(facts.kind))}
    totals: dict[str, list[float]] = {}
    for kind, count in population.items():
        for metric in metrics:
            signs = facts.signs(metric, kind)
            plus, minus = float((signs > 0).sum()), float((signs < 0).sum())
            bounds = COLUMNS[COLUMN_OF[metric]].bounds
            if not plus or (metric.endswith("_gap") and not minus) or bounds is None:
                continue
            shares = _shares(signs, plus, minus)
            ends = [np.where(shares > 0, bounds[end], bounds[1 - end]) * shares * count for end in (0, 1)]
            inside = np.unique(facts.cluster[facts.kind == kind])
            low, high = (np.bincount(facts.cluster, values)[inside] for values in ends)
            totals[f"{kind}/{metric}"] = [plus, minus, float(low.min()), float(high.max())]
    return Sample(population, together=len(totals) if joint else 1, precision=precision, totals=totals)


def guaranteed(items: Items, sample: Sample, level: float) -> dict[tuple[str, str], Estimate]:
    """Return the interval of each metric by its name and type, about all base sentences."""
    table = _by_example(items)
    outcomes = items.outcomes.take(table.index.to_numpy())
    facts = Facts(
        outcomes.group("type"),
        outcomes.set_id,
        cluster_numbers(outcomes.cluster_id),
        outcomes.gold != ABSENT,
        outcomes.answerable,
        outcomes.group("stereotype"),
        outcomes.group("gender"),
    )
    estimates = {}
    for name, (plus, minus, low, high) in sample.totals.items():
        kind, metric = name.rsplit("/", 1)
        signs = facts.signs(metric, kind)
        shares = _shares(signs, plus, minus)
        count = sample.population[kind]
        values = np.where(shares != 0, table[COLUMN_OF[metric]].to_numpy(dtype=np.float64), 0.0) * shares * count
        asked = list(dict.fromkeys(facts.cluster[facts.kind == kind].tolist()))
        if not asked or np.isnan(values).any():
            continue
        units = (np.bincount(facts.cluster, values)[asked] - low) / (high - low)
        ends = betting_sequence(
            np.clip(units, 0.0, 1.0), count, level=sample.level(level), target=sample.precision / (high - low)
        )
        estimates[metric, kind] = _estimate(metric, ends, (low, high), level, int((shares != 0).sum()))
    return estimates


def _estimate(
    metric: str, ends: tuple[float, float], bounds: tuple[float, float], level: float, units: int
) -> Estimate:
    low, high = (bounds[0] + end * (bounds[1] - bounds[0]) for end in ends)
    if metric in ABSOLUTE:
        low, high = (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))
    return Estimate(np.nan, low, high, level, units, BETTING)


def _by_example(items: Items) -> pd.DataFrame:
    """Return the columns by example, averaged over its variants, in the order in which they were asked."""
    columns = items.columns(PERPLEXITY)
    frame = pd.DataFrame({name: columns[name] for name in dict.fromkeys(COLUMN_OF.values())})
    codes = cluster_numbers(items.outcomes.example_id)
    means = frame.groupby(codes, sort=True).mean()
    means.index = pd.Index(np.unique(codes, return_index=True)[1])
    return means


def with_guarantee(rows: Sequence[Measurement], items: Items, sample: Sample | None, level: float) -> list[Measurement]:
    """Return the measurements, with the intervals of a sample in place of those of the metrics it waited for."""
    if sample is None or not sample.totals:
        return list(rows)
    estimates = guaranteed(items, sample, level)
    labels = {(metric, group_label({"type": kind} if kind else {})): e for (metric, kind), e in estimates.items()}
    return [_with_interval(row, labels.get((row.metric, row.group))) for row in rows]


def _with_interval(row: Measurement, estimate: Estimate | None) -> Measurement:
    if estimate is None:
        return row
    return replace(row, estimate=replace(estimate, value=row.estimate.value, n=row.estimate.n))


def widths(estimates: Mapping[tuple[str, str], Estimate]) -> dict[str, float]:
    """Return the width of each interval by the metric's name and type."""
    return {f"{metric} ({kind})" if kind else metric: e.high - e.low for (metric, kind), e in estimates.items()}
