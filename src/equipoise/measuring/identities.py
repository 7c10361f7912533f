"""Outcomes of marked sentences in, Measurements out: confidence of every identity, its drop and its disparity.

A sentence has up to 158 variants, so resampling goes by base sentences: the values of each (sentence, subgroup) are
added up first, and a resample is a product of small matrices, whatever the number of items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..metrics import METRICS
from ..records import Booleans, Estimate, Measurement, Outcomes, RunKey, group_label
from ..stats import maximum
from .changes import changes
from .disadvantage import disadvantages
from .sample import Sample
from .sentence_intervals import Contrast, Means, drop_estimate, mean_estimates
from .sentence_table import KEYS, NONE, Resampling, SentenceTable

LEVELS: tuple[tuple[str, ...], ...] = (
    ("augmentation",),
    ("augmentation", "gender"),
    ("augmentation", "privilege"),
    ("augmentation", "gender", "privilege"),
    ("augmentation", "attribute"),
    ("augmentation", "attribute", "gender"),
    ("augmentation", "attribute", "marker"),
    KEYS,
)
"""What means and drops are taken by, from the whole to gender x marker."""

BOOTSTRAP = "bootstrap of deviations over base sentences"
DISPARATE = ("confidence", "confidence_pair", "confidence_marked", "accuracy", "coverage")
BY_SENTENCES = {
    *(f"{name}_{end}" for name in DISPARATE for end in ("drop", "disparity")),
    *("confidence_change", "confidence_interaction", "confidence_deviation", "confidence_gender_gap"),
    *("coverage", "double_disadvantage", "disadvantage_interaction"),
}
"""The metrics of identities that are measured here; every other row is measured by `identity_statistics.py`."""


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
        table = SentenceTable(outcomes.take(rows), plan)
        parts = {"type": kind} if kind else {}
        measurements += _rows(_means(table, plan), parts, key)
        measurements += _rows(_deviations(table, plan), parts, key)
        measurements += _rows(disadvantages(table, plan), parts, key)
        measurements += _rows(_by_stereotype(table, plan), parts, key)
        measurements += _rows(_occupations(table, plan), parts, key)
        measurements += _rows(_disparities(table, plan, kind, sample or Sample()), parts, key)
        measurements += _rows(changes(table, plan, kind, sample or Sample()), parts, key)
    return measurements


def confidence_disparities(outcomes: Outcomes, plan: Resampling, sample: Sample) -> dict[str, Estimate]:
    """Return the confidence disparity of every attribute, augmentation and type, by the group's name."""
    estimates = {}
    for kind, rows in _types(outcomes):
        table = SentenceTable(outcomes.take(rows), plan)
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


def _types(outcomes: Outcomes) -> Iterator[tuple[str, Booleans]]:
    """Yield each type that has marked sentences."""
    kinds = outcomes.group("type")
    usable = outcomes.labelled & (outcomes.group("augmentation") != "")
    for kind in sorted(set(kinds[usable].tolist())):
        yield kind, usable & (kinds == kind)


def _means(table: SentenceTable, plan: Resampling) -> Iterator[_Row]:
    """Yield the mean of every metric at every level, and what it has lost against the unmarked sentences."""
    # Without genders two levels are the same: each group counts once.
    groups = list(
        {group_label(parts): (parts, mask) for level in LEVELS for parts, mask in table.choose(level)}.values()
    )
    inside = np.array([mask for _, mask in groups]).T.astype(np.float64)
    baselines = {_gender(parts): n for n, (parts, _) in enumerate(groups) if _is_baseline(parts)}
    for name in table.values:
        total, count = (sums @ inside for sums in table.sums(name))
        means = Means(name, total, count, table.weights)
        estimates = mean_estimates(means, plan)
        for number, (parts, _) in enumerate(groups):
            yield name, parts, estimates[number]
            if parts["augmentation"] != NONE and name != "candidate_mass" and _gender(parts) in baselines:
                yield f"{name}_drop", parts, drop_estimate(means, baselines[_gender(parts)], number, plan)


def _is_baseline(parts: Mapping[str, str]) -> bool:
    return parts.get("augmentation") == NONE and set(parts) <= {"augmentation", "gender"}


def _gender(parts: Mapping[str, str]) -> str:
    return parts.get("gender", "")


def _occupations(table: SentenceTable, plan: Resampling) -> Iterator[_Row]:
    """Yield the confidence of every subgroup by the referent's occupation."""
    occupation = table.groups["occupation"]
    for name in sorted(set(occupation.tolist()) - {""}):
        rows = np.flatnonzero(occupation == name)
        drawn = np.unique(table.cluster[rows])
        total, count = (matrix[drawn] for matrix in table.sums("confidence", rows))
        means = Means("confidence", total, count, table.weights[drawn])
        estimates = mean_estimates(means, plan)
        for number in np.flatnonzero(count.sum(axis=0)):
            parts = {key: value for key, value in table.cells[number].items() if value and key != "privilege"}
            yield "confidence", {**parts, "occupation": name}, estimates[number]


def _deviations(table: SentenceTable, plan: Resampling) -> Iterator[_Row]:
    """Yield the standard deviation of confidence over the sentences of each augmentation."""
    total, count = table.sums("confidence")
    squares, _ = table.sums("confidence", squared=True)
    for parts, mask in table.choose(("augmentation",)):
        inside = mask.astype(np.float64)[:, None]
        means = Means("confidence", total @ inside, count @ inside, table.weights)
        second = Means("confidence", squares @ inside, count @ inside, table.weights)
        samples = np.sqrt(np.maximum(second.resampled - means.resampled**2, 0.0))[:, 0]
        value = float(np.sqrt(max(second.means[0] - means.means[0] ** 2, 0.0)))
        sentences = means.sentences
        radius = float(np.nanquantile(np.abs(samples - value), plan.level))
        contrast = Contrast("confidence_deviation", "confidence", sentences, plan.level, plan.level)
        yield "confidence_deviation", parts, contrast.estimate(value, radius, int(sentences[0]), BOOTSTRAP)


