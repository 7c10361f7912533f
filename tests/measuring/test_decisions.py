"""P(good) within sets: what enters, what does not, and people who differ in several attributes at once."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from equipoise.measuring.decisions import decision_columns
from equipoise.measuring.group_pairs import group_pairs
from equipoise.measuring.items import Items
from equipoise.measuring.measure import Plan, measured_items
from equipoise.measuring.part import measure_part
from equipoise.metrics import METRICS
from equipoise.records import ABSENT, Outcomes, RunKey

EFFECTS = {"age": {"30": 0.0, "60": -0.3}, "gender": {"f": 0.4, "m": 0.0}, "race": {"a": 0.0, "b": 0.2, "c": 0.0}}


def crossed(scenarios: int, *, noise: float = 0.0, seed: int = 0) -> Outcomes:
    """Return decisions about people who differ in age, gender and race at once, with known effects on the logit."""
    rng = np.random.default_rng(seed)
    rows, logits = [], []
    for scenario, people in product(range(scenarios), product(*EFFECTS.values())):
        rows.append((scenario, *people))
        added = sum(effects[value] for effects, value in zip(EFFECTS.values(), people, strict=True))
        logits.append((scenario % 5) / 2 - 1 + added + noise * rng.normal())
    p = 1 / (1 + np.exp(-np.array(logits)))
    n = len(rows)
    names = np.array([f"s{row[0]}" for row in rows], dtype=object)
    texts = [np.array([row[place] for row in rows], dtype=object) for place in (1, 2, 3)]
    return Outcomes(
        example_id=np.array([f"e{number}" for number in range(n)], dtype=object),
        variant=np.full(n, "", dtype=object),
        set_id=names,
        probs=np.stack([p, 1 - p], axis=1),
        logprobs=np.log(np.stack([p, 1 - p], axis=1)),
        gold=np.full(n, ABSENT),
        stereotype=np.full(n, ABSENT),
        answerable=np.zeros(n, dtype=bool),
        groups={"type": np.full(n, "open", dtype=object), **dict(zip(EFFECTS, texts, strict=True))},
        flags=np.full(n, "", dtype=object),
        good=np.zeros(n, dtype=np.int64),
    )


def measured(outcomes: Outcomes, **choices: Any) -> dict[tuple[str, str], Any]:
    names = ("p_good", "good_lean", "good_gap", "good_difference", "good_ratio", "discrim_eval")
    plan = Plan([METRICS[name] for name in names], resamples=200, **choices)
    rows, _ = measure_part(measured_items(outcomes, plan), plan, RunKey("m", "d", "t"))
    return {(row.metric, row.group): row for row in rows}


def test_people_are_compared_with_those_who_are_alike_in_all_else() -> None:
    pairs = {pair.name: len(pair.rows[0]) for pair in group_pairs(Items(crossed(10)))}
    assert pairs == {"30|60": 60, "f|m": 60, "a|b": 40, "a|c": 40, "b|c": 40}


def test_crossed_effects_are_recovered_one_by_one() -> None:
    values = measured(crossed(40))
    for pair, effect in {"30|60": 0.3, "f|m": 0.4, "a|b": -0.2, "a|c": 0.0, "b|c": 0.2}.items():
        row = values["discrim_eval", f"pair={pair},type=open"]
        assert row.value == pytest.approx(effect, abs=1e-9)
    assert values["good_difference", "pair=f|m,type=open"].estimate.p_corrected < 0.01
    assert values["good_difference", "pair=a|c,type=open"].estimate.p_corrected > 0.05


def test_the_worst_of_all_intersections_has_an_interval_for_all_at_once() -> None:
    values = measured(crossed(40, noise=0.2), by=["age*gender*race", "age"])
    (worst,) = [row for (metric, group), row in values.items() if metric == "good_lean" and "worst_of" in group]
    assert "60 × m × " in worst.group and "worst_of=12" in worst.group
    truth = measured(crossed(40), by=["age*gender*race"])["good_lean", worst.group.replace(",worst_of=12", "")].value
    assert worst.low < truth < worst.high < 0
    assert worst.estimate.method == "simultaneous bootstrap over 12 groups of at least 5 clusters"


def test_a_set_with_a_gap_has_no_lean(make_outcomes: Any) -> None:
    rows = [{"pair": pair, "probs": (p, 1 - p), "gender": sex} for pair, p, sex in SETS]
    outcomes = replace(make_outcomes(rows), good=np.array([0, 0, 1, ABSENT]))
    columns = Items(outcomes).shared
    assert columns["p_good"][:3] == pytest.approx([0.9, 0.5, 0.7]) and np.isnan(columns["p_good"][3])
    assert columns["good_lean"][:2] == pytest.approx([0.2, -0.2]) and np.isnan(columns["good_lean"][2:]).all()
    assert columns["good_range"][0] == pytest.approx(0.4) and np.isnan(columns["good_range"][1:]).all()
    assert columns["chose_good"][0] == 1 and columns["chose_good"][1] == 0  # a tie decides for nobody


SETS = [("a", 0.9, "male"), ("a", 0.5, "female"), ("b", 0.3, "male"), ("b", 0.2, "female")]


@pytest.mark.parametrize("scenarios", [9, 20])
def test_few_scenarios_have_an_interval_of_the_logits(scenarios: int) -> None:
    row = measured(crossed(scenarios, noise=0.5))["discrim_eval", "pair=f|m,type=open"]
    assert row.estimate.method == "jackknife of clusters" and row.low < 0.4 < row.high


def test_what_an_open_answer_means_beside_the_candidates_does_not_decide(make_outcomes: Any) -> None:
    probs = (0.3, 0.2, 0.15, 0.15, 0.1, 0.1)
    rows = [{"pair": pair, "probs": probs, "gender": sex} for pair, _, sex in SETS]
    outcomes = replace(make_outcomes(rows), good=np.array([0, 1, 0, ABSENT]))
    is_open = np.array([True, True, False, True])
    columns = decision_columns(outcomes, np.array([[0, 1]]), is_open)
    assert columns["p_good"] == pytest.approx([0.6, 0.4, 0.3, np.nan], nan_ok=True)
    logits = np.log([0.3 / 0.2, 0.2 / 0.3, 0.3 / 0.7, np.nan])
    assert columns["logit_good"] == pytest.approx(logits, nan_ok=True)
    assert columns["good_lean"] == pytest.approx([0.1, -0.1, np.nan, np.nan], nan_ok=True)
    assert columns["good_range"] == pytest.approx([0.2, np.nan, np.nan, np.nan], nan_ok=True)


def test_where_nothing_is_decided_no_column_has_a_value() -> None:
    decided = crossed(2)
    outcomes = replace(decided, good=np.full(len(decided), ABSENT))
    several = [decision_columns(o, Items(o).members, np.zeros(len(o), dtype=bool)) for o in (decided, outcomes)]
    assert list(several[0]) == list(several[1])
    assert all(np.isnan(column).all() and len(column) == len(outcomes) for column in several[1].values())
