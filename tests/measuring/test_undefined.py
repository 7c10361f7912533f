"""Notes on metrics without a value: which groups miss it, how many, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise.measuring.undefined import is_on_undefined, possible_estimate, undefined_notes
from equipoise.metrics import METRICS


@pytest.mark.parametrize(
    ("groups", "where"),
    [
        (("all",), "all items"),
        (("all", "type=a"), "all items and for 1 group"),
        (("all", "type=a", "type=b"), "all items and for 2 groups"),
        (("type=a",), "type=a"),
        (("type=a", "type=b"), "type=a and for 1 other group"),
        (("type=a", "type=b", "gender=x"), "type=a and for 2 other groups"),
    ],
)
def test_the_first_group_is_named_with_its_reason_and_the_others_are_counted(
    groups: tuple[str, ...], where: str
) -> None:
    reasons = {label: f"reason {number}" for number, label in enumerate(groups)}
    assert list(undefined_notes({"ece": reasons})) == [f"ece is undefined for {where} (reason 0)"]


def test_occupations_are_counted_once_for_all_metrics_that_miss_as_many_of_them() -> None:
    both = {"occupation=nurse": "", "occupation=nurse,type=a": "", "occupation=cook": ""}
    missing = {"a": both, "b": {"occupation=cook": "", "type=x": "none"}, "c": both}
    why = "these metrics are not defined for some occupations, because items to compare are missing"
    assert list(undefined_notes(missing)) == [
        "b is undefined for type=x (none)",
        f"{why}: a, c (2 occupations); b (1 occupation)",
    ]
    assert list(undefined_notes({})) == []


def test_such_notes_are_known_from_others() -> None:
    notes = undefined_notes({"a": {"all": "none", "occupation=cook": ""}})
    assert [is_on_undefined(note) for note in (*notes, "a note on something else", "")] == [True, True, False, False]


@pytest.mark.parametrize("variants", [1, 3])
@pytest.mark.parametrize("subsets", [1, 4])
def test_what_is_possible_holds_for_all_subsets_of_all_variants_together(variants: int, subsets: int) -> None:
    def ends(values: Any, *, radius: Any) -> tuple[float, float]:
        reach = radius(values > 0, 2.0, subsets)
        return -reach, reach

    metric = replace(METRICS["certainty"], possible=ends)
    values, clusters = np.tile([1.0, 1.0, 0.0], 10), np.repeat(np.arange(10), 3)
    rows = {str(number): np.arange(30) for number in range(variants)}
    estimate = possible_estimate(metric, (values,), rows, clusters, 0.9)
    # Hoeffding over 10 clusters, not 20 items; the error of 0.1 is shared by all subsets of all variants.
    reach = 2 * np.sqrt(np.log(2 * subsets * variants / 0.1) / 20)
    assert estimate is not None and np.isnan(estimate.value) and estimate.level == 0.9
    assert estimate.ends == (pytest.approx(-reach), pytest.approx(reach))
    assert possible_estimate(replace(metric, possible=None), (values,), rows, clusters, 0.9) is None