def _by_stereotype(table: SentenceTable, plan: Resampling) -> Iterator[_Row]:
    """Yield confidence by privilege and gender, in male- and female-dominated occupations and with each stereotype."""
    levels = (("augmentation", "privilege"), ("augmentation", "privilege", "gender"), ("augmentation", "gender"))
    for key, names in (("side", ("male", "female")), ("stereotype", ("pro", "anti"))):
        for name in names:
            rows = np.flatnonzero(table.groups[key] == name)
            if not len(rows):
                continue
            total, count = table.sums("confidence", rows)
            groups = [(p, m) for level in levels for p, m in table.choose(level) if count[:, m].any()]
            # A stereotype is of a gender and an occupation together: by both it says nothing new.
            groups = [(p, m) for p, m in groups if key == "side" or "gender" not in p]
            if key == "stereotype":
                groups += [(p, m) for p, m in table.choose(("augmentation",)) if count[:, m].any()]
            inside = np.array([mask for _, mask in groups]).T.astype(np.float64)
            means = Means("confidence", total @ inside, count @ inside, table.weights)
            for (parts, _), estimate in zip(groups, mean_estimates(means, plan), strict=True):
                yield "confidence", {**parts, key: name}, estimate


def _disparities(
    table: SentenceTable, plan: Resampling, kind: str, sample: Sample, *, metrics: Sequence[str] = DISPARATE
) -> Iterator[_Row]:
    """Yield max - min over the subgroups of each attribute, and the p-value of "none differs", corrected (Holm)."""
    attributes = [*table.choose(("augmentation", "attribute"))]
    attributes += [group for group in table.choose(("augmentation",)) if group[0]["augmentation"] == NONE]
    level = sample.level(plan.level)
    for name in (name for name in metrics if name in table.values):
        total, count = table.sums(name)
        table_means = Means(name, total, count, table.weights)
        means, resampled = table_means.means, table_means.resampled
        tests: dict[str, list[tuple[dict[str, str], float]]] = {}
        for parts, mask in attributes:
            if mask.sum() < 2:
                continue
            # An audit may stop asking an attribute's markers earlier than others.
            asked = int((count[:, mask] > 0).any(axis=1).sum())
            shrink = sample.shrink(kind, asked)
            group_means, drawn = means[mask], resampled[:, mask]
            contrast = Contrast(f"{name}_disparity", name, table_means.sentences[mask], level, plan.level)
            radius = maximum.radius(group_means, drawn, level=level, shrink=shrink)
            estimate = contrast.estimate(float(np.ptp(group_means)), radius, asked, maximum.METHOD)
            yield f"{name}_disparity", parts, estimate
            if name == "confidence" and parts["augmentation"] != NONE:
                yield from _gender_gap(table, parts, mask, table_means, plan)
            p = contrast.p_value(estimate.value, radius, maximum.range_p_value(group_means, drawn, shrink=shrink))
            p = min(1.0, sample.errors * p)
            tests.setdefault(parts["augmentation"], []).append((parts, p))
        for family in tests.values():
            corrected = maximum.holm([p for _, p in family])
            for (parts, p), p_holm in zip(family, corrected, strict=True):
                for suffix, value in (("p", p), ("p_holm", p_holm)):
                    estimate = Estimate(value, np.nan, np.nan, plan.level, table.clusters, maximum.METHOD)
                    yield f"{name}_disparity_{suffix}", parts, estimate


def _gender_gap(
    table: SentenceTable, parts: dict[str, str], mask: Booleans, means: Means, plan: Resampling
) -> Iterator[_Row]:
    """Yield the mean over markers of |confidence with he - with she|: the paper's row for markers without a side."""
    by_marker: dict[str, dict[str, int]] = {}
    for number in np.flatnonzero(mask):
        by_marker.setdefault(table.cells[number]["marker"], {})[table.cells[number]["gender"]] = int(number)
    both = [(cells["male"], cells["female"]) for cells in by_marker.values() if {"male", "female"} <= set(cells)]
    if not both:
        return
    male, female = np.array(both).T
    gaps, drawn = means.means[male] - means.means[female], means.resampled[:, male] - means.resampled[:, female]
    # |mean |a| - mean |b|| <= mean |a - b|, so this covers although a mean of sizes is biased upwards.
    deviation = np.abs(drawn - gaps).mean(axis=1)
    radius = float(np.quantile(deviation[~np.isnan(deviation)], plan.level))
    sentences = means.sentences[[*male, *female]]
    contrast = Contrast("confidence_gender_gap", "confidence", sentences, plan.level, plan.level)
    estimate = contrast.estimate(float(np.abs(gaps).mean()), radius, table.clusters, "bootstrap of deviations")
    yield "confidence_gender_gap", parts, estimate


def _rows(rows: Iterator[_Row], parts: Mapping[str, str], key: RunKey) -> list[Measurement]:
    """Return the rows as measurements; which direction is better is for the table of metrics to say."""
    return [
        Measurement.of(name, key, group_label({**groups, **parts}), estimate, METRICS[name].better)
        for name, groups, estimate in rows
    ]
