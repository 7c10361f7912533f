"""Requirements as users write them, and what an interval says of them."""

from __future__ import annotations

import math

import pytest

from equipoise.metrics.requirement import FAILED, PASSED, UNDECIDED, parse_drop, parse_duel, parse_requirement
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


@pytest.mark.parametrize(
    ("margin", "one_sided", "low", "high", "word", "outcome"),
    [
        (0.0, False, 0.01, 0.2, "better", PASSED),
        (0.0, False, -0.2, -0.01, "worse", FAILED),
        (0.0, False, -0.01, 0.01, "", UNDECIDED),
        (0.05, False, -0.01, 0.01, "within 0.05", PASSED),
        (0.05, False, -0.06, 0.01, "", UNDECIDED),
        (0.05, True, -0.04, 0.9, "not worse", PASSED),
        (0.05, True, -0.2, -0.06, "worse", FAILED),
        (0.05, True, -0.2, -0.04, "", UNDECIDED),
    ],
)
def test_an_interval_of_the_improvement_says_which_run_is_better(
    margin: float, one_sided: bool, low: float, high: float, word: str, outcome: str
) -> None:
    duel = parse_duel("flip_rate[type=type2]", margin, one_sided=one_sided)
    assert duel.word(low, high) == word and duel.outcome(low, high) == outcome


@pytest.mark.parametrize("text", ["flip_rate <= 0.1", "certainty", "accuracy_gap"])
def test_what_cannot_be_better_is_refused(text: str) -> None:
    with pytest.raises(EquipoiseError, match=r"is not a metric|no better direction|size of a gap"):
        parse_duel(text, 0.0)
