"""What each way of asking a server asks, and what it makes of the answers, over an Api whose answers are given."""

from __future__ import annotations

import asyncio
import math
from types import SimpleNamespace
from typing import Any

import pytest
from threads import apart

from equipoise.records import Message, Prompt, Score, ScoreLimits
from equipoise.scoring.encoding import Question
from equipoise.scoring.server.answers import Malformed
from equipoise.scoring.server.api import Changed, Known
from equipoise.scoring.server.http_client import ServerError
from equipoise.scoring.server.methods import RANDOM, ChatLetter, NextToken, Samples

LETTERS = Prompt("e", "mcq", "", "Which?", (" A", " B"))
USER = (Message("user", "Which?"),)
HALF, FIFTH, TENTH, LITTLE = (math.log(share) for share in (0.5, 0.2, 0.1, 0.01))


def ran(work: Any) -> Any:
    return apart(lambda: asyncio.run(work))


class Given:
    """An Api that keeps what it is asked, and answers from a list or a function."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.asked = list(answers), []  # type: ignore[var-annotated]

    async def chat_top(self, messages: Any, k: int) -> Any:
        self.asked.append((messages, k))
        return self.answers.pop(0)

    async def write(self, context: Any, **choices: Any) -> Any:
        self.asked.append((context, choices))
        return self.answers.pop(0)

    async def next_tokens(self, ids: Any, k: int, **choices: Any) -> Any:
        self.asked.append((ids, k, choices))
        return self.answers[0](ids, k)


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [
        # All spellings are there.
        ({"A": HALF, " A": FIFTH, "B": TENTH, " B": TENTH}, (0.7, 0.2), (0.7, 0.2)),
        # " B" is not: it has no more than the last, nor than what is left.
        ({"A": HALF, " A": FIFTH, "B": TENTH}, (0.7, 0.1), (0.7, 0.2)),
        ({"A": math.log(0.6), " A": FIFTH, "B": math.log(0.15)}, (0.8, 0.15), (0.8, 0.2)),
        # Neither spelling of B is.
        ({"A": HALF, " A": TENTH}, (0.6, 0.0), (0.6, 0.2)),
        ({"A": HALF, " A": FIFTH, "x": FIFTH}, (0.7, 0.0), (0.7, 0.1)),
        # No letter has more than everything.
        ({"A": 0.0, " A": LITTLE, "B": LITTLE, " B": LITTLE}, (1.0, 0.02), (1.0, 0.02)),
    ],
)
def test_the_letters_of_a_chat_answer(table: dict[str, float], low: Any, high: Any) -> None:
    api = Given(table, table)
    method = ChatLetter(api, 5)  # type: ignore[arg-type]
    score = ran(method.score(LETTERS, "key"))
    values = [below or above for below, above in zip(low, high, strict=True)]
    assert score.prompt_key == "key" and [math.exp(value) for (value,) in score.token_logprobs] == pytest.approx(values)
    assert score.flags == (("bounded",) if high != low else ())
    if high != low:
        assert score.limits is not None and score.limits.low == pytest.approx(low)
        assert score.limits.high == pytest.approx(high)
    else:
        assert score.limits is None
    assert ran(method.known("Which?")) == table and api.asked == [(USER, 5)] * 2


def test_letters_that_a_server_rounds_away_have_the_smallest_value() -> None:
    score = ran(ChatLetter(Given({"A": 0.0, " A": -50.0}), 5).score(LETTERS, "k"))  # type: ignore[arg-type]
    assert score.token_logprobs == ((0.0,), (pytest.approx(math.log(1e-12)),))
    assert score.flags == ("bounded",) and score.limits is None, "less than a millionth is no bound"


def samples(*answers: Any, tokens: Any = None, **more: Any) -> tuple[Samples, Given]:
    api = Given(*answers)
    return Samples(api, tokens, **{"count": 4, **more}), api  # type: ignore[arg-type]


def test_samples_are_counted_by_the_candidate_that_they_name() -> None:
    method, api = samples(["A", "B"], ["A."], ["the fish"])
    score = ran(method.score(LETTERS, "key"))
    assert score == Score(
        "key",
        ((math.log(2.5 / 5.5),), (math.log(1.5 / 5.5),)),
        flags=("sampled",),
        limits=ScoreLimits(counts=(2, 1, 1)),
    )
    asked = {"tokens": 8, "temperature": 1.0}
    assert api.asked == [(USER, {**asked, "count": left}) for left in (4, 2, 1)]
    method, _ = samples(["A", None, "", "A"])
    score = ran(method.score(LETTERS, "key"))
    assert score.flags == ("sampled", "samples-left-out") and score.limits == ScoreLimits(counts=(2, 0, 0))
    assert score.token_logprobs == ((math.log(2.5 / 3.5),), (math.log(0.5 / 3.5),))
    method, _ = samples([None, "", None, None])
    with pytest.raises(ServerError, match=r"^all 4 sampled answers are empty or stopped by a filter$"):
        ran(method.score(LETTERS, "key"))


def test_samples_of_a_thinking_chat_are_read_after_their_reasoning() -> None:
    thoughts = ["<think>B</think> A", "<think>hm</think> B", "<think>A, so", "<think>x</think>A"]
    method, api = samples(thoughts, reasoning=50)
    score = ran(method.score(LETTERS, "key"))
    assert score.flags == ("sampled", "unfinished-reasoning") and score.limits == ScoreLimits(counts=(2, 1, 1))
    assert api.asked == [(USER, {"tokens": 58, "temperature": 1.0, "count": 4})]
    method, api = samples(["x"], reasoning=50)
    assert ran(method.known("Which?")) == {"x": 0.0}
    assert api.asked == [(USER, {"tokens": 24 + 50, "temperature": 0.0})]


class Tokens:
    """A tokenizer of a server: token ids for plain text, nothing for conversations."""

    def takes(self, context: Any) -> bool:
        return isinstance(context, str)

    async def context(self, context: str) -> list[int]:
        return [len(context)]


def test_samples_of_plain_text_are_asked_for_by_token_ids() -> None:
    method, api = samples(["A"] * 4, ["A"] * 4, tokens=Tokens(), reasoning=50)
    ran(method.score(LETTERS, "key"))
    ran(method.score(Prompt("e", "mcq", "", USER, (" A", " B")), "key"))
    plain, chat = api.asked
    assert plain == ([6], {"tokens": 8, "temperature": 1.0, "count": 4}), "text that is continued has no reasoning"
    assert chat == (USER, {"tokens": 58, "temperature": 1.0, "count": 4})


def test_answers_that_are_drawn_must_vary() -> None:
    for context, asked in (("text", (Message("user", RANDOM),)), (USER, (Message("user", RANDOM),))):
        method, api = samples(["1", "2"], ["1", "1"], reasoning=9)
        assert ran(method.check_drawn(context)) is None
        assert api.asked == [(asked, {"tokens": 21, "temperature": 1.0, "count": left}) for left in (4, 2)]
    method, _ = samples(["1"] * 3, ["1"])
    with pytest.raises(Changed, match=r"^4 answers to an open question, drawn with temperature 1, are all the same$"):
        ran(method.check_drawn("text"))
    method, api = samples(["1", "2", "3", "4"], tokens=Tokens(), reasoning=9)
    ran(method.check_drawn("text"))
    assert api.asked == [([len(RANDOM)], {"tokens": 12, "temperature": 1.0, "count": 4})]


def walked(table: Any, *sequences: tuple[int, ...], most: int = 5, whole: bool = False, split: bool = False) -> Any:
    """Return a method over tables of next tokens, and its Api; the sequences are the prompt's."""

    async def question(prompt: Prompt) -> Question:
        return Question.of(sequences, 2, split=split)

    async def context(given: Any) -> list[int]:
        return [1, 2]

    api = Given(table)
    tokens: Any = SimpleNamespace(question=question, context=context)
    return NextToken(api, tokens, most, whole, Known((9,), {}, 0.1)), api  # type: ignore[arg-type]


