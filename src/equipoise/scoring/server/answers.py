"""Reads a server's answers: number, count, range, order and total probability of every field are checked here.

Whatever is wrong with an answer becomes `Malformed`, one sentence, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

from ...records import Floats
from ...records.thinking import THINK, THOUGHT
from .http_client import Refused, ServerError, Unusable

Read = TypeVar("Read")

LARGEST_TOTAL = 1.01
"""Probabilities of one place may add up to this much, by rounding."""

LEAST = -10_000.0
"""The smallest log-probability that is believed; vLLM has -9999 for what is impossible."""

SAME = 1e-3
"""Nats by which two fields of one answer that hold the same value may differ, by rounding."""


HALF = "\N{REPLACEMENT CHARACTER}"
"""What a server writes in place of bytes that are not yet a character."""

MARKS = str.maketrans("ĠĊ▁", " \n ")
"""What vocabularies have in place of spaces and ends of lines: those of bytes, and those of SentencePiece."""


class Malformed(ServerError):
    """An answer that is not what was asked for: its form is wrong, or it contradicts itself."""


class HalfCharacter(ServerError):
    """An answer whose token ends within a character: llama.cpp then leaves out all log-probabilities."""


def read(answer: Any, reader: Callable[[Any], Read], what: str) -> Read:
    """Return what the reader finds in an answer; Malformed names what is missing, whatever went wrong."""
    try:
        return reader(answer)
    except ServerError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        raise Malformed(f"the server's answer has no {what}") from None


def choices(answer: Any, least: int, most: int | None = None) -> list[Mapping[str, Any]]:
    """Return the choices of an answer in their order, from `least` to `most` of them."""
    given = answer["choices"]
    if not isinstance(given, list) or not all(isinstance(choice, dict) for choice in given):
        raise TypeError("choices")
    if not least <= len(given) <= (least if most is None else most):
        raise Malformed(f"the number of the server's answers is {len(given)}, not {most or least}")
    places = [choice["index"] for choice in given if choice.get("index") is not None]
    if not places:
        return given
    if sorted(map(_whole, places)) != list(range(len(given))):
        raise Malformed("the server's answers are numbered wrongly")
    return sorted(given, key=lambda choice: choice["index"])


def check_read(answer: Any, rows: Sequence[Sequence[int]]) -> None:
    """Raise Malformed where the server says that it read more or fewer tokens than the prompts have."""
    usage = answer.get("usage")
    count = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    # vLLM counts all prompts of a list, llama.cpp the first.
    given = sum(map(len, rows))
    if isinstance(count, int) and count > 0 and count not in (len(rows[0]), given):
        raise Malformed(f"the server read {count} tokens, but was given {given}")


def token_ids(answer: Any) -> list[int]:
    """Return the token ids of an answer: numbers (vLLM, llama.cpp), or objects with an id."""
    tokens = answer["tokens"]
    if not isinstance(tokens, list):
        raise TypeError("tokens")
    return [_whole(token["id"] if isinstance(token, dict) else token) for token in tokens]


def next_table(choice: Mapping[str, Any], least: int, most: int, *, is_best: bool) -> dict[int, float]:
    """Return the next-token table of an answer: llama.cpp's `content`, or vLLM's `top_logprobs` by `token_id:N`.

    The token that was written must have the same value there; `is_best`: and the largest one.
    """
    table = choice["logprobs"]
    if table is None and str(choice.get("text")).endswith(HALF):
        raise HalfCharacter("the server leaves out the log-probabilities of a token that ends within a character")
    if "content" in table:
        (first,) = table["content"]
        entries = [(_whole(entry["id"]), _logprob(entry["logprob"])) for entry in first["top_logprobs"]]
        token, value = first.get("id"), first.get("logprob")
    else:
        (first,) = table["top_logprobs"]
        entries = [(_token_id(token), _logprob(value)) for token, value in first.items()]
        token, value = _token_id(table["tokens"][0]), table["token_logprobs"][0]
    # vLLM adds the token that it chose, where that is not among those asked for.
    values = _checked(entries, least, most + 1)
    _check_chosen(values, token, value, is_best=is_best)
    return values


def whole_token(choice: Mapping[str, Any]) -> int | None:
    """Return the token that a next-token answer wrote, None where it is not known to be of whole characters."""
    table = choice["logprobs"]
    token = table["content"][0].get("id") if "content" in table else _token_id(table["tokens"][0])
    text = choice.get("text")
    return token if isinstance(text, str) and text and HALF not in text and isinstance(token, int) else None


def echoed(choice: Mapping[str, Any], row: Sequence[int], *, has_entries: bool) -> list[float]:
    """Return the log-probability of every token of the row but the first.

    `has_entries`: each token's value is in `top_logprobs`, too, which must say the same.
    """
    table = choice["logprobs"]
    tokens, values = table["tokens"], table["token_logprobs"]
    # One token is written after those that were given.
    if not len(tokens) == len(values) <= len(row) + 1 or len(values) < len(row):
        raise Malformed("the server's answer is about other tokens than the prompt's")
    if [_token_id(token) for token in tokens[: len(row)]] != list(row):
        raise Malformed("the server's answer is about other tokens than the prompt's")
    given = [_logprob(value) for value in values[1 : len(row)]]
    if not has_entries:
        return given
    for token, value, entries in zip(tokens[1:], given, table["top_logprobs"][1 : len(row)], strict=False):
        _check_total([_logprob(entry) for entry in entries.values()])
        if abs(_logprob(entries[token]) - value) > SAME:
            raise Malformed("the server's answer has two log-probabilities for one token of the prompt")
    if len(table["top_logprobs"]) != len(values):
        raise Malformed("the server's answer lacks the entry of a token")
    return given


def check_rows(rows: Sequence[Sequence[int]], values: Sequence[Sequence[float]], tolerance: float) -> None:
    """Raise Malformed where rows that share a beginning, or all, have other values there, or too much mass after it."""
    places = enumerate(zip(*rows, strict=False))
    shared = next((place for place, tokens in places if len(set(tokens)) > 1), min(map(len, rows)))
    firsts: dict[tuple[int, ...], Sequence[float]] = {}
    for row, given in zip(rows, values, strict=True):
        # A mean: the noise of a single improbable token may be large.
        differences = [abs(a - b) for a, b in zip(values[0][: shared - 1], given[: shared - 1], strict=True)]
        if math.fsum(differences) > tolerance * len(differences):
            raise Malformed("the server's answer has other values for the same beginning of two prompts")
        twin = firsts.setdefault(tuple(row), given)
        if (
            max((abs(a - b) for a, b in zip(twin[shared - 1 :], given[shared - 1 :], strict=True)), default=0)
            > tolerance
        ):
            raise Malformed("the server's answer has other values for the same prompt")
    if shared < min(map(len, rows)):
        _check_total(list({row[shared]: given[shared - 1] for row, given in zip(rows, values, strict=True)}.values()))


def has_entries(choice: Mapping[str, Any]) -> bool:
    """Return whether an echo has an entry for every token, as OpenAI's protocol says."""
    table = choice["logprobs"]
    entries = table.get("top_logprobs")
    return isinstance(entries, list) and len(entries) == len(table["tokens"]) > 1


