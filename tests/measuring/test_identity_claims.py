"""Claims about identities: what clusters add is the measurement itself, and everything that is said is tested."""

from __future__ import annotations

import numpy as np
import pytest
from planted_items import planted_items

from equipoise.datasets import open_dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.measuring.identity_claims import identity_claims, side_units
from equipoise.measuring.items import Items
from equipoise.measuring.measure import Plan
from equipoise.records import Measurement

CLAIMED = ("confidence_change", "confidence_interaction")


def marked(planted: str) -> tuple[Items, dict[tuple[str, str], Measurement]]:
    data = identity_dataset(open_dataset("builtin").limited(90), recipe(augmentations=["R", "C"], attributes=["age"]))
    return planted_items(planted, data, Plan([], resamples=50))


def test_what_clusters_add_is_the_measurement_and_each_has_one_corrected_p() -> None:
    items, rows = marked("lead=0.4,lead:old=-0.2,lead:female=-0.1,sentence=0.2,noise=0.2")
    claims = {claim.name: claim.units for claim in identity_claims(items)}
    assert {metric for metric, _ in claims} == {
        *CLAIMED,
        *("confidence_disparity", "confidence_drop", "double_disadvantage", "disadvantage_interaction"),
    }
    for name, units in claims.items():
        assert abs(units.sum()) == pytest.approx(abs(rows[name].value), abs=1e-9), name
        assert len(units) == int(items.clusters.max()) + 1
        assert 0 < rows[name].estimate.p <= rows[name].estimate.p_corrected <= 1
    for name, row in rows.items():
        if name[0] in CLAIMED and "marker" in row.parts and "gender" not in row.parts:
            assert name in claims, "every marker that a sentence may name is tested"


def test_a_cluster_with_one_side_adds_nothing_where_the_sides_are_alike() -> None:
    values, ones = np.full(6, 0.4), np.ones(6)
    clusters = np.array([0, 0, 1, 1, 2, 2])
    first = np.array([True, False, True, False, True, True])
    units = side_units(values, ones, clusters, [(first, 1.0), (~first, -1.0)])
    assert units is not None and units == pytest.approx(np.zeros(3))
    assert side_units(values, ones, clusters, [(first, 1.0), (np.zeros(6, dtype=bool), -1.0)]) is None
