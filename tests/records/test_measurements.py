"""What was measured: estimates, their rows on disk, and the names of groups."""

from __future__ import annotations

import dataclasses
import math
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.records import (
    EquipoiseError,
    Estimate,
    Measurement,
    RunKey,
    group_label,
    parse_group,
)


def test_the_row_of_a_measurement_has_the_columns_of_the_file() -> None:
    estimate = Estimate(0.8, 0.7, 0.9, 0.95, 12, "percentile bootstrap")
    row = Measurement("ucerf", "m", "d", "t", "all", estimate, "higher").row()
    assert ",".join(row) == "metric,model,dataset,task,group,value,low,high,level,n,better,method,p,p_corrected"
    names, numbers = ["ucerf", "m", "d", "t", "all"], [0.8, 0.7, 0.9, 0.95, 12]
    assert list(row.values())[:-2] == [*names, *numbers, "higher", "percentile bootstrap"]
    assert math.isnan(row["p"]) and math.isnan(row["p_corrected"])


ESTIMATE = Estimate(-0.2, -0.5, -0.1, 0.95, 12, "percentile bootstrap", 0.01, 0.04)


def test_an_estimate_turned_around_keeps_what_was_tested() -> None:
    assert -ESTIMATE == dataclasses.replace(ESTIMATE, value=0.2, low=0.1, high=0.5) == abs(ESTIMATE)
    assert abs(-ESTIMATE) == -ESTIMATE and ESTIMATE.scaled(2).ends == (-1.0, -0.2)


def test_an_interval_excludes_zero_only_if_it_is_there() -> None:
    assert ESTIMATE.excludes_zero and ESTIMATE.has_interval and ESTIMATE.width == pytest.approx(0.4)
    assert not dataclasses.replace(ESTIMATE, high=0.0).excludes_zero
    alone = Estimate.alone(1, level=0.95, n=3, method="no interval")
    assert not alone.excludes_zero and not alone.has_interval and math.isnan(alone.width)


def test_an_interval_around_a_value_stays_within_the_bounds() -> None:
    around = Estimate.around(0.8, 0.3, (0, 1), level=0.9, n=4, method="Hoeffding")
    assert (around.value, around.ends, around.n) == (0.8, (0.5, 1.0), 4)
    assert not Estimate.around(0.8, math.nan, (0, 1), level=0.9, n=4, method="none").has_interval


@pytest.mark.parametrize(("high", "p"), [(-0.05, (0.01, 0.04)), (0.0, (1.0, 1.0))])
def test_a_p_value_says_nothing_where_only_a_wider_interval_holds_zero(high: float, p: tuple[float, float]) -> None:
    wider = ESTIMATE.widened(-0.6, high, "widened for limits")
    assert wider.ends == (-0.6, high) and (wider.p, wider.p_corrected) == p
    assert wider.method == "percentile bootstrap, widened for limits"
    # What held 0 before, or was not tested, is as before.
    holds = dataclasses.replace(ESTIMATE, high=0.1).widened(-0.6, 0.2, "wider")
    untested = dataclasses.replace(ESTIMATE, p=math.nan, p_corrected=math.nan).widened(-0.6, 0.2, "wider")
    assert holds.p == 0.01 and math.isnan(untested.p)


def test_the_label_of_a_group_is_sorted_by_key() -> None:
    assert group_label({}) == "all"
    assert group_label({"type": "type2", "occupation": "nurse"}) == "occupation=nurse,type=type2"


@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_parse_group_undoes_group_label(parts: dict[str, str]) -> None:
    assert parse_group(group_label(parts)) == parts


@given(st.lists(st.dictionaries(st.text(",=%2CD5", min_size=1), st.text(",=%2CD5")), min_size=2, max_size=2))
def test_different_groups_have_different_labels(two: list[dict[str, str]]) -> None:
    assert (group_label(two[0]) == group_label(two[1])) == (two[0] == two[1])


@pytest.mark.parametrize("label", ["", "nurse", "type=type2,nurse", "=nurse"])
def test_a_label_that_is_none_is_refused(label: str) -> None:
    with pytest.raises(EquipoiseError, match="is not `all` or key=value parts"):
        parse_group(label)