def chat_table(choice: Mapping[str, Any], most: int, *, is_best: bool) -> dict[str, float]:
    """Return the table of the first token of a chat answer, by the tokens' text; `is_best`: as in `next_table`."""
    (first, *_) = choice["logprobs"]["content"]
    entries = [(_token_text(entry), _logprob(entry["logprob"])) for entry in first["top_logprobs"]]
    # Parts of a character have one text, that of a character which cannot be shown.
    _checked([(token, value) for token, value in entries if token.isascii()], 0, most)
    table = _checked(list(dict(entries).items()), 1, most)
    _check_total([value for _, value in entries])
    _check_chosen(table, _token_text(first) if "token" in first else None, first.get("logprob"), is_best=is_best)
    content = text_of(choice["message"].get("content")).strip()
    if is_best and content and content not in (token.strip() for token, value in entries if value >= entries[0][1]):
        raise Malformed("the chat answer does not begin with the token that it calls the most probable one")
    return table


def written(choice: Mapping[str, Any]) -> str | None:
    """Return a completion's text, None where a filter stopped it."""
    text = choice["text"]
    return None if _is_filtered(choice) else "" if text is None else _string(text)


def replied(choice: Mapping[str, Any]) -> str | None:
    """Return a chat answer as the model wrote it, None where it was filtered.

    Servers that parse reasoning return it beside the answer.
    """
    message = choice["message"]
    content = text_of(message.get("content"))
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if _is_filtered(choice) or (message.get("refusal") and not content):
        return None
    if not reasoning:
        return content
    # Without an answer it is not known whether the reasoning came to its end.
    return f"{THINK}\n{_string(reasoning)}\n" + (f"{THOUGHT}\n\n{content}" if content else "")


