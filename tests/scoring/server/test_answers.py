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
from equipoise.scoring.server.http_client import Refused, ServerError, Unusable

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


def refused(work: Any, sentence: str) -> None:
    with pytest.raises(ServerError) as caught:
        answers.read(None, lambda _: work(), "value")
    assert str(caught.value) == sentence


def test_how_many_choices_there_must_be() -> None:
    def chosen(count: Any, *limits: int) -> Any:
        return answers.choices({"choices": [{}] * count if isinstance(count, int) else count}, *limits)

    for count, limits in ((1, (1,)), (2, (2,)), (1, (1, 3)), (3, (1, 3))):
        assert chosen(count, *limits) == [{}] * count
    refused(lambda: chosen(2, 1), "the number of the server's answers is 2, not 1")
    refused(lambda: chosen(0, 1), "the number of the server's answers is 0, not 1")
    refused(lambda: chosen(4, 1, 3), "the number of the server's answers is 4, not 3")
    refused(lambda: chosen(0, 1, 3), "the number of the server's answers is 0, not 3")
    for odd in (({},), [{}, 3], "ab", "abcde", [3] * 5):
        refused(lambda odd=odd: chosen(odd, 1, 3), "the server's answer has no value")
    some = [{"index": 0}, {"index": None}]
    refused(lambda: chosen(some, 2), "the server's answers are numbered wrongly")
    assert chosen([{"index": None}, {}], 2) == [{"index": None}, {}]


def echo(tokens: int = 3, values: list[Any] | None = None, entries: Any = None) -> dict[str, Any]:
    names = [f"token_id:{token}" for token in (5, 7, 9, 1, 2)][:tokens]
    values = [None, -1.0, -2.0, -0.5, -0.5][:tokens] if values is None else values
    return {"logprobs": {"tokens": names, "token_logprobs": values, "top_logprobs": entries}}


def test_an_echo_is_of_the_prompts_tokens_and_at_most_one_more() -> None:
    def read(choice: Any, **choices: Any) -> list[float]:
        return answers.echoed(choice, ROW, **{"has_entries": False, **choices})

    for tokens in (3, 4):
        assert read(echo(tokens)) == [-1.0, -2.0]
    other = "the server's answer is about other tokens than the prompt's"
    for choice in (echo(2), echo(5), echo(3, [None, -1.0]), echo(3, [None, -1.0, -2.0, -0.5])):
        refused(lambda choice=choice: read(choice), other)
    wrong = echo()
    wrong["logprobs"]["tokens"][2] = "token_id:8"
    refused(lambda: read(wrong), other)
    entries = [None, {"token_id:7": -1.0, "token_id:3": -1.2}, {"token_id:9": -2.0}]
    assert read(echo(entries=entries), has_entries=True) == [-1.0, -2.0]
    for change, same in ((0.0009, True), (-0.0009, True), (0.0011, False), (-0.0011, False)):
        near = [*entries[:2], {"token_id:9": -2.0 + change}]
        if same:
            assert read(echo(entries=near), has_entries=True) == [-1.0, -2.0]
        else:
            twice = "the server's answer has two log-probabilities for one token of the prompt"
            refused(lambda near=near: read(echo(entries=near), has_entries=True), twice)
    heavy = [entries[0], {"token_id:7": -1.0, "token_id:3": -0.1}, entries[2]]
    total = "the probabilities of the next token add up to 1.27"
    refused(lambda: read(echo(entries=heavy), has_entries=True), total)
    lacks = "the server's answer lacks the entry of a token"
    for few in (entries[:2], [*entries, {}]):
        refused(lambda few=few: read(echo(entries=few), has_entries=True), lacks)


def test_which_echoes_have_entries() -> None:
    assert answers.has_entries(echo(3, entries=[None, {}, {}]))
    for tokens, entries in ((3, None), (3, [None, {}]), (3, {"a": 1, "b": 2, "c": 3}), (1, [None])):
        assert not answers.has_entries(echo(tokens, entries=entries))


def test_values_of_the_same_rows_differ_by_no_more_than_the_noise() -> None:
    rows = [[1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 3, 4]]
    begun, same = (
        "the server's answer has other values for the same " + what for what in ("beginning of two prompts", "prompt")
    )

    def check(second: list[float], third: list[float]) -> None:
        answers.check_rows(rows, [[-1.0, -1.0, -1.0], second, third], 0.1)

    check([-1.19, -1.0, -2.0], [-1.0, -1.0, -1.09])  # 0.19 for two tokens is a mean of less than 0.1
    refused(lambda: check([-1.21, -1.0, -2.0], [-1.0, -1.0, -1.0]), begun)
    refused(lambda: check([-0.79, -1.0, -2.0], [-1.0, -1.0, -1.0]), begun)
    refused(lambda: check([-1.0, -1.0, -2.0], [-1.0, -1.0, -1.11]), same)
    refused(lambda: check([-1.21, -1.0, -2.0], [-1.0, -1.0, -1.11]), begun)
    refused(lambda: check([-1.0, -1.0, -0.1], [-1.0] * 3), "the probabilities of the next token add up to 1.27")
    several = [[1, 2, 3], [1, 4, 5], [1, 2, 3]]
    for last in ([-2.0, -1.11], [-2.11, -1.0]):
        values = [[-2.0, -1.0], [-2.0, -1.0], last]
        refused(lambda values=values: answers.check_rows(several, values, 0.1), same)
    # One row is the beginning of the other: nothing follows it that could be too much.
    answers.check_rows([[1, 2, 3], [1, 2]], [[-0.1, -0.1], [-0.1]], 0.1)
    refused(lambda: answers.check_rows([[1, 2, 3], [1, 2]], [[-0.1, -0.1], [-0.3]], 0.1), begun)


