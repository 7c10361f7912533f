"""Metrics of items that were asked in several variants, or of types that mix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.measuring.items import Items
from equipoise.measuring.measure import Plan, measure
from equipoise.metrics import METRICS
from equipoise.records import RunKey
from equipoise.uncertainty import ENTROPY, PERPLEXITY

KEY = RunKey("model", "data", "task")


def row(pair: str, *probs: float, **facts: Any) -> dict[str, Any]:
    return {"pair": pair, "probs": probs, **facts}


def test_a_sentence_pair_is_not_a_member_of_a_counterfactual_set(make_outcomes) -> None:
    rows = [row(pair, 0.7, 0.3, gold=0, gender=gender) for pair in "abc" for gender in ("male", "female")]
    outcomes = replace(make_outcomes(rows), sides=np.array(["male|female"] * 2 + [""] * 4, dtype=object))
    measurements, _ = measure(Items(outcomes), Plan([METRICS["ucerf"]], by=[], resamples=5), KEY)
    assert [(m.metric, m.group, m.estimate.n) for m in measurements] == [("ucerf", "all", 2)]


def test_pooling_is_refused_once_for_the_whole_or_once_for_a_type_that_mixes(make_outcomes) -> None:
    rows = [row(f"{n}{gold}", 0.6, 0.4, gender="male", **gold) for n in range(3) for gold in ({"gold": 0}, {})]
    reason = "answerable and unanswerable items are never pooled; give each kind its own type"
    plan = Plan([METRICS["ucerf"]], resamples=5)
    assert measure(Items(make_outcomes(rows)), plan, KEY)[1] == [f"ucerf is undefined for all items ({reason})"]
    typed = make_outcomes([{**facts, "type": "mine"} for facts in rows])
    assert measure(Items(typed), plan, KEY)[1] == [f"ucerf is undefined for type=mine ({reason})"]


def test_a_metric_over_groups_that_needs_no_certainty_is_measured_once(make_outcomes) -> None:
    rows = [row(str(n), 0.7, 0.3, gold=n % 2, gender=("male", "female")[n // 2 % 2]) for n in range(8)]
    outcomes = replace(make_outcomes(rows), sides=np.full(8, "male|female", dtype=object))
    plan = Plan([METRICS["group_ece"]], estimators=(PERPLEXITY, ENTROPY), by=["gender"], resamples=5)
    names = [(m.metric, m.group) for m in measure(Items(outcomes), plan, KEY)[0]]
    assert names == [("group_ece", "by=gender")]


def test_a_variant_may_have_an_equals_sign_in_its_value(make_outcomes) -> None:
    rows = [row("a", 0.7, 0.3, variant=f"wording={name}") for name in ("x=1", "y=2=3")]
    measurements, _ = measure(Items(make_outcomes(rows)), Plan([METRICS["certainty"]], resamples=5), KEY)
    assert [m.group for m in measurements] == ["all", "wording=x=1", "wording=y=2=3"]


def test_each_variant_has_a_value_and_an_interval_of_its_own(make_outcomes) -> None:
    rng = np.random.default_rng(0)
    rows = [
        row(str(n), p, 1 - p, variant=f"seed={seed}") for seed in (0, 1) for n, p in enumerate(rng.uniform(0.5, 1, 80))
    ]
    plan = Plan([METRICS["certainty"]], resamples=50)
    measurements, _ = measure(Items(make_outcomes(rows)), plan, KEY)
    alone, _ = measure(Items(make_outcomes([{**facts, "variant": ""} for facts in rows[:80]])), plan, KEY)
    both, first, _ = (m.estimate for m in measurements)
    assert first == alone[0].estimate != both


def test_a_plan_has_2000_resamples_drawn_with_seed_0() -> None:
    plan = Plan([])
    assert (plan.resamples, plan.level, plan.seed, plan.disparity) == (2000, 0.95, 0, "auto")
    assert (plan.permutations, replace(plan, intervals=False).permutations) == (5000, 1)