def check_reply(answer: dict[str, Any]) -> None:
    """Raise Refused for a reply that was filtered, Unusable for one without text."""
    try:
        choice = answer["choices"][0]
        message = choice["message"]
        text = text_of(message.get("content")).strip()
    except (LookupError, TypeError, AttributeError):
        raise Unusable("its answer has no choices[0].message") from None
    if choice.get("finish_reason") == "content_filter":
        raise Refused("the server's content filter stopped the reply")
    if message.get("refusal") and not text:
        raise Refused(f"the model refused: {str(message['refusal'])[:200]}")
    if not text:
        raise Unusable("its reply is empty")


def text_of(content: object) -> str:
    """Return the text of a message: a string, or a list of parts."""
    if isinstance(content, str):
        return _string(content)
    parts = content if isinstance(content, list) else []
    texts = [part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, dict | str)]
    return "".join(_string(text) for text in texts if isinstance(text, str))


def vectors(answer: Any, count: int) -> Floats:
    """Return the embeddings of an answer, in order."""
    rows = sorted(answer["data"], key=lambda row: row["index"])
    table = np.array([row["embedding"] for row in rows], dtype=np.float64)
    if table.ndim != 2 or len(table) != count:
        raise Malformed(f"the server gave {len(rows)} embeddings for {count} texts")
    if not np.isfinite(table).all():
        raise ValueError("not a number")
    return table


def _checked(entries: Sequence[tuple[Any, float]], least: int, most: int) -> dict[Any, float]:
    table = dict(entries)
    if len(table) != len(entries):
        raise Malformed("the server's answer names a token twice")
    if not least <= len(table) <= most:
        raise Malformed(f"the server was asked for {most} tokens, and {len(table)} came back")
    _check_total(list(table.values()))
    return table


def _check_chosen(table: Mapping[Any, float], token: Any, value: Any, *, is_best: bool) -> None:
    """Raise Malformed where the token that was written has another value in the table, or is not the best one."""
    if token is None or token not in table:
        return
    if abs(_logprob(value) - table[token]) > SAME or (is_best and max(table.values()) - table[token] > SAME):
        raise Malformed(
            "the server's answer contradicts itself: the token that it wrote has another value in its table"
        )


def _check_total(logprobs: Sequence[float]) -> None:
    total = math.fsum(map(math.exp, logprobs))
    if total > LARGEST_TOTAL:
        raise Malformed(f"the probabilities of the next token add up to {total:.3g}")


def _is_filtered(choice: Mapping[str, Any]) -> bool:
    return choice.get("finish_reason") == "content_filter"


def _string(value: Any) -> str:
    """Return a text; half of a character is not one, and no file or request can hold it."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    value.encode()
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError(f"{value!r} is not a number of a token")
    return value


def _token_text(entry: Mapping[str, Any]) -> str:
    """Return a token's text: its bytes, where they are given and whole characters; spaces are written as spaces.

    Some servers give the name that the token has in the vocabulary, with a mark for a space or a line's end.
    """
    text, given = _string(entry["token"]), entry.get("bytes")
    if isinstance(given, list):
        with suppress(ValueError, TypeError):
            text = bytes(given).decode()
    return text.translate(MARKS) if text[:1] in ("Ġ", "Ċ", "▁") else text


def _token_id(token: str) -> int:
    return _whole(int(token.removeprefix("token_id:")))


def _logprob(value: Any) -> float:
    # `false` is a number in Python, and "-1.5" can be made one.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    # 1e-3: rounding of a log-softmax in low precision.
    if not LEAST <= value <= 1e-3:
        raise ValueError(f"{value} is not a log-probability")
    return min(float(value), 0.0)
