"""Conditions on groups choose examples: joined by and within one, by or between several."""

from __future__ import annotations

import pytest

from equipoise.datasets import DatasetOptions, open_dataset
from equipoise.records import EquipoiseError

NURSES = "occupation=nurse"


def test_conditions_are_joined_by_and_within_and_by_or_between() -> None:
    def texts(*where: str) -> set[str]:
        return {example.id for example in open_dataset("builtin", DatasetOptions(where=where)).examples}

    nurses, women = texts(NURSES), texts("gender=female")
    assert texts("occupation=nurse,gender=female") == nurses & women != nurses
    assert texts(NURSES, "gender=female") == nurses | women
    assert texts("gender=female|male") == texts("gender=female") | texts("gender=male")
    dataset = open_dataset("builtin")
    both = {e.id for e in dataset.examples if {"nurse"} <= set(e.candidates)}
    assert texts("candidate=nurse") == both > nurses
    assert open_dataset("builtin", DatasetOptions(where=["type=type1"], limit=5)).sets == 5


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("job=nurse", "builtin has no group 'job'; where can name: candidate, form, gender"),
        ("occupation=nures", "builtin has nothing with occupation=nures; known: nurse"),
        ("occupation=nurse,other=nurse", "builtin has nothing with occupation=nurse,other=nurse"),
        ("nurse", "where takes key=value parts joined by commas, not 'nurse'"),
        ("occupation=nurse,", "where takes key=value parts"),
    ],
)
def test_a_condition_that_selects_nothing_is_an_error_that_says_why(where: str, reason: str) -> None:
    with pytest.raises(EquipoiseError, match=r"^" + reason.replace("?", r"\?")):
        open_dataset("builtin", DatasetOptions(where=[where]))
