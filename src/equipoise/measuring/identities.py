"""Outcomes of marked sentences in, Measurements out: confidence of every identity, its drop and its disparity.

A sentence has up to 158 variants, so resampling goes by base sentences: the values of each (sentence, subgroup) are
added up first, and a resample is a product of small matrices, whatever the number of items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..metrics import METRICS, confidence
from ..records import Booleans, Estimate, Floats, Measurement, Outcomes, RunKey, group_label
from ..stats import bootstrap, maximum

NONE, NEUTRAL = "none", "neutral"
KEYS = ("augmentation", "attribute", "marker", "gender")
LEVELS: tuple[tuple[str, ...], ...] = (
    ("augmentation",),
    ("augmentation", "gender"),
    ("augmentation", "privilege"),
    ("augmentation", "attribute"),
    ("augmentation", "attribute", "marker"),
    KEYS,
)
"""What means and drops are taken by, from the whole to gender x marker."""

DISPARATE = ("confidence", "confidence_pair", "confidence_marked", "accuracy")


class Resampling(Protocol):
    """How to resample."""

    @property
    def resamples(self) -> int: ...
    @property
    def level(self) -> float: ...
    @property
    def seed(self) -> int: ...


@dataclass(frozen=True)
class Sample:
    """How base sentences were drawn: how many there are of each type, and how many looks share the error."""

    population: Mapping[str, int] = field(default_factory=dict)
    looks: int = 1

    def level(self, level: float) -> float:
        """Return the level of one look, so that all looks together have the one asked for (Bonferroni)."""
        return 1 - (1 - level) / self.looks

    def shrink(self, kind: str, drawn: int) -> float:
        """Return by how much deviations shrink because so many of the sentences were drawn, without replacement."""
        there_are = self.population.get(kind, 0)
        return float(np.sqrt(max(0.0, 1 - drawn / there_are))) if there_are else 1.0


def is_marked(outcomes: Outcomes) -> bool:
    """Return whether there are marked sentences with a referent on record among the items."""
    return bool((outcomes.labelled & (outcomes.group("marker") != "")).any())


def measure_identities(
    outcomes: Outcomes, plan: Resampling, key: RunKey, sample: Sample | None = None
) -> list[Measurement]:
    """Return confidence by identity, its drop against the unmarked sentence, and its disparity by attribute.

    With a `sample`, intervals of disparities are about all base sentences, and hold whenever sampling stopped.
    """
    measurements: list[Measurement] = []
    for kind, rows in _types(outcomes):
        table = _Table(outcomes.take(rows), plan)
        parts = {"type": kind} if kind else {}
        measurements += _rows(_means(table, plan), parts, key)
        measurements += _rows(_occupations(table, plan), parts, key)
        measurements += _rows(_disparities(table, plan, kind, sample or Sample()), parts, key)
    return measurements


def confidence_disparities(outcomes: Outcomes, plan: Resampling, sample: Sample) -> dict[str, Estimate]:
    """Return the confidence disparity of every attribute, augmentation and type, by the group's name."""
    estimates = {}
    for kind, rows in _types(outcomes):
        table = _Table(outcomes.take(rows), plan)
        for name, parts, estimate in _disparities(table, plan, kind, sample, metrics=("confidence",)):
            if name == "confidence_disparity" and parts["augmentation"] != NONE:
                estimates[group_label({**parts, "type": kind} if kind else parts)] = estimate
    return estimates


def widest(disparities: Mapping[str, Estimate]) -> tuple[float, str]:
    """Return the width of the widest interval among the disparities, and which it is of."""
    # NaN (no interval) must not pass for a narrow one.
    widths = {name: float(np.nan_to_num(e.high - e.low, nan=np.inf)) for name, e in disparities.items()}
    name = max(widths, key=lambda name: widths[name])
    return widths[name], name


_Row = tuple[str, dict[str, str], Estimate]
"""A metric's name, the parts of its group, and its estimate."""


