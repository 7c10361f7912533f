"""A server on loopback with one fault: from the start, after it was tested, or once in a hundred requests."""

from __future__ import annotations

import copy
import gzip
import json
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from server_loopback import BOS, SIZE, Loopback

Fault = Callable[["Faulty", str, dict[str, Any], dict[str, Any]], Any]
"""Makes of the right answer to a request a wrong one: an object, or (status, content, headers) as sent."""

WHENS = ("from the start", "after the probe", "once in a hundred")
WAYS: dict[str, dict[str, Any]] = {
    "echo": {"faults": ()},
    "plain echo": {"faults": ("plain echo",)},
    "next tokens": {"faults": ("echo ignored",)},
    "chat": {"faults": ("chat only", "no tokenize")},
    "samples": {"faults": ("chat only", "no tokenize", "no logprobs"), "samples": 24},
}
"""Ways of asking: what the server cannot do, so that it is asked in this way, and the engine's options."""

PERIOD = 100
SECRET = "sk-never-to-be-seen-42"


class Faulty(Loopback):
    """The server. `begin()` says that it has been tested; `wrong` counts the answers that it made wrong."""

    def __init__(self, way: str, fault: str, when: str, *, template: str = "") -> None:
        self.fault, self.when, self.wrong, self._seen = FAULTS[fault], when, 0, 0
        self._is_tested = False
        self.under_way: list[tuple[str, dict[str, Any]]] = []
        self.given: dict[str, Any] = {}
        """The first answer to each request that can be told from others."""
        # Once in a hundred requests, beginning with another one for each fault.
        self._first = int(np.random.default_rng([*fault.encode()]).integers(10, 60))
        super().__init__(*WAYS[way]["faults"], template=template)
        self.other = Loopback(*WAYS[way]["faults"], seed=1, template=template)

    def close(self) -> None:
        super().close()
        self.other.close()

    def begin(self) -> None:
        self._is_tested = True

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        self.under_way.append((path, body))
        try:
            return self.faulty(path, body)
        finally:
            self.under_way.remove((path, body))

    def faulty(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        status, answer = super().answer(path, body)
        if status != 200:
            return status, answer
        if not self.is_due(path, body):
            self.given.setdefault(asked(body), answer)
            return status, answer
        changed = self.fault.make(self, path, body, copy.deepcopy(answer))
        self.wrong += changed != answer
        return (200, changed) if isinstance(changed, dict) else changed

    def is_due(self, path: str, body: dict[str, Any]) -> bool:
        """Return whether this answer is to be wrong."""
        if not any(path.endswith(end) for end in self.fault.paths) or not self.fault.meets(body):
            return False
        if self.when == "from the start":
            return True
        if not self._is_tested:
            return False
        with self._lock:
            self._seen += 1
            return self.when == "after the probe" or self._seen % PERIOD == self._first


def asked(body: dict[str, Any]) -> str:
    """Return a request as a cache knows it."""
    return json.dumps(body, sort_keys=True)


class Kind:
    """A fault: what it does, and to the answers of which paths, to which bodies."""

    def __init__(self, make: Fault, *paths: str, meets: Callable[[dict[str, Any]], bool] = lambda body: True) -> None:
        self.make, self.paths, self.meets = make, paths or ("completions",), meets


def _values(change: Callable[[list[float]], list[Any]]) -> Fault:
    """Return a fault that changes all log-probabilities of an answer."""

    def make(server: Faulty, path: str, body: dict[str, Any], answer: dict[str, Any]) -> Any:
        for choice in answer.get("choices", []):
            table = choice.get("logprobs")
            if table is None:
                continue
            if "token_logprobs" in table:
                values = table["token_logprobs"]
                given = [value for value in values if value is not None]
                table["token_logprobs"] = [None] * (len(values) - len(given)) + change(given)
                for entries in table["top_logprobs"]:
                    if entries:
                        changed = change(list(entries.values()))
                        changed += [changed[-1] if changed else 0.0] * (len(entries) - len(changed))
                        entries.update(zip(list(entries), changed, strict=False))
            for place in table.get("content", []):
                changed = change([entry["logprob"] for entry in place["top_logprobs"]])
                for entry, value in zip(place["top_logprobs"], changed, strict=False):
                    entry["logprob"] = value
                for entry in place["top_logprobs"][len(changed) :]:
                    del entry["logprob"]
        return answer

    return make


def _choices(change: Callable[[list[dict[str, Any]]], Any]) -> Fault:
    """Return a fault that changes the list of choices."""

    def make(server: Faulty, path: str, body: dict[str, Any], answer: dict[str, Any]) -> Any:
        return {**answer, "choices": change(answer["choices"])} if "choices" in answer else answer

    return make


def _rows(order: Callable[[list[Any]], list[Any]]) -> Fault:
    """Return a fault that gives the rows of a list each other's values; tokens and numbers stay."""

    def make(server: Faulty, path: str, body: dict[str, Any], answer: dict[str, Any]) -> Any:
        tables = [choice.get("logprobs") for choice in answer["choices"]]
        if len(tables) < 2 or None in tables:
            return answer
        values = order([(table["token_logprobs"], table["top_logprobs"]) for table in copy.deepcopy(tables)])
        for table, (given, entries) in zip(tables, values, strict=True):
            count = len(table["token_logprobs"])
            table["token_logprobs"] = (given + given[-1:] * count)[:count]
            if not body.get("echo"):
                table["top_logprobs"] = entries
        return answer

    return make


def _texts(change: Callable[[dict[str, Any]], None], *, every: int = 1) -> Fault:
    """Return a fault that changes what is written, in every so many texts."""

    def make(server: Faulty, path: str, body: dict[str, Any], answer: dict[str, Any]) -> Any:
        for place, choice in enumerate(answer.get("choices", [])):
            if place % every == 0:
                change(choice)
        return answer

    return make


def _swap(server: Faulty, path: str, body: dict[str, Any], answer: dict[str, Any]) -> Any:
    return server.other.answer(path, body)[1]


def _named_swap(server: Faulty, path: str, body: dict[str, Any], answer: dict[str, Any]) -> Any:
    return {**server.other.answer(path, body)[1], "model": "toy-mini"}


def _cached_swap(server: Faulty, path: str, body: dict[str, Any], answer: dict[str, Any]) -> Any:
    """Answer as another model, but for what was asked before."""
    return server.given.get(asked(body)) or _swap(server, path, body, answer)


def _neighbour(server: Faulty, path: str, body: dict[str, Any], answer: dict[str, Any]) -> Any:
    """Give the answer to another request, where one is under way."""
    for _ in range(20):
        for other, theirs in list(server.under_way):
            if other == path and theirs != body:
                return Loopback.answer(server, path, theirs)[1]
        time.sleep(0.005)
    return answer


def _much_the_same(server: Faulty, path: str, body: dict[str, Any], answer: dict[str, Any]) -> Any:
    """Give the first answer to a conversation that differs in at most one word."""
    words = body["messages"][-1]["content"].split()
    rest = {name: value for name, value in body.items() if name not in ("messages", "top_p")}
    for text, first in server.given.items():
        other = json.loads(text)
        theirs = other.pop("messages", [{"content": ""}])[-1]["content"].split()
        other.pop("top_p", None)
        if other == rest and len(theirs) == len(words) and sum(map(str.__ne__, words, theirs)) <= 1:
            return first
    server.given[asked(body)] = answer
    return answer


def _named_tokens(server: Faulty, path: str, body: dict[str, Any], answer: dict[str, Any]) -> Any:
    """Call tokens by what they are called in a vocabulary of bytes."""
    for choice in answer["choices"]:
        for place in choice["logprobs"]["content"] if choice["logprobs"] else []:
            for entry in (place, *place["top_logprobs"]):
                entry["token"] = entry["token"].replace(" ", "Ġ").replace("\n", "Ċ")
    return answer


def _cut(server: Faulty, path: str, body: dict[str, Any], answer: dict[str, Any]) -> Any:
    """Answer as if only the last eight tokens, or words, had been asked."""
    body = copy.deepcopy(body)
    if "messages" in body:
        body["messages"] = [{**body["messages"][-1], "content": body["messages"][-1]["content"][-12:]}]
        return Loopback.answer(server, path, body)[1]
    rows = body["prompt"] if isinstance(body["prompt"][0], list) else [body["prompt"]]
    short = [row[-8:] for row in rows]
    body["prompt"] = short if isinstance(body["prompt"][0], list) else short[0]
    answered = Loopback.answer(server, path, body)[1]
    if not body.get("echo"):
        return answered
    for choice, row, now in zip(answer["choices"], rows, answered["choices"], strict=True):
        left = max(len(row) - 8, 0)
        for field in ("token_logprobs", "top_logprobs"):
            if len(choice["logprobs"][field]) > 1:
                kept = choice["logprobs"][field][: left + 1]
                choice["logprobs"][field] = kept + now["logprobs"][field][1:]
    return answer


def _sharpened(server: Faulty, path: str, body: dict[str, Any], answer: dict[str, Any]) -> Any:
    """Give log-probabilities after the temperature, or draw nothing where one draws."""
    if body.get("temperature") == 1.0:
        return Loopback.answer(server, path, {**body, "temperature": 0.0})[1] if not body.get("logprobs") else answer
    return _values(lambda values: [min(0.0, 3 * value) for value in values])(server, path, body, answer)


def _raw(status: int, content: Any, **headers: str) -> Fault:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda server, path, body, answer: (status, content, named)


def _quoted(server: Faulty, path: str, body: dict[str, Any], answer: dict[str, Any]) -> Any:
    return 400, {"error": {"message": f"no such key: {SECRET}"}}, {}


def _quoted_name(server: Faulty, path: str, body: dict[str, Any], answer: dict[str, Any]) -> Any:
    return {**answer, "model": f"toy for {SECRET}", "note": SECRET}


def _shift(values: list[float]) -> list[float]:
    return [*values[1:], values[0]]


def _exchanged(rows: list[Any]) -> list[Any]:
    """Exchange the first row with the third, both an audit's own; the second is a known one."""
    first, *others = rows
    return [others[-1], first] if len(rows) == 2 else [rows[2], rows[1], first, *rows[3:]]


def _mixed_numbers(choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**choice, "index": 0} for choice in choices]


