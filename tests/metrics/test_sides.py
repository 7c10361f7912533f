"""What a sentence pair says about its two sides: the label, the probability, and the side predicted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from equipoise.metrics.sides import is_predicted, predicted_group, side_columns, with_predictions
from equipoise.records import ABSENT, Outcomes


@pytest.fixture
def pairs(make_outcomes) -> Outcomes:
    """Sentence pairs with a third candidate, so that two sides do not add up to 1; the last item is not a pair."""
    probs = [(0.6, 0.2, 0.2), (0.1, 0.4, 0.5), (0.3, 0.3, 0.4), (0.2, 0.1, 0.7)]
    rows = [{"pair": f"p{n}", "probs": row, "gold": 0, "answerable": False} for n, row in enumerate(probs)]
    sides = np.array(["male|female"] * 3 + [""], dtype=object)
    return replace(make_outcomes(rows), gold=np.array([0, 1, ABSENT, 0]), sides=sides)


def test_a_side_has_its_share_of_the_two(pairs: Outcomes) -> None:
    columns = side_columns(pairs)
    np.testing.assert_allclose(columns["p"], [0.75, 0.2, 0.5, np.nan], atol=1e-12)
    np.testing.assert_equal(columns["y"], [1.0, 0.0, np.nan, np.nan])
    np.testing.assert_equal(columns["prefers"], [1.0, 0.0, 0.5, np.nan])
    assert columns["predicted_side"].tolist() == ["male", "female", "", ""]


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("male|female", "predicted_gender"),
        ("male|female|neutral", "predicted_gender"),
        ("sent_more|sent_less", "predicted_side"),
        ("male|sent_less", "predicted_side"),
    ],
)
def test_a_predicted_side_is_a_gender_where_all_sides_are(pairs: Outcomes, label: str, name: str) -> None:
    labelled = replace(pairs, sides=np.array([label] * 3 + [""], dtype=object))
    assert set(with_predictions(labelled).groups) - set(pairs.groups) == {name}


def test_outcomes_without_sentence_pairs_predict_no_side(pairs: Outcomes) -> None:
    plain = replace(pairs, sides=np.full(4, "", dtype=object))
    assert with_predictions(plain) is plain
    assert all(np.isnan(side_columns(plain)[name]).all() for name in ("y", "p", "prefers"))


def test_how_far_a_probability_is_from_its_label_and_several_names_of_sides(pairs: Outcomes) -> None:
    columns = side_columns(pairs)
    np.testing.assert_allclose(columns["p_apart"], [-0.25, 0.2, np.nan, np.nan], atol=1e-12)
    mixed = replace(pairs, sides=np.array(["male|female", "old|young", "old|young", ""], dtype=object))
    assert side_columns(mixed)["predicted_side"].tolist() == ["male", "young", "", ""]
    named = with_predictions(mixed)
    assert predicted_group(named) == "predicted_side" and named.groups["predicted_side"].tolist() == [
        "male",
        "young",
        "",
        "",
    ]
    assert is_predicted("predicted_side") and not is_predicted("side_predicted_") and not is_predicted("gender")
    third = replace(pairs, gold=np.array([2, 2, 2, 2]))
    assert np.isnan(side_columns(third)["y"]).all(), "a third candidate is neither side"
