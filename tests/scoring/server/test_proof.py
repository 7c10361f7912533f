"""A server is believed only while known questions get known answers, and what follows is dropped where they do not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from served import assert_true, many, opened
from threads import apart

from equipoise.records import Message, ModelError
from equipoise.scoring.score_store import ScoreStore
from equipoise.scoring.server.api import Changed
from equipoise.scoring.server.http_client import ServerError
from equipoise.scoring.server.proof import (
    COMPARED,
    FORMS,
    SHARE,
    TIMES,
    Proof,
    Reference,
    learn,
    most_probable,
    tolerance_of,
)


def ran(work: Any) -> Any:
    """Return what a coroutine returns, in a thread of its own: a browser's tests have a loop in this one."""
    return apart(lambda: asyncio.run(work))


@pytest.mark.slow
@pytest.mark.parametrize("faults", [(), ("echo ignored",)])
def test_a_model_that_is_swapped_in_the_middle_is_found_and_the_same_command_finishes_the_run(
    serve: Any, tmp_path: Path, faults: tuple[str, ...]
) -> None:
    prompts = many()[:120]
    server = serve(*faults)
    with ScoreStore(tmp_path / "scores.jsonl") as store:
        engine = opened(server)
        swap_after(server, 700 if faults else 80)
        with pytest.raises(ModelError, match=r"answers changed during the audit .* were dropped, the others are saved"):
            store.scorer(engine)(prompts)
        assert 0 < len(store) < 120
        server.seed = 0
        assert_true(store.scorer(opened(server))(prompts), prompts)


def swap_after(server: Any, requests: int) -> None:
    """Let the server serve another model after so many completions."""
    answer, left = server.answer, [requests]

    def counted(path: str, body: Any) -> Any:
        left[0] -= path.endswith("completions")
        if left[0] == 0:
            server.seed = 1
        return answer(path, body)

    server.answer = counted


def test_what_is_written_is_proven_as_well(serve: Any) -> None:
    server = serve()
    engine = opened(server)
    server.seed = 1
    with pytest.raises(
        ModelError, match=r"answers changed during the audit .* 2 texts since the last proof were dropp"
    ):
        engine.generate(["abc", (Message("user", "hello"),)], 5)


def test_proof_is_a_small_share_of_all_requests_and_says_so(serve: Any, tmp_path: Path) -> None:
    server = serve()
    engine = opened(server)
    before = sum(server.paths.values())
    with ScoreStore(tmp_path / "scores.jsonl") as store:
        store.scorer(engine)(many()[:200])
    total = sum(server.paths.values()) - before
    (note,) = [note for note in engine.notes if note.startswith("proof of the server")]
    asked = int(note.split()[4])
    assert f"{asked} of {total:,} requests ({asked / total:.1%}) asked known questions again" in note
    assert 2 <= asked <= SHARE * total + 2


def test_tolerances_and_what_is_compared() -> None:
    table = {n: -float(n) for n in range(30)}
    assert list(most_probable(table)) == list(range(COMPARED)) and most_probable({"a": 0.0}) == {"a": 0.0}
    assert tolerance_of(0.0) == tolerance_of(0.005) < tolerance_of(0.02) < tolerance_of(0.2)


def test_a_server_whose_answers_vary_is_refused(serve: Any) -> None:
    server = serve("chat only", "no tokenize")
    answer, asked = server.answer, [0]

    def varied(path: str, body: Any) -> Any:
        asked[0] += 1
        server.seed = asked[0] % 3
        return answer(path, body)

    server.answer = varied
    with pytest.raises(ModelError, match="no log-probabilities that can be trusted"):
        opened(server)


class Known:
    """A method whose answers are given; each takes three requests."""

    def __init__(self, *answers: Any, other: Any = None) -> None:
        self.api: Any = SimpleNamespace(client=SimpleNamespace(sent=5), asked_again=0)
        self.answers, self.other, self.asked, self.drawn = list(answers), other, [], 0  # type: ignore[var-annotated]

    async def known(self, context: Any) -> Any:
        self.api.client.sent += 3
        self.asked.append(context)
        if self.other is not None and context in [form[1] for form in FORMS.values()]:
            return self.other
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    async def check_drawn(self, context: Any) -> None:
        self.drawn += 1


TABLE = {"a": -0.5, "b": -1.0, "c": -3.0, "d": -4.0}
NEAR = {**TABLE, "a": -0.5 + 0.009}
NOISY = {**TABLE, "a": -0.5 + 0.1}


