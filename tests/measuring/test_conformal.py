"""Conformal sets, semantic entropy and raw probabilities as estimators of items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from equipoise.measuring.conformal import coverage
from equipoise.measuring.estimators import usable_estimators
from equipoise.measuring.items import Items
from equipoise.records import OPEN_ANSWER, EquipoiseError
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