@pytest.mark.parametrize("form", ["", "+", "%", "points", ".2f"])
def test_an_interval_never_looks_like_a_point(form: str) -> None:
    text = format(Estimate(4e-7, 1e-7, 7e-7, 0.95, 9, "m"), form)
    value, low, high = re.findall(r"[-+]?\d+\.\d+", text)
    assert len({value, low, high}) > 1, text
    assert format(Estimate(0.1234, 0.1, 0.2, 0.95, 9, "m"), "") == "0.123 [0.100, 0.200]", "no more digits than needed"


@pytest.mark.parametrize("form", ["", "+", "%", "points", ".2f", "+.3f"])
def test_nothing_is_less_than_zero_by_nothing(form: str) -> None:
    text = format(Estimate(-1e-5, -0.0, 0.5, 0.95, 9, "m"), form)
    assert not re.search(r"-0\.0+\b", text), text
    assert "-" in format(Estimate(-0.3, -0.4, 0.5, 0.95, 9, "m"), form)


@pytest.mark.parametrize(
    ("low", "high", "excludes"),
    [(0.0, 1.0, False), (0.1, 1.0, True), (-1.0, 0.0, False), (-1.0, -0.1, True), (-1.0, 1.0, False)],
)
def test_an_interval_that_touches_zero_holds_it(low: float, high: float, excludes: bool) -> None:
    assert Estimate(0.5, low, high, 0.95, 9, "m").excludes_zero is excludes


@pytest.mark.parametrize(("low", "high"), [(math.nan, 0.5), (0.5, math.nan), (math.nan, math.nan)])
def test_an_interval_has_two_ends_or_is_none(low: float, high: float) -> None:
    one = Estimate(0.5, low, high, 0.95, 9, "m")
    assert not one.has_interval and format(one, "") == "0.500 [no interval]"
    assert Estimate(0.5, 0.5, 0.5, 0.95, 9, "m").has_interval


def test_an_interval_is_kept_within_both_bounds() -> None:
    around = Estimate.around(0.1, 0.3, (0, 1), level=0.9, n=4, method="Hoeffding")
    assert around == Estimate(0.1, 0.0, 0.4, 0.9, 4, "Hoeffding")
    alone = Estimate.around(0.1, math.nan, (0, 1), level=0.9, n=4, method="none")
    assert (
        alone == Estimate.alone(0.1, level=0.9, n=4, method="none") == Estimate(0.1, math.nan, math.nan, 0.9, 4, "none")
    )


@pytest.mark.parametrize("name", ["value", "low", "high", "p", "p_corrected"])
def test_what_is_not_known_is_equal_to_what_is_not_known(name: str) -> None:
    one, other = (dataclasses.replace(ESTIMATE, **{name: float("nan")}) for _ in range(2))
    assert one == other != ESTIMATE and math.isnan(getattr(one, name))
    # A copy of the process sends its estimates back, and makes a NaN of its own.
    sent = pickle.loads(pickle.dumps(one))
    assert sent == one and {sent, one, other} == {one}


@given(st.floats(-5, 5), st.floats(-5, 5), st.floats(0, 5), st.sampled_from([-2.0, -1.0, 0.5, 3.0]))
def test_a_multiple_of_an_estimate_is_one_of_all_its_numbers(
    value: float, low: float, width: float, factor: float
) -> None:
    one = Estimate(value, low, low + width, 0.95, 9, "m", 0.01, 0.02)
    scaled = one.scaled(factor)
    assert scaled.value == factor * value and scaled.low <= scaled.high
    assert {scaled.low, scaled.high} == {factor * low, factor * (low + width)}
    assert (scaled.level, scaled.n, scaled.method, scaled.p, scaled.p_corrected) == (0.95, 9, "m", 0.01, 0.02)
    assert abs(one).value == abs(value) and abs(abs(one)) == abs(one)
    assert abs(one) in (one, one.scaled(-1.0))


