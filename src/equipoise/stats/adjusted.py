"""The difference of two samples, with what else differs between their items held equal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..records import Booleans, Estimate, Floats, Integers, Strings
from .distributions import stdtr, stdtrit

METHOD = "least squares with effects of the matched columns, errors by cluster (CR2)"
POWER = 0.8
SMALLEST = 1e-9
"""What must be left of the difference between the samples once the other columns are taken out, as a share."""


@dataclass(frozen=True)
class Adjusted:
    """A difference of two samples, matched; the first one's mean, the clusters of each, and the standard error."""

    estimate: Estimate
    first: float
    clusters: tuple[int, int]
    error: float
    degrees: float

    def detectable(self, tests: int = 1) -> float:
        """Return the difference that `POWER` of such samples would detect, at the first step of Holm's correction."""
        level = 1 - (1 - self.estimate.level) / tests
        return float(stdtrit(self.degrees, (1 + level) / 2) + stdtrit(self.degrees, POWER)) * self.error


def adjusted_difference(
    values: Floats,
    first: Booleans,
    columns: Sequence[Strings],
    clusters: Strings,
    *,
    level: float,
    width: float = 0.0,
) -> Adjusted | None:
    """Return the mean of the first sample minus that of the second, between items that are equal in every column.

    A value is a sum of an effect of the sample and one of each column's entry (least squares). Items with an entry that
    the other sample does not have are left out. Errors add up within clusters before they are squared, so items of a
    cluster may depend on each other. `width` is that of all possible values, of which a few equal ones show little: the
    error is at least that of Agresti and Caffo (2000) for n equal answers. None where there is nothing to compare.
    """
    kept = _shared(first, columns)
    values, first, clusters = values[kept], first[kept], clusters[kept]
    counts = (len(np.unique(clusters[first])), len(np.unique(clusters[~first])))
    if min(counts) < 2:
        return None
    others = _basis(_indicators([column[kept] for column in columns]))
    side = first.astype(np.float64)
    rest = side - others @ (others.T @ side)
    left = float(rest @ rest)
    numbers: Integers = np.unique(clusters, return_inverse=True)[1]
    if left < SMALLEST * len(side) or int(numbers.max()) <= others.shape[1]:
        return None
    value = float(rest @ values) / left
    residuals = values - value * side
    residuals -= others @ (others.T @ residuals)
    design = np.column_stack([others, rest / math.sqrt(left)])
    error, degrees = _error(rest, residuals, design, numbers)
    error /= left
    error = max(error, width * math.hypot(*(1 / (count + 2) for count in counts)))
    if error < SMALLEST:
        return None
    radius = float(stdtrit(degrees, (1 + level) / 2)) * error
    p = float(2 * stdtr(degrees, -abs(value) / error))
    estimate = Estimate(value, value - radius, value + radius, level, min(counts), METHOD, p)
    return Adjusted(estimate, float(values[first].mean()), counts, error, degrees)


def _shared(first: Booleans, columns: Sequence[Strings]) -> Integers:
    """Return the items whose entry in every column occurs in both samples, among the items that are left."""
    kept: Integers = np.arange(len(first))
    while True:
        both = np.ones(len(kept), dtype=bool)
        for column in columns:
            entries = [set(column[kept][first[kept] == side]) for side in (True, False)]
            both &= np.isin(column[kept].astype(str), [*map(str, entries[0] & entries[1])])
        if both.all():
            return kept
        kept = kept[both]


def _basis(table: Floats) -> Floats:
    """Return orthonormal columns that span those of the table."""
    spanning, sizes, _ = np.linalg.svd(table, full_matrices=False)
    return np.asarray(spanning[:, sizes > SMALLEST * sizes[0]])


def _error(rest: Floats, residuals: Floats, design: Floats, numbers: Integers) -> tuple[float, float]:
    """Return the root of the summed squares of what each cluster adds to the error, and its degrees of freedom.

    A cluster's residuals are made as large as if the fit did not know the cluster, else the error is too small where
    there are many effects for the clusters; the degrees are Satterthwaite's (CR2, Bell and McCaffrey 2002).
    """
    order = np.argsort(numbers, kind="stable")
    squares, sizes, known = 0.0, [], []
    for rows in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1):
        left, turned = np.linalg.eigh(np.eye(len(rows)) - design[rows] @ design[rows].T)
        inverse = np.where(left > 1e-6, 1 / np.sqrt(np.maximum(left, 1e-6)), 0.0)
        weights = turned @ (inverse * (turned.T @ rest[rows]))
        squares += float(weights @ residuals[rows]) ** 2
        sizes.append(float(weights @ weights))
        known.append(design[rows].T @ weights)
    spread, shared = np.array(sizes), np.array(known)
    lengths = np.einsum("ck,ck->c", shared, shared)
    product = shared.T @ shared
    total = float(spread.sum() - lengths.sum())
    norm = float(spread @ spread - 2 * spread @ lengths + np.sum(product * product))
    return math.sqrt(squares), total**2 / norm if norm > 0 else 1.0


def _indicators(columns: Sequence[Strings]) -> Floats:
    """Return a column of ones and, for each entry of each column but its first one, a column that marks it."""
    length = len(columns[0])
    marks = [np.ones(length)]
    for column in columns:
        marks += [(column == entry).astype(np.float64) for entry in np.unique(column.astype(str))[1:]]
    return np.stack(marks, axis=1)