class _Table:
    """Items of one type, added up by base sentence and subgroup, and the resamples of base sentences."""

    def __init__(self, outcomes: Outcomes, plan: Resampling) -> None:
        labelled = outcomes.take(outcomes.labelled)
        self.values = _values(labelled)
        self.groups = {name: labelled.group(name) for name in (*KEYS, "privilege", "occupation")}
        self.cluster = bootstrap.cluster_numbers(labelled.cluster_id)
        self.clusters = int(self.cluster.max()) + 1
        self.cell = bootstrap.joint_numbers(*(bootstrap.cluster_numbers(self.groups[key]) for key in KEYS))
        first = np.unique(self.cell, return_index=True)[1]
        self.cells = [{name: str(self.groups[name][row]) for name in (*KEYS, "privilege")} for row in first]
        self.share = contrast_shares(labelled)
        chunks = bootstrap.weight_chunks(self.clusters, resamples=plan.resamples, seed=plan.seed)
        self.weights = np.concatenate(list(chunks()), axis=1).astype(np.float64)

    def sums(self, name: str, rows: NDArray[Any] | slice = slice(None)) -> tuple[Floats, Floats]:
        """Return (sums, counts) of a value by base sentence and subgroup, over some rows."""
        values, share = self.values[name][rows], self.share[rows]
        places = self.cluster[rows] * len(self.cells) + self.cell[rows]
        shape = (self.clusters, len(self.cells))
        size = shape[0] * shape[1]
        total: Floats = np.bincount(places, weights=values * share, minlength=size).reshape(shape).astype(np.float64)
        count: Floats = np.bincount(places, weights=share, minlength=size).reshape(shape).astype(np.float64)
        return total, count

    def choose(self, level: Sequence[str]) -> list[tuple[dict[str, str], Booleans]]:
        """Return the groups of that level and which subgroups each holds; neutral markers only count by themselves."""
        groups: dict[tuple[str, ...], list[int]] = {}
        for number, cell in enumerate(self.cells):
            pooled = not {"attribute", "privilege"} & set(level)
            if pooled and cell["privilege"] == NEUTRAL and self._has_sides(cell["augmentation"]):
                continue
            key = tuple(cell[name] for name in level)
            if all(value or name == "gender" for name, value in zip(level, key, strict=True)):
                groups.setdefault(key, []).append(number)
        inside = []
        for key, numbers in groups.items():
            mask = np.zeros(len(self.cells), dtype=bool)
            mask[numbers] = True
            inside.append(({name: value for name, value in zip(level, key, strict=True) if value}, mask))
        return inside

    def _has_sides(self, augmentation: str) -> bool:
        return any(c["privilege"] not in ("", NEUTRAL) for c in self.cells if c["augmentation"] == augmentation)


def _values(outcomes: Outcomes) -> dict[str, Floats]:
    """Return the value of each item by metric."""
    raw = confidence.coreference_confidence(outcomes.gold, outcomes.logprobs)
    values = {
        "confidence": raw,
        "confidence_pair": confidence.pair_confidence(outcomes.gold, outcomes.logprobs),
        "accuracy": (raw > 0).astype(np.float64),
        "candidate_mass": np.exp(outcomes.logprobs).sum(axis=1),
    }
    if outcomes.logprobs_with_marker is not None:
        values["confidence_marked"] = confidence.coreference_confidence(outcomes.gold, outcomes.logprobs_with_marker)
    return values


def contrast_shares(outcomes: Outcomes) -> Floats:
    """Return what each item counts: a marker with three contrasts has three items for each sentence, a third each."""
    share = np.ones(len(outcomes))
    rows = np.flatnonzero(outcomes.group("contrast") != "")
    if len(rows):
        marker = bootstrap.cluster_numbers(outcomes.group("marker")[rows])
        contrast = bootstrap.cluster_numbers(outcomes.group("contrast")[rows])
        pairs = np.unique(np.stack([marker, contrast]), axis=1)
        share[rows] = 1 / np.bincount(pairs[0])[marker]
    return share


def _types(outcomes: Outcomes) -> Iterator[tuple[str, Booleans]]:
    """Yield each type that has marked sentences."""
    kinds = outcomes.group("type")
    usable = outcomes.labelled & (outcomes.group("augmentation") != "")
    for kind in sorted(set(kinds[usable].tolist())):
        yield kind, usable & (kinds == kind)


