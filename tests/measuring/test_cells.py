"""The groups that metrics are taken of."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise.measuring.cells import cells, check_groups, with_intersections
from equipoise.measuring.items import Items
from equipoise.records import EquipoiseError, Example, RunKey

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


BY = ["gender*land"]


def test_a_combination_is_a_group_and_a_missing_part_is_none(make_outcomes) -> None:
    rows = [{"pair": "a", "probs": [1, 0], "gender": g, "land": land} for g, land in (("male", "x"), ("", "x"))]
    outcomes = with_intersections(make_outcomes(rows), BY)
    assert outcomes.groups["gender*land"].tolist() == ["male × x", ""]
    assert with_intersections(outcomes, None) is outcomes