def test_a_p_that_was_not_corrected_is_not_corrected_when_the_interval_is_widened() -> None:
    wider = dataclasses.replace(ESTIMATE, p_corrected=math.nan).widened(-0.6, 0.3, "wider")
    assert wider.p == 1.0 and math.isnan(wider.p_corrected)
    assert dataclasses.replace(ESTIMATE, p=1.0, p_corrected=1.0, low=-0.6, high=0.3, method="m, wider") == (
        dataclasses.replace(ESTIMATE, method="m").widened(-0.6, 0.3, "wider")
    )


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("", "-0.200 [-0.500, -0.100]"),
        ("+", "-0.200 [-0.500, -0.100]"),
        ("%", "-20.0% [-50.0%, -10.0%]"),
        ("points", "-20.0 points [-50.0, -10.0]"),
        (".2f", "-0.20 [-0.50, -0.10]"),
        ("+.1f", "-0.2 [-0.5, -0.1]"),
        ("g", "-0.2 [-0.5, -0.1]"),
    ],
)
def test_an_estimate_is_written_in_every_form(form: str, text: str) -> None:
    assert format(ESTIMATE, form) == text
    positive = format(-ESTIMATE, form)
    assert positive.startswith("+" if form.startswith("+") else text[1]) and "-" not in positive
    measured = Measurement("ucerf", "m", "d", "t", "all", ESTIMATE, "higher")
    assert format(measured, form) == text
    unknown = dataclasses.replace(ESTIMATE, value=math.nan)
    assert format(unknown, form) == text[text.index("[") :]


@pytest.mark.parametrize(
    ("half", "text"),
    [
        (4e-7, "0.1000000 [0.0999996, 0.1000004]"),
        (0.0, "0.100 [0.100, 0.100]"),
        (1e-13, "0.100000000000 [0.100000000000, 0.100000000000]"),
    ],
)
def test_digits_are_added_until_the_ends_differ_and_no_more_than_twelve(half: float, text: str) -> None:
    assert format(Estimate(0.1, 0.1 - half, 0.1 + half, 0.95, 9, "m"), "") == text


def test_two_of_three_equal_numbers_need_no_more_digits() -> None:
    assert format(Estimate(0.1, 0.1, 0.2, 0.95, 9, "m"), "") == "0.100 [0.100, 0.200]"
    assert format(Estimate(0.2, 0.1, 0.2, 0.95, 9, "m"), "") == "0.200 [0.100, 0.200]"
    assert format(Estimate(0.3, 0.1, 0.1, 0.95, 9, "m"), "") == "0.300 [0.100, 0.100]"


def test_a_measurement_tells_what_its_estimate_holds() -> None:
    key = RunKey("gpt2", "builtin", "mcq")
    one = Measurement.of("ucerf", key, "type=type1,occupation=nurse", ESTIMATE, "lower")
    assert one == Measurement("ucerf", "gpt2", "builtin", "mcq", "type=type1,occupation=nurse", ESTIMATE, "lower")
    assert (one.value, one.low, one.high, one.n) == (-0.2, -0.5, -0.1, 12)
    assert one.parts == {"type": "type1", "occupation": "nurse"} and str(key) == "builtin · mcq"
    assert dataclasses.replace(one, group="all").parts == {}


@given(st.dictionaries(st.text("ab,=%", min_size=1), st.text("ab,=%")))
def test_a_label_can_be_read_by_hand(parts: dict[str, str]) -> None:
    label = group_label(parts)
    assert [part.count("=") >= 1 for part in label.split(",")] == [True] * len(parts) or label == "all"
    assert len(label.split(",")) == max(len(parts), 1)


def test_only_what_would_be_misread_is_escaped() -> None:
    assert group_label({"a=b": "c=d,e%"}) == "a%3Db=c=d%2Ce%25"


@pytest.mark.parametrize("value", [0.0, math.nan, 0.2])
def test_the_size_of_what_is_not_below_zero_is_the_estimate_itself(value: float) -> None:
    one = Estimate(value, -0.1, 0.5, 0.95, 9, "m")
    assert abs(one) == one and abs(-ESTIMATE) == -ESTIMATE == abs(ESTIMATE)
