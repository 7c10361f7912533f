"""No interval has zero width: not of one set, not of equal answers, not of metrics without bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise.datasets import open_dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.measuring.comparing import contests
from equipoise.measuring.measure import Plan, measure, measured_items
from equipoise.measuring.part import measure_part
from equipoise.measuring.undefined import POSSIBLE
from equipoise.metrics import METRICS
from equipoise.records import Measurement, Outcomes, RunKey
from equipoise.runs.run import Run
from equipoise.scoring.planted import open_planted
from equipoise.stats.paired import Trial, paired_differences

KEY = RunKey("model", "data", "task")
Make = Callable[[Sequence[Mapping[str, Any]]], Outcomes]


def sentences(sets: int, *, right: float = 0.9, jitter: float = 0.0) -> list[dict[str, Any]]:
    """Return resolvable and ambiguous sets of he and she that are all answered alike."""
    rng = np.random.default_rng(sets)
    rows = []
    for number in range(sets):
        for gender, stereotype in (("male", "pro"), ("female", "anti")):
            p = right + jitter * rng.standard_normal()
            row = {"probs": (p, 1 - p), "gender": gender, "stereotype": stereotype, "expects": 0, "mass": 0.5}
            row |= {"occupation": f"job {number % 2}", "other": "cook", "side": "male"}
            rows.append({**row, "pair": f"r{number}", "gold": 0, "type": "type2"})
            rows.append({**row, "pair": f"a{number}", "type": "type1"})
    return rows


def has_evidence(rows: Iterable[Measurement]) -> list[Measurement]:
    """Return the rows with an interval; each has a width, or says why it has no ends."""
    rows = list(rows)
    for row in rows:
        if np.isnan(row.low) or np.isnan(row.high):
            resampled = METRICS[row.metric].resampled if row.metric in METRICS else True
            assert not resampled or row.estimate.method.startswith("no interval: "), row
        else:
            # Where a subset is empty there is no value, only what is possible.
            inside = row.low <= row.value <= row.high or (np.isnan(row.value) and row.estimate.method == POSSIBLE)
            assert row.high - row.low > 1e-6 and inside, row
    return [row for row in rows if not np.isnan(row.low)]


@pytest.mark.parametrize(("sets", "jitter"), [(1, 0.0), (2, 0.0), (40, 0.0), (70, 1e-12)])
def test_equal_answers_have_intervals_with_a_width(make_outcomes: Make, sets: int, jitter: float) -> None:
    plan = Plan(list(METRICS.values()), by=("gender", "occupation", "gender*occupation"), resamples=40)
    items = measured_items(make_outcomes(sentences(sets, jitter=jitter)), plan)
    rows, _ = measure_part(items, plan, KEY)
    assert {"ucerf", "flip_rate", "accuracy_gap", "certainty_gap"} <= {row.metric for row in has_evidence(rows)}
    bits = next(row for row in rows if (row.metric, row.group) == ("vocab_bits", "all"))
    reason = "fewer than 30 clusters, and the metric has no bounds" if sets < 15 else "all resamples are equal"
    assert np.isnan(bits.low) and bits.estimate.method == f"no interval: {reason}"


def test_a_metric_without_bounds_has_an_interval_where_values_vary(make_outcomes: Make) -> None:
    plan = Plan([METRICS["vocab_bits"]], by=(), resamples=200)
    rows, _ = measure(measured_items(make_outcomes(sentences(60, jitter=0.03)), plan), plan, KEY)
    (whole,) = [row for row in has_evidence(rows) if row.group == "all"]
    assert whole.estimate.method.startswith("percentile bootstrap") and whole.low < whole.value < whole.high


@pytest.fixture(scope="module", params=[1, 40])
def identities(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run on marked sentences that are all answered alike."""
    builtin = open_dataset("builtin").limited(120)
    resolvable = [example for example in builtin.examples if example.groups["type"] == "type2"]
    few = replace(builtin, examples=tuple(resolvable[: 2 * request.param]))
    data = identity_dataset(few, recipe(augmentations=["R"], attributes=["age"]))
    engine = open_planted("lead=0.4,lead:old=-0.2")
    return equipoise.audit(engine, data, out=tmp_path_factory.mktemp("run"), resamples=40)


def test_equal_answers_about_identities_have_intervals_with_a_width(identities: Run) -> None:
    rows = [row for part in identities.parts for row in part.measured]
    drawn = {row.metric for row in has_evidence(rows)}
    assert {"confidence", "confidence_drop", "confidence_disparity", "confidence_change"} <= drawn
    sentences = identities.outcomes["cluster_id"].nunique()
    tested = [row.estimate.p for row in rows if row.metric in ("confidence_change", "confidence_disparity")]
    tested = [p for p in tested if not np.isnan(p)]
    # One sentence proves nothing, though all its resamples are equal.
    assert tested and all(p == 1 for p in tested if sentences == 1)


def test_a_run_compared_with_itself_leaves_room_for_a_difference(identities: Run) -> None:
    plan = Plan([METRICS[name] for name in ("ucerf", "flip_rate", "accuracy", "confidence_drop", "fp")], by=())
    items = measured_items(identities.parts[0].outcomes, plan)
    compared = list(contests(items, items, plan))
    trial = Trial(resamples=40, permutations=10)
    clusters = int(items.clusters.max()) + 1
    differences = paired_differences([c.contest for c in compared], clusters=clusters, trial=trial)
    assert {c.metric for c in compared} >= {"ucerf", "accuracy", "confidence_drop"}
    for difference in differences:
        assert difference.low < difference.value == 0 < difference.high
    widest = max(d.high for c, d in zip(compared, differences, strict=True) if c.metric == "ucerf")
    # About 3 in n further sentences might differ, by at most 1; one sentence says nothing.
    assert widest == 1 if clusters == 1 else 0.5 / clusters < widest < 4 / clusters


def test_one_set_in_a_folder_has_no_interval_without_width(tmp_path: Path) -> None:
    run = equipoise.audit("planted:strength=3", out=tmp_path, limit=1, resamples=20, task=["next-word", "mcq"])
    assert has_evidence(row for part in run.parts for row in part.measured)
