"""The difference of two samples with other columns held equal: as a regression has it, honest about its error."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from kept_texts import assert_kept
from scipy import linalg

from equipoise.stats.adjusted import POWER, SMALLEST, Adjusted, _basis, adjusted_difference


def drawn(seed: int, *, effect: float = 0.0, count: int = 300) -> dict[str, Any]:
    """Return two samples whose items come in clusters of two; the columns matter, and the samples differ in them."""
    rng = np.random.default_rng(seed)
    first = np.repeat(rng.random(count) < 0.5, 2)
    # The first sample has more of the kind "b", which is worth 2.
    kind = np.where(rng.random(2 * count) < np.where(first, 0.8, 0.3), "b", "a").astype(object)
    person = rng.choice(np.array(["nurse", "guard", "cook", "clerk"], dtype=object), 2 * count)
    worth = {"nurse": 0.0, "guard": 1.0, "cook": -0.5, "clerk": 0.3}
    values = 2.0 * (kind == "b") + np.array([worth[name] for name in person]) + effect * first
    values = values + np.repeat(rng.normal(0, 0.7, count), 2) + rng.normal(0, 0.5, 2 * count)
    clusters = np.repeat(np.arange(count), 2).astype(str).astype(object)
    return {"values": values, "first": first, "columns": [kind, person], "clusters": clusters}


def difference(sample: dict[str, Any], **chosen: Any) -> Adjusted:
    made = adjusted_difference(**sample, **{"level": 0.95, **chosen})
    assert made is not None
    return made


def test_value_and_error_are_those_of_a_regression_with_errors_by_cluster() -> None:
    sample = drawn(3, effect=0.4)
    marks = [column == entry for column in sample["columns"] for entry in sorted(set(column))[1:]]
    design = np.stack([sample["first"], np.ones(len(sample["first"])), *marks], axis=1).astype(float)
    bread = np.linalg.inv(design.T @ design)
    effects = bread @ design.T @ sample["values"]
    residuals = sample["values"] - design @ effects
    meat = np.zeros_like(bread)
    for name in set(sample["clusters"]):
        rows = sample["clusters"] == name
        unseen = linalg.inv(linalg.sqrtm(np.eye(rows.sum()) - design[rows] @ bread @ design[rows].T))
        score = design[rows].T @ unseen @ residuals[rows]
        meat += np.outer(score, score)
    variance = bread @ meat @ bread
    made = difference(sample)
    assert made.estimate.value == pytest.approx(effects[0], abs=1e-9)
    assert made.error == pytest.approx(math.sqrt(variance[0, 0]), rel=1e-9)
    assert made.first == pytest.approx(float(sample["values"][sample["first"]].mean()))


def test_what_the_columns_explain_is_no_difference_and_a_real_one_is_found_within_its_interval() -> None:
    plain = drawn(1)
    gap = plain["values"][plain["first"]].mean() - plain["values"][~plain["first"]].mean()
    assert gap > 0.7 and abs(difference(plain).estimate.value) < 0.2
    for effect in (0.0, 0.5):
        held = [
            made.low <= effect <= made.high
            for made in (difference(drawn(seed, effect=effect, count=80)).estimate for seed in range(200))
        ]
        assert 0.90 <= np.mean(held) <= 0.99


def test_items_without_a_counterpart_are_left_out_until_all_have_one() -> None:
    sample = drawn(2)
    kind, person = (column.copy() for column in sample["columns"])
    places = np.flatnonzero(sample["first"])
    person[places[:20]] = "pilot"  # the second sample has no pilot
    moved = {**sample, "columns": [kind, person], "values": sample["values"] + 100.0 * (person == "pilot")}
    without = np.flatnonzero(person != "pilot")
    kept = {name: sample[name][without] for name in ("values", "first", "clusters")}
    assert difference(moved) == difference({**kept, "columns": [kind[without], person[without]]})
    kind[:] = np.where(sample["first"], "a", "b")
    assert adjusted_difference(**{**sample, "columns": [kind, person]}, level=0.95) is None


def test_equal_answers_are_not_certain_and_no_spread_at_all_is_nothing_to_test() -> None:
    first = np.repeat([True, False], 40)
    column = np.array(["a"] * 80, dtype=object)
    clusters = np.arange(80).astype(str).astype(object)
    sample = {"values": np.ones(80), "first": first, "columns": [column], "clusters": clusters}
    assert adjusted_difference(**sample, level=0.95) is None
    made = difference(sample, width=1.0)
    assert made.error == pytest.approx(math.sqrt(2) / 42)
    assert made.estimate.low < -0.05 and made.estimate.high > 0.05
    apart = difference({**sample, "values": first * 1.0}, width=1.0)
    assert apart.estimate.value == pytest.approx(1.0) and apart.estimate.p < 1e-6 and apart.estimate.low > 0.9


def test_what_is_detectable_is_detected_that_often() -> None:
    reach = np.mean([difference(drawn(seed, count=120)).detectable() for seed in range(1000, 1020)])
    found = [difference(drawn(seed, effect=reach, count=120)).estimate.p < 0.05 for seed in range(200)]
    assert POWER - 0.1 <= np.mean(found) <= POWER + 0.1
    one = difference(drawn(0, count=120))
    assert one.detectable(tests=3) > one.detectable()


def test_differences_of_drawn_samples_are_kept() -> None:
    made = {}
    for seed, effect, level in product((1, 2), (0.0, 0.6), (0.8, 0.95)):
        for count, width in ((6, 0.0), (6, 3.0), (40, 0.0), (40, 1.0)):
            found = adjusted_difference(**drawn(seed, effect=effect, count=count), level=level, width=width)
            reach = [found.detectable(tests) for tests in (1, 4)] if found else []
            made[f"{seed}, {effect}, {level}, {count} clusters, width {width}"] = (found, reach)
    assert_kept("stats/adjusted", made)


def test_too_few_clusters_on_one_side_or_for_the_columns_are_nothing_to_compare() -> None:
    def compared(first: list[int], column: str, clusters: str) -> bool:
        values = np.arange(float(len(first))) ** 2
        columns = [np.array(list(column), dtype=object)]
        made = adjusted_difference(
            values, np.array(first, dtype=bool), columns, np.array(list(clusters), dtype=object), level=0.9
        )
        return made is not None

    assert compared([1, 1, 0, 0], "aaaa", "wxyz")
    assert not compared([1, 1, 0, 0], "aaaa", "wxyy") and not compared([1, 1, 0, 0], "aaaa", "wwyz")
    # Two effects of the column and one of the sample leave nothing over of three clusters.
    assert compared([1, 0, 1, 0, 1, 0], "aabbaa", "uvwxyz") and not compared([1, 0, 1, 0], "aabb", "xyyx")


def test_a_column_that_says_the_same_as_another_changes_nothing() -> None:
    sample = drawn(5, effect=0.3, count=60)
    renamed = np.array([f"of {name}" for name in sample["columns"][1]], dtype=object)
    twice = difference({**sample, "columns": [*sample["columns"], renamed]})
    once = difference(sample)
    assert twice.estimate.value == pytest.approx(once.estimate.value) and twice.error == pytest.approx(once.error)
    assert twice.degrees == pytest.approx(once.degrees)


def test_a_basis_spans_what_the_table_does_and_no_more() -> None:
    table = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 2.0], [1.0, 0.0, 1.0], [1.0, 2.0, 3.0]])
    basis = _basis(table)
    assert basis.shape == (4, 2) and basis.T @ basis == pytest.approx(np.eye(2))
    assert basis @ basis.T @ table == pytest.approx(table)
    assert _basis(np.zeros((3, 2))).shape == (3, 0), "nothing spans nothing"
    for share, columns in ((2 * SMALLEST, 2), (SMALLEST / 2, 1)):
        assert _basis(np.diag([4.0, 4.0 * share])).shape == (2, columns)


def test_a_sample_that_the_columns_tell_whole_has_no_difference() -> None:
    cells = [cell for cell in product((0, 1), repeat=3) if sum(cell) in (1, 2)]
    numbers = np.repeat(np.array(cells), 20, axis=0)
    first, columns = numbers.sum(axis=1) == 2, numbers.astype(str)
    values = np.random.default_rng(2).random(len(first))
    arguments = (values, first, list(columns.T), np.arange(len(first)))
    assert adjusted_difference(*arguments, level=0.95, width=1.0) is None
    two = adjusted_difference(*arguments[:2], list(columns.T[:2]), arguments[3], level=0.95, width=1.0)
    assert two is not None


@pytest.mark.parametrize("clusters", [4, 5, 6])
def test_there_are_more_clusters_than_entries_of_columns(clusters: int) -> None:
    rng = np.random.default_rng(4)
    numbers = np.repeat(np.arange(clusters), 24)
    first, column = numbers % 2 == 0, np.tile(list("abcd"), 6 * clusters)
    found = adjusted_difference(rng.random(len(first)), first, [column], numbers, level=0.95, width=1.0)
    assert (found is None) == (clusters <= 5), "four entries, and one cluster more for the difference"
