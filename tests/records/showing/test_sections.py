"""Sections hold everything, however deep, and addresses any text."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from equipoise.records import Estimate, Measurement
from equipoise.records.showing import (
    Chart,
    Finding,
    Section,
    Table,
    case_link,
    cases_link,
    every,
)

NUMBERS = st.floats(-1e6, 1e6)


def estimate(value: float, low: float = math.nan, high: float = math.nan, n: int = 9) -> Estimate:
    return Estimate(value, low, high, 0.95, n, "bootstrap")


def test_everything_of_one_kind_is_found_however_deep() -> None:
    table, chart, finding = Table("t", (), []), Chart("c", []), Finding("f")
    sections = [Section("a", [finding, Section("b", [chart, Section("c", [table, chart])])]), Section("d", [finding])]
    assert list(every(sections, Chart)) == [chart, chart]
    assert list(every(sections, Table)) == [table] and len(list(every(sections, Finding))) == 2


def test_addresses_can_hold_any_text() -> None:
    assert case_link("a,b", "d · t") == "#case=a%2Cb,d%20%C2%B7%20t"
    assert cases_link(part="d:t", type="", group="x=y,z") == "#filter=part:d%3At,group:x%3Dy%2Cz"


def test_an_estimate_reads_as_a_sentence_needs_it() -> None:
    value = estimate(0.0984, 0.0456, 0.1684)
    assert f"{value}" == "0.098 [0.046, 0.168]" and f"{value:%}" == "9.8% [4.6%, 16.8%]"
    assert f"{value:points}" == "9.8 points [4.6, 16.8]" and f"{value:+}" == "+0.098 [+0.046, +0.168]"
    assert f"{value:.1f}" == "0.1 [0.0, 0.2]" and f"{estimate(0.5)}" == "0.500 [no interval]"
    assert Finding("f").estimate is None


def test_a_finding_is_about_the_first_measurement_that_it_rests_on() -> None:
    first, second = (Measurement("ucerf", "m", "d", "t", "all", estimate(value), "higher") for value in (0.1, 0.2))
    finding = Finding("It differs.", [first, second])
    assert finding.estimate == estimate(0.1) and str(finding) == "It differs."


def test_the_address_of_a_case_ends_with_what_is_known() -> None:
    assert case_link("s", "p") == "#case=s,p" and case_link("s", "p", "v,/w") == "#case=s,p,v%2C%2Fw"
    assert case_link("s", "") == "#case=s" and cases_link() == "#filter="
    assert cases_link(part="a/b", type="x") == "#filter=part:a%2Fb,type:x"