def test_candidates_are_walked_token_by_token() -> None:
    def table(ids: Any, k: int) -> dict[int, float]:
        return {token: -float(token) - len(ids) / 10 for token in range(3, 3 + k)}

    method, api = walked(table, (1, 2, 3, 4), (1, 2, 3, 5), (1, 2, 4))
    score = ran(method.score(LETTERS, "key"))
    assert score == Score("key", ((-3.2, -4.3), (-3.2, -5.3), (-4.2,)))
    same = {"least": 5, "known": Known((9,), {}, 0.1)}
    assert sorted(api.asked, key=lambda asked: len(asked[0])) == [((1, 2), 5, same), ((1, 2, 3), 5, same)]
    split, _ = walked(table, (1, 2, 3), (1, 2, 4), split=True)
    assert ran(split.score(LETTERS, "key")).flags == ("split-join",)
    many, api = walked(table, (1, 2, 3), most=50)
    assert len(ran(many.known("x"))) == 16 and api.asked == [((1, 2), 16, {**same, "least": 16})]


def test_a_token_outside_of_the_table_is_bounded() -> None:
    def table(ids: Any, k: int) -> dict[int, float]:
        return {3: math.log(0.6), 4: math.log(0.3)}

    method, _ = walked(table, (1, 2, 3), (1, 2, 9), (1, 2, 4, 9), (1, 2, 9, 3), most=2)
    score = ran(method.score(LETTERS, "key"))
    probabilities = [math.exp(math.fsum(tokens)) for tokens in score.token_logprobs]
    assert probabilities == pytest.approx([0.6, 0.1, 0.03, 0.06]) and score.flags[-1] == "bounded"
    assert score.limits is not None and score.limits.low == pytest.approx((0.6, 0.0, 0.0, 0.0))
    whole, _ = walked(table, (1, 2, 9), most=2, whole=True)
    with pytest.raises(ServerError, match=r"^the server left a token out of what it called the whole vocabulary$"):
        ran(whole.score(LETTERS, "key"))


