"""How a server is found out, step by step, over an Api whose answers are given."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from threads import apart

from equipoise.options import EngineOptions
from equipoise.records import Message, ModelError
from equipoise.scoring.server import probe as probes
from equipoise.scoring.server.api import Known
from equipoise.scoring.server.http_client import ServerError
from equipoise.scoring.server.methods import ChatLetter, GivenText, NextToken, Samples
from equipoise.scoring.server.probe import QUESTION, TEXTS, Findings, Walk, has_thinking_template, probe
from equipoise.scoring.server.proof import Reference

ASKED = (Message("user", QUESTION),)


def ran(work: Any) -> Any:
    return apart(lambda: asyncio.run(work))


def value(token: int, count: int) -> float:
    """Return the value of a token after so many."""
    return -1.0 - token / 10 - count / 100


class Server:
    """An Api of a server that does all right. `odd` shifts what a request gets, by what is asked."""

    def __init__(self, **odd: Callable[..., float]) -> None:
        self.client = SimpleNamespace(sent=0)
        self.odd, self.asked = odd, []  # type: ignore[var-annotated]
        self.entries, self.text, self.letters = True, "blue", {"A": -0.2, "B": -2.0, "C": -4.0, "D": -5.0}

    def _shift(self, kind: str, **asked: Any) -> float:
        return self.odd[kind](**asked) if kind in self.odd else 0.0

    async def next_tokens(self, ids: Any, k: int, **choices: Any) -> dict[int, float]:
        self.asked.append(("next", tuple(ids), k, choices))
        return {token: value(token, len(ids)) + self._shift("next", k=k, **choices) for token in range(min(k, 20))}

    async def given_tokens(self, rows: Any, **choices: Any) -> list[list[float]]:
        self.asked.append(("given", rows, choices))
        shift = self._shift("given", rows=rows, **choices)
        return [[value(row[place], place) + shift for place in range(1, len(row))] for row in rows]

    async def has_entries(self, ids: Any) -> bool:
        self.asked.append(("entries", tuple(ids)))
        return self.entries

    async def chat_top(self, messages: Any, k: int, **choices: Any) -> dict[str, float]:
        self.asked.append(("chat", messages, k, choices))
        shift = self._shift("chat", k=k, **choices)
        return {token: logprob + shift for token, logprob in list(self.letters.items())[:k]}

    async def write(self, messages: Any, **choices: Any) -> Any:
        self.asked.append(("write", messages, choices))
        if isinstance(self.text, Exception):
            raise self.text
        return [self.text]


class Tokens:
    template, thinks = None, False

    async def context(self, text: str) -> list[int]:
        return [1, 2, len(text) % 7]


def learned(monkeypatch: pytest.MonkeyPatch, fault: str = "") -> list[Any]:
    """Let known questions be learned at once; return which."""
    told: list[Any] = []

    async def learn(api: Any, method: Any, form: str) -> Reference:
        told.append((type(method), form))
        if fault and form == fault:
            raise ServerError(f"{form} varies")
        return Reference([("known", {0: -1.0})], 0.125, 3)

    monkeypatch.setattr(probes, "learn", learn)
    return told


def test_likely_tokens_are_walked_not_always_the_most_probable() -> None:
    api, findings = Server(), Findings()
    walk = ran(probes._walk(api, Tokens(), "abc", findings))  # type: ignore[arg-type]
    assert walk == Walk(3, [1, 2, 3, 0, 1, 0], [value(0, 3), value(1, 4), value(0, 5)])
    assert [asked[1:3] for asked in api.asked] == [((1, 2, 3), 5), ((1, 2, 3, 0), 5), ((1, 2, 3, 0, 1), 5)]
    expected = {f"abc|{step}|{token}": value(token, 3 + step) for step in range(3) for token in range(3)}
    assert findings.answers == expected


def walks() -> list[Walk]:
    return [
        Walk(2, [5, 6, *tail], [value(token, 2 + place) for place, token in enumerate(tail)]) for tail in ([1, 2], [3])
    ]


def test_given_text_must_agree_with_next_tokens_and_lists_with_single_rows() -> None:
    for entries in (True, False):
        api = Server()
        api.entries = entries
        beside = list(range(30))
        found = ran(probes._given(api, "tokens", walks(), beside))  # type: ignore[arg-type]
        kept = {place: value(place + 1, place + 1) for place in range(13, 29)}
        known = Known(tuple(beside), {place: kept[place] for place in range(13, 21)}, 0.05)
        assert found == GivenText(api, "tokens", known, entries)  # type: ignore[arg-type]
        assert api.asked == [
            ("given", [[5, 6, 1, 2]], {}),
            ("given", [[5, 6, 3]], {}),
            ("entries", (5, 6, 1, 2)),
            ("given", [beside], {"has_entries": entries}),
            ("given", [[5, 6, 1, 2], [5, 6, 1]], {"has_entries": entries, "known": known}),
            ("given", [[5, 6, 3], [5, 6]], {"has_entries": entries, "known": known}),
        ]


@pytest.mark.parametrize(("shift", "single"), [(0.049, ""), (0.051, "0.051"), (-0.051, "0.051")])
def test_how_far_given_text_may_be_from_next_tokens(shift: float, single: str) -> None:
    def odd(rows: Any, **choices: Any) -> float:
        return shift if len(rows) == 1 and len(rows[0]) == 3 else 0.0

    def listed(rows: Any, **choices: Any) -> float:
        return shift if len(rows) == 2 and len(rows[0]) == 3 else 0.0

    for function, sentence in (
        (odd, f"they differ from the next-token distribution by {single} nats"),
        (listed, "a list of prompts is not answered as single ones are"),
    ):
        work = probes._given(Server(given=function), "tokens", walks(), [1, 2, 3, 4])  # type: ignore[arg-type]
        if single:
            with pytest.raises(ServerError, match=f"^{sentence}$"):
                ran(work)
        else:
            assert isinstance(ran(work), GivenText)


@pytest.mark.parametrize(("most", "shift", "lists"), [(20, 0.0, True), (4, 0.12, True), (20, 0.13, False)])
def test_a_known_prompt_goes_beside_others_where_lists_are_answered(most: int, shift: float, lists: bool) -> None:
    def odd(known: Any = None, **_: Any) -> float:
        return shift if known else 0.0

    api, findings = Server(next=odd), Findings()
    findings.references["text"] = Reference([("known", {})], 0.125, 1)
    method = NextToken(api, "tokens", most, False)  # type: ignore[arg-type]
    found = ran(probes._beside(api, method, ([1, 2], [7, 8, 9]), findings))  # type: ignore[arg-type]
    k = min(16, most)
    known = Known((7, 8, 9), {token: value(token, 3) for token in range(k // 2)}, 0.125)
    assert [asked[1:] for asked in api.asked] == [
        ((7, 8, 9), k, {"least": k}),
        ((1, 2), k, {"least": k}),
        ((1, 2), k, {"least": k, "known": known}),
    ]
    if lists:
        assert found.beside == known and findings.capabilities == {"lists": "yes"}
    else:
        reason = "no: a list of prompts is not answered as single ones are"
        assert found is method and findings.capabilities == {"lists": reason}


def test_what_the_tokens_of_a_server_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    told = learned(monkeypatch)
    api, findings = Server(), Findings(tokens=Tokens())  # type: ignore[arg-type]
    ran(probes._probe_tokens(api, findings))  # type: ignore[arg-type]
    assert isinstance(findings.method, GivenText) and told == [(NextToken, "text"), (GivenText, "text")]
    assert findings.capabilities == {"lists": "yes", "next tokens": "top 20", "given text": "yes"}
    assert len(findings.answers) == 9 * len(TEXTS)
    shifted, findings = Server(given=lambda **_: 1.0), Findings(tokens=Tokens())  # type: ignore[arg-type]
    ran(probes._probe_tokens(shifted, findings))  # type: ignore[arg-type]
    assert isinstance(findings.method, NextToken) and findings.method.most == 20 and not findings.method.whole
    assert findings.capabilities["given text"] == "no: they differ from the next-token distribution by 1 nats"
    warm = Server(next=lambda temperature=0.0, **_: temperature)
    findings = Findings(tokens=Tokens())  # type: ignore[arg-type]
    ran(probes._probe_tokens(warm, findings))  # type: ignore[arg-type]
    reason = "no: next-token log-probabilities change with the temperature"
    assert findings.method is None and findings.capabilities == {"next tokens": reason}
    learned(monkeypatch, "text")
    findings = Findings(tokens=Tokens())  # type: ignore[arg-type]
    ran(probes._probe_tokens(Server(), findings))  # type: ignore[arg-type]
    assert findings.method is None and findings.references == {}
    assert findings.capabilities == {"next tokens": "no: text varies"}


@pytest.mark.parametrize(
    ("text", "thinks"),
    [
        ("<think>so", True),
        (" <think>", True),
        ("so</think> A", True),
        ("A <think>", False),
        ("A", False),
        (None, False),
        (ServerError("no chat"), False),
    ],
)
def test_whether_a_chat_thinks(text: Any, thinks: bool) -> None:
    api, findings = Server(), Findings()
    api.text = text
    assert ran(probes._thinks_in_chat(api, findings)) is thinks  # type: ignore[arg-type]
    assert api.asked == [("write", ASKED, {"tokens": 512, "temperature": 0.0})]
    assert findings.capabilities == ({"thinking": "yes, in the server's own chat"} if thinks else {})


def chatted(api: Server, findings: Findings | None = None) -> Findings:
    found = findings or Findings()
    ran(probes._probe_chat(api, found))  # type: ignore[arg-type]
    return found


def test_the_first_token_of_a_chat_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    told = learned(monkeypatch)
    api = Server()
    found = chatted(api)
    assert found.method == ChatLetter(api, 4) and told == [(ChatLetter, "chat")]  # type: ignore[arg-type]
    assert found.capabilities == {"chat top_logprobs": "top 4"} and list(found.references) == ["chat"]
    assert found.answers == {f"chat|{token}": logprob for token, logprob in api.letters.items()}
    warm = {"temperature": 1.0}
    assert api.asked == [("chat", ASKED, k, choices) for k, choices in ((20, {}), (20, warm), (2, {}), (5, {}))]
    for fine, odd, sentence in (
        (0.049, 0.051, "they change with the temperature"),
        (0.049, 0.051, "they change with their number"),
    ):
        kind = (
            (lambda s: lambda k, temperature=0.0: s * temperature)
            if "temp" in sentence
            else (lambda s: lambda k, temperature=0.0: s * (k == 2))
        )
        assert chatted(Server(chat=kind(fine))).method is not None
        refused = chatted(Server(chat=kind(odd)))
        assert refused.method is None and refused.capabilities == {"chat top_logprobs": f"no: {sentence}"}
    few = Server()
    few.letters = {"A": -0.1}
    assert chatted(few).capabilities == {"chat top_logprobs": "no: 1 token is returned"}
    assert [asked[2] for asked in few.asked] == [20, 5]
    learned(monkeypatch, "chat")
    assert chatted(Server()).capabilities == {"chat top_logprobs": "no: chat varies"}
    silent = Server()
    thinking = chatted(silent, Findings(chat_reasoning=9))
    assert thinking.capabilities == {"chat top_logprobs": "no: the model reasons before it answers"}
    assert silent.asked == [] and thinking.method is None


def test_answers_are_remembered_as_text() -> None:
    api, findings = Server(), Findings()
    ran(probes._remember_text(api, findings))  # type: ignore[arg-type]
    assert findings.answers == {f"text|{text}|blue": 0.0 for text in TEXTS}
    assert api.asked == [("write", (Message("user", text),), {"tokens": 12, "temperature": 0.0}) for text in TEXTS]


def opened(monkeypatch: pytest.MonkeyPatch, tokens: Any, **choices: Any) -> tuple[Any, Server, list[Any]]:
    api, asked = Server(), []  # type: ignore[var-annotated]

    async def open_tokens(given: Any, *, bos: str, time: str = "") -> Any:
        asked.append((given is api, bos, time))
        if isinstance(tokens, Exception):
            raise tokens
        return tokens

    monkeypatch.setattr(probes.ServerTokens, "open", open_tokens)
    return ran(probe(api, EngineOptions(bos="never", chat_time="2026-01-02", **choices))), api, asked  # type: ignore[arg-type]


def test_the_best_method_is_taken_and_proven_in_every_form(monkeypatch: pytest.MonkeyPatch) -> None:
    told = learned(monkeypatch)
    (findings, _), api, asked = opened(monkeypatch, Tokens())
    assert isinstance(findings.method, GivenText) and asked == [(True, "never", "2026-01-02")] and not findings.thinks
    assert findings.capabilities["token ids"] == "yes" and list(findings.references) == ["text"]
    assert not [one for one in api.asked if one[0] in ("write", "chat")], "its own chat is not needed"
    told.clear()
    (findings, _), api, _ = opened(monkeypatch, ServerError("none"))
    assert isinstance(findings.method, ChatLetter) and findings.capabilities["token ids"] == "no: none"
    assert told == [(ChatLetter, "chat")] and list(findings.references) == ["chat"]
    assert [one[0] for one in api.asked][:2] == ["write", "chat"]


def test_samples_are_counted_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    told = learned(monkeypatch)
    tokens = Tokens()
    (findings, _), api, _ = opened(monkeypatch, tokens, samples=32)
    assert findings.method == Samples(api, tokens, 32, reasoning=0)  # type: ignore[arg-type]
    assert told[-2:] == [(Samples, "text"), (Samples, "chat")] and list(findings.references) == ["text", "chat"]
    assert not any(name.startswith("text|") for name in findings.answers), "numbers say more than texts"
    tokens.template = 1  # type: ignore[assignment]
    _, api, _ = opened(monkeypatch, tokens, samples=32)
    assert not [one for one in api.asked if one[0] == "write"], "a conversation is written by us"
    told.clear()
    monkeypatch.setattr(probes, "_probe_chat", _nothing)
    (findings, _), api, _ = opened(monkeypatch, ServerError("none"), samples=32)
    assert findings.method == Samples(api, None, 32, reasoning=0) and told == [(Samples, "chat")]  # type: ignore[arg-type]
    assert findings.answers == {f"text|{text}|blue": 0.0 for text in TEXTS}


async def _nothing(*_: Any) -> None:
    return None


def test_a_server_that_cannot_be_trusted_or_tested_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    learned(monkeypatch, "chat")
    with pytest.raises(ModelError) as caught:
        opened(monkeypatch, ServerError("none"))
    assert str(caught.value) == (
        "the server returns no log-probabilities that can be trusted (token ids: no: none; chat top_logprobs: no: chat "
        "varies); set samples, such as 32, to estimate probabilities from sampled answers"
    )
    with pytest.raises(ModelError, match=r"^the server cannot be tested: chat varies$"):
        opened(monkeypatch, ServerError("none"), samples=4)
    tokens = Tokens()
    (findings, proof), _, _ = opened(monkeypatch, tokens, samples=4)
    assert list(findings.references) == ["text"] and proof._missing == {"chat": "chat varies"}


def test_a_thinking_template(monkeypatch: pytest.MonkeyPatch) -> None:
    for thinks in (True, False):

        async def open_tokens(api: Any, *, bos: str, thinks: bool = thinks) -> Any:
            return SimpleNamespace(thinks=thinks and bos == "never")

        monkeypatch.setattr(probes.ServerTokens, "open", open_tokens)
        assert ran(has_thinking_template(None, bos="never")) is thinks  # type: ignore[arg-type]

    async def failing(api: Any, *, bos: str) -> Any:
        raise ServerError("no")

    monkeypatch.setattr(probes.ServerTokens, "open", failing)
    assert ran(has_thinking_template(None, bos="never")) is False  # type: ignore[arg-type]
