"""Prompts and scores refuse what is not valid; a key holds all that could change the answer."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.records import (
    Context,
    DatasetError,
    Message,
    ModelError,
    Prompt,
    Score,
    ScoreLimits,
)
from equipoise.records.prompts import is_nested


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


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0.01, 1.001e-4])
def test_a_stop_that_is_no_log_probability_is_refused(value: float) -> None:
    sentence = f"the engine gave {value} as a log-probability; the model's weights or dtype may be broken"
    with pytest.raises(ModelError, match=f"^{re.escape(sentence)}$"):
        Score("key", ((-1.0,), (-2.0,)), stops=(-0.1, value))
    with pytest.raises(ModelError, match=f"^{re.escape(sentence)}$"):
        Score("key", ((value,), (-2.0,)))


def test_a_log_probability_counts_that_a_continuation_does_not_go_on() -> None:
    assert Score("key", ((-1.0, -2.5), (-1.0,)), stops=(-0.5, 0.0)).logprobs == (-4.0, -1.0)
    assert Score("key", ((1e-4,),)).logprobs == (1e-4,)


@given(st.lists(st.text("ab ", max_size=4), max_size=5))
def test_texts_are_nested_where_one_begins_another(texts: list[str]) -> None:
    pairs = [(one, other) for i, one in enumerate(texts) for j, other in enumerate(texts) if i != j]
    assert is_nested(texts) == any(other.startswith(one) for one, other in pairs)


def test_the_key_of_nested_continuations_says_so() -> None:
    def key(*continuations: str) -> str:
        return Prompt("a", "t", "", "Say", continuations).key("engine")

    def hashed(*content: Any) -> str:
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]

    assert key(" police", " police officer") == hashed("engine", "Say", [" police", " police officer"], "nested")
    assert key(" police", " officer") == hashed("engine", "Say", [" police", " officer"])


def test_a_key_is_remembered_for_one_identity_and_is_no_part_of_the_prompt() -> None:
    asked, other = (Prompt("a", "t", "", "Say", (" a",)) for _ in range(2))
    first, second = asked.key("first"), asked.key("second")
    assert first != second and asked.key("second") is asked.key("second")
    assert asked.key("first") == first == other.key("first") and other.key("") == Prompt(
        "b", "", "", "Say", (" a",)
    ).key("")
    assert asked == other and hash(asked) == hash(other) and "first" not in repr(asked)
    changed = dataclasses.replace(asked, context="Tell")
    assert changed.key("first") == Prompt("a", "t", "", "Tell", (" a",)).key("first") != first


def test_an_empty_text_is_a_context() -> None:
    assert Prompt("a", "t", "", "", (" a",)).context == ""


def test_a_chat_in_any_script_has_the_key_of_its_letters() -> None:
    context = (Message("user", "Wer hört die Ärztin?"),)
    content = json.dumps(["engine", context, [" a"]], ensure_ascii=False)
    key = Prompt("a", "t", "", context, (" a",)).key("engine")
    assert key == hashlib.sha256(content.encode()).hexdigest()[:32]


def test_the_limits_of_a_score_are_checked() -> None:
    with pytest.raises(ModelError, match="those of its 2 continuations"):
        Score("key", ((-1.0,), (-2.0,)), limits=ScoreLimits((0.1,), (0.2,)))
