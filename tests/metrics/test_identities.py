"""Metrics of identity markers by hand; tests/measuring/test_identities.py recovers planted ones from whole audits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.metrics import identities
from equipoise.metrics.groups import mean
from equipoise.records import UndefinedMetric

VALUES = np.array([0.9, 0.7, 0.8, 0.4, 0.5, 0.1, np.nan])
MARKED = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0])
GENDER = np.array(["male", "female", "male", "male", "female", "female", "male"], dtype=object)
MARKER = np.array(["", "", "old", "young", "old", "young", "old"], dtype=object)
# An item with half a share counts half: means with markers are 0.8 and 0.4 at 1 and 0.5, 0.5 and 0.1 at 1 and 0.5.
SHARE = np.array([1.0, 1.0, 1.0, 0.5, 1.0, 0.5, 1.0])
HE, SHE = (0.8 + 0.2) / 1.5, (0.5 + 0.05) / 1.5


def test_a_drop_and_a_change_are_the_same_with_opposite_signs() -> None:
    expected = 0.8 - (0.8 + 0.2 + 0.5 + 0.05) / 3
    assert identities.drop(VALUES, MARKED, weights=SHARE) == pytest.approx(expected)
    assert identities.change(VALUES, MARKED, weights=SHARE) == pytest.approx(-expected)


def test_an_interaction_is_the_difference_of_two_changes() -> None:
    value = identities.interaction(VALUES, MARKED, GENDER, weights=SHARE)
    assert value == pytest.approx((HE - 0.9) - (SHE - 0.7))
    weights = np.array([[1, 2], [1, 1], [1, 3], [1, 0], [1, 1], [1, 1], [1, 9]]) * SHARE[:, None]
    several = identities.interaction(VALUES, MARKED, GENDER, weights=weights)
    assert several.tolist() == pytest.approx([value, (0.8 - 0.9) - (SHE - 0.7)])


def test_a_disparity_is_the_range_of_the_named_subgroups() -> None:
    assert identities.disparity(VALUES, MARKER, weights=SHARE) == pytest.approx((0.8 + 0.5) / 2 - (0.4 + 0.1) / 2)
    with pytest.raises(UndefinedMetric, match="needs at least two"):
        identities.disparity(VALUES[:3], MARKER[:3], weights=SHARE[:3])


def test_a_gender_gap_is_the_mean_over_markers_that_have_both() -> None:
    gap = identities.gender_gap(VALUES, MARKER, GENDER, weights=SHARE)
    assert gap == pytest.approx((abs(0.8 - 0.5) + abs(0.4 - 0.1)) / 2)
    only_old = np.array([0, 0, 1, 1, 1, 0, 0])
    assert identities.gender_gap(VALUES, MARKER, GENDER, weights=only_old) == pytest.approx(0.3)
    with pytest.raises(UndefinedMetric, match="no marker has both"):
        identities.gender_gap(VALUES[:4], MARKER[:4], GENDER[:4], weights=SHARE[:4])


def test_a_marker_with_he_and_they_alone_has_no_gender_gap() -> None:
    gender = np.array(["male", "female", "male", "male", "female", "neutral", "neutral"], dtype=object)
    assert identities.gender_gap(np.append(VALUES[:6], 0.0), MARKER, gender, weights=SHARE) == pytest.approx(
        abs(0.8 - 0.5)
    )


def test_double_disadvantage_and_its_interaction_by_hand() -> None:
    # Privileged and disadvantaged, each with the stereotype and against it; the last item has no privilege.
    values = np.array([0.9, 0.8, 0.7, 0.2, 0.1])
    privilege = np.array(["privileged", "privileged", "disadvantaged", "disadvantaged", ""], dtype=object)
    stereotype = np.array(["pro", "anti", "pro", "anti", "anti"], dtype=object)
    columns = (values, privilege, stereotype)
    assert identities.double_disadvantage(*columns) == pytest.approx(0.9 - 0.2)
    assert identities.disadvantage_interaction(*columns) == pytest.approx((0.8 - 0.2) - (0.9 - 0.7))


def test_a_deviation_is_over_items_by_their_share() -> None:
    values, share = np.array([0.0, 1.0, np.nan]), np.array([1.0, 0.5, 1.0])
    assert identities.deviation(values, weights=share) == pytest.approx(np.sqrt(1 / 3 - 1 / 9))
    assert mean(values, weights=share) == pytest.approx(1 / 3)


@given(st.floats(-1, 1), st.floats(-1, 1), st.integers(1, 5))
def test_equal_values_do_not_deviate_however_far_the_others_are(value: float, other: float, times: int) -> None:
    values, weights = np.array([value, value, other]), np.array([times, 2.0, 0.0])
    assert identities.deviation(values, weights=weights) == 0.0
    both = np.stack([weights, np.ones(3), np.zeros(3)], axis=1)
    drawn = identities.deviation(values, weights=both)
    assert drawn[0] == 0.0 and np.isnan(drawn[2])
    assert drawn[1] == pytest.approx(np.std(values), abs=1e-7) == identities.deviation(values)
