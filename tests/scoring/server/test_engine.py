"""A served model gets the right scores, or is refused: whatever the server does wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from served import PROMPTS, assert_true, many, opened, scored

from equipoise.options.table import EngineOptions
from equipoise.records import Message, ModelError, Prompt
from equipoise.scoring.opening import open_engine
from equipoise.scoring.score_store import ScoreStore


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
        with pytest.raises(ModelError, match=r"does not answer any more .* scores since the last proof were dropped"):
            store.scorer(engine)(prompts)
        kept = len(store)
        assert 90 <= kept < 150, "the last scores were not proven any more"
        second = serve()
        assert_true(store.scorer(opened(second))(prompts), prompts)
        assert asked_prompts(second) == len(prompts) - kept


def asked_prompts(server: Any) -> int:
    """Return for how many prompts the server was asked: three rows each, and a known one beside them."""
    return sum(len(body["prompt"]) == 4 for body in server.bodies if body.get("echo"))


CLIENT = """
import sys
from pathlib import Path
from served import many
from equipoise.scoring.engine import EngineOptions
from equipoise.scoring.opening import open_engine
from equipoise.scoring.score_store import ScoreStore

engine = open_engine("smollm2", EngineOptions(server=sys.argv[1]))
with ScoreStore(Path(sys.argv[2])) as store:
    store.scorer(engine, lambda done, total: print(done, flush=True))(many())
"""


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
        assert asked_prompts(server) == len(many()) - kept


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


def test_the_clock_is_checked_before_every_proof(serve: Any) -> None:
    engine, told = opened(serve()), []

    def telling(name: str) -> Any:
        async def tell(*_: object, **__: object) -> None:
            told.append(name)

        return tell

    engine._check_clock, engine._proof.prove = telling("clock"), telling("proof")
    assert len(scored(engine, PROMPTS[:2])) == 2 and told == ["clock", "proof"]
    engine.generate(["abc"], 2)
    assert told == ["clock", "proof"] * 2
    engine._proof.is_due = lambda forms: True
    assert list(engine.score([])) == [] and told == ["clock", "proof"] * 2, "nothing was asked"
    assert len(list(engine.score([PROMPTS[:1], PROMPTS[1:3]]))) == 2 and told == ["clock", "proof"] * 4
