"""What a marker changes: planted changes come back, paired by sentence."""

from __future__ import annotations

import numpy as np
import pytest
from planted_items import planted_items

from equipoise.datasets import open_dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.measuring.changes import CHANGE, _change, _contest, changes
from equipoise.measuring.items import Items
from equipoise.measuring.measure import Plan, measured_items
from equipoise.measuring.part import measure_part
from equipoise.measuring.stopping import Sample
from equipoise.records import Estimate, Floats, Measurement, Outcomes, RunKey
from equipoise.uncertainty import renormalise


def planted_changes(planted: str) -> dict[tuple[str, str], Measurement]:
    data = identity_dataset(
        open_dataset("builtin").limited(120), recipe(augmentations=["R"], attributes=["age", "race"])
    )
    return planted_items(planted, data, Plan([], resamples=400))[1]


def test_a_change_is_what_was_planted_whatever_the_gender_gap() -> None:
    rows = planted_changes("lead=0.4,lead:old=-0.2,lead:female=-0.1,sentence=0.1,noise=0.05")
    old = rows["confidence_change", "attribute=age,augmentation=R,marker=old,type=type2"]
    assert old.value == pytest.approx(-0.2, abs=0.02) and old.low <= -0.2 <= old.high < 0
    young = rows["confidence_change", "attribute=age,augmentation=R,marker=young,type=type2"]
    assert young.low < 0 < young.high
    p_values = {
        group: row.estimate.p_corrected for (metric, group), row in rows.items() if metric == "confidence_change"
    }
    assert {group for group, p in p_values.items() if p < 0.05} == {
        "attribute=age,augmentation=R,marker=old,type=type2",
        "attribute=age,augmentation=R,type=type2",
    }
    assert p_values["attribute=race,augmentation=R,type=type2"] > 0.05
    # An attribute has the p-values of the most significant of its markers; a marker of one gender is not tested.
    assert p_values["attribute=age,augmentation=R,type=type2"] == old.estimate.p_corrected
    assert rows["confidence_change", "attribute=age,augmentation=R,type=type2"].estimate.p == old.estimate.p
    assert np.isnan(p_values["attribute=age,augmentation=R,gender=male,marker=old,type=type2"])
    interaction = rows["confidence_interaction", "attribute=age,augmentation=R,marker=old,type=type2"]
    assert interaction.low < 0 < interaction.high
    # The range over subgroups also holds the gender gap that was there without any marker.
    assert rows["confidence_disparity", "attribute=race,augmentation=R,type=type2"].value > 0.08


def test_nothing_planted_is_nothing_found() -> None:
    rows = planted_changes("lead=0.4,lead:female=-0.2,sentence=0.4,noise=0.2")
    p_values = [row.estimate.p_corrected for (metric, _), row in rows.items() if metric == "confidence_change"]
    p_values = [p for p in p_values if not np.isnan(p)]
    assert len(p_values) == 8 and min(p_values) > 0.05, "six markers, and two attributes"


def test_a_change_is_paired_and_a_drop_is_the_same_with_the_sign_reversed() -> None:
    # Sentences differ by far more than the marker changes: only within a sentence can it be seen.
    rng = np.random.default_rng(0)
    easy = rng.uniform(-0.6, 0.6, size=50)
    confidence = np.stack([easy, easy - 0.03 + rng.normal(0, 0.02, size=50)], axis=1)
    plan = Plan([], resamples=400)
    values = {tuple(row.parts.values()): row.estimate for row in changes(Items(confident_outcomes(confidence)), plan)}
    old = values["R", "age", "old"]
    expected = confidence[:, 1] - confidence[:, 0]
    assert old.value == pytest.approx(expected.mean()) and -0.04 < old.low < old.high < -0.02 and old.n == 50
    outcomes = confident_outcomes(confidence)
    rows = {(row.metric, row.group): row for row in measured(outcomes, plan)}
    old_p, age_p = (
        rows["confidence_change", f"attribute=age,augmentation=R{marker}"].estimate for marker in (",marker=old", "")
    )
    assert old_p.p == pytest.approx(1 / 5000) and age_p.p_corrected == old_p.p_corrected
    # Flipping the signs of the differences is what exchanging marked and unmarked does.
    flips = rng.choice([-1.0, 1.0], size=(5000, 50)) @ (confidence[:, 1] - easy + 0.024) / 50
    weaker = confident_outcomes(np.stack([easy - 0.024, confidence[:, 1]], axis=1))
    (p,) = {row.estimate.p for row in measured(weaker, plan) if row.metric == "confidence_change"}
    assert p == pytest.approx((np.abs(flips) >= abs((confidence[:, 1] - easy + 0.024).mean())).mean(), abs=0.03)


