"""The worst of several groups has an interval that holds for all at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kept_texts import assert_kept

from equipoise import audit
from equipoise.measuring import worst as module
from equipoise.measuring.measure import Plan, measured_items
from equipoise.measuring.worst import worst_groups
from equipoise.metrics import METRICS
from equipoise.metrics.metric import Metric
from equipoise.records import EquipoiseError

BY = ["gender*land"]


def rows_of(rates: dict[tuple[str, str], float], *, n: int, seed: int = 0) -> list[dict[str, object]]:
    """Return items whose groups are answered right at these rates."""
    rng = np.random.default_rng(seed)
    rows = []
    for (gender, land), rate in rates.items():
        for number in range(n):
            right = rng.random() < rate
            probs = [0.8, 0.2] if right else [0.2, 0.8]
            rows.append({"pair": f"{gender}{land}{number}", "probs": probs, "gold": 0, "gender": gender, "land": land})
    return rows


def test_the_worst_group_is_named_with_a_wide_interval(make_outcomes) -> None:
    rates = {("male", "x"): 0.9, ("male", "y"): 0.9, ("female", "x"): 0.9, ("female", "y"): 0.2}
    plan = Plan([METRICS["accuracy"]], by=BY, resamples=400)
    items = measured_items(make_outcomes(rows_of(rates, n=60)), plan)
    (worst,) = worst_groups(items, plan)
    assert worst.parts == {"gender*land": "female × y", "worst_of": "4"}
    assert worst.estimate.low < 0.2 < worst.estimate.high < 0.5 and worst.estimate.n == 60
    assert worst.estimate.method.startswith("simultaneous bootstrap over 4 groups")


def test_the_interval_of_the_worst_covers_where_all_groups_are_equal(make_outcomes) -> None:
    rates = {(gender, land): 0.7 for gender in ("male", "female") for land in "abcdefgh"}
    plan = Plan([METRICS["accuracy"]], by=BY, resamples=200)
    covered, narrow = 0, 0
    for seed in range(20):
        items = measured_items(make_outcomes(rows_of(rates, n=30, seed=seed)), plan)
        (worst,) = worst_groups(items, plan)
        covered += worst.estimate.low <= 0.7 <= worst.estimate.high
        narrow += worst.estimate.value < 0.6
    assert covered >= 17 and narrow > 10


def test_small_groups_are_never_called_the_worst(make_outcomes) -> None:
    rows = rows_of({("male", "x"): 1.0, ("female", "x"): 1.0}, n=20) + rows_of({("female", "y"): 0.0}, n=4)
    plan = Plan([METRICS["accuracy"]], by=BY, resamples=100)
    (worst,) = worst_groups(measured_items(make_outcomes(rows), plan), plan)
    assert worst.estimate.value == 1.0 and worst.parts["worst_of"] == "2"
    assert worst.estimate.low < 0.8  # twenty right answers do not make certain


def test_an_audit_breaks_down_by_combinations_and_refuses_unknown_parts(tmp_path) -> None:
    run = audit("planted:strength=1,bias=2", by=["gender*side"], limit=80, out=tmp_path / "run", resamples=50)
    groups = set(run.measurements["group"])
    assert {f"gender*side={gender} × {side}" for gender in ("male", "female") for side in ("male", "female")} <= groups
    worst = run.measurements[run.measurements["group"].str.contains("worst_of=4")]
    assert set(worst["metric"]) >= {"accuracy", "desirability"}
    with pytest.raises(EquipoiseError, match="no item has a group 'shoes'"):
        audit("planted", by=["gender*shoes"], out=tmp_path / "other")


@pytest.mark.parametrize("n", [5, 12, 60])
def test_the_worst_of_drawn_groups_is_as_kept(make_outcomes, n: int) -> None:
    rates = {("male", "x"): 0.9, ("male", "y"): 0.8, ("female", "x"): 0.7, ("female", "y"): 0.3}
    names = ("accuracy", "certainty", "perplexity", "desirability", "stated_probability")
    plan = Plan([METRICS[name] for name in names], by=BY, resamples=40, level=0.9, seed=1)
    rows = rows_of(rates, n=n, seed=2)
    for number, row in enumerate(rows):
        row["type"] = "ab"[number % 2] if n > 20 else ""
    items = measured_items(make_outcomes(rows), plan)
    made = [(w.name, dict(w.parts), w.estimate) for w in worst_groups(items, plan)]
    alone = [(w.name, w.estimate) for w in worst_groups(items, Plan(plan.metrics, by=BY, intervals=False))]
    assert_kept(f"measured/worst-{n}", made, alone)


def test_groups_that_are_not_crossed_have_no_worst(make_outcomes) -> None:
    rates = {(gender, land): 0.9 for gender in ("male", "female") for land in "xy"}
    items = measured_items(make_outcomes(rows_of(rates, n=8)), Plan([METRICS["accuracy"]], by=BY))
    assert list(worst_groups(items, Plan([METRICS["accuracy"]], by=["gender"]))) == []
    assert list(worst_groups(items, Plan([METRICS["ucerf"]], by=BY))) == []
    (worst,) = worst_groups(items, Plan([METRICS["accuracy"]], by=["gender", *BY, "land"], resamples=20))
    assert set(worst.parts) == {"gender*land", "worst_of"}
    assert module.FEWEST == 5


ACCURACY = METRICS["accuracy"]
WITHOUT_WORST = [
    replace(ACCURACY, unit="sets"),
    replace(ACCURACY, resampled=False),
    replace(ACCURACY, better="neither"),
]


@pytest.mark.parametrize(
    ("by", "metrics"), [(None, [ACCURACY]), (["gender"], [ACCURACY]), (BY, WITHOUT_WORST), ([], WITHOUT_WORST)]
)
def test_items_are_not_looked_at_where_no_group_can_be_the_worst(by: list[str] | None, metrics: list[Metric]) -> None:
    unread: Any = object()
    assert list(worst_groups(unread, Plan(metrics, by=by))) == []


def test_groups_whose_resamples_are_equal_and_have_no_bounds_have_no_interval(make_outcomes) -> None:
    rates = {("male", "here"): 1.0, ("male", "there"): 1.0, ("female", "here"): 1.0, ("female", "there"): 1.0}
    items = measured_items(make_outcomes(rows_of(rates, n=40)), Plan([METRICS["accuracy"]], by=BY))
    endless = replace(METRICS["accuracy"], bounds=(0.0, np.inf))
    (row,) = worst_groups(items, Plan([endless], by=BY, resamples=20))
    assert row.estimate.method == module.NO_BOUNDS and not row.estimate.has_interval and row.estimate.value == 1.0
    (row,) = worst_groups(items, Plan([METRICS["accuracy"]], by=BY, resamples=20))
    assert row.estimate.has_interval and row.estimate.low < 1.0, "equal resamples say nothing of their error"
