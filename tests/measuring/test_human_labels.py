"""Which certainty goes with people's labels: planted truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kept_texts import assert_kept

from equipoise.measuring.estimators import Resamples
from equipoise.measuring.human_labels import auroc, is_labelled_by_people, label_study
from equipoise.measuring.items import Items
from equipoise.records import Estimate, UndefinedMetric
from equipoise.uncertainty import ENSEMBLE_AGREEMENT, ESTIMATORS

from .test_estimators import outcomes

PLAN = Resamples(resamples=200)
N = 600


def labelled(hit_rate: np.ndarray, top: np.ndarray, agreement: np.ndarray, seed: int = 0) -> Items:
    """Return pairs whose first side has the probability `top`, labelled so that people agree that often."""
    rng = np.random.default_rng(seed)
    made = outcomes(np.column_stack([top, 1 - top]))
    gold = (rng.random(N) >= hit_rate).astype(np.int64)
    sides = np.full(N, "male|female", dtype=object)
    return Items(replace(made, gold=gold, sides=sides, reductions={ENSEMBLE_AGREEMENT: agreement}))


def test_auroc_is_the_share_of_ordered_pairs() -> None:
    hits = np.array([True, False, True, False, True])
    certainty = np.array([0.9, 0.2, 0.5, 0.5, 0.1])
    expected = np.mean([1, 1, 1, 0.5, 0, 0])  # three hits against two misses
    assert auroc(hits, certainty, np.ones((5, 1)))[0] == pytest.approx(expected)
    twice = auroc(hits, certainty, np.array([[2.0], [1], [1], [1], [1]]))[0]
    again = auroc(np.append(hits, True), np.append(certainty, 0.9), np.ones((6, 1)))[0]
    assert twice == pytest.approx(again), "a weight of 2 is an item twice"


def test_a_certainty_that_knows_where_people_agree_is_ahead_of_one_that_does_not() -> None:
    rng = np.random.default_rng(1)
    known = rng.random(N)
    items = labelled(0.5 + known / 2, 0.5 + 0.49 * rng.random(N), known)
    study = label_study(items, [ESTIMATORS["perplexity"], ESTIMATORS["ensemble-agreement"]], PLAN)
    blind, knowing = study.rows
    assert blind.auroc.low < 0.5 < blind.auroc.high and knowing.auroc.low > 0.6
    assert [row.estimator for row in study.ahead] == ["ensemble-agreement"] and not study.behind
    # Its confidence (1 + c) / 2 is the planted share of agreement; perplexity's is unrelated to it.
    assert knowing.overconfidence.low < 0 < knowing.overconfidence.high
    assert knowing.calibration_error.value < blind.calibration_error.value
    assert study.agreement.value == pytest.approx(0.75, abs=0.05) and study.agreement.n == N


def test_estimators_over_two_candidates_order_items_alike() -> None:
    rng = np.random.default_rng(2)
    items = labelled(np.full(N, 0.7), 0.5 + 0.49 * rng.random(N), np.ones(N))
    study = label_study(items, [ESTIMATORS[name] for name in ("perplexity", "renyi", "margin")], PLAN)
    assert len({round(row.auroc.value, 9) for row in study.rows}) == 1 and not study.ahead and not study.behind
    assert len({round(row.calibration_error.value, 6) for row in study.rows}) == 3, "calibrated differently"


def test_a_model_that_always_agrees_says_nothing() -> None:
    items = labelled(np.ones(N), np.full(N, 0.9), np.ones(N))
    with pytest.raises(UndefinedMetric, match="everywhere or nowhere"):
        label_study(items, [ESTIMATORS["perplexity"]], PLAN)


def test_studies_of_labels_are_kept() -> None:
    rng = np.random.default_rng(4)
    items = labelled(0.4 + 0.5 * rng.random(N), 0.3 + 0.69 * rng.random(N), rng.random(N))
    estimators = [ESTIMATORS[name] for name in ("margin", "ensemble-agreement", "renyi", "top-probability")]
    plans = (Resamples(resamples=50), Resamples(resamples=50, level=0.8, seed=2))
    made = [label_study(items, estimators[:count], plan) for plan in plans for count in (1, 4)]
    assert_kept("measured/labels", made)
    assert is_labelled_by_people(items) and not is_labelled_by_people(Items(outcomes(np.full((4, 2), 0.5))))


def test_an_estimator_is_ahead_or_behind_where_its_whole_interval_is() -> None:
    study = label_study(labelled(np.full(N, 0.7), np.linspace(0.1, 0.9, N), np.ones(N)), [ESTIMATORS["margin"]], PLAN)
    (row,) = study.rows
    ends = {"ahead": (0.01, 0.2), "behind": (-0.2, -0.01), "at 0": (0.0, 0.2), "to 0": (-0.2, 0.0)}
    rows = [replace(row, estimator=n, ahead=Estimate(0.0, *e, 0.95, 9, "")) for n, e in ends.items()]
    both = replace(study, rows=[row, *rows])
    assert [r.estimator for r in both.ahead] == ["ahead"] and [r.estimator for r in both.behind] == ["behind"]


def test_areas_are_undefined_where_a_resample_has_hits_or_misses_alone() -> None:
    hits, certainty = np.array([True, False]), np.array([0.9, 0.2])
    areas = auroc(hits, certainty, np.array([[1.0, 2.0, 0.0], [1.0, 0.0, 2.0]]))
    assert areas[0] == 1 and np.isnan(areas[1:]).all()
    nearly = auroc(hits, np.array([0.5 + 1e-13, 0.5]), np.ones((2, 1)))
    assert nearly == 0.5, "rounding is a tie"
    assert auroc(hits, np.array([0.5 + 1e-11, 0.5]), np.ones((2, 1))) == 1


@pytest.mark.parametrize(("apart", "area"), [(0.0, 0.5), (1e-12, 0.5), (2e-12, 1.0), (-2e-12, 0.0)])
def test_certainties_that_rounding_tells_apart_are_a_tie(apart: float, area: float) -> None:
    assert auroc(np.array([True, False]), np.array([apart, 0.0]), np.ones((2, 1))).tolist() == [area]
