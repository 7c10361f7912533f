"""The parts of a served model one by one, over a client whose answers are given."""

from __future__ import annotations

import asyncio
import math
from types import SimpleNamespace
from typing import Any

import pytest
from threads import apart

from equipoise.options import EngineOptions
from equipoise.records import Message, ModelError, Prompt, Score, ScoreLimits
from equipoise.scoring.encoding import Question
from equipoise.scoring.server import engine as engines
from equipoise.scoring.server import probe as probes
from equipoise.scoring.server.answers import Malformed
from equipoise.scoring.server.api import WHOLE, Api, Changed, Known, distance, how_far, served_models
from equipoise.scoring.server.engine import _Failures, _served_name, _stopped, server_thinks
from equipoise.scoring.server.http_client import ServerError, Unanswered
from equipoise.scoring.server.methods import (
    ChatLetter,
    GivenText,
    NextToken,
    Samples,
    _left,
    _value,
    check_task,
    without_beginning,
)
from equipoise.scoring.server.tokens import ServerTemplate, ServerTokens


def ran(work: Any) -> Any:
    """Return what a coroutine returns, in a thread of its own: a browser's tests have a loop in this one."""
    return apart(lambda: asyncio.run(work))


class Client:
    """Answers requests in turn, and keeps them."""

    url, root, sent = "http://s/v1", "http://s", 0

    def __init__(self, *answers: Any) -> None:
        self.answers, self.asked = list(answers), []  # type: ignore[var-annotated]

    async def post(self, url: str, body: Any) -> Any:
        self.asked.append((url, dict(body)))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def get(self, url: str) -> Any:
        return await self.post(url, {})


def api(*answers: Any) -> Api:
    return Api(Client(*answers), "m")  # type: ignore[arg-type]


def test_an_answer_of_another_model_is_asked_for_once_more() -> None:
    same, other = {"tokens": [1], "model": "a"}, {"tokens": [1], "model": "b"}
    asked = api(same, other, same)
    assert ran(both(asked)) == ([1], [1]) and asked.asked_again == 1
    asked = api(same, other, other)
    with pytest.raises(Changed, match=r"^its answers name the model 'b' now, 'a' before$"):
        ran(both(asked))
    asked = api({"tokens": [1], "model": ""}, {"tokens": [1], "model": 3, "system_fingerprint": None})
    assert ran(both(asked)) == ([1], [1]) and asked.asked_again == 0, "what names nothing changes nothing"
    told = [{"tokens": [1], "system_fingerprint": letter * 99} for letter in "xyy"]
    with pytest.raises(Changed, match=rf"^its answers name the system_fingerprint '{'y' * 80}' now, '{'x' * 80}' bef"):
        ran(both(api(*told)))
    malformed = api({}, {})
    with pytest.raises(Malformed, match=r"^the server's answer has no token ids$"):
        ran(malformed.tokenize("a", special=True))
    assert malformed.asked_again == 1


async def both(asked: Api) -> Any:
    return await asked.tokenize("a", special=False), await asked.tokenize("b", special=False)


def test_what_each_question_asks() -> None:
    asked = api({"tokens": [1, 2]}, {"prompt": "p"}, {"tokens": [3]}, {"content": "c"}, {"prompt": "q"})
    turns = (Message("user", "a"),)

    async def work() -> list[Any]:
        return [
            await asked.tokenize("a", special=True),
            await asked.apply_template(turns, "answer", x=1),
            await asked.chat_tokens(turns, "continued"),
            await asked.detokenize((4, 5)),
            await asked.detokenize([6]),
        ]

    assert ran(work()) == [[1, 2], "p", [3], "c", "q"]
    messages = [{"role": "user", "content": "a"}]
    begun = {"model": "m", "messages": messages}
    assert asked.client.asked == [  # type: ignore[attr-defined]
        (
            "http://s/tokenize",
            {"model": "m", "prompt": "a", "add_special_tokens": True, "content": "a", "add_special": True},
        ),
        ("http://s/apply-template", {**begun, "add_generation_prompt": True, "x": 1}),
        ("http://s/tokenize", {**begun, "add_generation_prompt": False, "continue_final_message": True}),
        ("http://s/detokenize", {"model": "m", "tokens": [4, 5]}),
        ("http://s/detokenize", {"model": "m", "tokens": [6]}),
    ]


