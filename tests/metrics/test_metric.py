"""What a row says of itself follows from the columns that it reads."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.measuring.measure import Plan, measure, measured_items
from equipoise.metrics import Metric
from equipoise.metrics.groups import mean
from equipoise.records import RunKey


def over_sets(*inputs: str, **facts: object) -> Metric:
    chosen = {"function": lambda *columns, weights=None: mean(columns[0], weights=weights), **facts}
    return Metric("new", inputs=inputs, better="higher", label="New", summary="new", unit="sets", **chosen)  # type: ignore[arg-type]


@pytest.mark.parametrize("column", ["u", "u_eq3", "u_signed", "u_intersectional"])
def test_a_metric_that_reads_u_never_mixes_answerable_and_unanswerable_sets(column: str) -> None:
    assert not over_sets(column).mixes_answerable
    assert not over_sets("certainty", column).mixes_answerable
    assert over_sets("flipped").mixes_answerable
    assert not over_sets("flipped", mixes_answerable=False).mixes_answerable


def test_the_n_of_a_metric_over_sets_is_the_number_of_sets_whatever_else_it_reads(make_outcomes) -> None:
    rows = [
        {"pair": f"p{pair}", "gender": gender, "probs": (0.7, 0.3), "side": "male"}
        for pair in range(5)
        for gender in ("male", "female")
    ]
    outcomes = make_outcomes(rows)
    # Nothing is right here: `correct` has no value on any item.
    metrics = [over_sets("u", "correct"), over_sets("u")]
    for metric in metrics:
        plan = Plan([metric], by=(), resamples=5)
        measurements, _ = measure(measured_items(outcomes, plan), plan, RunKey("model", "data", "task"))
        assert {row.estimate.n for row in measurements} == {5}
    assert np.isnan(measured_items(outcomes, plan).columns(plan.estimators[0])["correct"]).all()
