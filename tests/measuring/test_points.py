"""What a point counts, which values of it have a name, and which statistics they are."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.measuring.points import Job, Point, Population, mean_of, named_values
from equipoise.metrics import METRICS, Metric
from equipoise.metrics.groups import mean


def point(variants: dict[str, float], **parts: str) -> Point:
    """Return the certainty of a group, a row for each variant."""
    values = np.arange(float(len(variants)))
    job = Job(METRICS["certainty"], "certainty", (values,), Population(np.arange(9), 9), np.ones(9, dtype=bool))
    return Point(job, parts, {name: np.array([row]) for row, name in enumerate(variants)}, variants)


@pytest.mark.parametrize(("unit", "counted"), [("items", 1), ("sets", 2)])
def test_a_metric_over_sets_counts_the_sets_and_not_its_columns_of_items(unit: str, counted: int) -> None:
    performance, u = np.array([1.0, np.nan, np.nan]), np.array([0.5, 0.5, np.nan])
    inputs = ("performance_brier", "u")
    metric = Metric("mine", mean, inputs, unit=unit, better="higher", label="mine", summary="mine")
    job = Job(metric, "mine", (performance, u), Population(np.arange(3), 3), np.ones(3, dtype=bool))
    assert job.units(np.arange(3)) == counted


def test_the_mean_over_variants_has_a_name_and_so_has_each_of_several() -> None:
    assert [named.parts for named in named_values(point({"": 0.5}, gender="male"))] == [{"gender": "male"}]
    seeds = list(named_values(point({"seed=1": 0.25, "seed=2": 0.75}, gender="male")))
    assert [(named.parts.get("seed"), named.value) for named in seeds] == [(None, 0.5), ("1", 0.25), ("2", 0.75)]
    worded = {"wording=a": 0.25, "wording=b": 0.75}
    assert len(list(named_values(point(worded, type="t")))) == 3
    assert len(list(named_values(point(worded, gender="male")))) == 1
    assert mean_of([0.1]) == 0.1 and mean_of([np.array([1.0]), np.array([2.0])]).tolist() == [1.5]


def test_statistics_take_the_rows_of_their_variant_by_the_clusters_asked_for() -> None:
    made = point({"seed=1": 0.25, "seed=2": 0.75})
    assert [(s.arrays[0].tolist(), s.clusters.tolist()) for s in made.statistics()] == [([0.0], [0]), ([1.0], [1])]
    compared = Population(np.arange(9), 9, compared=np.arange(9) + 5)
    other = Point(Job(METRICS["certainty"], "", (np.arange(9.0),), compared, np.ones(9, dtype=bool)), {}, made.rows)
    assert [s.clusters.tolist() for s in other.statistics(compared=True)] == [[5], [6]]
    assert [s.clusters.tolist() for s in other.statistics()] == [[0], [1]]