def test_a_template_s_source_is_taken_where_it_is_text() -> None:
    shown = {"chat_template": "t", "bos_token": "<s>", "eos_token": 3}
    found = ran(api(shown).template_source())
    assert (found.text, found.tokens) == ("t", {"bos_token": "<s>"})
    for answer in ({"chat_template": None}, {}, [], ServerError("no")):
        assert ran(api(answer).template_source()) is None


def test_several_texts_are_asked_for_at_once_where_a_server_writes_them() -> None:
    def texts(*written: str) -> dict[str, Any]:
        return {"choices": [{"text": text} for text in written]}

    asked = api(texts("a", "b"), texts("c"))
    assert ran(asked.write([1], tokens=4, temperature=1.0, count=2)) == ["a", "b"]
    assert ran(asked.write([1], tokens=4, temperature=1.0)) == ["c"]
    body = {
        "max_tokens": 4,
        "temperature": 1.0,
        "prompt": [1],
        "model": "m",
        "top_p": pytest.approx(1, abs=1e-3),
        **WHOLE[0],
    }
    assert [sent for _, sent in asked.client.asked] == [{**body, "n": 2}, {**body, "n": 1}]  # type: ignore[attr-defined]
    alone = api(*[ServerError("too many", 400)] * 4, texts("a"), texts("b"), texts("c"), texts("d"))
    for expected in (["a", "b"], ["c", "d"]):
        assert ran(alone.write([1], tokens=4, temperature=1.0, count=2)) == expected
    with pytest.raises(ServerError, match="down"):
        ran(api(ServerError("down", 500)).write([1], tokens=4, temperature=1.0, count=2))
    several = api(texts("a", "b"), ServerError("odd", 422))
    ran(several.write([1], tokens=4, temperature=1.0, count=2))
    with pytest.raises(ServerError, match="odd"):
        ran(several.write([1], tokens=4, temperature=1.0, count=2))


def test_distances_and_known_prompts() -> None:
    assert distance({"a": 1.0, "b": 2.0}, {"a": 1.5, "b": 1.8, "c": 9}) == 0.5 and distance({}, {}) == 0
    assert distance({"a": 1.0}, {}) == math.inf and how_far(math.inf) == "another answer"
    known = Known((1,), {"a": -1.0}, 0.5)
    known.check({"a": -1.5})
    with pytest.raises(Changed, match=r"^a difference of 0\.51 nats for a known prompt, at most 0\.5 are its noise$"):
        known.check({"a": -1.51})


def test_the_models_that_a_server_lists() -> None:
    listed = {"data": [{"id": "a"}, {"id": "b"}]}
    assert ran(served_models(Client(listed))) == ["a", "b"]  # type: ignore[arg-type]
    with pytest.raises(ServerError, match=r"^http://s/v1/models does not list models; is this an OpenAI-compatible"):
        ran(served_models(Client({"data": [{"id": 3}]})))  # type: ignore[arg-type]
    one, none = {"data": [{"id": "a"}]}, {"data": []}
    for answer, model, name in ((one, "", "a"), (listed, "b", "b"), (none, "x", "x"), (one, "a", "a")):
        assert ran(_served_name(Client(answer), model)) == name  # type: ignore[arg-type]
    for answer, model, sentence in (
        (none, "", "serves 0 models, name the one that it should load"),
        (listed, "", "serves 2 models, name one of them: a, b"),
        (listed, "c", "does not serve 'c', but: a, b"),
    ):
        with pytest.raises(ModelError, match=rf"^http://s/v1 {sentence}$"):
            ran(_served_name(Client(answer), model))  # type: ignore[arg-type]