def _template(change: Callable[[str, str], str]) -> Kind:
    """Return a fault of the chat template, where the last turn is a begun answer."""

    def make(server: Faulty, path: str, body: dict[str, Any], answer: dict[str, Any]) -> Any:
        begun = body["messages"][-1]["content"]
        if "prompt" in answer:
            return {**answer, "prompt": change(answer["prompt"], begun)}
        text = bytes(token for token in answer["tokens"] if token != BOS).decode()
        return {"tokens": list(change(text, begun).encode())}

    def is_begun(body: dict[str, Any]) -> bool:
        return "messages" in body and body["messages"][-1]["role"] == "assistant"

    return Kind(make, "/apply-template", "/tokenize", meets=is_begun)


def _ids(change: Callable[[list[Any]], Any]) -> Kind:
    """Return a fault of the tokenizer."""
    return Kind(lambda server, path, body, answer: {**answer, "tokens": change(answer["tokens"])}, "/tokenize")


def _filter(choice: dict[str, Any]) -> None:
    choice["finish_reason"] = "content_filter"
    choice["message"] = {"content": ""}


def _message(value: Any) -> Callable[[dict[str, Any]], None]:
    def change(choice: dict[str, Any]) -> None:
        choice["message"] = value

    return change


ANY = {
    "another model": Kind(_swap),
    "another model, named": Kind(_named_swap),
    "another model behind a cache": Kind(_cached_swap),
    "another request's answer": Kind(_neighbour),
    "another fingerprint": Kind(lambda server, path, body, answer: {**answer, "system_fingerprint": "fp-2"}),
    "context cut": Kind(_cut),
    "after temperature": Kind(_sharpened),
    "no choices": Kind(_choices(lambda choices: [])),
    "choices are null": Kind(_choices(lambda choices: None)),
    "choices are words": Kind(_choices(lambda choices: ["a", "b"])),
    "choices are an object": Kind(_choices(lambda choices: {"0": choices})),
    "a choice too many": Kind(_choices(lambda choices: [*choices, copy.deepcopy(choices[-1])])),
    "numbered wrongly": Kind(_choices(_mixed_numbers)),
    "numbered with words": Kind(_choices(lambda choices: [{**choice, "index": "one"} for choice in choices])),
    "an empty choice": Kind(_choices(lambda choices: [{} for _ in choices])),
    "an empty object": Kind(lambda server, path, body, answer: {}),
    "an error with status 200": Kind(lambda server, path, body, answer: {"error": "overloaded"}),
    "bad gzip": Kind(_raw(200, "not gzip at all", content_encoding="gzip")),
    "half of a gzip": Kind(_raw(200, gzip.compress(b'{"choices": []}' * 99)[:40], content_encoding="gzip")),
    "nested without end": Kind(_raw(200, "[" * 100_000)),
    "nested choices": Kind(_raw(200, '{"choices": ' + "[" * 50_000 + "]" * 50_000 + "}")),
    "not JSON": Kind(_raw(200, "<html>Welcome</html>")),
    "a list": Kind(_raw(200, "[1, 2]")),
    "a number": Kind(_raw(200, "7")),
    "empty": Kind(_raw(200, "")),
    "broken UTF-8": Kind(_raw(200, b'{"choices": "\xff\xfe"}')),
    "status 500": Kind(_raw(500, "oops")),
    "status 401": Kind(_quoted),
    "status 204": Kind(_raw(204, "")),
    "a redirect": Kind(_raw(307, "", location=f"http://127.0.0.1:9/{SECRET}?key={SECRET}")),
    "the key in the name": Kind(_quoted_name),
    "the key in an error": Kind(_raw(500, json.dumps({"error": f"bad key {SECRET}"}))),
}

