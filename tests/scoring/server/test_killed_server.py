"""A real server, or its client, is killed (kill -9) in the middle of an audit: the same command finishes the run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from server_llama_cpp import LlamaCpp
from server_proxy import COMPLETIONS, Proxy
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.records import ModelError
from equipoise.scoring.engine import FIRST_PROMPTS
from equipoise.scoring.server.engine import BATCH
from equipoise.scoring.server.http_client import Limits

pytestmark = pytest.mark.slow

PROMPTS = 36
END = "refers to the"
SAME = 0.02
"""Nats by which a server's answers may differ from start to start, as the fingerprint allows."""

WORDS = ["audit", "--data", "builtin", "--task", "next-word", "--limit", str(PROMPTS // 2), "--concurrency", "2"]

Scores = dict[str, list[list[float]]]


class Bench:
    """A real server behind a counting proxy, and what an undisturbed run of the same command gave."""

    def __init__(self, folder: Path) -> None:
        self.server = LlamaCpp()
        self.proxy = Proxy(self.server.port)
        self.calm = folder / "calm"
        self.audit(self.calm)
        asked = [
            COMPLETIONS if path == COMPLETIONS else str(body["content"])
            for path, body in self.proxy.bodies
            if path == COMPLETIONS or _is_context(path, body)
        ]
        # A context is turned into tokens again when the server has to prove itself by it.
        contexts = [asked.index(context) for context in dict.fromkeys(asked) if context != COMPLETIONS]
        assert len(contexts) == PROMPTS
        # Two prompts are under way at once: when this one begins, two batches have ended, and a proof has followed.
        late = contexts[FIRST_PROMPTS + BATCH + 6]
        self.middle = asked[:late].count(COMPLETIONS)

    def words(self, out: Path) -> list[str]:
        return [*WORDS, "--server", self.proxy.url, "--out", str(out)]

    def audit(self, out: Path) -> Any:
        """Run the command; what the proxy counts begins anew."""
        self.proxy.bodies.clear()
        return CliRunner().invoke(app, self.words(out))

    def asked(self) -> set[str]:
        """Return the contexts that were asked; each may be turned into tokens more than once, as a proof."""
        return {str(body["content"]) for path, body in self.proxy.bodies if _is_context(path, body)}

    def close(self) -> None:
        self.proxy.close()
        self.server.kill()


def _is_context(path: str, body: dict[str, Any]) -> bool:
    return path == "/tokenize" and str(body["content"]).endswith(END)


@pytest.fixture(scope="module")
def bench(default_model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    pytest.importorskip("xllamacpp", reason="needs xllamacpp, of the dev extra")
    folder = tmp_path_factory.mktemp("bench")
    quick = {"attempts": 3, "first_pause": 0.01}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("equipoise.scoring.server.engine.Limits", lambda **given: Limits(**{**quick, **given}))
        made = Bench(folder)
        yield made
        made.close()


def kept(out: Path) -> Scores:
    """Return the scores of a store's lines; no prompt may be there twice."""
    lines = [json.loads(line.split(b" ", 1)[1]) for line in (out / "scores.jsonl").read_bytes().splitlines()]
    entries = [(key, logprobs) for line in lines for key, logprobs, *_ in line]
    assert len(entries) == len(dict(entries))
    return dict(entries)


def assert_finished(bench: Bench, out: Path) -> None:
    """Check that a run that was disturbed is as the one that was not."""
    calm, disturbed = kept(bench.calm), kept(out)
    assert set(calm) == set(disturbed) and len(calm) == PROMPTS
    for key, logprobs in calm.items():
        for tokens, values in zip(disturbed[key], logprobs, strict=True):
            np.testing.assert_allclose(tokens, values, atol=SAME)
    left, right = (pd.read_parquet(folder / "outcomes.parquet") for folder in (bench.calm, out))
    assert list(left["example_id"]) == list(right["example_id"])
    assert list(left["predicted"]) == list(right["predicted"])


def finish(bench: Bench, out: Path) -> None:
    """Run the command once more: it asks exactly what is not kept, and what is kept stays as it is."""
    before, store = kept(out), (out / "scores.jsonl").read_bytes()
    assert BATCH <= len(before) < PROMPTS
    result = bench.audit(out)
    assert result.exit_code == 0, result.output
    asked = bench.asked()
    assert len(asked) == PROMPTS - len(before)
    assert (out / "scores.jsonl").read_bytes().startswith(store)
    assert_finished(bench, out)


def test_a_killed_server_is_started_again_and_the_same_command_continues(bench: Bench, tmp_path: Path) -> None:
    bench.proxy.act(bench.middle, bench.server.kill)
    try:
        result = bench.audit(tmp_path / "run")
        assert isinstance(result.exception, ModelError) and "the others are saved" in str(result.exception)
    finally:
        bench.server.start()
    finish(bench, tmp_path / "run")


def test_a_server_that_comes_back_in_time_costs_nothing(bench: Bench, tmp_path: Path) -> None:
    bench.proxy.act(bench.middle, bench.server.restart)
    result = bench.audit(tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert len(bench.asked()) == PROMPTS
    assert_finished(bench, tmp_path / "run")


def test_a_killed_client_is_started_again_and_asks_only_what_is_missing(bench: Bench, tmp_path: Path) -> None:
    out = tmp_path / "run"
    client: list[subprocess.Popen[bytes]] = []
    others = set(bench.proxy.lines)
    bench.proxy.act(bench.middle, lambda: _kill_once_kept(client[0], out / "scores.jsonl"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "equipoise", *bench.words(out)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        client.append(process)
    assert process.returncode < 0
    for _ in range(1200):  # what the dead client had sent is not counted as the next command's
        if set(bench.proxy.lines) <= others:
            break
        time.sleep(0.05)
    finish(bench, out)


def _kill_once_kept(client: subprocess.Popen[bytes], store: Path) -> None:
    """Kill the client when the batch whose answers it has is on the disk: another thread of the client writes it."""
    for _ in range(1200):
        if store.is_file() and store.stat().st_size:
            break
        time.sleep(0.05)
    client.kill()