def letters(*entries: tuple[str, float], **first: Any) -> dict[str, Any]:
    tops = [{"token": token, "logprob": value} for token, value in entries]
    return {"message": {"content": ""}, "logprobs": {"content": [{**first, "top_logprobs": tops}, {"second": 1}]}}


def test_the_table_of_a_chat_answer() -> None:
    def table(choice: Any, most: int = 2, *, is_best: bool = True) -> dict[str, float]:
        return answers.chat_table(choice, most, is_best=is_best)

    two = (("A", -0.5), ("B", -1.5))
    assert table(letters(*two)) == dict(two) == table(letters(*two, token="C", logprob="odd"))
    refused(lambda: table(letters(*two), 1), "the server was asked for 1 tokens, and 2 came back")
    refused(lambda: table(letters()), "the server was asked for 2 tokens, and 0 came back")
    refused(lambda: table(letters(("A", -0.5), ("A", -1.5))), "the server's answer names a token twice")
    refused(lambda: table(letters(("A", -1.5), ("A", -1.5), ("B", -2.5)), 1), "the server's answer names a token twice")
    assert table(letters(("\ufffd", -2.5), ("\ufffd", -1.5))) == {"\ufffd": -1.5}, "parts of characters look alike"
    refused(
        lambda: table(letters(("\ufffd", -0.1), ("\ufffd", -0.1))), "the probabilities of the next token add up to 1.81"
    )
    against = "the server's answer contradicts itself: the token that it wrote has another value in its table"
    assert table(letters(*two, token="A", logprob=-0.5009)) == dict(two)
    refused(lambda: table(letters(*two, token="A", logprob=-0.5011)), against)
    refused(lambda: table(letters(*two, token="B", logprob=-1.5)), against)
    assert table(letters(*two, token="B", logprob=-1.5), is_best=False) == dict(two)
    begins = "the chat answer does not begin with the token that it calls the most probable one"
    for content, good in (("A", True), (" A\n", True), ("B", False), ("", True), (" ", True), ("AB", False)):
        choice = {**letters(*two), "message": {"content": content}}
        if good:
            assert table(choice) == dict(two)
        else:
            refused(lambda choice=choice: table(choice), begins)
        assert table(choice, is_best=False) == dict(two)
    tied = {**letters(("A", -0.9), (" B", -0.9)), "message": {"content": "B"}}
    assert table(tied) == {"A": -0.9, " B": -0.9}


def test_a_token_of_a_chat_is_its_bytes_and_has_spaces_for_the_marks_of_vocabularies() -> None:
    def text(token: Any, *given: Any) -> Any:
        entry = {"token": token, "logprob": -0.5} | ({"bytes": given[0]} if given else {})
        first = {**entry, "top_logprobs": [entry]}
        (name,) = answers.chat_table({"message": {"content": ""}, "logprobs": {"content": [first]}}, 1, is_best=True)
        return name

    assert [text(token) for token in (" A", "ĠA", "▁A", "▁▁A", "Ċ", "AĠ", "Ä")] == [
        *(" A", " A", " A", "  A", "\n", "AĠ", "Ä"),
    ]
    assert text("�", [32, 65]) == " A" == text(" A", None) == text("", [196, 160, 65])
    for odd in ([240, 159], [300], ["x"], "AB", [True, None]):
        assert text("A", odd) == "A"


def test_a_server_that_cuts_a_prompt_or_adds_to_it_says_so() -> None:
    rows = [[1, 2, 3], [4, 5]]
    for count in (3, 5, 0, None, "x", 3.5):
        answers.check_read({"usage": {"prompt_tokens": count}}, rows)
    for usage in ({}, None, "x", []):
        answers.check_read({"usage": usage}, rows)
    answers.check_read({}, rows)
    for count in (1, 2, 4, 6):
        refused(
            lambda count=count: answers.check_read({"usage": {"prompt_tokens": count}}, rows),
            f"the server read {count} tokens, but was given 5",
        )