TABLE = {1: math.log(0.5), 2: math.log(0.3), 3: math.log(0.1)}


def test_a_token_outside_of_a_table_has_what_is_left_or_the_last() -> None:
    assert _value(TABLE, 2) == math.log(0.3) and _left(TABLE) == pytest.approx(0.1)
    assert _value(TABLE, 9) == pytest.approx(math.log(0.1))
    assert _value({1: math.log(0.9), 2: math.log(0.08)}, 9) == pytest.approx(math.log(0.02))
    assert _value({1: 0.0}, 9) == pytest.approx(math.log(1e-12)) and _left({1: 0.1}) == 0


def test_each_method_takes_its_forms_and_tasks() -> None:
    bare, full = SimpleNamespace(template=None), SimpleNamespace(template=1)
    for kind in (lambda t: GivenText(None, t, None, True), lambda t: NextToken(None, t, 5, False)):  # type: ignore[arg-type]
        assert [kind(tokens).takes(form) for tokens in (bare, full) for form in ("text", "chat")] == [
            *(True, False, True, True),
        ]
    assert [ChatLetter(None, 5).takes(form) for form in ("text", "chat")] == [False, True]  # type: ignore[arg-type]
    for tokens, takes in ((None, [False, True]), (bare, [True, True])):
        assert [Samples(None, tokens, 3).takes(form) for form in ("text", "chat")] == takes  # type: ignore[arg-type]
    whole, own = (SimpleNamespace(draws_whole=draws) for draws in (True, False))
    thinking = Samples(whole, None, 3, reasoning=9)  # type: ignore[arg-type]
    assert thinking.name == "3 sampled answers, each after at most 9 tokens of reasoning, drawn from all tokens"
    words = [Prompt("e", "mcq", "", "q", ("a",)), Prompt("e", "cloze", "", "q", ("a",))]
    check_task(GivenText(None, bare, None, True), words, name="n")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"^n offers only first token of a chat answer, top 5, which can do mcq"):
        check_task(ChatLetter(None, 5), words, name="n")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"but not cloze \(given text: no: odd\)$"):
        check_task(ChatLetter(None, 5), words, name="n", why="given text: no: odd")  # type: ignore[arg-type]
    with pytest.raises(
        ModelError,
        match=r"drawn as the server's own settings say, which can do next-word and mcq, but not cloze$",
    ):
        check_task(Samples(own, None, 3), words, name="n")  # type: ignore[arg-type]


def test_a_chat_is_asked_without_the_beginning_of_its_answer() -> None:
    user, begun = Message("user", "Who?"), Message("assistant", "The")
    assert without_beginning("Who?") == (user,) and without_beginning((user, begun)) == (user,)
    assert without_beginning((user,)) == (user,)


