"""Points: a metric of a group, with the rows it is taken over and what they are resampled by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..metrics import Metric
from ..metrics.columns import COLUMNS
from ..records import Booleans, Estimate, Floats, Integers
from ..stats.resampling import Copies, Precision, Statistic

Rows = Integers | slice
"""Rows of columns, by number, or as a slice where they are beside each other."""


@dataclass(frozen=True, eq=False)
class Population:
    """What is resampled: the number of each row's cluster, of how many, and what each row counts.

    `precision` is that of sums. `compared` are the numbers by which two models are compared, the same for all metrics.
    """

    numbers: Integers
    clusters: int
    shares: Floats | None = None
    precision: Precision = np.float32
    compared: Integers | None = None
    copies: Copies = field(default_factory=Copies)


@dataclass(frozen=True)
class Job:
    """A metric with the columns of one estimator, and the rows it applies to; `marked`: of base sentences."""

    metric: Metric
    name: str
    arrays: tuple[NDArray[Any], ...]
    population: Population
    applies: Booleans
    key: str = ""
    marked: bool = False

    def units(self, rows: Rows) -> int:
        """Return the number of items, of sets or of base sentences that the value is taken over."""
        if self.marked:
            return len(np.unique(self.population.numbers[rows]))
        return int(np.count_nonzero(self._counted[rows]))

    @cached_property
    def _counted(self) -> Booleans:
        """Which rows have a value in all columns that count."""
        counted = np.ones(len(self.applies), dtype=bool)
        columns = [COLUMNS[name] for name in self.metric.inputs]
        over_sets = self.metric.unit == "sets" and any(column.of_sets for column in columns)
        for column, array in zip(columns, self.arrays, strict=True):
            # FP multiplies a mean over items by one over sets: its n is the number of sets.
            if over_sets and not column.of_sets:
                continue
            if column.names:
                counted &= array != ""
            elif array.dtype.kind == "f" and array.ndim == 1:
                counted &= ~np.isnan(array)
        return counted


@dataclass(frozen=True)
class Point:
    """A metric of a group by variant, with the rows it was taken over; without `values` they are not known yet."""

    job: Job
    parts: Mapping[str, str]
    rows: Mapping[str, Rows]
    values: Mapping[str, float] = field(default_factory=dict)
    possible: Estimate | None = None
    """What it can be, where a subset that it needs is empty."""
    differences: Mapping[str, Floats] = field(default_factory=dict)
    """The signed differences behind the values, by variant, of a metric that is their size."""

    @property
    def value(self) -> float:
        """The mean over the variants."""
        return float(mean_of(list(self.values.values())))

    @property
    def n(self) -> int:
        """The number of units: those of one variant, since each variant asks the same items again."""
        return self.job.units(next(iter(self.rows.values())))

    def statistics(self, *, signed: bool = False, compared: bool = False) -> list[Statistic]:
        """Return the metric as a statistic of each variant.

        `signed`: of the differences behind it, if it has any. `compared`: by the clusters of comparisons.
        """
        metric, population = self.job.metric, self.job.population
        function = metric.norm.differences if signed and metric.norm else metric.function
        numbers = population.numbers if population.compared is None or not compared else population.compared
        statistic = Statistic(function, self.job.arrays, numbers, None, population.shares, copies=population.copies)
        return [replace(statistic, rows=rows) for rows in self.rows.values()]


class Named(NamedTuple):
    """A value of a point, with its group, its place among the variants, and its rows."""

    parts: Mapping[str, str]
    value: float
    variants: slice
    rows: Rows


def named_values(point: Point) -> Iterator[Named]:
    """Yield the value over the variants and, where there are several, that of each."""
    yield Named(point.parts, point.value, slice(None), next(iter(point.rows.values())))
    # Ten wordings of forty occupations would be thousands of rows that nobody reads, each with an interval.
    worded = any("wording=" in variant for variant in point.values)
    if len(point.values) > 1 and not (worded and set(point.parts) - {"type"}):
        for number, (variant, value) in enumerate(point.values.items()):
            parts = dict(part.split("=", 1) for part in variant.split(","))
            chosen = slice(number, number + 1)
            yield Named({**point.parts, **parts}, value, chosen, point.rows[variant])


def mean_of(variants: Sequence[Any]) -> Any:
    """Return the mean over the variants; of one variant its own value."""
    return variants[0] if len(variants) == 1 else np.mean(variants, axis=0)