def test_what_a_model_wrote() -> None:
    filtered = {"finish_reason": "content_filter"}
    assert [answers.written(choice) for choice in ({"text": "a"}, {"text": None}, {"text": "a", **filtered})] == [
        *("a", "", None),
    ]
    for message, expected in (
        ({"content": "a"}, "a"),
        ({"content": None}, ""),
        ({"content": "a", "refusal": "no"}, "a"),
        ({"content": "", "refusal": "no"}, None),
        ({"content": "a", "reasoning": "hm"}, "<think>\nhm\n</think>\n\na"),
        ({"content": "a", "reasoning_content": "so", "reasoning": "hm"}, "<think>\nso\n</think>\n\na"),
        ({"content": "a", "reasoning_content": "", "reasoning": "hm"}, "<think>\nhm\n</think>\n\na"),
        ({"content": "", "reasoning": "hm"}, "<think>\nhm\n"),
        ({"content": ["a", {"text": "b"}, {"text": 3}, 4]}, "ab"),
    ):
        assert answers.replied({"message": message}) == expected
        assert answers.replied({"message": message, **filtered}) is None


def test_which_replies_are_refused() -> None:
    def said(content: Any, **more: Any) -> dict[str, Any]:
        return {"choices": [{"message": {"content": content, **more}}, {"message": {"content": "b"}}]}

    assert answers.check_reply(said("a")) is None and answers.check_reply(said("a", refusal="no")) is None
    assert answers.check_reply({**said("a"), "error": "odd"}) is None
    shape = "its answer has no choices[0].message"
    for answer, kind, sentence in (
        ({"error": None}, Unusable, shape),
        ({"choices": []}, Unusable, shape),
        ({"choices": [{"message": "a"}]}, Unusable, shape),
        (said(" "), Unusable, "its reply is empty"),
        (said("", refusal="x" * 201), Refused, f"the model refused: {'x' * 200}"),
    ):
        with pytest.raises(kind) as caught:
            answers.check_reply(answer)
        assert str(caught.value) == sentence
    stopped = said("", refusal="no")
    stopped["choices"][0]["finish_reason"] = "content_filter"
    with pytest.raises(Refused, match=r"^the server's content filter stopped the reply$"):
        answers.check_reply(stopped)


def test_vectors_are_numbers_in_a_table() -> None:
    rows = [{"index": 1, "embedding": [2, 3]}, {"index": 0, "embedding": [0, 1]}]
    assert answers.vectors({"data": rows}, 2).tolist() == [[0, 1], [2, 3]]
    refused(lambda: answers.vectors({"data": rows}, 1), "the server gave 2 embeddings for 1 texts")
    flat = [{"index": 0, "embedding": 1.0}, {"index": 1, "embedding": 2.0}]
    refused(lambda: answers.vectors({"data": flat}, 2), "the server gave 2 embeddings for 2 texts")
    odd = [{"index": 0, "embedding": [math.nan, 1]}]
    refused(lambda: answers.vectors({"data": odd}, 1), "the server's answer has no value")
    refused(lambda: answers.vectors({"data": odd}, 2), "the server gave 1 embeddings for 2 texts")


def test_numbers_at_their_limits() -> None:
    for value, read in ((-10_000.0, -10_000.0), (0, 0.0), (1e-3, 0.0), (-1, -1.0)):
        assert answers._logprob(value) == read
    for odd in (True, False, "-1", None):
        with pytest.raises(TypeError, match=f"^{odd!r} is not a number$"):
            answers._logprob(odd)
    for value in (-10_000.1, 1.1e-3):
        with pytest.raises(ValueError, match=f"^{value} is not a log-probability$"):
            answers._logprob(value)
    assert answers._whole(0) == 0 and answers._token_id("token_id:12") == answers._token_id("12") == 12
    for odd in (True, -1, 1.0, "1"):
        with pytest.raises(TypeError, match=r"is not a number of a token$"):
            answers._whole(odd)
    answers._check_total([math.log(1.0099)])
    with pytest.raises(Malformed, match=r"^the probabilities of the next token add up to 1\.01$"):
        answers._check_total([math.log(1.0101)])


def test_next_tokens_at_their_limits() -> None:
    def table(count: int, least: int, most: int, **more: Any) -> dict[int, float]:
        tops = [{"id": token, "logprob": -3.0 - token} for token in range(count)]
        content = {"content": [{"id": 0, "logprob": -3.0, "top_logprobs": tops, **more}]}
        return answers.next_table({"logprobs": content}, least, most, is_best=True)

    for count, least, most in ((2, 2, 2), (3, 2, 2), (2, 1, 5)):
        assert len(table(count, least, most)) == count
    refused(lambda: table(1, 2, 2), "the server was asked for 3 tokens, and 1 came back")
    refused(lambda: table(4, 2, 2), "the server was asked for 3 tokens, and 4 came back")
    assert len(table(2, 1, 2, id=9, logprob="odd")) == len(table(2, 1, 2, id=None)) == 2
    for name in ("second", "other"):
        odd = {
            "logprobs": {"tokens": ["1", "2"], "token_logprobs": [-1.0, -3.0], "top_logprobs": [{"1": -1.0, "2": -3.0}]}
        }
        odd["logprobs"]["tokens"] = ["1", "2"] if name == "second" else ["2", "1"]
        if name == "second":
            assert answers.next_table(odd, 1, 2, is_best=True) == {1: -1.0, 2: -3.0}
        else:
            with pytest.raises(Malformed):
                answers.next_table(odd, 1, 2, is_best=True)
