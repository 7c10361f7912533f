"""A served model gets the right scores, or is refused: whatever the server does wrong."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from server_loopback import BOS, Loopback, truth

from equipoise.records import Message, ModelError, Prompt, Score
from equipoise.scoring.engine import EngineOptions, identity_key
from equipoise.scoring.opening import open_engine
from equipoise.scoring.score_store import ScoreStore
from equipoise.scoring.server.http_client import Limits
from equipoise.scoring.server.methods import named

PROMPTS = [
    Prompt(f"e{n}", "next-word", "", f"The {who} said that {n}", (" nurse", " cook", "!"))
    for n, who in enumerate(["judge", "clerk", "baker", "Ärztin"] * 3)
]
CHOICES = [Prompt(f"e{n}", "mcq", "", f"Question {n}? Answer:", (" A", " B", " C")) for n in range(30)]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Loopback]]:
    servers: list[Loopback] = []
    quick = {"attempts": 4, "first_pause": 0.01, "longest_pause": 0.1}
    monkeypatch.setattr("equipoise.scoring.server.engine.Limits", lambda **given: Limits(**{**quick, **given}))

    def start(*faults: str, **settings: Any) -> Loopback:
        servers.append(Loopback(*faults, **settings))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def opened(server: Loopback, **options: Any) -> Any:
    return open_engine("smollm2", EngineOptions(server=server.url, **options))


def scored(engine: Any, prompts: list[Prompt]) -> list[Score]:
    batches = engine.batches(prompts)
    scores = [score for part in engine.score([prompts[i] for i in batch] for batch in batches) for score in part]
    by_key = {score.prompt_key: score for score in scores}
    return [by_key[prompt.key(identity_key(engine))] for prompt in prompts]


def expected(prompt: Prompt, *, bos: bool = False, seed: int = 0) -> list[list[float]]:
    context = [BOS] * bos + list(str(prompt.context).encode())
    return [truth([*context, *c.encode()], seed)[len(context) - 1 :] for c in prompt.continuations]


def assert_true(scores: list[Score], prompts: list[Prompt], **settings: Any) -> None:
    for score, prompt in zip(scores, prompts, strict=True):
        for tokens, values in zip(score.token_logprobs, expected(prompt, **settings), strict=True):
            np.testing.assert_allclose(tokens, values, atol=1e-9)


@pytest.mark.parametrize("bos", [False, True])
def test_given_text_is_scored_with_the_server_s_own_beginning_of_text(serve: Any, bos: bool) -> None:
    engine = opened(serve(bos=bos))
    assert (engine.name, engine.description["scoring"]) == ("toy", "log-probabilities of given text")
    scores = scored(engine, PROMPTS)
    assert_true(scores, PROMPTS, bos=bos)
    assert [score.prompt_key for score in scores] == [prompt.key(identity_key(engine)) for prompt in PROMPTS]
    without = opened(serve(bos=bos), bos="never")
    assert_true(scored(without, PROMPTS[:3]), PROMPTS[:3])
    assert (identity_key(without) == identity_key(engine)) == (not bos)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["echo ignored", "shifted", "nulls", "other tokens", "own answers"])
@pytest.mark.parametrize("bos", [False, True])
def test_wrong_log_probabilities_of_given_text_are_found_and_candidates_walked_instead(
    serve: Any, fault: str, bos: bool
) -> None:
    engine = opened(serve(fault, bos=bos))
    assert engine.description["capabilities"]["given text"].startswith("no: ")
    assert engine.description["scoring"] == "next-token log-probabilities, whole vocabulary"
    assert_true(scored(engine, PROMPTS), PROMPTS, bos=bos)
    assert "scored by a server: next-token log-probabilities, whole vocabulary" in engine.notes


def test_a_candidate_outside_of_the_top_k_is_an_upper_bound_and_is_flagged(serve: Any) -> None:
    engine = opened(serve("echo ignored", top=20))
    assert engine.description["scoring"] == "next-token log-probabilities, top 20"
    scores = scored(engine, PROMPTS)
    exact = 0
    for score, prompt in zip(scores, PROMPTS, strict=True):
        true = [math.exp(math.fsum(values)) for values in expected(prompt)]
        assert score.limits is not None
        assert all(
            a - 1e-12 <= p <= b + 1e-12 for a, p, b in zip(score.limits.low, true, score.limits.high, strict=True)
        )
        assert 0.0 in score.limits.low
        for tokens, values in zip(score.token_logprobs, expected(prompt), strict=True):
            assert all(given >= value - 1e-9 for given, value in zip(tokens, values, strict=True))
            exact += sum(given == pytest.approx(value) for given, value in zip(tokens, values, strict=True))
        assert score.flags == ("bounded",)
    assert exact > 0


@pytest.mark.parametrize("fault", ["sharpened", "too much mass", "no logprobs"])
def test_what_cannot_be_trusted_is_refused_with_the_reason(serve: Any, fault: str) -> None:
    server = serve(fault)
    server.refuse["/v1/chat/completions"] = [404] * 9
    with pytest.raises(ModelError, match=r"no log-probabilities that can be trusted .*next tokens: no: .*set samples"):
        opened(server)


def test_a_chat_server_can_do_multiple_choice_only(serve: Any) -> None:
    engine = opened(serve("chat only", "no tokenize"))
    assert engine.description["scoring"] == "first token of a chat answer, top 6"
    for score, prompt in zip(scored(engine, CHOICES), CHOICES, strict=True):
        rng = np.random.default_rng([0, sum(str(prompt.context).encode())])
        probs = rng.dirichlet(np.ones(6))
        assert np.exp(score.logprobs) == pytest.approx([probs[0] + probs[1], probs[2], probs[3]])
        assert score.flags == ()
    with pytest.raises(ModelError, match="toy offers only first token of a chat answer, top 6, which can do mcq, but"):
        scored(engine, PROMPTS)


def test_the_truth_is_within_the_limits_of_letters_outside_of_chat_s_top_k(serve: Any) -> None:
    missing = 0
    for score, prompt in zip(scored(opened(serve("chat only", "no tokenize", "few")), CHOICES), CHOICES, strict=True):
        probs = np.random.default_rng([0, sum(str(prompt.context).encode())]).dirichlet(np.ones(6))
        true = np.array([probs[0] + probs[1], probs[2], probs[3]])
        assert score.flags == ("bounded",) and score.limits is not None
        low, high = np.array(score.limits.low), np.array(score.limits.high)
        assert (low - 1e-12 <= true).all() and (true <= high + 1e-12).all()
        left, last = np.sort(probs)[:2].sum(), np.sort(probs)[2]
        assert (high - low <= min(left, 2 * last) + 1e-12).all() and (high > low).any()
        # What was seen is the value; a letter that was not seen has all that it may have.
        np.testing.assert_allclose(np.exp(score.logprobs), np.where(low > 0, low, high))
        missing += int((low == 0).sum())
    assert missing > 5


def test_sampled_answers_estimate_the_probabilities(serve: Any) -> None:
    server = serve("chat only", "no tokenize", "no logprobs")
    with pytest.raises(ModelError, match="set samples, such as 32"):
        opened(server)
    engine = opened(server, samples=400)
    assert engine.description["scoring"] == "400 sampled answers"
    for score, prompt in zip(scored(engine, CHOICES[:6]), CHOICES, strict=False):
        probs = np.random.default_rng([0, sum(str(prompt.context).encode())]).dirichlet(np.ones(6))
        np.testing.assert_allclose(np.exp(score.logprobs), [probs[0] + probs[1], probs[2], probs[3]], atol=0.12)
        assert score.flags == ("sampled",) and math.fsum(np.exp(score.logprobs)) < 1
        assert score.limits is not None and sum(score.limits.counts) == 400
        np.testing.assert_allclose(np.exp(score.logprobs), (np.array(score.limits.counts[:3]) + 0.5) / 402)
    with pytest.raises(ModelError, match="samples is for servers"):
        EngineOptions(samples=3)


def test_an_answer_names_the_candidate_that_it_begins_with() -> None:
    options = (" nurse", " nurse practitioner", " A")
    answers = ["Nurse practitioner.", " the nurse", "nurse, of course", "nurses", "A", "A.", "An apple", ""]
    assert [named(answer, options) for answer in answers] == [1, None, 0, None, 2, 2, None, None]


@pytest.mark.slow
@pytest.mark.parametrize("statuses", [[429, 429], [500, 503], [0, 0], [429, 500, 0]])
def test_a_request_is_tried_again(serve: Any, statuses: list[int]) -> None:
    server = serve()
    engine = opened(server)
    server.refuse["/v1/completions"] = list(statuses)
    assert_true(scored(engine, PROMPTS), PROMPTS)
    assert server.refuse["/v1/completions"] == []


@pytest.mark.slow
def test_slow_bytes_run_into_the_total_time_limit(serve: Any) -> None:
    server = serve()
    engine = opened(server, timeout=0.5)
    server.refuse["/v1/completions"] = [1]
    assert_true(scored(engine, PROMPTS[:2]), PROMPTS[:2])
    server.refuse["/v1/completions"] = [1] * 99
    with pytest.raises(ModelError, match=r"failed on 1 prompts.*e0: .*failed 4 times: no complete answer within 0.5 s"):
        scored(engine, PROMPTS[:1])


def test_a_prompt_that_always_fails_is_named_and_the_rest_is_kept(serve: Any, tmp_path: Path) -> None:
    server = serve()
    engine = opened(server)
    prompts = [*PROMPTS[:9], Prompt("bad", "next-word", "", "POISON is", (" a", " b")), *PROMPTS[9:]]
    with ScoreStore(tmp_path / "scores.jsonl") as store:
        with pytest.raises(ModelError, match=r"failed on 1 prompts; the others are saved \(bad: .*HTTP 500"):
            store.scorer(engine)(prompts)
        assert len(store) == len(PROMPTS)
        asked = server.paths["/v1/completions"]
        assert_true(store.scorer(engine)(PROMPTS), PROMPTS)
        assert server.paths["/v1/completions"] == asked


@pytest.mark.slow
def test_a_server_that_dies_in_the_middle_costs_nothing_that_was_scored(serve: Any, tmp_path: Path) -> None:
    prompts = many()[:240]
    first = serve()
    engine = opened(first)
    first.die_after(150)
    with ScoreStore(tmp_path / "scores.jsonl") as store:
        with pytest.raises(ModelError, match="failed on 90 prompts; the others are saved"):
            store.scorer(engine)(prompts)
        kept = len(store)
        assert kept == 150
        second = serve()
        assert_true(store.scorer(opened(second))(prompts), prompts)
        rows = [body["prompt"] for body in second.bodies if body.get("echo")]
        assert sum(len(row) == 3 for row in rows) == len(prompts) - kept


CLIENT = """
import sys
from pathlib import Path
from test_server import many
from equipoise.scoring.engine import EngineOptions
from equipoise.scoring.opening import open_engine
from equipoise.scoring.score_store import ScoreStore

