"""Requirements as users write them, and what an interval says of them."""

from __future__ import annotations

import math

import pytest

from equipoise.metrics.requirement import FAILED, PASSED, UNDECIDED, parse_drop, parse_requirement
from equipoise.records import EquipoiseError


def test_a_requirement_names_a_metric_a_group_and_where() -> None:
    requirement = parse_requirement(" ucerf [ type=type2, dataset=winobias , task=mcq] >= 0.80 ")
    assert (requirement.metric, requirement.group) == ("ucerf", "type=type2")
    assert requirement.is_about("winobias", "mcq") and not requirement.is_about("winobias", "next-word")
    assert parse_requirement("a[type=type1]<-0.5").bound == -0.5
    assert parse_drop("ucerf[type=type1] = 2e-2").bound == 0.02


@pytest.mark.parametrize("text", ["ucerf=0.02", "ucerf", "ucerf >= x", "ucerf >= nan", ">= 0.8"])
def test_what_is_not_a_requirement_is_refused(text: str) -> None:
    with pytest.raises(EquipoiseError, match="is not a"):
        parse_requirement(text)


def test_a_drop_has_no_sign() -> None:
    with pytest.raises(EquipoiseError, match="is not a drop"):
        parse_drop("ucerf >= 0.02")
    with pytest.raises(EquipoiseError, match="no better direction"):
        parse_drop("certainty = 0.02")


@pytest.mark.parametrize(
    ("text", "low", "high", "outcome"),
    [
        ("flip_rate <= 0.1", 0.02, 0.1, PASSED),
        ("flip_rate < 0.1", 0.02, 0.1, UNDECIDED),
        ("flip_rate <= 0.1", 0.11, 0.3, FAILED),
        ("flip_rate <= 0.1", 0.05, 0.3, UNDECIDED),
        ("ucerf >= 0.8", 0.8, 0.9, PASSED),
        ("ucerf > 0.8", 0.8, 0.9, UNDECIDED),
        ("ucerf >= 0.8", 0.5, 0.79, FAILED),
        ("ucerf >= 0.8", math.nan, math.nan, UNDECIDED),
    ],
)
def test_the_whole_interval_decides(text: str, low: float, high: float, outcome: str) -> None:
    assert parse_requirement(text).outcome(low, high) == outcome
