"""Groups of marked sentences: which there are, what they are compared with, and what they count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise.measuring.claims import DRAWS
from equipoise.measuring.items import Items
from equipoise.measuring.measure import Plan
from equipoise.measuring.part import measure_part
from equipoise.measuring.stopping import Sample
from equipoise.records import Measurement, Outcomes, RunKey

KEY = RunKey("model", "data", "task")


def identity_rows(outcomes: Outcomes, plan: Plan, sample: Sample | None = None) -> list[Measurement]:
    """Return what is measured of marked sentences."""
    return measure_part(Items(outcomes), plan, KEY, sample)[0]


def row(pair: str, *probs: float, **facts: Any) -> dict[str, Any]:
    return {"pair": pair, "probs": probs, **facts}


def test_a_deviation_is_over_the_sentences_of_its_augmentation(marked: Outcomes) -> None:
    rows = identity_rows(marked, Plan([], resamples=20))
    deviations = {m.group: (m.estimate.value, m.estimate.n) for m in rows if m.metric == "confidence_deviation"}
    assert deviations == {
        "augmentation=none": (pytest.approx(np.std(np.arange(6) / 10)), 6),
        "augmentation=R": (pytest.approx(np.std(np.arange(4) / 10)), 4),
    }


def test_occupations_are_named_with_the_marker_and_without_its_privilege(marked: Outcomes) -> None:
    rows = identity_rows(marked, Plan([], resamples=20))
    assert {m.group: m.estimate.n for m in rows if "occupation=" in m.group} == {
        "augmentation=none,gender=male,occupation=nurse": 6,
        "attribute=age,augmentation=R,gender=male,marker=old,occupation=nurse": 4,
        "attribute=age,augmentation=R,gender=male,marker=young,occupation=nurse": 4,
    }


def test_confidence_by_stereotype_is_not_told_by_gender_again(marked: Outcomes) -> None:
    groups = {m.group for m in identity_rows(marked, Plan([], resamples=20)) if m.metric == "confidence"}
    assert "augmentation=R,gender=male,side=female" in groups and "augmentation=R,stereotype=anti" in groups
    assert not any("gender=" in group and "stereotype=" in group for group in groups)


def test_a_drop_is_taken_against_the_unmarked_sentences_of_the_same_gender(marked: Outcomes) -> None:
    rows = identity_rows(marked, Plan([], resamples=20))
    values = {m.group: m.estimate.value for m in rows if m.metric == "confidence_drop"}
    # Confidence rises by 0.1 from sentence to sentence, and the last two have no marker.
    assert values["augmentation=R"] == values["augmentation=R,gender=male"] == pytest.approx(0.25 - 0.15)
    assert not any("augmentation=none" in group for group in values)


def test_a_p_value_shared_among_looks_is_never_above_one(marked: Outcomes) -> None:
    rows = identity_rows(marked, Plan([], resamples=20), Sample(looks=50))
    assert [m.estimate.p for m in rows if m.metric == "confidence_disparity"] == [1.0]


def test_the_interval_of_a_gender_gap_is_of_differences_within_sentences(make_outcomes) -> None:
    rng = np.random.default_rng(0)
    rows = []
    for n in range(40):
        # Sentences differ widely, he and she within one always by 0.1.
        confidence = rng.uniform(-0.6, 0.6)
        for gender, lead in (("male", confidence), ("female", confidence - 0.1 + rng.normal(0, 0.01))):
            facts = {"gender": gender, "augmentation": "R", "attribute": "age", "marker": "old", "gold": 0}
            rows.append(row(f"s{n}", 0.5 + lead / 2, 0.5 - lead / 2, **facts))
    outcomes = make_outcomes(rows)
    measurements = identity_rows(outcomes, Plan([], resamples=200))
    (gap,) = (m.estimate for m in measurements if m.metric == "confidence_gender_gap")
    assert gap.value == pytest.approx(0.1, abs=0.005) and gap.high - gap.low < 0.02
    # No exchange of signs makes he and she differ as much; with three looks each has a third of the error.
    for looks in (1, 3):
        measurements = identity_rows(outcomes, Plan([], resamples=200), Sample(looks=looks))
        (p,) = (m.estimate.p for m in measurements if m.metric == "confidence_disparity")
        assert p == pytest.approx(looks / (DRAWS + 1))


def test_the_interval_of_a_deviation_is_that_of_resampled_deviations(make_outcomes) -> None:
    # Forty sentences with a confidence of 0.5 to 0.7: the deviation is about 0.06, known to about 0.01.
    leads = np.linspace(0.5, 0.7, 40)
    facts = {"gold": 0, "augmentation": "R", "attribute": "age", "marker": "old"}
    rows = [row(f"s{n}", 0.5 + lead / 2, 0.5 - lead / 2, **facts) for n, lead in enumerate(leads)]
    measurements = identity_rows(make_outcomes(rows), Plan([], resamples=200))
    (deviation,) = (m.estimate for m in measurements if m.metric == "confidence_deviation")
    assert deviation.value == pytest.approx(leads.std()) and deviation.high - deviation.low < 0.04