def _resampled(total: Floats, count: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the mean of each column, and of each in every resample (resamples, columns); NaN where it has no item."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return total.sum(axis=0) / count.sum(axis=0), (weights.T @ total) / (weights.T @ count)


def _means(table: _Table, plan: Resampling) -> Iterator[_Row]:
    """Yield the mean of every metric at every level, and what it has lost against the unmarked sentences."""
    # Without genders two levels are the same: each group counts once.
    groups = list(
        {group_label(parts): (parts, mask) for level in LEVELS for parts, mask in table.choose(level)}.values()
    )
    inside = np.array([mask for _, mask in groups]).T.astype(np.float64)
    baselines = {_gender(parts): n for n, (parts, _) in enumerate(groups) if _is_baseline(parts)}
    for name in table.values:
        total, count = table.sums(name)
        sentences = ((count @ inside) > 0).sum(axis=0)
        means, resampled = _resampled(total @ inside, count @ inside, table.weights)
        estimates = _percentiles(means, resampled, plan, sentences)
        for number, (parts, _) in enumerate(groups):
            yield name, parts, estimates[number]
            if parts["augmentation"] != NONE and name != "candidate_mass" and _gender(parts) in baselines:
                base = baselines[_gender(parts)]
                lost = resampled[:, base] - resampled[:, number]
                value = means[base] - means[number]
                yield f"{name}_drop", parts, _percentile(value, lost, plan, int(sentences[number]))


def _is_baseline(parts: Mapping[str, str]) -> bool:
    return parts.get("augmentation") == NONE and set(parts) <= {"augmentation", "gender"}


def _gender(parts: Mapping[str, str]) -> str:
    return parts.get("gender", "")


def _occupations(table: _Table, plan: Resampling) -> Iterator[_Row]:
    """Yield the confidence of every subgroup by the referent's occupation."""
    occupation = table.groups["occupation"]
    for name in sorted(set(occupation.tolist()) - {""}):
        rows = np.flatnonzero(occupation == name)
        drawn = np.unique(table.cluster[rows])
        total, count = (matrix[drawn] for matrix in table.sums("confidence", rows))
        means, resampled = _resampled(total, count, table.weights[drawn])
        estimates = _percentiles(means, resampled, plan, (count > 0).sum(axis=0))
        for number in np.flatnonzero(count.sum(axis=0)):
            parts = {key: value for key, value in table.cells[number].items() if value and key != "privilege"}
            yield "confidence", {**parts, "occupation": name}, estimates[number]


def _disparities(
    table: _Table, plan: Resampling, kind: str, sample: Sample, *, metrics: Sequence[str] = DISPARATE
) -> Iterator[_Row]:
    """Yield max - min over the subgroups of each attribute, and the p-value of "none differs", corrected (Holm)."""
    attributes = [*table.choose(("augmentation", "attribute"))]
    attributes += [group for group in table.choose(("augmentation",)) if group[0]["augmentation"] == NONE]
    level, shrink = sample.level(plan.level), sample.shrink(kind, table.clusters)
    for name in (name for name in metrics if name in table.values):
        means, resampled = _resampled(*table.sums(name), table.weights)
        tests: dict[str, list[tuple[dict[str, str], float]]] = {}
        for parts, mask in attributes:
            if mask.sum() < 2:
                continue
            own, drawn = means[mask], resampled[:, mask]
            low, high = maximum.range_interval(own, drawn, level=level, shrink=shrink)
            value = float(np.ptp(own))
            estimate = Estimate(value, low, high, plan.level, table.clusters, maximum.METHOD)
            yield f"{name}_disparity", parts, estimate
            if name == "confidence" and parts["augmentation"] != NONE:
                yield from _gender_gap(table, parts, mask, means, resampled, plan)
            p = min(1.0, sample.looks * maximum.range_p_value(own, drawn))
            tests.setdefault(parts["augmentation"], []).append((parts, p))
        for family in tests.values():
            corrected = maximum.holm([p for _, p in family])
            for (parts, p), p_holm in zip(family, corrected, strict=True):
                for suffix, value in (("p", p), ("p_holm", p_holm)):
                    estimate = Estimate(value, np.nan, np.nan, plan.level, table.clusters, maximum.METHOD)
                    yield f"{name}_disparity_{suffix}", parts, estimate


def _gender_gap(
    table: _Table, parts: dict[str, str], mask: Booleans, means: Floats, resampled: Floats, plan: Resampling
) -> Iterator[_Row]:
    """Yield the mean over markers of |confidence with he - with she|: the paper's row for markers without a side."""
    by_marker: dict[str, dict[str, int]] = {}
    for number in np.flatnonzero(mask):
        by_marker.setdefault(table.cells[number]["marker"], {})[table.cells[number]["gender"]] = int(number)
    both = [(cells["male"], cells["female"]) for cells in by_marker.values() if {"male", "female"} <= set(cells)]
    if not both:
        return
    male, female = np.array(both).T
    gaps, drawn = means[male] - means[female], resampled[:, male] - resampled[:, female]
    value = float(np.abs(gaps).mean())
    # |mean |a| - mean |b|| <= mean |a - b|, so this covers although a mean of sizes is biased upwards.
    deviation = np.abs(drawn - gaps).mean(axis=1)
    r = float(np.quantile(deviation[~np.isnan(deviation)], plan.level))
    estimate = Estimate(value, max(0.0, value - r), value + r, plan.level, table.clusters, "bootstrap of deviations")
    yield "confidence_gender_gap", parts, estimate


def _percentiles(values: Floats, samples: Floats, plan: Resampling, n: NDArray[Any]) -> list[Estimate]:
    """Return the estimate of each value with the percentile interval of its column of samples."""
    method = f"percentile bootstrap, {plan.resamples} resamples of base sentences"
    ends = bootstrap.intervals(samples, level=plan.level)
    return [
        Estimate(float(value), low, high, plan.level, int(count), method)
        for value, (low, high), count in zip(values, ends, n, strict=True)
    ]


def _percentile(value: float, samples: Floats, plan: Resampling, n: int) -> Estimate:
    return _percentiles(np.array([value]), samples[:, None], plan, np.array([n]))[0]


def _rows(rows: Iterator[_Row], parts: Mapping[str, str], key: RunKey) -> list[Measurement]:
    """Return the rows as measurements; which direction is better is for the table of metrics to say."""
    return [
        Measurement.of(name, key, group_label({**groups, **parts}), estimate, METRICS[name].better)
        for name, groups, estimate in rows
    ]
