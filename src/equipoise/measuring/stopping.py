"""How base sentences are drawn, which metrics an audit with `until_width` waits for, and their intervals.

Each of these metrics is a mean over base sentences: of all of a type, in an order drawn at random. So its interval
comes from a betting sequence without replacement. It holds whenever the audit stops, and is about the whole dataset.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from ..metrics import METRICS, Metric
from ..metrics.columns import COLUMNS
from ..records import Booleans, Estimate, Example, Floats, Integers, Measurement, Strings
from ..stats.bootstrap import cluster_numbers
from ..stats.sequential import betting_sequence
from ..uncertainty import PERPLEXITY
from .items import Items


@dataclass(frozen=True)
class Sample:
    """How base sentences were drawn: how many there are of each type, and how many looks share the error.

    `together` is the number of intervals that hold at once: 1 gives a guarantee for each by itself. `totals` are those
    of the metrics that an audit without markers waits for, `width` is the one asked for. `followed` are those that an
    audit was asked until they are settled: by metric and group, the most items of a sentence, the number of sentences
    that there are, and the level (following.py).
    """

    population: Mapping[str, int] = field(default_factory=dict)
    looks: int = 1
    together: int = 1
    width: float = 0.0
    totals: Mapping[str, Sequence[float]] = field(default_factory=dict)
    followed: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def errors(self) -> int:
        """Among how many intervals the error is shared (Bonferroni)."""
        return self.looks * self.together

    def level(self, level: float) -> float:
        """Return the level of one interval at one look, so that all together have the one asked for."""
        return 1 - (1 - level) / self.errors

    def shrink(self, kind: str, drawn: int) -> float:
        """Return by how much deviations shrink because a share of the sentences was drawn, without replacement."""
        there_are = self.population.get(kind, 0)
        return float(np.sqrt(max(0.0, 1 - drawn / there_are))) if there_are else 1.0


GUARANTEED = tuple(metric.name for metric in METRICS.values() if metric.awaited)
"""The metrics that an audit with `until_width` waits for: their rows say so."""

CONTRASTS = {
    "stereotype": ("stereotype", "pro", "anti"),
    "stereotype_within": ("stereotype", "pro", "anti"),
    "gender_within": ("gender", "male", "female"),
}
"""The column that tells two sides apart -> the group it is of, and the names of the sides."""


@dataclass(frozen=True)
class Facts:
    """What is known of each example before it is asked, as columns; `groups` are type, stereotype and gender."""

    groups: Mapping[str, Strings]
    set_id: Strings
    cluster: Integers
    labelled: Booleans
    answerable: Booleans

    @property
    def kind(self) -> Strings:
        """The type of each example."""
        return self.groups["type"]

    def signs(self, metric: Metric, kind: str) -> Floats:
        """Return whether an example counts for a metric of a type (1), counts against it (-1), or neither (0)."""
        sign = np.ones(len(self.set_id))
        if metric.unit == "sets":
            sign = self._firsts()
        elif metric.unit == "contrast":
            group, plus, minus = CONTRASTS[metric.inputs[1]]
            names = self.groups[group]
            sign = np.where(names == plus, 1.0, np.where(names == minus, -1.0, 0.0))
            sign = sign if metric.inputs[1] == group else self._within(sign)
        applies = {"labelled": self.labelled, "answerable": self.answerable, "unanswerable": ~self.answerable}
        return np.asarray(sign * applies.get(metric.applies_to, True) * (self.kind == kind), dtype=np.float64)

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


def _shares(signs: Floats, plus: float, minus: float) -> Floats:
    """Return what each example counts in a mean, or in a difference of two means, given how many there are in all."""
    return np.where(signs > 0, 1 / max(plus, 1), 0) - np.where(signs < 0, 1 / max(minus, 1), 0)


def facts_of(examples: Sequence[Example]) -> Facts:
    """Return what is known of examples."""

    def names(values: Iterable[str]) -> Strings:
        return np.array(list(values), dtype=object)

    return Facts(
        {name: names(e.groups.get(name, "") for e in examples) for name in ("type", "stereotype", "gender")},
        names(e.set_id for e in examples),
        cluster_numbers(names(e.cluster_id for e in examples)),
        np.array([e.gold is not None for e in examples]),
        np.array([e.answerable for e in examples]),
    )


def planned_sample(examples: Sequence[Example], metrics: Sequence[str], width: float, *, joint: bool) -> Sample:
    """Return how the base sentences are sampled: how many there are, and each metric's totals and bounds."""
    facts = facts_of(examples)
    population = {kind: len(np.unique(facts.cluster[facts.kind == kind])) for kind in sorted(set(facts.kind))}
    totals: dict[str, list[float]] = {}
    for kind, count in population.items():
        for metric in (METRICS[name] for name in metrics):
            signs = facts.signs(metric, kind)
            plus, minus = float((signs > 0).sum()), float((signs < 0).sum())
            bounds = COLUMNS[metric.inputs[0]].bounds
            if not plus or (metric.unit == "contrast" and not minus) or bounds is None:
                continue
            shares = _shares(signs, plus, minus)
            ends = [np.where(shares > 0, bounds[end], bounds[1 - end]) * shares * count for end in (0, 1)]
            inside = np.unique(facts.cluster[facts.kind == kind])
            low, high = (np.bincount(facts.cluster, values)[inside] for values in ends)
            totals[f"{kind}/{metric.name}"] = [plus, minus, float(low.min()), float(high.max())]
    return Sample(population, together=len(totals) if joint else 1, width=width, totals=totals)


