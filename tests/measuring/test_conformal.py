"""Conformal sets, semantic entropy and raw probabilities as estimators of items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kept_texts import assert_kept

from equipoise.measuring.conformal import conformal_certainty, coverage, is_calibratable
from equipoise.measuring.estimators import usable_estimators
from equipoise.measuring.items import Items
from equipoise.records import ABSENT, OPEN_ANSWER, EquipoiseError
from equipoise.uncertainty import ESTIMATORS

from .test_estimators import SETS, model


def test_certainty_is_1_where_one_candidate_is_left_and_0_where_none_is_ruled_out() -> None:
    sure, unsure = model(0.95, 0.9, 0.02, 1), model(0.7, 0.45, 0.05, 1)
    assert (sure.columns(ESTIMATORS["conformal"])["certainty"] == 1).all()
    certainty = unsure.columns(ESTIMATORS["conformal"])["certainty"]
    assert set(np.unique(certainty)) <= {0.0, 1.0} and 0.5 <= certainty.mean() < 0.7
    assert coverage(unsure.outcomes).value >= 0.85 and coverage(unsure.outcomes).n == 2 * SETS


def test_raw_probabilities_count_what_is_not_said() -> None:
    items = model(0.9, 0.8, 0.0, 1)
    rarely = Items(replace(items.outcomes, logprobs=items.outcomes.logprobs + np.log(0.1)))
    certainty = rarely.columns(ESTIMATORS["sequence-probability"])["certainty"]
    np.testing.assert_allclose(certainty, 0.1 * items.columns(ESTIMATORS["sequence-probability"])["certainty"])
    np.testing.assert_allclose(certainty[:2], [0.09, 0.08])


def test_semantic_entropy_is_that_of_the_meanings_of_drawn_open_answers() -> None:
    items = model(0.9, 0.8, 0.0, 1)
    with pytest.raises(EquipoiseError, match="needs open answers"):
        items.columns(ESTIMATORS["semantic-entropy"])
    drawn = Items(replace(items.outcomes, flags=np.full(len(items), OPEN_ANSWER, dtype=object)))
    assert "semantic-entropy" in {estimator.name for estimator in usable_estimators([drawn])}
    np.testing.assert_allclose(
        drawn.columns(ESTIMATORS["semantic-entropy"])["certainty"], items.columns(ESTIMATORS["entropy"])["certainty"]
    )


def test_sets_of_drawn_items_are_as_kept() -> None:
    items = model(0.75, 0.5, 0.2, 3).outcomes
    number = np.arange(len(items))
    sided = np.where(number % 5 == 0, "male|female", "").astype(object)
    several = {
        "all": items,
        "some unlabelled": replace(items, gold=np.where(number % 4 == 0, ABSENT, number % 2)),
        "some unanswerable": replace(items, answerable=number % 3 > 0, gold=number % 2),
        "sided": replace(items, answerable=number % 3 > 0, sides=sided, gold=np.where(number % 7 == 0, ABSENT, 0)),
    }
    made = {}
    for name, outcomes in several.items():
        certainty = conformal_certainty(outcomes)
        sums = [certainty.sum(), certainty @ (1 + number % 7)]
        made[name] = [sums, coverage(outcomes), coverage(outcomes, level=0.8)]
    assert_kept("measured/conformal", made)


def test_forty_clusters_with_a_right_answer_that_the_text_settles_are_needed() -> None:
    items = model(0.75, 0.5, 0.2, 3).outcomes
    few, enough = (items.take(np.arange(2 * sets)) for sets in (39, 40))
    assert is_calibratable(enough) and not is_calibratable(few)
    assert not is_calibratable(replace(enough, answerable=np.zeros(80, dtype=bool)))
    assert not is_calibratable(replace(enough, gold=np.full(80, ABSENT)))
    pairs = np.full(80, "male|female", dtype=object)
    assert is_calibratable(replace(enough, answerable=np.zeros(80, dtype=bool), sides=pairs))
