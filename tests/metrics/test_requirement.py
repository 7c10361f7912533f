"""Requirements as users write them, and what an interval says of them."""

from __future__ import annotations

import math

import pytest

from equipoise.metrics.requirement import (
    FAILED,
    PASSED,
    UNDECIDED,
    parse_amount,
    parse_drop,
    parse_duel,
    parse_requirement,
)
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


PARSERS = {"requirement": parse_requirement, "drop": parse_drop, "amount": parse_amount}
REFUSED = {
    "requirement": "is not a requirement; write it as metric[type=type2] >= 0.80 (also <=, >, <);"
    " the brackets are optional",
    "drop": "is not a drop; write it as metric=0.02 or metric[type=type2]=0.02",
    "amount": "is not an amount; write it as metric=0.05 or metric[type=type1]=0.05",
}


@pytest.mark.parametrize("kind", PARSERS)
@pytest.mark.parametrize("text", ["", "ucerf", "ucerf != 3", "ucerf >= x", "[type=a] >= 1"])
def test_what_cannot_be_read_is_refused_in_a_whole_sentence(kind: str, text: str) -> None:
    with pytest.raises(EquipoiseError) as error:
        PARSERS[kind](text)
    assert str(error.value) == f"{text!r} {REFUSED[kind]}"


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("requirement", "ucerf=0.02", REFUSED["requirement"]),
        ("drop", "ucerf>=0.02", REFUSED["drop"]),
        ("amount", "ucerf>=0.02", REFUSED["amount"]),
        ("amount", "ucerf=0", REFUSED["amount"]),
        ("amount", "ucerf=-0.1", REFUSED["amount"]),
    ],
)
def test_every_kind_has_its_own_signs(kind: str, text: str, reason: str) -> None:
    with pytest.raises(EquipoiseError) as error:
        PARSERS[kind](text)
    assert str(error.value) == f"{text!r} {reason}"
    assert parse_amount("ucerf=1e-9").bound == 1e-9 and parse_drop("ucerf=-0.1").bound == -0.1


@pytest.mark.parametrize(
    ("text", "written"), [("a >= 1e999", "1e999"), ("a >= .", "."), ("a >= 1e", "1e"), ("a >= --1", "--1")]
)
def test_a_bound_is_a_finite_number(text: str, written: str) -> None:
    with pytest.raises(EquipoiseError) as error:
        parse_requirement(text)
    assert str(error.value) == f"{text!r}: {written!r} is not a number"


def test_every_part_of_a_requirement_is_read() -> None:
    read = parse_requirement("  my-metric [ dataset = d , gender= x,task=t ]>1.5 ")
    assert read.text == "my-metric [ dataset = d , gender= x,task=t ]>1.5"
    assert (read.metric, read.dataset, read.task, read.group) == ("my-metric", "d", "t", "gender=x")
    assert (read.sign, read.bound) == (">", 1.5)
    empty = parse_requirement("m[ ] < 1")
    assert (empty.group, empty.dataset, empty.task) == ("all", None, None)
    for about in (("d", "t"), ("d", "u"), ("e", "t"), ("e", "u")):
        assert read.is_about(*about) == (about == ("d", "t")) and empty.is_about(*about)
    only = parse_requirement("m[task=t] < 1")
    assert only.is_about("any", "t") and not only.is_about("any", "u")


@pytest.mark.parametrize("sign", [">=", "<=", ">", "<"])
@pytest.mark.parametrize("low", [0.4, 0.5, 0.6, math.nan])
@pytest.mark.parametrize("high", [0.4, 0.5, 0.6, math.nan])
def test_an_interval_passes_where_both_ends_do_and_fails_where_neither_does(sign: str, low: float, high: float) -> None:
    meets = {">=": lambda x: x >= 0.5, "<=": lambda x: x <= 0.5, ">": lambda x: x > 0.5, "<": lambda x: x < 0.5}[sign]
    both = (meets(low), meets(high))
    expected = {(True, True): PASSED, (False, False): FAILED}.get(both, UNDECIDED)
    if math.isnan(low) or math.isnan(high):
        expected = UNDECIDED
    assert parse_requirement(f"m {sign} 0.5").outcome(low, high) == expected


def test_a_comparison_says_what_it_is_of() -> None:
    plain, one = parse_duel(" flip_rate[type=a] ", 0.05), parse_duel("flip_rate", 0.05, one_sided=True)
    assert (plain.text, plain.metric, plain.group, plain.sign) == (
        "better in flip_rate[type=a]",
        "flip_rate",
        "type=a",
        "better",
    )
    assert (plain.bound, plain.one_sided) == (0.05, False)
    assert (one.text, one.one_sided) == ("not worse in flip_rate by 0.05", True)
    edges = [(plain, -0.05, 0.01), (plain, -0.01, 0.05), (plain, 0.0, 0.2), (plain, -0.2, 0.0)]
    assert [duel.word(low, high) for duel, low, high in edges] == ["", "", "", ""]
    assert [one.word(-0.05, 0.1), one.word(-0.1, -0.05)] == ["", ""]
    for text, reason in {
        "flip_rate <= 0.1": "'flip_rate <= 0.1' is not a metric; write it as metric or metric[type=type2]",
        "certainty": "better_in 'certainty': certainty has no better direction",
        "eo_sum": "better_in 'eo_sum': eo_sum is the size of a gap, which two runs cannot be paired in",
    }.items():
        with pytest.raises(EquipoiseError) as error:
            parse_duel(text, 0.0)
        assert str(error.value) == reason
    with pytest.raises(EquipoiseError) as error:
        parse_drop("certainty = 0.02")
    assert str(error.value) == "drop 'certainty = 0.02': certainty has no better direction, so it cannot drop"


def test_one_sided_comparisons_are_never_called_better() -> None:
    one = parse_duel("flip_rate", 0.05, one_sided=True)
    assert [one.word(0.01, 0.2), one.word(-0.2, -0.1), one.word(-0.04, -0.01)] == ["not worse", "worse", "not worse"]
    assert [one.outcome(0.01, 0.2), one.outcome(-0.2, -0.1), one.outcome(-0.2, 0.1)] == [PASSED, FAILED, UNDECIDED]