def measured(outcomes: Outcomes, plan: Plan) -> list[Measurement]:
    return measure_part(measured_items(outcomes, plan), plan, RunKey("planted", "builtin", "next-word"))[0]


def confident_outcomes(confidence: Floats) -> Outcomes:
    """Return outcomes with that confidence by sentence: without a marker, and with "old" on the referent."""
    lead = confidence.ravel()
    logprobs = np.log(np.stack([(0.9 + lead) / 2, (0.9 - lead) / 2], axis=1))
    sentences = len(confidence)
    cells = {"augmentation": ("none", "R"), "attribute": ("", "age"), "marker": ("", "old"), "type": ("", "")}
    return Outcomes(
        example_id=np.arange(2 * sentences).astype(str).astype(object),
        variant=np.full(2 * sentences, "", dtype=object),
        set_id=np.repeat(np.arange(sentences).astype(str).astype(object), 2),
        probs=renormalise(logprobs),
        logprobs=logprobs,
        gold=np.zeros(2 * sentences, dtype=np.int64),
        stereotype=np.full(2 * sentences, -1, dtype=np.int64),
        answerable=np.ones(2 * sentences, dtype=bool),
        groups={name: np.array([*values] * sentences, dtype=object) for name, values in cells.items()},
        flags=np.full(2 * sentences, "", dtype=object),
    )


def test_without_intervals_a_change_is_its_value_alone() -> None:
    items = Items(confident_outcomes(np.array([[0.5, 0.3], [0.4, 0.1], [0.2, 0.3]])))
    full, alone = (changes(items, Plan([], resamples=50, intervals=given, level=0.9)) for given in (True, False))
    assert [(row.name, row.parts) for row in alone] == [(row.name, row.parts) for row in full]
    for row in alone:
        estimate = row.estimate
        assert (estimate.value, estimate.level) == (pytest.approx(-0.4 / 3), 0.9)
        assert (estimate.n, estimate.method, estimate.has_interval) == (3, "value alone", False)
    assert [row.estimate.value for row in full] == pytest.approx([row.estimate.value for row in alone])


def test_an_interval_shrinks_with_the_share_that_was_drawn_and_stays_within_the_bounds() -> None:
    rng = np.random.default_rng(1)
    items = Items(confident_outcomes(rng.uniform(-0.8, 0.8, size=(12, 2))))
    plan = Plan([], resamples=100)

    def estimates(sample: Sample | None = None) -> list[Estimate]:
        return [row.estimate for row in changes(items, plan, sample)]

    whole, plain = estimates(Sample({"": 12})), estimates()
    assert plain == estimates(Sample()) == whole, "where all were asked, it is that of a full audit"
    for one, drawn in zip(plain, estimates(Sample({"": 48})), strict=True):
        shrink = np.sqrt(1 - 12 / 48)
        assert drawn.low == pytest.approx(one.value - shrink * (one.value - one.low))
        assert drawn.high == pytest.approx(one.value + shrink * (one.high - one.value))
        assert (drawn.value, drawn.level) == (one.value, plan.level)
    for one, shared in zip(plain, estimates(Sample(looks=50)), strict=True):
        assert shared.low < one.low and shared.high > one.high and shared.level == plan.level
    for sign in (1, -1):
        far = Items(confident_outcomes(sign * np.array([[-0.89, 0.89]] * 2)))
        for row in changes(far, Plan([], resamples=100, level=0.99)):
            low, high = row.metric.bounds
            assert low <= row.estimate.low <= row.estimate.high <= high
            assert (row.estimate.high == high) if sign > 0 else (row.estimate.low == low)


def test_subgroups_that_no_sentence_was_asked_in_both_ways_have_no_change() -> None:
    none, some = np.array([np.nan, np.nan]), np.array([0.5, np.nan])
    assert list(_change({}, [(none, some)])) == [] == list(_change({}, [(some, none), (none, some)]))
    assert list(_contest(CHANGE, {}, [some, none])) == [] == list(_contest(CHANGE, {}, [some, some[::-1]]))
    (change,) = _change({"a": "b"}, [(some, some), (none, some)])
    assert change.parts == {"a": "b"}
