"""The same sets asked in two ways: planted differences come out, chance does not, and half a set does not count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kept_texts import assert_kept

from equipoise.measuring.task_pairs import TESTED, _about, _units, task_differences
from equipoise.metrics import METRICS
from equipoise.records import Outcomes
from equipoise.stats.paired import Trial

SETS = 60
QUICK = Trial(resamples=200, permutations=400)


def asked(make_outcomes: Any, flips: int, *, k: int = 2, seeds: tuple[str, ...] = ("",), seed: int = 0) -> Outcomes:
    """Return ambiguous and resolvable sets, of which the first `flips` ambiguous ones change their answer."""
    rng = np.random.default_rng(seed)
    rows, names = [], []
    for variant in seeds:
        for number in range(SETS):
            for member, gender in enumerate(("male", "female")):
                for kind in ("type1", "type2"):
                    best = 1 if member and kind == "type1" and number < flips else 0
                    weights = rng.uniform(0.01, 0.02, k)
                    weights[best] = 0.9
                    labels = {"gold": 0} if kind == "type2" else {}
                    row = {"pair": f"{kind}-{number}", "probs": weights / weights.sum(), "gender": gender}
                    rows.append(row | labels | {"type": kind, "variant": variant})
                    names.append(f"{kind}-{number}-{gender}")
    return replace(make_outcomes(rows), example_id=np.array(names, dtype=object), reductions={})


def test_a_planted_difference_of_flips_is_found_in_its_type_alone(make_outcomes: Any) -> None:
    outcomes = {"mcq": asked(make_outcomes, 6, k=3, seeds=("seed=0", "seed=1")), "next-word": asked(make_outcomes, 24)}
    found = {(one.metric, one.kind): one for one in task_differences(outcomes, [("mcq", "next-word")], QUICK)}
    flips = found["flip_rate", "type1"]
    assert (flips.estimate.value, flips.estimate.n) == (pytest.approx((6 - 24) / SETS), SETS)
    assert flips.estimate.low < flips.estimate.value < flips.estimate.high < 0 and flips.estimate.p_corrected < 0.05
    same = found["flip_rate", "type2"]
    # Nothing differs in any set, and still the interval has a width.
    assert same.estimate.value == 0 and same.estimate.p == 1 and same.estimate.low < 0 < same.estimate.high
    assert ("ucerf_signed", "type1") in found and ("ucerf_signed", "type2") not in found
    assert found["accuracy", "type2"].estimate.n == 2 * SETS and ("accuracy", "type1") not in found
    assert all(one.tests == len(found) and one.estimate.p <= one.estimate.p_corrected <= 1 for one in found.values())


@pytest.mark.slow
def test_chance_is_called_a_difference_no_more_often_than_it_should_be(make_outcomes: Any) -> None:
    called = 0
    for seed in range(15):
        first, second = (asked(make_outcomes, 12, seed=2 * seed + number) for number in (0, 1))
        tests = task_differences({"a": first, "b": second}, [("a", "b")], Trial(20, 199, seed=seed))
        called += any(one.estimate.p_corrected < 0.05 for one in tests)
    assert called <= 4  # the chance of more at a true rate of 5% is under 0.1%


def test_sets_that_one_task_was_asked_in_part_are_left_out(make_outcomes: Any) -> None:
    whole = asked(make_outcomes, 24)
    part = whole.take(whole.example_id != "type1-0-male")
    (flips,) = [
        one
        for one in task_differences({"a": whole, "b": part}, [("a", "b")], QUICK)
        if (one.metric, one.kind) == ("flip_rate", "type1")
    ]
    assert flips.estimate.n == SETS - 1
    assert task_differences({"a": whole, "b": part}, [], QUICK) == []


def test_differences_of_two_tasks_are_as_kept(make_outcomes: Any) -> None:
    first = asked(make_outcomes, 6, k=3, seeds=("seed=0", "seed=1"))
    others = {"b": asked(make_outcomes, 24, seed=3), "c": asked(make_outcomes, 8, seed=4)}
    few = {name: outcomes.take(np.arange(0, 60)) for name, outcomes in others.items()}
    made = {
        "many": task_differences({"a": first, **others}, [("a", "b"), ("c", "b")], Trial(60, 60, 0.9, 1)),
        "few": task_differences(few, [("c", "b")], Trial(60, 60)),
    }
    untyped = {name: replace(o, groups={"gender": o.group("gender")}) for name, o in others.items()}
    made["untyped"] = task_differences(untyped, [("c", "b")], Trial(60, 60))
    assert_kept("measured/tasks", made)
    assert task_differences({"b": others["b"], "c": others["c"].take(np.arange(0))}, [("c", "b")], QUICK) == []


def test_sets_that_the_first_task_was_asked_in_part_are_left_out_too(make_outcomes: Any) -> None:
    whole = asked(make_outcomes, 24)
    part = whole.take((whole.example_id != "type1-0-male") & (whole.set_id != "type1-1"))
    for pair in ({"a": part, "b": whole}, {"a": whole, "b": part}):
        found = {(one.metric, one.kind): one for one in task_differences(pair, [("a", "b")], Trial(20, 9))}
        assert found["flip_rate", "type1"].estimate.n == SETS - 2
        assert found["flip_rate", "type2"].estimate.n == SETS


@pytest.mark.parametrize("name", TESTED)
def test_what_is_tested_is_a_mean_of_one_value_from_0_to_1(name: str) -> None:
    metric = METRICS[name]
    assert (metric.value_bounds, len(metric.inputs), metric.means) == ((0, 1), 1, 1)


def test_a_value_is_about_a_set_or_an_example(make_outcomes: Any) -> None:
    outcomes = asked(make_outcomes, 1)
    assert _units(outcomes, METRICS["flip_rate"]) is outcomes.set_id
    assert _units(outcomes, METRICS["accuracy"]) is outcomes.example_id
    about = _about(outcomes, METRICS["flip_rate"])
    assert about.index.is_unique and set(about.index) == set(outcomes.set_id.tolist())


def test_types_and_clusters_are_those_of_the_first_task(make_outcomes: Any) -> None:
    first = asked(make_outcomes, 24)
    plain = replace(first, groups={"gender": first.group("gender")}, cluster_id=np.full(len(first), "one", object))
    kinds = {}
    for name, pair in {"typed": {"a": first, "b": plain}, "plain": {"a": plain, "b": first}}.items():
        found = task_differences(pair, [("a", "b")], Trial(20, 9))
        kinds[name] = sorted({(one.kind, one.estimate.n) for one in found if one.metric == "flip_rate"})
    assert kinds == {"typed": [("type1", SETS), ("type2", SETS)], "plain": [("", 2 * SETS)]}
