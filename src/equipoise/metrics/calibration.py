"""Calibration: does a stated probability come true as often as it says, and for one group as for another?

`y` is 1 where people call the first side of a sentence pair (`sent_more`, the male one) the biased one and 0 where they
call the second, `p` the model's probability of the first side. All are pure functions; NaN in `y` or `p` marks an item
that does not count. `weights` are as in fairness.py. Definitions and papers: docs/calibration.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..records import Estimate, Floats, Integers, Strings, UndefinedMetric
from .groups import Norm, Value, Weights, largest_size, mean

BINS = 10
EXACT_ITEMS = 2000
"""Up to this number of items a bin, the noise floor is exact; beyond, a limit law differs by less than 1%."""


class Bins(NamedTuple):
    """What each bin holds: the number of items, and the sums of their labels and probabilities."""

    counts: Floats
    labels: Floats
    probabilities: Floats


def bin_numbers(p: Floats, *, bins: int = BINS) -> Integers:
    """Return the bin of each probability, 0 to bins-1: bin k holds (k/bins, (k+1)/bins], the first also 0."""
    if bins < 1:
        raise ValueError(f"there must be at least one bin, not {bins}")
    # Compared with k/bins itself: ceil(p * bins) would put 0.3 and its neighbours into the wrong bin.
    return np.searchsorted(np.arange(1, bins) / bins, p, side="left").astype(np.int64)


def binned(y: Floats, p: Floats, *, bins: int = BINS, binning: str = "width", weights: Weights = None) -> Bins:
    """Return counts and sums of the bins, (bins,) or, with a column of weights a resample, (bins, B).

    `binning`: "width" has bins of equal width, "mass" bins of (nearly) equally many items; there items of one
    probability always share a bin, which is that of the share of items below them.
    """
    y, p, weights = _counted(y, p, weights)
    if binning not in ("width", "mass"):
        raise ValueError(f"binning {binning!r} is not width or mass")
    if binning == "mass":
        return _equal_mass(y, p, bins, weights)
    numbers = bin_numbers(p, bins=bins)
    if weights is None or weights.ndim == 1:
        item_weights = np.ones(len(p)) if weights is None else weights.astype(np.float64)
        counts, labels, total = (
            np.bincount(numbers, column, minlength=bins)
            for column in (item_weights, item_weights * y, item_weights * p)
        )
        return Bins(counts.astype(np.float64), labels.astype(np.float64), total.astype(np.float64))
    inside = np.arange(bins)[:, None] == numbers
    stacked = np.concatenate([inside, inside * y, inside * p]).astype(np.result_type(weights.dtype, np.float32))
    return Bins(*np.split((stacked @ weights).astype(np.float64), 3))


def _equal_mass(y: Floats, p: Floats, bins: int, weights: Weights) -> Bins:
    order = np.argsort(p, kind="stable")
    columns = (np.ones(len(p)) if weights is None else weights.astype(np.float64)).reshape(len(p), -1)
    p, y, columns = p[order], y[order], columns[order]
    below = np.concatenate([np.zeros((1, columns.shape[1])), np.cumsum(columns, axis=0)[:-1]])
    below = below[np.searchsorted(p, p, side="left")]  # all of a tie have the place of its first
    total = columns.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        numbers = np.floor(below * bins / total)
    parts = [np.where(numbers == k, columns, 0.0) for k in range(bins)]
    count = np.stack([part.sum(axis=0) for part in parts])
    labels = np.stack([y @ part for part in parts])
    probabilities = np.stack([p @ part for part in parts])
    if weights is None or weights.ndim == 1:
        return Bins(count[:, 0], labels[:, 0], probabilities[:, 0])
    return Bins(count, labels, probabilities)


def _counted(y: Floats, p: Floats, weights: Weights, of: str = "calibration") -> tuple[Floats, Floats, Weights]:
    """Return the items that count, checked: a probability must be in [0, 1]."""
    y, p = np.asarray(y, dtype=np.float64), np.asarray(p, dtype=np.float64)
    applies = ~(np.isnan(y) | np.isnan(p))
    if not applies.all():
        y, p = y[applies], p[applies]
        weights = weights if weights is None else weights[applies]
    if not len(p) or (weights is not None and weights.ndim == 1 and not weights.any()):
        raise UndefinedMetric(f"{of} of an empty group")
    for name, column in (("probability", p), ("label", y)):
        if column.min() < 0 or column.max() > 1:
            raise UndefinedMetric(f"{of} with a {name} outside [0, 1]")
    return y, p, weights


def _per_item(total: Any, count: Any) -> Value:
    with np.errstate(invalid="ignore", divide="ignore"):
        value = total / count.sum(axis=0)
    return float(value) if np.ndim(value) == 0 else value


def ece(y: Floats, p: Floats, *, bins: int = BINS, binning: str = "width", weights: Weights = None) -> Value:
    """Return the expected calibration error, sum_b n_b/n |rate_b - mean p_b|, in [0, 1]; lower is better.

    Confidence is p against y ("class-1"), not the confidence of whichever side is predicted. Undefined when empty.
    """
    bins_filled = binned(y, p, bins=bins, binning=binning, weights=weights)
    return _per_item(np.abs(bins_filled.labels - bins_filled.probabilities).sum(axis=0), bins_filled.counts)


def ece_top_label(y: Floats, p: Floats, *, bins: int = BINS, binning: str = "width", weights: Weights = None) -> Value:
    """Return the ECE of the predicted side: max(p, 1-p) against whether it is right, in [0, 1]; lower is better."""
    return ece(hits(y, p), np.maximum(p, 1 - p), bins=bins, binning=binning, weights=weights)


def hits(y: Floats, p: Floats) -> Floats:
    """Return 1 where the side with more than 1/2 is the labelled one, else 0 (also for a tie); NaN without either."""
    right = np.where(p == 0.5, 0.0, ((p > 0.5) == (y > 0.5)).astype(np.float64))
    return np.where(np.isnan(y) | np.isnan(p), np.nan, right)


def human_alignment(y: Floats, p: Floats, *, weights: Weights = None) -> Value:
    """Return the share of items whose more probable side is the labelled one, in [0, 1]; higher: as people say."""
    return mean(hits(y, p), weights=weights, of="human alignment")


def _instance_errors(y: Floats, p: Floats) -> Floats:
    return np.abs(hits(y, p) - np.maximum(p, 1 - p))


def ice(y: Floats, p: Floats, *, weights: Weights = None) -> Value:
    """Return the instance-level error, mean |hit - max(p, 1-p)|, in [0, 1]; lower is better."""
    return mean(_instance_errors(y, p), weights=weights, of="ICE")


def macroce(y: Floats, p: Floats, *, weights: Weights = None) -> Value:
    """Return the mean of ICE over hits and of ICE over misses, in [0, 1]; lower is better (Si et al. 2022).

    Undefined where there are no hits or no misses; the published code counts an empty side as 0.
    """
    hit, errors = hits(y, p), _instance_errors(y, p)
    sides = [
        mean(np.where(hit == value, errors, np.nan), weights=weights, of=f"MacroCE over {name}")
        for value, name in ((1.0, "hits"), (0.0, "misses"))
    ]
    return (sides[0] + sides[1]) / 2


def brier(y: Floats, p: Floats, *, weights: Weights = None) -> Value:
    """Return mean (p - y)^2, in [0, 1]; lower is better."""
    return mean((p - y) ** 2, weights=weights, of="Brier score")


def brier_published(y: Floats, p: Floats, *, weights: Weights = None) -> Value:
    """Return mean ((1-p) - y)^2, the Gender-ECE paper's number: it takes the other side's column. Not a score of p."""
    return mean((1 - p - y) ** 2, weights=weights, of="Brier score")


def brier_reliability(y: Floats, p: Floats, *, bins: int = BINS, weights: Weights = None) -> Value:
    """Return sum_b n_b/n (rate_b - mean p_b)^2, in [0, 1]; lower is better (Murphy 1973)."""
    bins_filled = binned(y, p, bins=bins, weights=weights)
    return _per_item(
        _square_over_count(bins_filled.labels - bins_filled.probabilities, bins_filled.counts), bins_filled.counts
    )


def brier_resolution(y: Floats, p: Floats, *, bins: int = BINS, weights: Weights = None) -> Value:
    """Return sum_b n_b/n (rate_b - rate)^2, in [0, 1/4]; higher is better: how far the bins tell items apart."""
    bins_filled = binned(y, p, bins=bins, weights=weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = bins_filled.labels.sum(axis=0) / bins_filled.counts.sum(axis=0)
    return _per_item(
        _square_over_count(bins_filled.labels - bins_filled.counts * rate, bins_filled.counts), bins_filled.counts
    )


def brier_uncertainty(y: Floats, p: Floats, *, weights: Weights = None) -> Value:
    """Return rate (1 - rate), in [0, 1/4]: the Brier score of always saying the base rate; neither way is better."""
    rate = mean(np.where(np.isnan(p), np.nan, y), weights=weights, of="Brier score")
    return rate * (1 - rate)


def brier_within(y: Floats, p: Floats, *, bins: int = BINS, weights: Weights = None) -> Value:
    """Return brier - reliability + resolution - uncertainty: what lies within bins, so that the four parts add up."""
    parts = (
        brier_reliability(y, p, bins=bins, weights=weights)
        - brier_resolution(y, p, bins=bins, weights=weights)
        + brier_uncertainty(y, p, weights=weights)
    )
    return brier(y, p, weights=weights) - parts


def _square_over_count(sums: Any, count: Any) -> Any:
    return np.divide(sums**2, count, out=np.zeros_like(sums), where=count > 0).sum(axis=0)


def log_loss(y: Floats, p: Floats, *, weights: Weights = None) -> Value:
    """Return the mean of -log P(label) in nats, 0 or more; lower is better.

    Undefined (infinite) where a label was called impossible: no clipping, which would make up a number.
    """
    y, p, weights = _counted(y, p, weights, "log loss")
    stated = np.where(y > 0.5, p, 1 - p)
    impossible = stated == 0
    drawn = impossible.sum() if weights is None else impossible.astype(np.float64) @ weights
    if np.ndim(drawn) == 0 and drawn:
        raise UndefinedMetric("log loss is infinite: a label has probability 0")
    loss = mean(-np.log(np.where(impossible, 1.0, stated)), weights=weights, of="log loss")
    return loss if np.ndim(drawn) == 0 else np.where(drawn > 0, np.nan, loss)


def group_ece(y: Floats, p: Floats, groups: Strings, *, bins: int = BINS, weights: Weights = None) -> Value:
    """Return the plain mean of the groups' ECEs, in [0, 1]; lower is better. Gender-ECE, with predicted genders.

    An empty name is not a group (a tie predicts nobody). Undefined for fewer than two groups, never 0 for an empty one.
    """
    values = list(_group_eces(y, p, groups, bins, weights).values())
    return sum(values[1:], start=values[0]) / len(values)


def group_ece_differences(y: Floats, p: Floats, groups: Strings, *, bins: int = BINS, weights: Weights = None) -> Value:
    """Return the differences between the ECEs of every two groups, stacked."""
    eces = np.stack(list(_group_eces(y, p, groups, bins, weights).values()))
    first, second = np.triu_indices(len(eces), k=1)
    return eces[first] - eces[second]


group_ece_gap = Norm(group_ece_differences, largest_size)
"""The largest less the smallest ECE of the groups, in [0, 1]; lower: the error is shared more evenly."""


def _group_eces(y: Floats, p: Floats, groups: Strings, bins: int, weights: Weights) -> dict[str, Value]:
    counts = ~(np.isnan(y) | np.isnan(p)) & (groups != "")
    drawn = counts if weights is None or weights.ndim > 1 else counts & (weights > 0)
    names = sorted(set(groups[drawn].tolist()))
    if not names:
        raise UndefinedMetric("group ECE of an empty group")
    if len(names) < 2:
        raise UndefinedMetric(f"group ECE of items that are all in one group, {names[0]}")
    return {
        name: ece(y[rows], p[rows], bins=bins, weights=None if weights is None else weights[rows])
        for name, rows in ((name, counts & (groups == name)) for name in names)
    }


def ece_debiased(y: Floats, p: Floats, *, bins: int = BINS, weights: Weights = None) -> Value:
    """Return the ECE less its upward bias at this n, in [-1, 1]; lower is better, 0 or less: nothing beyond chance.

    |d_b| of a bin overstates the true difference, as noise is counted positive. The bias is that of a normal variable
    with mean d_b and the variance that the probabilities themselves imply (Kumar et al. 2019, in closed form).
    """
    from scipy.special import erf

    bins_filled = binned(y, p, bins=bins, weights=weights)
    y, p, weights = _counted(y, p, weights)
    variance = binned(p * (1 - p), p, bins=bins, weights=weights).labels
    apart, spread = np.abs(bins_filled.labels - bins_filled.probabilities), np.sqrt(np.maximum(variance, 0.0))
    ratio = np.divide(apart, spread, out=np.full_like(apart, np.inf), where=spread > 0)
    folded = spread * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + apart * erf(ratio / np.sqrt(2))
    return _per_item((2 * apart - folded).sum(axis=0), bins_filled.counts)


def noise_floor(p: Floats, *, bins: int = BINS) -> float:
    """Return the ECE expected of these probabilities were they true, in [0, 1]: what chance alone shows at this n.

    The sum over bins of E|sum(Y) - sum(p)| / n with Y_i = 1 with probability p_i, from the exact distribution.
    """
    _, p, _ = _counted(p, p, None, "noise floor")
    numbers = bin_numbers(p, bins=bins)
    return math.fsum(_mean_deviation(p[numbers == k]) for k in range(bins)) / len(p)


def ece_by_chance(p: Floats, *, rng: np.random.Generator, draws: int = 500, bins: int = BINS) -> Floats:
    """Return the ECEs of labels drawn from these probabilities: how far a perfectly calibrated model strays."""
    return np.array([ece((rng.random(len(p)) < p).astype(np.float64), p, bins=bins) for _ in range(draws)])


def _mean_deviation(p: Floats) -> float:
    """Return E|S - E S| of the number S of events with these probabilities."""
    if len(p) > EXACT_ITEMS:
        return _limit_deviation(p)
    chance = np.ones(1)
    for probability in p:
        chance = np.convolve(chance, (1 - probability, probability))
    return float(chance @ np.abs(np.arange(len(chance)) - p.sum()))


def _limit_deviation(p: Floats) -> float:
    variance = float((p * (1 - p)).sum())
    if variance > 25:
        return math.sqrt(2 * variance / math.pi)
    # Many items with few events (or few non-events) in all: a Poisson number of them.
    rare = float(np.minimum(p, 1 - p).sum())
    return (
        2 * math.exp(-rare + (math.floor(rare) + 1) * math.log(rare) - math.lgamma(math.floor(rare) + 1))
        if rare
        else 0.0
    )


@dataclass(frozen=True)
class ReliabilityBin:
    """One bin of a reliability diagram: the mean probability of its items, and how often it comes true (Wilson)."""

    start: float
    end: float
    confidence: float
    rate: Estimate

    COLUMNS: ClassVar = ("start", "end", "items", "confidence", "rate", "low", "high")

    def row(self) -> dict[str, float]:
        """Return the bin as a row of `reliability.csv`."""
        rate = self.rate
        values = (self.start, self.end, rate.n, self.confidence, rate.value, rate.low, rate.high)
        return dict(zip(self.COLUMNS, values, strict=True))


def reliability(y: Floats, p: Floats, *, bins: int = BINS, level: float = 0.95) -> Iterator[ReliabilityBin]:
    """Yield the bins that hold an item, with an interval for the rate: what a reliability diagram draws."""
    from statistics import NormalDist

    z = NormalDist().inv_cdf((1 + level) / 2)
    bins_filled = binned(y, p, bins=bins)
    for k, (n, labels, total) in enumerate(zip(*bins_filled, strict=True)):
        if not n:
            continue
        rate = labels / n
        centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
        estimate = Estimate.around(centre, half, (0.0, 1.0), level=level, n=int(n), method="Wilson")
        yield ReliabilityBin(k / bins, (k + 1) / bins, float(total / n), replace(estimate, value=float(rate)))