class Rows:
    """An Api that says which rows it is asked, with a value for each place."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def given_tokens(self, rows: Any, **choices: Any) -> Any:
        self.asked.append((rows, choices))
        return [[-0.1 * place for place in range(1, len(row))] for row in rows]


def test_given_text_is_scored_from_where_the_answer_begins() -> None:
    question = Question.of([(1, 2, 3, 4), (1, 2, 5)], 2, split=True)

    async def asked(prompt: Prompt) -> Question:
        return question

    async def context(given: Any) -> list[int]:
        return list(range(30))

    rows, known = Rows(), Known((9,), {}, 0.1)
    tokens = SimpleNamespace(question=asked, context=context)
    method = GivenText(rows, tokens, known, True)  # type: ignore[arg-type]
    score = ran(method.score(Prompt("e", "t", "", "x", ("a", "b")), "key"))
    assert score == Score("key", ((-0.1 * 2, -0.1 * 3), (-0.1 * 2,)), flags=("split-join",))
    assert rows.asked == [(question.sequences, {"has_entries": True, "known": known})]
    found = ran(method.known("x"))
    assert list(found) == list(range(13, 29)) and found[28] == pytest.approx(-2.9)
    assert ran(method.check_drawn("x")) is None


def test_the_beginning_of_text_is_found_out() -> None:
    class Letters:
        def __init__(self, front: list[int], *, odd: bool = False) -> None:
            self.front, self.odd = front, odd

        async def tokenize(self, text: str, *, special: bool) -> list[int]:
            ids = [ord(letter) for letter in text]
            return [*self.front, *(place + self.odd for place in ids)] if special else ids

        async def detokenize(self, ids: Any) -> str:
            return "".join(map(chr, ids)).upper() if self.front != [8] else "another text"

    async def no_template(api: Any, leading: Any, time: str) -> None:
        return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ServerTemplate, "open", no_template)
        for front, bos, expected in (([7], "auto", (7,)), ([7], "never", ()), ([], "auto", ()), ([7], "always", (7,))):
            tokens = ran(ServerTokens.open(Letters(front), bos=bos))  # type: ignore[arg-type]
            assert tokens.front == expected and not tokens.thinks and tokens.takes("a")
            assert not tokens.takes((Message("user", "a"),))
            assert ran(tokens.context("ab")) == [*expected, 97, 98]
        for letters, bos, sentence in (
            (Letters([7], odd=True), "auto", "changes the text when it adds special tokens; not supported"),
            (Letters([]), "always", "bos is always, but the server's tokenizer puts no beginning-of-text token"),
            (Letters([8]), "auto", "token ids stand for another text than the one that was given"),
        ):
            with pytest.raises(ModelError, match=sentence):
                ran(ServerTokens.open(letters, bos=bos))  # type: ignore[arg-type]


class Tables:
    """An Api whose next-token tables are given by how many tokens are asked for."""

    def __init__(self, size: int, *, refused: int = 10**9, warm: float = 0.0, fewer: float = 0.0, mass: float = 1.0):
        self.size, self.refused, self.warm, self.fewer, self.mass = size, refused, warm, fewer, mass
        self.asked: list[int] = []

    async def next_tokens(self, ids: Any, k: int, *, temperature: float = 0.0, **_: Any) -> dict[int, float]:
        self.asked.append(k)
        if k > self.refused:
            raise ServerError(f"at most {self.refused}")
        shift = self.warm if temperature else self.fewer if k < self.size else 0.0
        values = [math.log(self.mass / self.size) + shift - 1e-9 * token for token in range(self.size)]
        return dict(list(enumerate(values))[:k])


@pytest.mark.parametrize(
    ("tables", "found"),
    [
        (Tables(300), (300, True)),
        (Tables(256), (256, True)),
        (Tables(255, mass=0.9999), (255, False)),
        (Tables(255), "the 255 most probable tokens add up to 1, as if there were no others"),
        (Tables(2), "the 2 most probable tokens add up to 1, as if there were no others"),
        (Tables(300, mass=0.99), (300, False)),
        (Tables(300, refused=20), (20, False)),
        (Tables(300, refused=5), (5, False)),
        (Tables(300, warm=0.049, fewer=0.049), (300, True)),
        (Tables(300, warm=0.051), "next-token log-probabilities change with the temperature"),
        (Tables(300, fewer=0.051), "next-token log-probabilities change with their number"),
        (Tables(1), "fewer than two next tokens are returned"),
        (Tables(300, refused=1), "at most 1"),
    ],
)
def test_how_many_next_tokens_a_server_returns(tables: Tables, found: Any) -> None:
    if isinstance(found, str):
        with pytest.raises(ServerError, match=f"^{found}$"):
            ran(probes._most(tables, [1]))  # type: ignore[arg-type]
        return
    assert ran(probes._most(tables, [1])) == found  # type: ignore[arg-type]


def test_failures_are_counted_and_the_first_named() -> None:
    failures = _Failures()
    failures.tell()
    for number in range(16):
        assert not failures.are_too_many
        failures.add(Prompt(f"e{number}", "t", "", "", ("a",)), ModelError(f"odd {number}"))
    assert failures.are_too_many
    sentence = (
        r"^the server failed on 16 prompts, 16 of them in a row, and is not asked any further; the others are saved"
    )
    with pytest.raises(ModelError, match=sentence + r" \(e0: odd 0; e1: odd 1; e2: odd 2\)$"):
        failures.tell()
    failures.in_a_row = 15
    with pytest.raises(ModelError, match=r"^the server failed on 16 prompts; the others are saved \("):
        failures.tell()
    changed, gone = (_stopped(error, "3 scores") for error in (Changed("odd"), Unanswered("silent")))
    then = "3 scores since the last proof were dropped, the others are saved;"
    asked = "check which model it serves and repeat the command"
    assert str(changed) == f"the server's answers changed during the audit (odd); {then} {asked}"
    assert str(gone) == f"the server does not answer any more (silent); {then} start it again and repeat the command"
    unusable = str(_stopped(Malformed("odd"), "3 scores"))
    assert unusable == f"a known question got no usable answer (odd); {then} check the server and repeat the command"


def test_whether_a_served_model_thinks(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    class Closing(Client):
        async def close(self) -> None:
            made.append("closed")

    def client(url: str, limits: Any) -> Closing:
        made.append((url, limits.seconds, limits.attempts, limits.wait_budget))
        return Closing({"data": [{"id": "a"}]})

    async def thinking(api: Api, *, bos: str) -> bool:
        made.append((api.model, bos))
        return True

    monkeypatch.setattr(engines, "Client", client)
    monkeypatch.setattr(engines, "has_thinking_template", thinking)
    options = EngineOptions(server="http://s", timeout=7, bos="never")
    assert server_thinks("", options) is True
    assert made == [("http://s", 7, 1, 0.0), ("a", "never"), "closed"]
    assert server_thinks("other", options) is None, "the server does not serve it"
    with pytest.raises(ModelError, match=r"^server must be the address of an OpenAI-compatible server$"):
        engines.open_server("m", EngineOptions())


def test_samples_that_are_left_out_are_counted() -> None:
    def score(flags: tuple[str, ...], *counts: int) -> Score:
        limits = ScoreLimits(counts=counts) if counts else None
        return Score("k", ((-1.0,), (-1.0,)), flags=flags, limits=limits)

    batches = [
        [score(("sampled", "samples-left-out"), 3, 2, 1), score(("sampled",), 4, 4, 2)],
        [score(()), score(("sampled", "unfinished-reasoning", "samples-left-out"), 1, 1, 1)],
    ]
    waiting = [*batches, None]
    engine = object.__new__(engines.ServerEngine)
    engine._unfinished = engine._left_out = 0
    engine._findings = SimpleNamespace(method=SimpleNamespace(count=10, name="10 sampled answers"))  # type: ignore[assignment]
    engine._proof = SimpleNamespace(note="proven")  # type: ignore[assignment]
    engine._loop = SimpleNamespace(run=lambda work: work.close() or waiting.pop(0))  # type: ignore[assignment]
    engine._proven = lambda *_: _never()  # type: ignore[method-assign]
    assert list(engine.score([])) == batches
    assert (engine._left_out, engine._unfinished) == (4 + 7, 1)
    assert list(engine.notes) == [
        "scored by a server: 10 sampled answers",
        "proof of the server: proven",
        "11 sampled or written answers were empty or stopped by the server's filter; they are not counted as answers",
        "1 prompts have sampled answers that ended within their reasoning and name no candidate; set a larger "
        "reasoning_tokens",
    ]


async def _never() -> Any:
    yield
