"""Group-wise UCerF has bounds, not a missing row, where a subset is empty; and takes any groups of unpaired items."""

from __future__ import annotations

import math
from typing import Any

import pytest

from equipoise.measuring.measure import Plan, measure, measured_items
from equipoise.measuring.undefined import POSSIBLE
from equipoise.metrics import METRICS
from equipoise.records import Measurement, Outcomes, RunKey
from equipoise.uncertainty import ESTIMATORS, TOP_PROBABILITY

KEY = RunKey("planted", "mine", "next-word")


def measured(outcomes: Outcomes, metric: str, by: tuple[str, ...] = (), **choices: Any) -> dict[str, Measurement]:
    plan = Plan([METRICS[metric]], [TOP_PROBABILITY], by=by, resamples=200, **choices)
    rows, _ = measure(measured_items(outcomes, plan), plan, KEY)
    return {row.group: row for row in rows}


def answers(right: dict[str, list[float]], key: str) -> list[dict[str, Any]]:
    """Return items in sets of one, by group: each with that probability of the right answer, the first candidate."""
    items = []
    for group, probs in right.items():
        for p in probs:
            row = {"pair": f"{group}{len(items)}", "probs": (p, 1 - p), "gold": 0, key: group, "side": "male"}
            items.append(row)
    return items


def test_an_empty_subset_gives_bounds(make_outcomes: Any) -> None:
    rows = answers({"pro": [0.9] * 40, "anti": [0.7] * 40}, "stereotype")
    row = measured(make_outcomes(rows), "ucerf_group_disparity")["all"]
    # TPD are 0.9 and 0.7; there is no female-stereotyped referent, so both FPD may lie anywhere in [0, 0.5].
    assert row.metric == "ucerf_group_disparity_top_probability" and row.estimate.method == POSSIBLE and row.n == 80
    assert math.isnan(row.value) and row.low == 0.0 and row.high > 0.2 + 0.5
    assert f"{row}" == f"[{row.low:.3f}, {row.high:.3f}]", "no point in the middle"


def test_bounds_are_as_close_as_the_items_allow(make_outcomes: Any) -> None:
    rows = answers({"pro": [0.98] * 4000, "anti": [0.51] * 4000}, "stereotype")
    row = measured(make_outcomes(rows), "ucerf_group_disparity")["all"]
    assert 0.44 < row.low < 0.47 < 0.97 < row.high <= 1.0


def test_without_a_group_there_is_nothing_to_bound(make_outcomes: Any) -> None:
    assert measured(make_outcomes(answers({"pro": [0.9] * 40}, "stereotype")), "ucerf_group_disparity") == {}


def test_any_groups_of_unpaired_items_are_compared(make_outcomes: Any) -> None:
    rows = answers({"x": [0.9, 0.7, 0.2], "y": [0.6, 0.6, 0.4], "z": [0.7, 0.3, 0.3]}, "region")
    row = measured(make_outcomes(rows * 20), "ucerf_groups", by=("region",))["by=region"]
    # By top probability (D + 1)/2 is the probability of the right answer: 0.8, 0.6, 0.7 right; 0.2, 0.4, 0.3 wrong.
    assert row.value == pytest.approx(0.2 + 0.2) and row.n == 180 and row.low < row.value < row.high
    assert "bounds" not in row.estimate.method


def test_a_group_without_wrong_answers_gives_bounds(make_outcomes: Any) -> None:
    rows = answers({"x": [0.9, 0.7], "y": [0.6, 0.4]}, "region")
    row = measured(make_outcomes(rows), "ucerf_groups", by=("region",))["by=region"]
    # Right: 0.8 and 0.6. Wrong: anywhere in [0, 0.5], and 0.4; so between 0 and 0.4 apart.
    assert row.estimate.method == POSSIBLE and math.isnan(row.value)
    assert row.low == 0.0 and row.high == pytest.approx(1.0)


def test_the_estimator_is_named(make_outcomes: Any) -> None:
    rows = answers({"x": [0.9, 0.2] * 20, "y": [0.6, 0.4] * 20}, "region")
    plan = Plan([METRICS["ucerf_groups"]], [ESTIMATORS["perplexity"], TOP_PROBABILITY], by=("region",), resamples=50)
    names = {row.metric for row in measure(measured_items(make_outcomes(rows), plan), plan, KEY)[0]}
    assert names == {"ucerf_groups", "ucerf_groups_top_probability"}


def test_fp_has_other_performance_functions(make_outcomes: Any) -> None:
    rows = [
        {"pair": f"s{n}", "probs": (p, 1 - p), "gold": 0, "gender": gender}
        for n in range(40)
        for gender, p in (("male", 0.8), ("female", 0.4))
    ]
    outcomes = make_outcomes(rows)
    # By top probability D is 2p - 1, so U = 1 - 0.4; a right and a wrong answer in each set.
    values = {name: measured(outcomes, name)["all"].value for name in ("fp", "fp_sampled", "fp_desirability")}
    assert values["fp"] == pytest.approx(0.5 * 0.6)
    assert values["fp_sampled"] == values["fp_desirability"] == pytest.approx(0.6 * 0.6)
    brier = measured(outcomes, "fp_brier")["all"]
    assert brier.value == pytest.approx((1 - (0.2**2 + 0.6**2) / 2) * 0.6) and brier.n == 40