def test_all_tokens_are_asked_for_where_a_candidate_is_not_among_the_first() -> None:
    def table(size: int) -> Any:
        return lambda ids, k: {token: math.log(1 / size) - token * 1e-9 for token in range(min(k, size))}

    method, api = walked(table(300), (1, 2, 99), (1, 2, 0), most=300, whole=True)
    ran(method.score(LETTERS, "key"))
    assert [asked[1] for asked in api.asked] == [100]
    method, api = walked(table(300), (1, 2, 100), (1, 2, 0), most=300, whole=True)
    assert ran(method.score(LETTERS, "key")).token_logprobs[0] == (pytest.approx(math.log(1 / 300)),)
    ids, most, choices = api.asked[1]
    same = choices.pop("same")
    assert (ids, most, choices) == ((1, 2), 300, {"least": 300})
    assert (same.ids, list(same.values), same.tolerance) == ((1, 2), list(range(50)), 0.5)
    few, api = walked(table(300), (1, 2, 100), most=100)
    assert ran(few.score(LETTERS, "key")).flags == ("bounded",) and len(api.asked) == 1
    for left, good in ((0.009, True), (0.011, False)):
        odd, _ = walked(
            lambda ids, k, left=left: {token: math.log((1 - left) / 300) for token in range(k)},
            (1, 2, 100),
            most=300,
            whole=True,
        )
        if good:
            assert ran(odd.score(LETTERS, "key")).flags == ()
        else:
            with pytest.raises(Malformed, match=r"^the probabilities of the whole vocabulary do not add up to 1$"):
                ran(odd.score(LETTERS, "key"))