engine = open_engine("smollm2", EngineOptions(server=sys.argv[1]))
with ScoreStore(Path(sys.argv[2])) as store:
    store.scorer(engine, lambda done, total: print(done, flush=True))(many())
"""


def many() -> list[Prompt]:
    """Return more prompts than fit into the batches that are under way at once."""
    return [
        replace(prompt, example_id=f"{prompt.example_id}-{n}", context=f"{n} {prompt.context}")
        for n in range(40)
        for prompt in PROMPTS
    ]


@pytest.mark.slow
def test_a_client_that_is_killed_loses_nothing_and_asks_nothing_twice(serve: Any, tmp_path: Path) -> None:
    server, path = serve(), tmp_path / "scores.jsonl"
    folders = [str(Path(__file__).parent), *sys.path]
    command = [sys.executable, "-c", CLIENT, server.url, str(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    server.die_after(300, hang=True)  # some of them are probes
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        while int(client.stdout.readline()) < 128:
            pass
        client.kill()
    server.revive()
    with ScoreStore(path) as store:
        kept = len(store)
        assert 128 <= kept < len(many())
        server.bodies.clear()
        assert_true(store.scorer(opened(server))(many()), many())
        asked = [body for body in server.bodies if body.get("echo") and len(body["prompt"]) == 3]
        assert len(asked) == len(many()) - kept


def test_another_model_under_the_same_name_is_noticed_and_the_same_one_recognised(serve: Any) -> None:
    first, again, other = opened(serve()), opened(serve()), opened(serve(seed=1))
    assert identity_key(first) == identity_key(again) != identity_key(other)
    assert identity_key(opened(serve())) == identity_key(first)


def test_the_model_must_be_served(serve: Any) -> None:
    two = serve("two models")
    with pytest.raises(ModelError, match="serves 2 models, name one of them: toy, other"):
        opened(two)
    assert open_engine("other", EngineOptions(server=two.url)).name == "other"
    with pytest.raises(ModelError, match="does not serve 'gpt', but: toy"):
        open_engine("gpt", EngineOptions(server=serve().url))
    unlisted = serve("no list")
    assert open_engine("any", EngineOptions(server=unlisted.url)).name == "any"
    with pytest.raises(ModelError, match="serves 0 models, name the one that it should load"):
        opened(unlisted)
    with pytest.raises(ModelError, match="server must be an http address"):
        open_engine("toy", EngineOptions(server="localhost:8000"))
    with pytest.raises(ModelError, match="failed 4 times: ConnectError"):
        open_engine("toy", EngineOptions(server="http://127.0.0.1:9/v1"))


def test_the_key_comes_from_the_environment_and_is_nowhere_else(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_API_KEY", "secret-42")
    server = serve()
    engine = opened(server)
    assert all(headers["authorization"] == "Bearer secret-42" for headers in map(_lower, server.headers))
    server.refuse["/v1/completions"] = [401] * 9
    with pytest.raises(ModelError) as caught:
        scored(engine, PROMPTS[:1])
    shown = repr([engine.identity, engine.description, engine.notes, str(caught.value)])
    assert "HTTP 401" in shown and "secret-42" not in shown


def _lower(headers: dict[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def test_it_writes_and_answers_in_turns(serve: Any) -> None:
    engine = opened(serve())
    texts = engine.generate(["abc", (Message("user", "hello"),)], 5)
    assert len(texts) == 2 and texts == engine.generate(["abc", (Message("user", "hello"),)], 5)


THOUGHT = "<think>\nit is so\n</think>\n\nIt is"
ASKED = (Message("user", "Who is it?"), Message("assistant", THOUGHT))


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize(("template", "fault"), [("text", ""), ("ids", ""), ("ids", "odd text")])
def test_a_thinking_model_is_scored_after_its_closed_reasoning(
    serve: Any, template: str, fault: str, bos: bool
) -> None:
    engine = opened(serve(fault, template=template, bos=bos))
    assert engine.description["thinks"] is True
    prompt = Prompt("e", "next-word", "", ASKED, (" the nurse", " a cook"))
    text = "<user>Who is it?<assistant>" + THOUGHT
    # The template of vLLM brings its own beginning of text; llama.cpp takes it away, and it is put back.
    assert_true(scored(engine, [prompt]), [replace(prompt, context=text)], bos=bos)
    assert identity_key(engine) != identity_key(opened(serve(bos=bos))), "the template is part of the identity"


def test_a_chat_that_thinks_is_sampled_after_its_reasoning_or_refused(serve: Any) -> None:
    server = serve("chat only", "no tokenize", "thinks")
    with pytest.raises(ModelError, match=r"the model reasons before it answers.*set samples"):
        opened(server)
    engine = opened(server, samples=40, reasoning_tokens=9)
    (score,) = scored(engine, CHOICES[:1])
    assert server.bodies[-1]["max_tokens"] == 9 + 8 and score.flags == ("sampled",)
    assert math.fsum(np.exp(score.logprobs)) > 3 * 0.5 / 42, "answers after the reasoning name letters"
    (text,) = engine.generate([(Message("user", "Who?"),)], 5)
    assert server.bodies[-1]["max_tokens"] == 9 + 5 and text in ("A", "B", "C", "The", ""), "the answer alone"
