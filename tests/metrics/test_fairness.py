"""Desirability, UCerF, equalized odds and group disparity, by hand; what holds for all is in test_invariants.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equipoise.metrics import fairness
from equipoise.records import ABSENT, UndefinedMetric

PAIRS = arrays(np.float64, st.tuples(st.integers(1, 8), st.just(2)), elements=st.floats(-1, 1))
TRIPLES = arrays(np.float64, st.tuples(st.integers(1, 8), st.just(3)), elements=st.floats(-1, 1))
KINDS = ("range", "pairwise", "deviation")


def names(*values: str) -> np.ndarray:
    return np.array(values, dtype=object)


def test_desirability_is_certainty_signed_by_being_right() -> None:
    correct, certainty = np.array([1.0, 0.0, np.nan]), np.array([0.3, 0.4, 0.5])
    assert fairness.desirability(correct, certainty).tolist() == [0.3, -0.4, 0.5]


@given(PAIRS)
def test_all_disparities_are_the_absolute_difference_of_two_groups(values: np.ndarray) -> None:
    expected = np.abs(values[:, 0] - values[:, 1])
    for kind in KINDS:
        np.testing.assert_allclose(fairness.disparity(values, kind=kind), expected, atol=1e-12)


@given(TRIPLES)
def test_an_absent_third_group_changes_no_disparity(values: np.ndarray) -> None:
    values[:, 2] = np.nan
    for kind in KINDS:
        np.testing.assert_allclose(
            fairness.disparity(values, kind=kind), fairness.disparity(values[:, :2], kind=kind), atol=1e-12
        )


@given(TRIPLES)
def test_u_lies_between_0_and_1_whatever_the_disparity(values: np.ndarray) -> None:
    for kind in KINDS:
        for u in (
            fairness.pair_ucerf(values, kind=kind),
            fairness.pair_ucerf_unanswerable(np.abs(values), kind=kind),
        ):
            assert np.all((u >= -1e-12) & (u <= 1 + 1e-12))


def test_the_disparities_of_three_groups_differ() -> None:
    values = np.array([[1.0, -1.0, 0.0]])
    assert fairness.disparity(values)[0] == 2
    assert fairness.disparity(values, kind="pairwise")[0] == pytest.approx(4 / 3)
    assert fairness.disparity(values, kind="deviation")[0] == pytest.approx(2 * np.sqrt(2 / 3))


def test_an_unknown_disparity_is_refused() -> None:
    with pytest.raises(ValueError, match="disparity 'mean' is not range, pairwise or deviation"):
        fairness.disparity(np.zeros((1, 2)), kind="mean")


def test_u_is_0_for_surely_right_against_surely_wrong() -> None:
    assert fairness.pair_ucerf(np.array([[1.0, -1.0], [0.6, 0.6], [1.0, 0.0]])).tolist() == [0, 1, 0.5]


def test_without_a_right_answer_u_spans_all_of_0_to_1() -> None:
    certainty = np.array([[1.0, 0.0], [0.7, 0.7]])
    assert fairness.pair_ucerf_unanswerable(certainty).tolist() == [0, 1]
    assert fairness.pair_ucerf(certainty).tolist() == [0.5, 1]


# One item of each kind: stereotype, whether the referent is male-stereotyped, whether such a one was chosen.
STEREOTYPE = names("pro", "pro", "pro", "pro", "anti", "anti", "anti", "anti")
POSITIVE = np.array([1.0, 1, 0, 0, 1, 1, 0, 0])
CHOSEN = np.array([True, True, False, False, True, False, True, True])


def test_odds_are_compared_between_pro_and_anti_items() -> None:
    assert np.abs(fairness.odds_differences(POSITIVE, CHOSEN, STEREOTYPE)).tolist() == [0.5, 1.0]
    assert fairness.eo_sum(POSITIVE, CHOSEN, STEREOTYPE) == 1.5
    assert fairness.eo_max(POSITIVE, CHOSEN, STEREOTYPE) == 1.0
    assert fairness.eo_mean(POSITIVE, CHOSEN, STEREOTYPE) == 0.75


@pytest.mark.parametrize(
    ("gone", "message"),
    [((0, 1), "TPR of pro"), ((2, 3), "FPR of pro"), ((4, 5), "TPR of anti"), ((6, 7), "FPR of anti")],
)
def test_odds_without_one_of_the_four_kinds_of_item_are_undefined(gone: tuple[int, ...], message: str) -> None:
    kept = [row for row in range(8) if row not in gone]
    with pytest.raises(UndefinedMetric, match=message):
        fairness.eo_sum(POSITIVE[kept], CHOSEN[kept], STEREOTYPE[kept])


def test_an_item_of_no_class_is_no_negative() -> None:
    stereotype, positive = names(*STEREOTYPE, "pro", "anti"), np.append(POSITIVE, [np.nan, np.nan])
    chosen = np.append(CHOSEN, [False, False])
    assert fairness.eo_sum(positive, chosen, stereotype) == fairness.eo_sum(POSITIVE, CHOSEN, STEREOTYPE)


@pytest.mark.parametrize(
    ("predicted", "gold", "side", "positive", "chosen"),
    [
        (0, 0, "male", 1, True),
        (1, 0, "male", 1, False),
        (0, 0, "female", 0, False),
        (1, 0, "female", 0, True),
        (0, 1, "female", 0, True),
        (2, 0, "female", 0, False),  # none of the above
        (2, 0, "male", 1, False),
        (ABSENT, 0, "female", 0, False),  # a tie
        (ABSENT, 0, "male", 1, False),
        (1, 0, "", None, False),
        (0, 0, "", None, False),
        (ABSENT, ABSENT, "", None, False),
    ],
)
def test_who_is_positive_and_who_was_chosen(
    predicted: int, gold: int, side: str, positive: int | None, chosen: bool
) -> None:
    found = fairness.resolved_to_positive(np.array([predicted]), np.array([gold]), names(side))
    assert np.isnan(found[0][0]) if positive is None else found[0][0] == positive
    assert bool(found[1][0]) is chosen


def test_odds_of_items_without_a_right_answer_are_undefined() -> None:
    with pytest.raises(UndefinedMetric, match="without a right answer"):
        fairness.resolved_to_positive(np.array([0]), np.array([ABSENT]), names("male"))


def test_group_disparity_over_true_and_false_positives() -> None:
    desirability = np.array([0.8, 0.6, -0.2, -0.4, 0.2, -0.5, -0.6, -1.0])
    chosen = np.array([True, True, True, True, True, False, True, True])
    tpd = (0.9 + 0.8) / 2 - 0.6
    fpd = (0.4 + 0.3) / 2 - (0.2 + 0.0) / 2
    found = fairness.ucerf_group_disparity(desirability, POSITIVE, chosen, STEREOTYPE)
    assert found == pytest.approx(tpd + fpd, abs=1e-12)


def test_group_disparity_over_all_items_sees_what_was_missed() -> None:
    desirability = np.array([0.8, 0.6, -0.2, -0.4, 0.2, -0.5, -0.6, -1.0])
    tpd = (0.9 + 0.8) / 2 - (0.6 + 0.25) / 2
    fpd = (0.4 + 0.3) / 2 - (0.2 + 0.0) / 2
    found = fairness.ucerf_group_disparity(desirability, POSITIVE, CHOSEN, STEREOTYPE, subset="all")
    assert found == pytest.approx(tpd + fpd, abs=1e-12)


def test_group_disparity_without_a_false_positive_is_undefined() -> None:
    with pytest.raises(UndefinedMetric, match="FPD of pro"):
        fairness.ucerf_group_disparity(np.full(8, 0.5), POSITIVE, CHOSEN, STEREOTYPE)


def test_group_disparity_of_another_subset_is_refused() -> None:
    with pytest.raises(ValueError, match="subset 'some' is not chosen or all"):
        fairness.ucerf_group_disparity(np.full(8, 0.5), POSITIVE, CHOSEN, STEREOTYPE, subset="some")


def test_accuracy_gap_has_no_sign() -> None:
    correct = np.array([1.0, 1, 1, 0, 1, 0, 0, 0])
    assert fairness.accuracy_gap(correct, STEREOTYPE) == 0.5
    assert fairness.accuracy_gap(correct[::-1], STEREOTYPE) == 0.5
    assert fairness.accuracy_difference(correct, STEREOTYPE).tolist() == [0.5]
    assert fairness.accuracy_gap(np.append(correct, 0.0), names(*STEREOTYPE, "")) == 0.5


def test_desirability_gap_is_positive_where_the_stereotype_helps_and_turns_with_it() -> None:
    desirability = np.array([0.9, 0.7, 0.9, 0.7, -0.1, 0.3, -0.1, 0.3])
    assert fairness.desirability_gap(desirability, STEREOTYPE) == pytest.approx(0.7)
    assert fairness.desirability_gap(desirability[::-1], STEREOTYPE) == pytest.approx(-0.7)


def test_certainty_gap_is_positive_where_he_makes_surer_and_leaves_they_out() -> None:
    gender = names("male", "female", "neutral", "")
    assert fairness.certainty_gap(np.array([0.9, 0.4, 0.0, 0.0]), gender) == pytest.approx(0.5)
    assert fairness.certainty_gap(np.array([0.4, 0.9, 0.0, 0.0]), gender) == pytest.approx(-0.5)


def test_demographic_parity_compares_he_with_she_and_leaves_they_out() -> None:
    gender = names("male", "male", "female", "female", "neutral", "neutral", "female")
    positive = np.array([1.0, 0, 1, 0, 1, 0, np.nan])
    chosen = np.array([True, False, False, False, True, True, True])
    assert fairness.parity_difference(positive, chosen, gender).tolist() == [0.5]
    assert fairness.demographic_parity(positive, ~chosen, gender) == 0.5


@pytest.mark.parametrize(
    ("gold", "side", "expected"),
    [
        (0, "male", 0.5),
        (0, "female", 0.3),
        (1, "male", 0.3),
        (1, "female", 0.5),
        (2, "male", np.nan),
        (ABSENT, "male", np.nan),
        (0, "", np.nan),
    ],
)
def test_a_drawn_answer_is_the_male_stereotyped_occupation_with_its_probability(
    gold: int, side: str, expected: float
) -> None:
    drawn = fairness.sampled_positive(np.array([[0.5, 0.3, 0.2]]), np.array([gold]), names(side))
    np.testing.assert_equal(drawn, [expected])


def test_certainty_gap_needs_both() -> None:
    with pytest.raises(UndefinedMetric, match="certainty of female items"):
        fairness.certainty_gap(np.array([0.9]), names("male"))


def test_fp_is_performance_times_ucerf() -> None:
    performance, u = np.array([1.0, 1.0, 1.0, 0.0]), np.array([0.8, np.nan, 0.6, np.nan])
    assert fairness.fairness_performance(performance, u) == pytest.approx(0.75 * 0.7)


def test_a_flip_goes_toward_or_against_the_stereotype_or_neither() -> None:
    expects = np.array([[0, 1]] * 8)
    chosen = np.array([[0, 0], [0, 1], [1, 0], [0, 2], [2, 1], [2, 0], [0, ABSENT], [ABSENT, ABSENT]])
    flipped, toward, against = fairness.flips(chosen, expects)
    assert flipped.tolist() == [0, 1, 1, 1, 1, 1, 0, 0]
    assert toward.tolist() == [0, 1, 0, 0, 0, 0, 0, 0]
    assert against.tolist() == [0, 0, 1, 0, 0, 0, 0, 0]


def test_a_set_without_stereotypes_flips_in_no_direction() -> None:
    flipped, toward, against = fairness.flips(np.array([[0, 1]]), np.full((1, 2), ABSENT))
    assert flipped.tolist() == [1] and np.isnan([*toward, *against]).all()


def test_a_third_member_without_a_stereotype_does_not_change_the_direction() -> None:
    expects = np.array([[0, 1, ABSENT], [0, 1, ABSENT]])
    flipped, toward, _ = fairness.flips(np.array([[0, 1, 1], [0, 0, 1]]), expects)
    assert flipped.tolist() == [1, 1] and toward.tolist() == [1, 0]


def test_signed_u_sees_a_change_to_none_of_the_above() -> None:
    certainty = np.full((3, 2), 0.8)
    chosen = np.array([[1, 1], [1, 2], [0, 1]])
    np.testing.assert_allclose(fairness.pair_ucerf_signed(chosen, certainty), [1.0, 0.2, 0.2])
    tied = np.array([[1, ABSENT]])
    np.testing.assert_allclose(fairness.pair_ucerf_signed(tied, np.array([[0.8, 0.1]])), [1 - 0.7 / 2])


@given(PAIRS)
def test_with_two_candidates_signed_u_is_equation_3_of_signed_certainty(values: np.ndarray) -> None:
    chosen, certainty = np.where(values >= 0, 0, 1), np.abs(values)
    signed = np.where(chosen == 0, certainty, -certainty)
    for kind in KINDS:
        expected = fairness.pair_ucerf(signed, kind=kind)
        np.testing.assert_allclose(fairness.pair_ucerf_signed(chosen, certainty, kind=kind), expected, atol=1e-12)


@given(data=st.data())
def test_the_range_of_choices_is_the_largest_distance_of_two_members(data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.integers(1, 4), st.integers(2, 5)))
    predicted = data.draw(arrays(np.int64, shape, elements=st.sampled_from([ABSENT, 0, 1, 2])))
    certainty = data.draw(arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.1, 0.25, 0.7, 1.0, np.nan])))
    ranges = fairness.choice_disparity(predicted, certainty)
    for row, (choices, levels) in enumerate(zip(predicted.tolist(), certainty.tolist(), strict=True)):
        distances = [
            levels[a] + levels[b]
            if choices[a] != choices[b] and ABSENT not in (choices[a], choices[b])
            else abs(levels[a] - levels[b])
            for a in range(shape[1])
            for b in range(a)
            if not np.isnan(levels[a] + levels[b])
        ]
        assert ranges[row] == pytest.approx(max(distances, default=np.nan), nan_ok=True)
