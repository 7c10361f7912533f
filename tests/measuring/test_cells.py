"""The groups that metrics are taken of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.datasets import open_dataset
from equipoise.measuring.cells import _union, by_value, cells, check_groups, with_intersections
from equipoise.measuring.items import Items
from equipoise.measuring.measure import Plan, measure, measured_items
from equipoise.metrics import METRICS
from equipoise.records import EquipoiseError, Example, RunKey
from equipoise.scoring.planted import PlantedEngine
from equipoise.tasks import open_task

KEY = RunKey("model", "data", "task")


def row(pair: str, *probs: float, **facts: Any) -> dict[str, Any]:
    return {"pair": pair, "probs": probs, **facts}


def test_what_will_be_predicted_may_be_asked_for_before_the_model_is() -> None:
    examples = [Example("e", "He ran.", ("a", "b"), None, False, None, {"gender": "male"}, "p")]
    check_groups(examples, ["gender", "predicted_gender", "gender*predicted_side"])
    with pytest.raises(EquipoiseError, match="no item has a group 'city'; known groups: gender"):
        check_groups(examples, ["predicted_gender*city"])


def test_groups_are_compared_where_there_are_at_least_two(make_outcomes) -> None:
    rows = [row(str(n), 0.6, 0.4, gender=gender, city="Bern") for n, gender in enumerate(("male", "female", ""))]
    compared = {cell.key: cell.rows[""].tolist() for cell in cells(Items(make_outcomes(rows)), None) if cell.key}
    assert compared == {"gender": [0, 1]}


@pytest.mark.parametrize("by", [["type"], ["gender", "gender", "type"]])
def test_each_group_is_one_cell_however_it_is_asked_for(make_outcomes, by: list[str]) -> None:
    places = [(kind, gender) for kind in ("type1", "type2") for gender in ("male", "female")]
    rows = [row(kind, 0.6, 0.4, type=kind, gender=gender) for kind, gender in places]
    every = cells(Items(make_outcomes(rows)), by)
    found = [(tuple(sorted(cell.parts.items())), unit) for cell in every for unit in cell.units]
    assert len(found) == len(set(found))


BY = ["gender*land"]


def test_a_combination_is_a_group_and_a_missing_part_is_none(make_outcomes) -> None:
    rows = [{"pair": "a", "probs": [1, 0], "gender": g, "land": land} for g, land in (("male", "x"), ("", "x"))]
    outcomes = with_intersections(make_outcomes(rows), BY)
    assert outcomes.groups["gender*land"].tolist() == ["male × x", ""]
    assert with_intersections(outcomes, None) is outcomes


def test_what_compares_two_sides_is_taken_over_all_sentences_that_name_an_occupation() -> None:
    """Counted again from the answers, where some sets have one side only: the docs say what is computed."""
    engine, examples = PlantedEngine(strength=1, bias=0.7, noise=1.5), open_dataset("builtin").examples
    engine.prepare(examples)
    outcomes = open_task("next-word").run(examples, scorer=lambda p: next(engine.score([p])), writer=lambda *_: {})
    outcomes = outcomes.take(np.flatnonzero(np.random.default_rng(0).random(len(outcomes)) < 0.9))
    plan = Plan([METRICS[name] for name in (*OVER_ALL, *WITHIN)], by=["occupation"], intervals=False)
    items = measured_items(outcomes, plan)
    columns = items.columns(plan.estimators[0])
    rows = [row for row in measure(items, plan, KEY)[0] if "occupation" in row.parts and "type" in row.parts]
    named = [outcomes.group(name) for name in ("occupation", "other")]
    for measured in rows:
        chosen = (named[0] == measured.parts["occupation"]) | (named[1] == measured.parts["occupation"])
        chosen &= outcomes.group("type") == measured.parts["type"]
        column, group, first, second = {**OVER_ALL, **WITHIN}[measured.metric]
        values = columns[column]
        if measured.metric == "demographic_parity":  # without those that are neither class
            values = np.where(np.isnan(columns["positive"]), np.nan, values)
        sides = [values[chosen & (columns[group] == side)] for side in (first, second)]
        apart = np.nanmean(sides[0]) - np.nanmean(sides[1])
        assert abs(apart) == pytest.approx(abs(measured.value)), measured
    assert len(rows) > 100 and {row.metric for row in rows} == {*OVER_ALL, *WITHIN}


OVER_ALL = {"accuracy_gap": ("correct", "stereotype", "pro", "anti")}
WITHIN = {
    "certainty_gap": ("certainty", "gender_within", "male", "female"),
    "desirability_gap": ("desirability", "stereotype_within", "pro", "anti"),
    "demographic_parity": ("chosen_positive", "gender_within_sided", "male", "female"),
}
"""Metric -> what is averaged, and the two sides; of the second kind only in sets that have both."""


ROWS = st.sets(st.integers(0, 12), min_size=1).map(sorted).map(np.array)


@given(ROWS, ROWS)
def test_rows_among_either_are_those_of_both_each_once_and_sorted(rows: Any, others: Any) -> None:
    assert _union(rows, others).tolist() == sorted({*rows.tolist(), *others.tolist()})
    assert _union(rows, None) is rows


@given(st.lists(st.sampled_from(["", "a", "b", "c"])), st.data())
def test_each_value_has_its_rows_in_their_order(names: list[str], data: st.DataObject) -> None:
    column = np.array(names, dtype=object)
    chosen = data.draw(st.lists(st.sampled_from(range(len(names))), unique=True) if names else st.just([]))
    numbers = np.array([ord(name or "z") for name in names], dtype=np.int64)
    for rows in (list(range(len(names))), chosen):
        expected = {name: [row for row in rows if names[row] == name] for name in sorted({names[row] for row in rows})}
        expected.pop("", None)
        some = np.array(rows, dtype=np.int64)
        for given_numbers in (None, numbers):
            found = [(name, group.tolist()) for name, group in by_value(column, some, given_numbers)]
            assert found == list(expected.items())
    assert [name for name, _ in by_value(column)] == sorted(set(names) - {""})


def test_values_are_plain_texts_told_apart_by_the_numbers_that_are_given() -> None:
    column = np.array(["b", "a", "b"])
    assert [(type(name), name, rows.tolist()) for name, rows in by_value(column)] == [
        (str, "a", [1]),
        (str, "b", [0, 2]),
    ]
    apart = by_value(column, None, np.array([0, 1, 2]))
    assert [(name, rows.tolist()) for name, rows in apart] == [("a", [1]), ("b", [0]), ("b", [2])]
