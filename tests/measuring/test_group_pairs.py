"""Sets of more than two groups: every pair by name is what an audit of these two alone measures."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from equipoise import audit
from equipoise.measuring import group_pairs
from equipoise.measuring.evidence import paired_means
from equipoise.measuring.group_pairs import (
    _mean_differences,
    _ratios,
    attributes,
    compared_pairs,
    member_names,
)
from equipoise.measuring.items import Items
from equipoise.metrics import METRICS
from equipoise.records import ABSENT, Estimate
from equipoise.stats.paired import Trial

MODEL = "planted:strength=1,bias=1,noise=0.3"
METRIC_NAMES = [name for name, metric in METRICS.items() if metric.unit in ("sets", "pair")]
SMALL = {"limit": 80, "resamples": 50, "metrics": METRIC_NAMES, "by": []}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    return audit(MODEL, pronouns=["he", "she", "ze", "xe"], out=folder / "all", **SMALL)


def value(run, metric: str, group: str) -> float:
    rows = run.measurements
    (found,) = rows[(rows["metric"] == metric) & (rows["group"] == group)]["value"]
    return float(found)


@pytest.mark.parametrize(("first", "second"), [("he", "she"), ("he", "ze"), ("ze", "xe")])
def test_a_pair_is_measured_as_if_the_others_were_not_there(run, tmp_path, first: str, second: str) -> None:
    alone = audit(MODEL, pronouns=[first, second], out=tmp_path / "two", **SMALL)
    for metric in ("ucerf", "flip_rate"):
        for kind in ("type1", "type2"):
            named = value(run, metric, f"pair={first}|{second},type={kind}")
            assert named == pytest.approx(value(alone, metric, f"type={kind}"), abs=1e-12)
    assert not alone.measurements["group"].str.contains("pair=").any()


def test_differences_are_signed_and_their_p_values_corrected_for_all_pairs(run) -> None:
    rows = run.measurements[run.measurements["group"].str.contains("type=type1")].set_index(["metric", "group"])
    pairs = [f"pair={a}|{b},type=type1" for a, b in _pairs(["he", "she", "ze", "xe"])]
    for pair in pairs:
        difference = rows.loc[("certainty_difference", pair)]
        # The family is every claim that the run allows, of which the six pairs are a part.
        assert difference["p"] <= difference["p_corrected"] <= 1
        assert difference["low"] < difference["high"] and difference["n"] == 38
    # With he and she the stereotype decides, with ze and xe nothing does.
    assert rows.loc[("certainty_difference", "pair=he|ze,type=type1"), "low"] > 0
    assert rows.loc[("certainty_difference", "pair=he|ze,type=type1"), "p_corrected"] < 0.01
    assert rows.loc[("certainty_difference", "pair=he|she,type=type1"), "p_corrected"] > 0.05


def _pairs(names: list[str]) -> list[tuple[str, str]]:
    return [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]


def test_n_of_a_metric_over_sets_is_the_number_of_sets(run) -> None:
    rows = run.measurements
    for metric in ("ucerf", "flip_rate", "fp"):
        assert int(rows[(rows["metric"] == metric) & (rows["group"] == "type=type2")]["n"].iloc[0]) == 42


def test_texts_without_a_pronoun_are_named_by_their_group(tmp_path) -> None:
    run = audit("planted:strength=1", "sentiment", out=tmp_path / "run", **{**SMALL, "limit": 12})
    groups = run.measurements[run.measurements["metric"] == "ucerf"]["group"]
    pairs = {group.split("pair=")[1].split(",")[0] for group in groups if "pair=" in group}
    assert len(pairs) == 1 + 1 + 3 + 6 and {"female|male", "Christian|Muslim", "Nigerian|Chinese"} <= pairs


def test_the_names_are_pronouns_or_groups(make_outcomes) -> None:
    rows = [{"pair": "p", "probs": [0.5, 0.5], "gender": name} for name in ("male", "xe", "")]
    assert member_names(make_outcomes(rows)).tolist() == ["he", "xe", ""]
    assert METRICS["certainty_difference"].unit == "pair" and np.isfinite(METRICS["certainty_difference"].bounds).all()


@pytest.mark.parametrize(("name", "width"), [("certainty_difference", 1.0), ("desirability_difference", 2.0)])
def test_a_difference_without_spread_has_an_interval_as_wide_as_its_values_allow(name: str, width: float) -> None:
    sides, trial = [(np.full(6, 0.5), np.full(6, 0.25), np.arange(6))], Trial(20, permutations=9)
    made = _mean_differences(sides, METRICS[name], 6, trial)
    assert made == paired_means(sides, width, 6, trial) != paired_means(sides, width + 1, 6, trial)
    assert made[0].value == 0.25 and made[0].low < 0.25 < made[0].high


def test_values_alone_have_no_interval() -> None:
    sides = [(np.array([0.5, 1.0]), np.array([0.25, 0.25]), np.arange(2)), (np.ones(1), np.full(1, 4.0), np.zeros(1))]
    for made, values in ((_mean_differences, [0.5, -3.0]), (_ratios, [3.0, 0.25])):
        found = made(sides, METRICS["good_ratio"], 2, None)
        assert repr(found) == repr([Estimate.alone(v, level=0.0, n=0, method="value alone") for v in values])


@pytest.mark.parametrize(
    ("names", "decides", "count"),
    [("xx", True, 0), ("xy", False, 0), ("xy", True, 1), ("xyz", False, 3), ("xyz", True, 3)],
)
@pytest.mark.parametrize("group", ["gender", "group"])
def test_pairs_are_compared_where_there_are_several_or_decisions(
    make_outcomes: Any, group: str, names: str, decides: bool, count: int
) -> None:
    outcomes = make_outcomes([{"pair": "p", "probs": (0.5, 0.5), "gender": "", group: name} for name in names])
    if decides:
        outcomes = replace(outcomes, good=np.zeros(len(outcomes), dtype=np.int64))
    assert len(compared_pairs(Items(outcomes))) == count


def test_one_pair_among_three_groups_is_not_compared(make_outcomes: Any) -> None:
    rows = [{"pair": pair, "probs": (0.5, 0.5), "gender": name} for pair, name in (("p", "x"), ("p", "y"), ("q", "z"))]
    items = Items(make_outcomes(rows))
    assert len(group_pairs.group_pairs(items)) == 1 and compared_pairs(items) == []


def test_a_pair_is_of_sets_that_have_each_group_once() -> None:
    names = np.array(["a", "b", "a", "a", "b", "", "b", "c", "a"], dtype=object)
    sets = np.array([[0, 1, ABSENT], [2, 3, 4], [5, 6, 7], [8, 6, ABSENT]])
    found = {
        (pair.first, pair.second): [rows.tolist() for rows in pair.rows] for pair in group_pairs._pairs(names, sets)
    }
    assert found == {("a", "b"): [[0, 8], [1, 6]], ("b", "c"): [[6], [7]]}


def test_decisions_that_name_some_group_are_about_that_group(make_outcomes) -> None:
    items: Any = SimpleNamespace(
        applicable={"decisions": np.array([True])},
        outcomes=make_outcomes([{"pair": "p", "probs": (0.5, 0.5), "group": name} for name in ("x", "")]),
    )
    (column,) = attributes(items)
    assert column.tolist() == member_names(items.outcomes).tolist()
