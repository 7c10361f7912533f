"""Whatever a field of an answer holds, it is read, or refused in one sentence."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.scoring.server import answers
from equipoise.scoring.server.answers import Malformed

ROW = [5, 7, 9]
ECHO = {
    "choices": [
        {
            "index": 0,
            "text": "a",
            "logprobs": {
                "tokens": ["token_id:5", "token_id:7", "token_id:9", "token_id:1"],
                "token_logprobs": [None, -1.0, -2.0, -0.5],
                "top_logprobs": [None, {"token_id:7": -1.0}, {"token_id:9": -2.0}, {"token_id:1": -0.5}],
            },
        }
    ]
}
NEXT = {
    "choices": [
        {
            "logprobs": {
                "tokens": ["token_id:3"],
                "token_logprobs": [-0.5],
                "top_logprobs": [{"token_id:3": -0.5, "token_id:4": -1.5}],
            }
        }
    ]
}
LLAMA = [{"id": 3, "logprob": -0.5}, {"id": 4, "logprob": -1.5}]
NEXT_LLAMA = {"choices": [{"logprobs": {"content": [{"id": 3, "logprob": -0.5, "top_logprobs": LLAMA}]}}]}
LETTERS = [{"token": "A", "logprob": -0.5}, {"token": " B", "logprob": -1.5}]
CHAT = {
    "choices": [
        {
            "message": {"content": "A"},
            "logprobs": {"content": [{"token": "A", "logprob": -0.5, "top_logprobs": LETTERS}]},
        }
    ]
}
WROTE = {"choices": [{"message": {"content": "A"}}, {"message": {"content": "", "refusal": "no"}}]}
IDS = {"tokens": [1, {"id": 2}]}

READERS: dict[str, tuple[Any, Any, Any]] = {
    "echo": (ECHO, lambda a: answers.echoed(answers.choices(a, 1)[0], ROW, has_entries=True), [-1.0, -2.0]),
    "next": (NEXT, lambda a: answers.next_table(answers.choices(a, 1)[0], 2, 2, is_best=True), {3: -0.5, 4: -1.5}),
    "llama.cpp": (
        NEXT_LLAMA,
        lambda a: answers.next_table(answers.choices(a, 1)[0], 2, 2, is_best=True),
        {3: -0.5, 4: -1.5},
    ),
    "chat": (CHAT, lambda a: answers.chat_table(answers.choices(a, 1)[0], 2, is_best=True), {"A": -0.5, " B": -1.5}),
    "written": (WROTE, lambda a: [answers.replied(c) for c in answers.choices(a, 1, 2)], ["A", None]),
    "ids": (IDS, answers.token_ids, [1, 2]),
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every field."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inner:
        yield (*path, name)
        yield from places(part, (*path, name))


def put(answer: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return a copy of an answer with another value in one place."""
    changed = copy.deepcopy(answer)
    holder = changed
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = value
    return changed


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize("name", READERS)
def test_a_good_answer_is_read(name: str) -> None:
    answer, reader, value = READERS[name]
    assert answers.read(answer, reader, "value") == value


@pytest.mark.parametrize("name", READERS)
@given(value=JSON, data=st.data())
def test_anything_in_any_place_is_read_or_refused(name: str, value: Any, data: st.DataObject) -> None:
    answer, reader, _ = READERS[name]
    path = data.draw(st.sampled_from(list(places(answer))))
    try:
        answers.read(put(answer, path, value), reader, "value")
    except Malformed as error:
        assert "\n" not in str(error)


NUMBERS = {"echo": (1, "token_logprobs"), "next": (0, "token_logprobs")}


@pytest.mark.parametrize("value", [False, "-1.5", None, math.nan, -math.inf, 0.5, -1e9, [-1.0], -1.5])
@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_not_this_token_s_log_probability_is_refused(name: str, value: Any) -> None:
    answer, reader, _ = READERS[name]
    place, field = NUMBERS[name]
    with pytest.raises(Malformed):
        answers.read(put(answer, ("choices", 0, "logprobs", field, place), value), reader, "value")


@pytest.mark.parametrize("numbers", [[0, 0], [1, 2], ["0", "1"], [True, False], [0, -1]])
def test_choices_are_numbered_from_zero_without_gaps(numbers: list[Any]) -> None:
    given = {"choices": [{"index": number} for number in numbers]}
    with pytest.raises(Malformed):
        answers.read(given, lambda a: answers.choices(a, 2), "choices")
    turned = {"choices": [{"index": 1, "text": "b"}, {"index": 0, "text": "a"}]}
    assert [answers.written(choice) for choice in answers.choices(turned, 2)] == ["a", "b"]


def test_rows_of_one_prompt_agree_where_they_are_the_same() -> None:
    rows = [[1, 2, 3], [1, 2, 4], [1, 2, 3]]
    answers.check_rows(rows, [[-1.0, -2.0], [-1.0, -3.0], [-1.0, -2.0]], 0.05)
    for values in (
        [[-1.0, -2.0], [-1.5, -3.0], [-1.0, -2.0]],  # another beginning
        [[-1.0, -3.0], [-1.0, -2.0], [-1.0, -2.0]],  # the last tokens exchanged
        [[-1.0, -0.1], [-1.0, -0.1], [-1.0, -0.1]],  # more than all probability
    ):
        with pytest.raises(Malformed):
            answers.check_rows(rows, values, 0.05)


def test_half_of_a_character_is_not_a_text() -> None:
    for content in ("a\ud800", [{"text": "\udfff"}, "b"]):
        with pytest.raises(Malformed):
            answers.read(content, answers.text_of, "text")