NUMBERS = {
    "zeros": Kind(_values(lambda values: [0.0] * len(values))),
    "false": Kind(_values(lambda values: [False] * len(values))),
    "words": Kind(_values(lambda values: [str(value) for value in values])),
    "one word": Kind(_values(lambda values: ["much", *values[1:]])),
    "not a number": Kind(_values(lambda values: [math.nan] * len(values))),
    "one is not a number": Kind(_values(lambda values: [*values[:-1], math.nan])),
    "minus infinity": Kind(_values(lambda values: [-math.inf] * len(values))),
    "above one": Kind(_values(lambda values: [abs(value) for value in values])),
    "nulls": Kind(_values(lambda values: [None] * len(values))),
    "lists": Kind(_values(lambda values: [[value] for value in values])),
    "huge": Kind(_values(lambda values: [-1e300] * len(values))),
    "too much mass": Kind(_values(lambda values: [min(0.0, value + 2.0) for value in values])),
    "shifted": Kind(_values(_shift)),
    "turned around": Kind(_values(lambda values: values[::-1])),
    "one is missing": Kind(_values(lambda values: values[: len(values) // 2] + values[len(values) // 2 + 1 :])),
    "no log-probabilities": Kind(_choices(lambda choices: [{**choice, "logprobs": None} for choice in choices])),
    "log-probabilities are a word": Kind(_choices(lambda choices: [{**choice, "logprobs": "x"} for choice in choices])),
}

LISTS = {
    "rows moved on": Kind(_rows(_shift)),
    "rows turned around": Kind(_rows(lambda rows: rows[::-1])),
    "all rows the first": Kind(_rows(lambda rows: [copy.deepcopy(rows[0]) for _ in rows])),
    "all rows the last": Kind(_rows(lambda rows: [copy.deepcopy(rows[-1]) for _ in rows])),
    "two rows exchanged": Kind(_rows(_exchanged)),
    "a row missing": Kind(_choices(lambda choices: choices[:-1])),
}

TOKENS = {
    "ids without the last": _ids(lambda ids: ids[:-1]),
    "ids without the first": _ids(lambda ids: ids[1:]),
    "other ids": _ids(lambda ids: [(token + 1) % SIZE if isinstance(token, int) else token for token in ids]),
    "ids as words": _ids(lambda ids: ["x" for _ in ids]),
    "ids are true": _ids(lambda ids: [True for _ in ids]),
    "no ids": _ids(lambda ids: None),
    "the answer's beginning dropped": _template(lambda text, begun: text.removesuffix(begun)),
    "the answer's turn closed": _template(lambda text, begun: text + "<end>"),
    "the question dropped": _template(lambda text, begun: begun),
}

TEXTS = {
    "empty texts": Kind(_texts(_message({"content": ""}))),
    "some texts empty": Kind(_texts(_message({"content": ""}), every=3)),
    "filtered texts": Kind(_texts(_filter)),
    "some texts filtered": Kind(_texts(_filter, every=3)),
    "refusals": Kind(_texts(_message({"content": None, "refusal": "I will not say"}))),
    "some refusals": Kind(_texts(_message({"content": None, "refusal": "I will not say"}), every=4)),
    "a text is a number": Kind(_texts(_message({"content": 7}))),
    "a text is null": Kind(_texts(_message({"content": None}))),
    "half of a character": Kind(_texts(_message({"content": "\ud800"}))),
    "a message is a word": Kind(_texts(_message("hello"))),
    "no message": Kind(_texts(lambda choice: choice.pop("message", None) and None)),
}

CHATS = {"the answer to much the same prompt": Kind(_much_the_same)}

NAMES = {"tokens by their names": Kind(_named_tokens)}
"""No fault: the scores are as they would be without."""

FAULTS = {**ANY, **NUMBERS, **LISTS, **TOKENS, **TEXTS, **CHATS, **NAMES}

OF_WAY = {
    "echo": {**ANY, **NUMBERS, **LISTS, **TOKENS},
    "plain echo": {**ANY, **NUMBERS, **LISTS},
    "next tokens": {**ANY, **NUMBERS, **LISTS, **TOKENS},
    "chat": {**ANY, **NUMBERS, **CHATS, **NAMES},
    "samples": {**ANY, **TEXTS, **CHATS},
}