@pytest.mark.parametrize("form", ["text", "chat"])
@pytest.mark.parametrize(("answer", "tolerance"), [(TABLE, 0.05), (NEAR, 0.05), (NOISY, 0.4)])
def test_a_known_question_is_learned_with_its_noise_and_cost(form: str, answer: Any, tolerance: float) -> None:
    method = Known(TABLE, answer, other={"a": -2.0, "b": -0.2})
    found = ran(learn(method.api, method, form))
    assert found.answers == [(FORMS[form][0], {"a": -0.5, "b": -1.0}), (FORMS[form][1], {"b": -0.2})]
    assert found.tolerance == pytest.approx(tolerance) and found.cost == 6
    assert method.asked == [*FORMS[form]] * (1 + TIMES) and method.drawn == 1


def test_known_questions_differ_in_one_word() -> None:
    for first, second in FORMS.values():
        pairs = zip(str(first).split(), str(second).split(), strict=True)
        assert [pair for pair in pairs if pair[0] != pair[1]] == [("bread", "fish")]


@pytest.mark.parametrize(
    ("answers", "other", "sentence"),
    [
        (
            [TABLE, {**TABLE, "a": -0.76}],
            {"a": -9.0},
            "the same question gets a difference of 0.26 nats when",
        ),
        ([TABLE, {"b": -1.0}], {"a": -9.0}, "the same question gets another answer when it is asked again"),
        ([TABLE], TABLE, "the answer does not depend on the beginning of the question"),
        ([TABLE, NOISY], {**TABLE, "a": -0.5 + 0.19}, "the answer does not depend on the beginning of the question"),
    ],
)
def test_answers_that_vary_or_depend_on_nothing_are_not_learned(answers: Any, other: Any, sentence: str) -> None:
    method = Known(*answers, other=other)
    with pytest.raises(ServerError, match=f"^{sentence}"):
        ran(learn(method.api, method, "text"))


def proof(method: Known, *forms: str, **missing: str) -> Proof:
    references = {form: Reference([(context, {"a": -0.5}) for context in FORMS[form]], 0.05, 6) for form in forms}
    return Proof(method.api, method, references, missing)


def test_both_known_questions_are_asked_and_one_wrong_answer_shows_that_there_are_such() -> None:
    method = Known(TABLE)
    asked = proof(method, "text", "chat")
    ran(asked.prove({"chat", "text"}))
    assert method.asked == [*FORMS["chat"], *FORMS["text"]] and asked.asked == 12 and method.drawn == 2
    assert asked.note == "12 of 12 requests (100.0%) asked known questions again, with the same answers"
    for wrong in (Known({"a": -9.0}, TABLE), Known(TABLE, {"a": -9.0})):
        with pytest.raises(Changed, match=r"a difference of 8\.5 nats for a known prompt"):
            ran(proof(wrong, "text").prove({"text"}))
    method.api.asked_again = 1200
    method.api.client.sent += 2000
    assert asked.note.startswith("12 of 2,012 requests (0.6%) asked") and asked.note.endswith(
        "; 1,200 answers were not usable and were asked for again"
    )
    assert proof(Known(TABLE), "text").note == "0 of 0 requests asked known questions again, with the same answers"


def test_a_proof_is_due_when_it_is_a_small_share() -> None:
    method = Known(TABLE)
    asked = proof(method, "text", "chat")
    for sent, forms, due in ((199, {"text"}, False), (200, {"text"}, True), (399, {"text", "chat"}, False)):
        method.api.client.sent = 5 + sent
        assert asked.is_due(forms) is due
    method.api.client.sent = 5 + 400
    assert asked.is_due({"text", "chat"})
    ran(asked.prove({"text"}))
    assert not asked.is_due({"text"})


def test_the_form_in_which_a_context_is_asked() -> None:
    chat = (Message("user", "a"),)
    both = proof(Known(TABLE), "text", "chat")
    assert both.form("a") == "text" and both.form(chat) == "chat"
    only_chat = proof(Known(TABLE), "chat")
    assert only_chat.form("a") == only_chat.form(chat) == "chat"
    only_text = proof(Known(TABLE), "text", chat="it varies")
    with pytest.raises(ModelError, match=r"^the server cannot be asked in this way \(chat\): it varies$"):
        only_text.form(chat)
    assert only_text.nearest_form(chat) == "text" and both.nearest_form(chat) == "chat"
    with pytest.raises(ModelError, match=r"\(chat\): the server has no chat template that turns a conversation into"):
        proof(Known(TABLE), "text").form(chat)
    with pytest.raises(ModelError, match=r"\(text\): odd$"):
        proof(Known(TABLE), "chat", text="odd").form("a")


def test_tolerances_at_their_ends() -> None:
    assert [tolerance_of(noise) for noise in (0.0, 0.0099, 0.01, 0.06, 0.0625, 0.1)] == [
        0.05,
        0.05,
        0.25,
        0.25,
        0.25,
        0.4,
    ]
    assert most_probable({n: -float(n) for n in range(5)}) == {0: 0.0, 1: -1.0}
