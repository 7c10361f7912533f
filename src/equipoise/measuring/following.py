"""Metrics followed while sentences are asked: intervals that hold whenever an audit stops, about sentences like these.

A metric that is made of means (`Metric.means`) has a sequence of units for each of them: base sentences, in the random
order in which they were asked. Of a difference of two means whose items come in pairs, the units are the differences
within sentences. Several sequences share the error, and the metric lies between what their intervals allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..metrics.naming import estimator_of, metric_named
from ..records import Estimate, Floats, Measurement, group_label, parse_group
from ..stats import betting, means
from ..stats.betting import Units
from ..stats.resampling import Statistic
from ..uncertainty import PERPLEXITY
from .items import Items
from .measure import Plan, measured_points
from .points import Point
from .stopping import Sample


class Followed(NamedTuple):
    """A metric and group by name, the most items of a base sentence, the sentences that there are, and the level."""

    metric: str
    group: str
    most: float
    horizon: float
    level: float

    @property
    def name(self) -> str:
        """The metric and its group in one name."""
        return f"{self.metric}/{self.group}"


def followed_in(sample: Sample) -> Iterator[Followed]:
    """Yield the metrics that a sample was drawn for."""
    for name, facts in sample.followed.items():
        metric, _, group = name.partition("/")
        yield Followed(metric, group, *facts)


def with_followed(rows: Sequence[Measurement], items: Items, sample: Sample | None) -> list[Measurement]:
    """Return the measurements, with intervals that hold at any look for those that an audit was asked until settled."""
    if sample is None or not sample.followed:
        return list(rows)
    wanted = list(followed_in(sample))
    points = points_of(items, wanted)
    estimates = {(w.metric, w.group): sequence(point, items, w) for w in wanted if (point := points.get(w.name))}
    finished = []
    for row in rows:
        estimate = estimates.get((row.metric, row.group))
        finished.append(row if estimate is None else replace(row, estimate=replace(estimate, n=row.n)))
    return finished


def points_of(items: Items, wanted: Sequence[Followed]) -> dict[str, Point]:
    """Return the points of these metrics and groups by name; one without a value is not in it."""
    points, _ = measured_points(items, following_plan(wanted))
    return {f"{point.job.name}/{group_label(point.parts)}": point for point in points if point.possible is None}


def following_plan(wanted: Sequence[Followed]) -> Plan:
    """Return the plan that measures these metrics and groups, without intervals."""
    metrics = {metric.name: metric for metric in (metric_named(w.metric) for w in wanted)}
    estimators = {e.name: e for e in (estimator_of(w.metric) or PERPLEXITY for w in wanted)}
    keys = dict.fromkeys(key for w in wanted for key in parse_group(w.group) if key != "type")
    return Plan(list(metrics.values()), list(estimators.values()), by=tuple(keys), intervals=False)


def sequence(point: Point, items: Items, wanted: Followed) -> Estimate | None:
    """Return the value of a point with an interval that holds at any look; None where it is not made of means."""
    metric = point.job.metric
    tables = _tables(point, items)
    if metric.value_bounds is None or not all(len(several) == metric.means for several in tables):
        return None
    if several := units_of(point, items, wanted):
        error = (1 - wanted.level) / 2 / len(several)
        intervals = [units.interval(error) for units in several]
        ends = metric.norm.ends(intervals) if metric.norm else intervals[0]
    else:
        ends = _joint_ends(point, tables, metric.value_bounds, wanted)
    low, high = (min(max(end, metric.bounds[0]), metric.bounds[1]) for end in ends)
    return Estimate(point.value, min(low, point.value), max(high, point.value), wanted.level, point.n, betting.METHOD)


def units_of(point: Point, items: Items, wanted: Followed) -> list[Units]:
    """Return the units of a mean, or of each paired difference behind a metric; [] for other metrics."""
    metric = point.job.metric
    bounds, tables = metric.value_bounds, _tables(point, items)
    if bounds is None or not all(len(several) == metric.means for several in tables):
        return []
    averaged: list[Floats] = [np.mean(same, axis=0) for same in zip(*tables, strict=True)]
    if len(averaged) == 1:
        return [_units(averaged[0], bounds, wanted)]
    if not _is_paired(point.statistics(signed=True)[0], averaged):
        return []
    width = bounds[1] - bounds[0]
    pairs = zip(averaged[::2], averaged[1::2], strict=True)
    return [_units(np.stack([a[0] - b[0], a[1]]), (-width, width), wanted) for a, b in pairs]


def _tables(point: Point, items: Items) -> list[list[Floats]]:
    """Return the sums and counts by base sentence under each mean, for every variant."""
    statistics = [replace(s, numbers=items.sentences) for s in point.statistics(signed=True)]
    tables = [means.tables(statistic, exact=True) for statistic in statistics]
    # The last sentences may have no item in one of the variants.
    longest = max((table.shape[1] for several in tables for table in several), default=0)
    return [[np.pad(table, ((0, 0), (0, longest - table.shape[1]))) for table in several] for several in tables]


def _units(table: Floats, bounds: tuple[float, float], wanted: Followed) -> Units:
    sums, counts = table
    counted = counts > 0
    return Units(sums[counted], counts[counted], bounds, wanted.most, int(wanted.horizon))


def _is_paired(statistic: Statistic, tables: Sequence[Floats]) -> bool:
    """Return whether it is made of differences of two means each, with as many items of both in every sentence."""
    if len(tables) % 2:
        return False
    corners = np.eye(len(tables), len(tables) + 1)
    values = np.atleast_2d(means.at_means(statistic, list(corners), exact=True))
    signs = np.kron(np.eye(len(tables) // 2), [[1.0, -1.0]])
    expected = np.hstack([signs, np.zeros((len(signs), 1))])
    same = values.shape == expected.shape and np.allclose(values, expected)
    return bool(same) and all(np.array_equal(a[1], b[1]) for a, b in zip(tables[::2], tables[1::2], strict=True))


def _joint_ends(
    point: Point, tables: Sequence[Sequence[Floats]], bounds: tuple[float, float], wanted: Followed
) -> tuple[float, float]:
    """Return the ends of a metric of several means: of each variant, with the error shared by all of its means."""
    level = 1 - (1 - wanted.level) / sum(map(len, tables))
    error = (1 - level) / 2
    ends = [
        means.within_ends(statistic, [_units(t, bounds, wanted).interval(error) for t in several], exact=True)
        for statistic, several in zip(point.statistics(), tables, strict=True)
    ]
    lows, highs = zip(*ends, strict=True)
    return float(np.mean(lows)), float(np.mean(highs))
