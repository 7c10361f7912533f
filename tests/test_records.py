"""The types refuse what is not valid, and say which item is wrong."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.records import (
    ABSENT,
    Context,
    DatasetError,
    EquipoiseError,
    Estimate,
    Example,
    Measurement,
    Message,
    ModelError,
    Outcomes,
    Prompt,
    RunError,
    Score,
    UndefinedMetric,
    group_label,
    parse_group,
)


def example(**changes: Any) -> Example:
    valid: dict[str, Any] = {
        "id": "a",
        "text": "The baker thanked the clerk because he had helped.",
        "candidates": ("baker", "clerk"),
        "gold": 1,
        "answerable": True,
        "stereotype": 0,
        "groups": {"type": "type2"},
        "set_id": "p",
    }
    return Example(**{**valid, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": ""}, "id and set_id must not be empty"),
        ({"set_id": ""}, "example 'a': id and set_id must not be empty"),
        ({"text": " \n"}, "example a: the text is empty"),
        ({"text": math.nan}, "example a: the text is empty"),
        ({"candidates": ("baker",), "gold": 0, "stereotype": None}, "example a: needs at least two candidates, has 1"),
        ({"candidates": ("baker", " ")}, "example a: candidate ' ' is not text"),
        ({"candidates": ("baker", 3.0)}, "example a: candidate 3.0 is not text"),
        ({"candidates": ("baker", "Baker ")}, r"example a: candidates \['baker', 'Baker '\] repeat"),
        ({"gold": 2}, "example a: gold 2 is not one of 2 candidates"),
        ({"gold": -1}, "example a: gold -1 is not one of 2 candidates"),
        ({"stereotype": 5}, "example a: stereotype 5 is not one of 2 candidates"),
        ({"gold": None}, "example a: answerable, but no right answer is given"),
    ],
)
def test_an_invalid_example_is_refused_by_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        example(**changes)


def test_an_unanswerable_example_may_have_a_label_or_none() -> None:
    assert example(answerable=False).gold == 1
    assert example(answerable=False, gold=None).gold is None


def test_examples_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        example().gold = 0  # type: ignore[misc]


@pytest.mark.parametrize("error", [DatasetError, ModelError, RunError, UndefinedMetric])
def test_every_error_of_ours_is_one_the_user_can_mend(error: type[Exception]) -> None:
    assert issubclass(error, EquipoiseError)


@pytest.mark.parametrize(("context", "continuations"), [("Say", ()), ("Say", (" a", "")), ((), (" a", " b"))])
def test_a_prompt_without_context_or_continuation_is_refused(context: Any, continuations: tuple[str, ...]) -> None:
    with pytest.raises(DatasetError, match="prompt of a: context and continuations must not be empty"):
        Prompt("a", "next-word", "", context, continuations)


def test_the_key_of_a_prompt_depends_on_all_that_could_change_the_answer() -> None:
    prompt = Prompt("a", "next-word", "", "Say", (" a", " b"))
    changed = [
        prompt.key("another engine"),
        dataclasses.replace(prompt, context="Say ").key("engine"),
        dataclasses.replace(prompt, continuations=(" b", " a")).key("engine"),
        dataclasses.replace(prompt, context=(Message("user", "Say"),)).key("engine"),
        dataclasses.replace(prompt, context=(Message("system", "Say"),)).key("engine"),
    ]
    assert len({prompt.key("engine"), *changed}) == 1 + len(changed)


def test_the_key_of_a_prompt_does_not_depend_on_who_asks() -> None:
    prompt = Prompt("a", "next-word", "", "Say", (" a", " b"))
    assert prompt.key("engine") == dataclasses.replace(prompt, example_id="b", task="mcq", variant="x").key("engine")


def test_continuations_cannot_be_mistaken_for_one_another() -> None:
    keys = {Prompt("a", "t", "", "Say", continuations).key("e") for continuations in [("a", "b"), ("ab",), ('a","b',)]}
    assert len(keys) == 3


def test_a_text_with_a_lone_surrogate_has_a_key() -> None:
    assert len(Prompt("a", "t", "", "broken \ud800", (" a",)).key("e")) == 32


@pytest.mark.parametrize("context", ["Say", 'a "quote" \\ \n\t\x00\x7f é \u2028 😀', (Message("user", "Say"),)])
def test_a_key_is_the_hash_of_the_question_as_json(context: Context) -> None:
    content = json.dumps(["engine", context, [" a", ' "b"']], ensure_ascii=False)
    expected = hashlib.sha256(content.encode()).hexdigest()[:32]
    assert Prompt("a", "t", "", context, (" a", ' "b"')).key("engine") == expected


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0.01])
def test_a_value_that_is_no_log_probability_is_refused(value: float) -> None:
    with pytest.raises(ModelError, match=f"the engine gave {value} as a log-probability"):
        Score("key", ((-1.0, value), (-2.0,)))


def test_a_log_probability_a_rounding_above_zero_is_kept() -> None:
    assert Score("key", ((5e-5,),)).logprobs == (5e-5,)


def test_a_candidate_without_tokens_is_refused() -> None:
    with pytest.raises(ModelError, match="no log-probability for a candidate"):
        Score("key", ((-1.0,), ()))


def test_the_logprob_of_a_candidate_is_the_sum_over_its_tokens() -> None:
    assert Score("key", ((-1.0, -2.5), (-0.1,) * 10)).logprobs == (-3.5, -1.0)


def test_outcomes_refuse_columns_of_another_length(make_outcomes) -> None:
    outcomes = make_outcomes([{"pair": "p", "probs": (0.5, 0.5), "gender": "male"}] * 2)
    for change in (
        {"gold": outcomes.gold[:1]},
        {"logprobs": outcomes.logprobs[:, :1]},
        {"groups": {"gender": outcomes.group("gender")[:1]}},
    ):
        with pytest.raises(ValueError, match="same length"):
            dataclasses.replace(outcomes, **change)


@pytest.mark.parametrize("probs", [(0.5, 0.4), (math.nan, 1.0)])
def test_outcomes_refuse_probabilities_that_do_not_add_up(make_outcomes, probs: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="add up to 1"):
        make_outcomes([{"pair": "p", "probs": probs}])


def test_a_tie_prefers_nobody(make_outcomes) -> None:
    outcomes = make_outcomes(
        [
            {"pair": "p", "probs": probs}
            for probs in [(0.5, 0.5, 0.0), (0.2, 0.3, 0.5), (0.4, 0.2, 0.4), (1.0, 0.0, 0.0)]
        ]
    )
    assert outcomes.predicted.tolist() == [ABSENT, 2, ABSENT, 0]


def test_outcomes_know_their_size_and_which_items_have_a_label(make_outcomes) -> None:
    outcomes = make_outcomes([{"pair": "p", "probs": (1, 0, 0), "gold": 0}, {"pair": "q", "probs": (0, 1, 0)}])
    assert (len(outcomes), outcomes.k, outcomes.labelled.tolist()) == (2, 3, [True, False])


def test_a_group_that_no_item_has_is_empty_for_all(make_outcomes) -> None:
    outcomes = make_outcomes([{"pair": "p", "probs": (1, 0), "gender": "male"}, {"pair": "p", "probs": (1, 0)}])
    assert outcomes.group("gender").tolist() == ["male", ""]
    assert outcomes.group("religion").tolist() == ["", ""]


@pytest.mark.parametrize("rows", [np.array([2, 0]), np.array([True, False, True])])
def test_take_gives_the_same_rows_of_every_column(make_outcomes, rows: np.ndarray) -> None:
    outcomes = make_outcomes(
        [{"pair": f"p{i}", "probs": (i / 4, 1 - i / 4), "gold": 0, "gender": f"g{i}"} for i in (1, 2, 3)]
    )
    taken = outcomes.take(rows)
    assert isinstance(taken, Outcomes)
    assert taken.set_id.tolist() == outcomes.set_id[rows].tolist()
    assert taken.group("gender").tolist() == outcomes.group("gender")[rows].tolist()
    np.testing.assert_array_equal(taken.probs, outcomes.probs[rows])


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