def guaranteed(items: Items, sample: Sample, level: float) -> dict[str, Estimate]:
    """Return the interval of each metric, named with its type, about all base sentences."""
    table = _by_example(items)
    outcomes = items.outcomes.take(table.index.to_numpy())
    facts = Facts(
        {name: outcomes.group(name) for name in ("type", "stereotype", "gender")},
        outcomes.set_id,
        cluster_numbers(outcomes.cluster_id),
        outcomes.labelled,
        outcomes.answerable,
    )
    estimates = {}
    for name, (plus, minus, low, high) in sample.totals.items():
        kind, named = name.rsplit("/", 1)
        metric = METRICS[named]
        signs = facts.signs(metric, kind)
        shares = _shares(signs, plus, minus)
        count = sample.population[kind]
        values = np.where(shares != 0, table[metric.inputs[0]].to_numpy(dtype=np.float64), 0.0) * shares * count
        asked = list(dict.fromkeys(facts.cluster[facts.kind == kind].tolist()))
        if not asked or np.isnan(values).any():
            continue
        units = (np.bincount(facts.cluster, values)[asked] - low) / (high - low)
        sequence = betting_sequence(
            np.clip(units, 0.0, 1.0), count, level=sample.level(level), target=sample.width / (high - low)
        )
        ends = [low + end * (high - low) for end in (sequence.low, sequence.high)]
        if metric.norm:
            sizes = sorted(map(abs, ends))
            ends = [0.0 if ends[0] <= 0 <= ends[1] else sizes[0], sizes[1]]
        estimates[_named(named, kind)] = replace(sequence, low=ends[0], high=ends[1], level=level)
    return estimates


def _by_example(items: Items) -> pd.DataFrame:
    """Return the columns by example, averaged over its variants, in the order in which they were asked."""
    columns = items.columns(PERPLEXITY)
    names = dict.fromkeys(METRICS[name].inputs[0] for name in GUARANTEED)
    frame = pd.DataFrame({name: columns[name] for name in names})
    codes = cluster_numbers(items.outcomes.example_id)
    means = frame.groupby(codes, sort=True).mean()
    means.index = pd.Index(np.unique(codes, return_index=True)[1])
    return means


def with_guarantee(rows: Sequence[Measurement], items: Items, sample: Sample | None, level: float) -> list[Measurement]:
    """Return the measurements, with the intervals of a sample in place of those of the metrics it waited for."""
    if sample is None or not sample.totals:
        return list(rows)
    estimates = guaranteed(items, sample, level)
    finished = []
    for row in rows:
        estimate = estimates.get(_named(row.metric, row.parts.get("type", "")))
        if estimate is not None and set(row.parts) <= {"type"}:
            row = replace(row, estimate=replace(estimate, value=row.value, n=row.n))
        finished.append(row)
    return finished


def _named(metric: str, kind: str) -> str:
    return f"{metric} ({kind})" if kind else metric
