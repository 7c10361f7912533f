"""Seeds, what is undefined, and intervals of measurements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from equipoise.measuring.measure import Plan
from equipoise.metrics import Metric
from equipoise.metrics.groups import mean
from equipoise.records import Outcomes
from equipoise.uncertainty import PERPLEXITY

from .test_measure import LABELS, answerable_rows, item_columns, measure, plan, table, unanswerable_rows


@pytest.fixture(scope="module")
def mixed(make_outcomes) -> Outcomes:
    return make_outcomes(answerable_rows(24) + unanswerable_rows())


def seeded(seeds: Sequence[int]) -> list[dict[str, Any]]:
    return [{**row, "variant": f"seed={seed}"} for seed in seeds for row in answerable_rows(12, seed=seed)]


def test_several_seeds_give_their_mean_and_a_row_each(make_outcomes) -> None:
    found = table(make_outcomes(seeded((3, 4, 5))), plan("ucerf", "accuracy", by=()))
    for name in ("ucerf", "accuracy"):
        each = [found[name, f"seed={seed},type=type2"].value for seed in (3, 4, 5)]
        assert len(set(each)) > 1
        assert found[name, "type=type2"].value == pytest.approx(np.mean(each), abs=1e-12)


def test_a_seed_is_measured_as_if_it_were_alone(make_outcomes) -> None:
    together = table(make_outcomes(seeded((3, 4))), plan(by=()))
    alone = table(make_outcomes(seeded((4,))), plan(by=()))
    for (metric, group), estimate in alone.items():
        label = "seed=4" if group == "all" else f"seed=4,{group}"
        assert together[metric, label].value == pytest.approx(estimate.value, abs=1e-12)
        assert together[metric, label].n == estimate.n
        if metric not in ("certainty_wrong", "tpd", "fpd"):  # which answers are wrong depends on the seed
            assert together[metric, group].n == estimate.n


def test_one_seed_has_no_row_of_its_own(make_outcomes) -> None:
    assert not any("seed" in group for _, group in table(make_outcomes(seeded((3,))), plan()))


def test_seeds_of_one_pair_are_resampled_together(make_outcomes) -> None:
    rows = [{**row, "variant": f"seed={seed}"} for seed in (0, 1) for row in answerable_rows(12)]
    found = table(make_outcomes(rows), plan("ucerf", by=(), resamples=200))
    once = table(make_outcomes(answerable_rows(12)), plan("ucerf", by=(), resamples=200))
    # The same answers twice are no more evidence: were seeds drawn apart, the interval would be narrower.
    assert found["ucerf", "all"].low == pytest.approx(once["ucerf", "all"].low, abs=1e-6)
    assert found["ucerf", "all"].high == pytest.approx(once["ucerf", "all"].high, abs=1e-6)


# --- what is undefined, and intervals --------------------------------------------------------------------------


def test_what_is_undefined_is_noted_with_its_reason_and_given_no_number(make_outcomes) -> None:
    rows = [row for row in answerable_rows(12) if row["stereotype"] == "pro"]
    found, notes = measure(make_outcomes(rows), plan("accuracy", "accuracy_gap", "eo_sum", by=()), LABELS)
    assert {one.metric for one in found} == {"accuracy"}
    assert notes == [
        "accuracy_gap is undefined for all items and for 1 group"
        " (accuracy of anti-stereotypical items of an empty group)",
        "eo_sum is undefined for all items and for 1 group (TPR of anti items of an empty group)",
    ]


def test_undefined_occupations_are_summed_up_in_one_line(make_outcomes) -> None:
    rows = [row for row in answerable_rows(12) if row["stereotype"] == "pro" or row["occupation"] == "nurse"]
    found, notes = measure(make_outcomes(rows), plan("accuracy_gap", "ucerf_group_disparity"), LABELS)
    assert ("accuracy_gap", "occupation=nurse") in {(row.metric, row.group) for row in found}
    assert notes == [
        "these metrics are not defined for some occupations, because items to compare are missing: "
        "accuracy_gap, ucerf_group_disparity (2 occupations)",
    ]


def test_an_undefined_metric_leaves_the_others_as_they_are(make_outcomes) -> None:
    outcomes = make_outcomes([row for row in answerable_rows(12) if row["stereotype"] == "pro"])
    assert table(outcomes, plan())["accuracy", "all"] == table(outcomes, plan("accuracy"))["accuracy", "all"]


def test_items_of_no_known_side_do_not_enter_the_odds(make_outcomes) -> None:
    rows = answerable_rows(24)
    unknown = [{**row, "side": "", "pair": f"{row['pair']}?"} for row in answerable_rows(8, seed=9)]
    both, known = (
        table(make_outcomes(some), plan("eo_sum", by=()))["eo_sum", "all"] for some in (rows + unknown, rows)
    )
    assert (both.value, both.n) == (known.value, known.n)


def test_intervals_of_means_hold_the_value_and_have_a_width(mixed: Outcomes) -> None:
    means = ("ucerf", "ucerf_signed", "ucerf_eq3", "accuracy", "perplexity", "certainty", "desirability")
    found = table(mixed, plan(*means, by=(), resamples=400))
    assert len(found) == 14
    for estimate in found.values():
        assert estimate.low < estimate.value < estimate.high


def test_every_interval_of_every_metric_is_in_order(mixed: Outcomes) -> None:
    for estimate in table(mixed, plan()).values():
        assert not estimate.low > estimate.high


def test_the_seed_of_the_plan_makes_the_intervals_reproducible(mixed: Outcomes) -> None:
    first, again, other = (table(mixed, plan("ucerf", "certainty", by=(), seed=seed)) for seed in (1, 1, 2))
    assert first == again
    # Few sets have a jackknife, which draws nothing.
    assert first["ucerf", "type=type2"] == other["ucerf", "type=type2"]


def test_intervals_are_over_pairs_not_rows(make_outcomes) -> None:
    # Both sentences of a pair are alike, so n pairs are n observations, not 2n.
    rng = np.random.default_rng(0)
    rows = []
    for pair in range(200):
        right = float(rng.random() < 0.5)
        rows += [{"pair": f"p{pair}", "probs": (right, 1 - right), "gold": 0, "gender": g} for g in ("male", "female")]
    estimate = table(make_outcomes(rows), plan("accuracy", by=(), resamples=1000))["accuracy", "all"]
    assert estimate.high - estimate.low == pytest.approx(2 * 1.96 * 0.5 / np.sqrt(200), rel=0.1)


def test_a_metric_that_is_a_partial_function_is_measured(mixed: Outcomes) -> None:
    metric = Metric("named_mean", partial(mean, of="my mean"), ("certainty",), "neither", "Mine", "a mean")
    found = table(mixed, Plan([metric], by=(), resamples=20))
    assert found["named_mean", "all"].value == pytest.approx(item_columns(mixed, PERPLEXITY)["certainty"].mean())
