"""Claims about identities: what clusters add is the measurement itself, and everything that is said is tested."""

from __future__ import annotations

import numpy as np
import pytest
from planted_items import planted_items

from equipoise.datasets import open_dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.measuring.identity_claims import _against_others, identity_claims, side_units
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
        if "attribute" not in name[1] or "marker" in name[1]:
            assert abs(units.sum()) == pytest.approx(abs(rows[name].value), abs=1e-9), name
        assert units.shape[-1] == int(items.clusters.max()) + 1
        assert 0 < rows[name].estimate.p <= rows[name].estimate.p_corrected <= 1
    for name, row in rows.items():
        if name[0] in CLAIMED and "marker" in row.parts and "gender" not in row.parts:
            assert name in claims, "every marker that a sentence may name is tested"
        if name[0] == "confidence_disparity":
            assert name in claims, "every disparity that a table may mark is tested"


def test_a_disparity_is_claimed_of_genders_markers_and_their_crossing() -> None:
    items, rows = marked("lead=0.4,lead:old=-0.2,lead:female=-0.1,lead:old*female=-0.05,sentence=0.2,noise=0.2")
    claims = {claim.name: claim.units for claim in identity_claims(items)}
    for way in ("R", "C"):
        at = f"attribute=age,augmentation={way}"
        names = [f"gender={gender},marker={marker}" for gender in ("female", "male") for marker in ("old", "young")]
        means = np.reshape([rows["confidence", f"{at},{name},type=type2"].value for name in names], (2, 2))
        gender, marker, crossing = claims["confidence_disparity", f"{at},type=type2"].sum(axis=1)
        assert gender == pytest.approx(means[0].mean() - means[1].mean())
        assert marker == pytest.approx(means[:, 0].mean() - means[:, 1].mean())
        assert crossing == pytest.approx(means[0, 0] - means[0, 1] - means[1, 0] + means[1, 1])


def test_of_more_than_two_markers_each_is_against_the_others() -> None:
    how = recipe(augmentations=["R"], attributes=["race", "non-demographic"])
    data = identity_dataset(open_dataset("builtin").limited(60), how)
    items, rows = planted_items("lead=0.4,noise=0.2", data, Plan([], resamples=50))
    claims = {claim.name: claim.units for claim in identity_claims(items) if claim.name[0] == "confidence_disparity"}
    race = "attribute=race,augmentation=R,type=type2"
    # One row for he and she, one for each of four markers, and one for each crossing of the two.
    assert len(claims["confidence_disparity", race]) == 1 + 4 + 4
    neutral = "confidence_disparity", race.replace("race", "non-demographic")
    assert neutral in rows and neutral not in claims, "markers without a side make no claim"


def test_a_cluster_with_one_side_adds_nothing_where_the_sides_are_alike() -> None:
    values, ones = np.full(6, 0.4), np.ones(6)
    clusters = np.array([0, 0, 1, 1, 2, 2])
    first = np.array([True, False, True, False, True, True])
    units = side_units(values, ones, clusters, [(first, 1.0), (~first, -1.0)])
    assert units is not None and units == pytest.approx(np.zeros(3))
    assert side_units(values, ones, clusters, [(first, 1.0), (np.zeros(6, dtype=bool), -1.0)]) is None


@pytest.mark.parametrize(("values", "asked"), [("a", ""), ("ab", "a"), ("abc", "abc"), ("dcba", "abcd")])
def test_each_value_is_compared_with_the_others_and_of_two_the_first_only(values: str, asked: str) -> None:
    group = np.array(list(values), dtype=object)
    sides = list(_against_others(group))
    assert ["".join(group[first[0]]) for first, _ in sides] == list(asked)
    for first, others in sides:
        assert np.array_equal(others[0], ~first[0]) and (first[1], others[1]) == (1.0, -1.0)
