"""Replies and embeddings of a server, checked for their form."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from server_loopback import Loopback
from threads import apart

from equipoise.records import Message, ModelError
from equipoise.scoring.server.api import WHOLE, Api, Changed, Known
from equipoise.scoring.server.http_client import Client, Limits, Refused, Unanswered


def test_replies_of_a_chat(server: Loopback) -> None:
    def reply(*script: tuple[int, Any]) -> Any:
        async def ask() -> Any:
            async with Client(server.url, Limits(attempts=2)) as client:
                return await Api(client, "toy").reply("Write.", seed=1, temperature=1.0, tokens=9)

        server.script = [(status, body, {}) for status, body in script]
        return apart(lambda: asyncio.run(ask()))

    def said(content: Any, **more: Any) -> tuple[int, Any]:
        return 200, {"choices": [{"message": {"content": content, **more}, "finish_reason": "stop"}], "model": "served"}

    kept = reply(said(""), said([{"type": "text", "text": "a "}, {"type": "text", "text": "b"}]))
    assert (kept.text, kept.finish_reason, kept.model, kept.attempts) == ("a b", "stop", "served", 2)
    body = {"messages": [{"role": "user", "content": "Write."}], "seed": 1, "temperature": 1.0}
    assert server.bodies[-1] == {**body, "model": "toy", "max_tokens": 9}
    bare = reply((200, {"choices": [{"message": {"content": "a"}}], "usage": 3}))
    assert (bare.finish_reason, bare.model, bare.fingerprint, bare.usage, bare.attempts) == ("", "toy", "", {}, 1)
    more = {"usage": {"total_tokens": 5, "details": {"x": 1}}, "system_fingerprint": "fp", "model": ""}
    full = reply((200, {**said("a")[1], **more}))
    assert (full.model, full.fingerprint, full.usage) == ("toy", "fp", {"total_tokens": 5})
    assert 0 <= full.seconds < 60 and full.seconds == round(full.seconds, 3)
    with pytest.raises(Unanswered, match="failed 2 times: its reply is empty"):
        reply(said(None), said(" \n "))
    with pytest.raises(Unanswered, match="its answer has no choices"):
        reply((200, {"data": []}), (200, {"data": []}))
    with pytest.raises(Refused, match="the model refused: I will not"):
        reply(said(None, refusal="I will not"))
    with pytest.raises(Refused, match="HTTP 400: bad prompt") as refused:
        reply((400, {"error": {"message": "bad prompt"}}))
    assert refused.value.status == 400


def test_embeddings(server: Loopback) -> None:
    def embed(rows: Any) -> Any:
        async def ask() -> Any:
            async with Client(server.url) as client:
                return await Api(client, "toy").embed(["a", "b"])

        server.script = [(200, {"data": rows}, {})] * 2  # what is malformed is asked for once more
        try:
            return apart(lambda: asyncio.run(ask())).tolist()
        finally:
            server.script.clear()

    vectors = [{"index": 1, "embedding": [2, 3]}, {"index": 0, "embedding": [0, 1]}]
    assert embed(vectors) == [[0.0, 1.0], [2.0, 3.0]]
    with pytest.raises(ModelError, match="gave 1 embeddings for 2 texts"):
        embed(vectors[:1])
    with pytest.raises(ModelError, match="has no embeddings"):
        embed([{"vector": 1}])


def test_a_conversation_is_sent_as_messages_with_their_roles(server: Loopback) -> None:
    turns = [Message("system", "Be brief."), Message("user", "Who?")]
    tops = [{"token": "A", "logprob": -0.1}, {"token": "B", "logprob": -2.5}]
    first = {"choices": [{"message": {"content": "A"}, "logprobs": {"content": [{**tops[0], "top_logprobs": tops}]}}]}
    # Above a temperature of 0 the answer may begin with another token.
    second = {"choices": [{"message": {"content": "B"}, "logprobs": {"content": [{**tops[1], "top_logprobs": tops}]}}]}
    texts = {"choices": [{"message": {"content": "one"}}, {"message": {"content": "two"}}]}

    async def ask() -> Any:
        async with Client(server.url) as client:
            api = Api(client, "toy")
            tables = [await api.chat_top(turns, 5), await api.chat_top(turns, 3, temperature=1.0)]
            return tables, await api.write(turns, tokens=9, temperature=0.5, count=2)

    server.script = [(200, answer, {}) for answer in (first, second, texts)]
    tables, written = apart(lambda: asyncio.run(ask()))
    assert tables == [{"A": -0.1, "B": -2.5}] * 2 and written == ["one", "two"]
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]
    begun = {"model": "toy", "messages": messages}
    asked = {**begun, "max_tokens": 1, "logprobs": True}
    assert server.bodies == [
        {**asked, "temperature": 0.0, "top_logprobs": 5, "top_p": pytest.approx(1, abs=1e-4)},
        {**asked, "temperature": 1.0, "top_logprobs": 3, "top_p": pytest.approx(1, abs=1e-4)},
        {**begun, "max_tokens": 9, "temperature": 0.5, "n": 2, "top_p": pytest.approx(1, abs=1e-4), **WHOLE[0]},
    ]
    fresh = {body["top_p"] for body in server.bodies}
    assert len(fresh) == 3 and max(fresh) < 1, "no cache has seen the request"
    assert set(map(np.float32, fresh)) == {1}, "no token is left out"


@pytest.mark.parametrize(("takes", "whole"), [(0, True), (1, True), (2, False), (3, False)])
def test_a_server_that_refuses_settings_is_asked_without_them(server: Loopback, takes: int, whole: bool) -> None:
    def refused(body: dict[str, Any]) -> bool:
        unknown = [{}, {"top_k": 0}, {"top_k": 0, "min_p": 0}, {"top_k": 0, "min_p": 0, "top_p": 0}][takes]
        return bool(unknown.keys() & body.keys()) and not (takes == 1 and body["top_k"] == -1)

    def answer(path: str, body: dict[str, Any]) -> tuple[int, Any]:
        if refused(body) or body["messages"][0]["content"] == "odd":
            return 400, {"error": "unknown"}
        return 200, {"choices": [{"message": {"content": "one"}}]}

    async def ask(*texts: str) -> tuple[Any, Any]:
        async with Client(server.url, Limits(attempts=1)) as client:
            api = Api(client, "toy")
            for text in texts:
                try:
                    await api.write([Message("user", text)], tokens=9, temperature=1.0)
                except ModelError as error:
                    assert str(error).endswith("HTTP 400: unknown")
            return api.draws_whole, [body.get("top_k", body.get("top_p", 0) > 0) for body in server.bodies]

    server.answer = answer  # type: ignore[method-assign]
    ways = [0, -1, True, False]
    # A text that is refused in every way says nothing of the ways.
    assert apart(lambda: asyncio.run(ask("odd", "even", "odd", "even"))) == (
        whole, [*ways, *ways[: takes + 1], ways[takes], ways[takes]]
    )  # fmt: skip


def test_one_text_is_asked_for_once_and_several_one_by_one_where_they_are_refused(server: Loopback) -> None:
    turns = [Message("user", "Who?")]
    said, refused = {"choices": [{"message": {"content": "one"}}]}, {"error": {"message": "n must be 1"}}

    def written(count: int, *script: tuple[int, Any]) -> Any:
        async def ask() -> Any:
            async with Client(server.url, Limits(attempts=1)) as client:
                return await Api(client, "toy").write(turns, tokens=9, temperature=0.5, count=count)

        server.script = [(status, body, {}) for status, body in script]
        server.bodies.clear()
        try:
            return apart(lambda: asyncio.run(ask()))
        finally:
            server.script.clear()

    for status in (400, 422):
        with pytest.raises(ModelError, match=f"HTTP {status}: n must be 1"):
            written(1, *[(status, refused)] * 4, (200, said))
        assert [body["n"] for body in server.bodies] == [1] * 4
        assert written(2, *[(status, refused)] * 4, (200, said), (200, said)) == ["one", "one"]
        assert [body["n"] for body in server.bodies] == [2, 2, 2, 2, 1, 1]
    with pytest.raises(ModelError, match="HTTP 401"):
        written(2, (401, refused), (200, said), (200, said))
    assert [body["n"] for body in server.bodies] == [2]


ONE, TWO, THREE = {7: -0.25, 8: -2.0}, {7: -0.5, 8: -1.5}, {7: -0.75, 9: -1.0}
KNOWN, SAME = Known((3, 4), TWO, 0.1), Known((1, 2), ONE, 0.1)


@pytest.mark.parametrize(
    ("known", "same", "tables", "fault"),
    [
        (None, None, [ONE], ""),
        (KNOWN, None, [ONE, TWO], ""),
        (KNOWN, SAME, [ONE, TWO], ""),
        (None, SAME, [ONE], ""),
        (KNOWN, None, [TWO, ONE], "a difference of 0.5 nats for a known prompt, at most 0.1 are its noise"),
        (KNOWN, None, [TWO, TWO], "two prompts of one list have the same answer"),
        (KNOWN, SAME, [THREE, TWO], "another answer for a known prompt, at most 0.1 are its noise"),
        (None, SAME, [TWO], "a difference of 0.5 nats for a known prompt, at most 0.1 are its noise"),
    ],
)
def test_next_tokens_are_those_of_the_prompt_and_a_known_one_is_checked_beside_it(
    server: Loopback, known: Known | None, same: Known | None, tables: list[dict[int, float]], fault: str
) -> None:
    async def ask() -> Any:
        async with Client(server.url, Limits(attempts=1)) as client:
            return await Api(client, "toy").next_tokens((1, 2), 2, known=known, same=same)

    def choice(table: dict[int, float]) -> dict[str, Any]:
        tops = [{"id": token, "logprob": value} for token, value in table.items()]
        return {"logprobs": {"content": [{**tops[0], "top_logprobs": tops}]}}

    server.script = [
        (200, {"choices": [choice(table) for table in tables]}, {})
    ] * 2  # asked once more where it differs
    if fault:
        with pytest.raises(Changed) as error:
            apart(lambda: asyncio.run(ask()))
        assert str(error.value) == fault
    else:
        assert apart(lambda: asyncio.run(ask())) == tables[0]
    assert server.bodies[0]["prompt"] == ([[1, 2], [3, 4]] if known else [1, 2])


def test_what_a_server_says_that_it_read_is_checked_in_every_question_of_token_ids(server: Loopback) -> None:
    table = {"tokens": ["token_id:7"], "token_logprobs": [-0.5], "top_logprobs": [{"token_id:7": -0.5}]}
    echo = {"tokens": ["token_id:1", "token_id:2"], "token_logprobs": [None, -0.5], "top_logprobs": None}
    short = {"usage": {"prompt_tokens": 1}}

    def asked(answer: dict[str, Any], ask: Any) -> None:
        async def work() -> None:
            async with Client(server.url, Limits(attempts=1)) as client:
                await ask(Api(client, "toy"))

        server.script = [(200, answer | short, {})] * 2
        with pytest.raises(ModelError, match="the server read 1 tokens, but was given 2"):
            apart(lambda: asyncio.run(work()))

    asked({"choices": [{"logprobs": table}]}, lambda api: api.next_tokens([1, 2], 1))
    asked({"choices": [{"logprobs": echo}]}, lambda api: api.given_tokens([[1, 2]]))
    asked({"choices": [{"text": "a"}]}, lambda api: api.write([1, 2], tokens=1, temperature=0.0))
