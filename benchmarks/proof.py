"""What does it cost to have a server prove itself, and what does it find? Prints the tables of docs/engines.md.

    python benchmarks/proof.py [--trials 100] [--prompts 100] [--ways chat samples] [--llama-cpp 200]

A small model behind a server on this machine is swapped for another one under the same name, at a random request of an
audit; "kept wrong" counts scores of the other model that are left, "asked again" prompts that the repeated command had
to ask although they had been answered. `--llama-cpp` takes a real llama.cpp server with SmolLM2 and so many prompts of
WinoBias, and compares the time with and without a known prompt in every request.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from shared.options import parsed

from equipoise.datasets import open_dataset
from equipoise.options import EngineOptions
from equipoise.records import ModelError, Prompt, Score
from equipoise.scoring.engine import identity_key
from equipoise.scoring.opening import open_engine
from equipoise.scoring.score_store import ScoreStore
from equipoise.tasks import open_tasks

WAYS = {"echo": "given text", "next tokens": "next tokens", "chat": "first token of a chat", "samples": "24 samples"}


def prompts_of(way: str, count: int) -> list[Prompt]:
    """Return made-up prompts with two candidates, or three letters."""
    if way in ("chat", "samples"):
        return [Prompt(f"e{n}", "mcq", "", f"Question {n} of many? Answer:", (" A", " B", " C")) for n in range(count)]
    return [Prompt(f"e{n}", "next-word", "", f"The judge, {n} years old, said", (" n", " ck")) for n in range(count)]


@dataclass
class Trial:
    """One audit: requests, those of the proof, whether a swap was found, scores kept wrong, prompts asked again."""

    requests: int
    proof: int
    found: bool = False
    wrong: int = 0
    again: int = 0


def opened(server: Any, way: str) -> Any:
    from server_faults import WAYS as options

    return open_engine("toy", EngineOptions(server=server.url, samples=options[way].get("samples", 0), concurrency=8))


def served(way: str) -> Any:
    from server_faults import WAYS as options
    from server_loopback import Loopback

    return Loopback(*options[way]["faults"])


def scores_of(store: ScoreStore, engine: Any, prompts: list[Prompt]) -> dict[str, Score]:
    """Return the scores that are kept, by example."""
    names = {prompt.key(identity_key(engine)): prompt.example_id for prompt in prompts}
    return {names[key]: score for key, score in store._scores.items() if key in names}


def trial(way: str, prompts: list[Prompt], swap: int | None, true: dict[str, Score], folder: Path) -> Trial:
    """Return what an audit comes to whose model is swapped before that request, and set right afterwards."""
    server = served(way)
    engine = opened(server, way)
    answer, left = server.answer, [swap or 0]
    before = sum(server.paths.values())

    def counted(path: str, body: Any) -> Any:
        left[0] -= 1
        if left[0] == -1 and swap is not None:
            server.seed = 1
        return answer(path, body)

    server.answer = counted
    with ScoreStore(folder / "scores.jsonl") as store:
        try:
            store.scorer(engine)(prompts)
            ended = Trial(0, engine._proof.asked)
        except ModelError:
            ended = Trial(0, engine._proof.asked, found=True)
        kept = scores_of(store, engine, prompts)
        ended.requests = sum(server.paths.values()) - before
        if not true:
            true.update(kept)
        ended.wrong = sum(score.token_logprobs != true[name].token_logprobs for name, score in kept.items())
        if ended.found:
            server.seed, server.answer = 0, answer
            ended.again = asked_twice(server, prompts, kept)
            store.scorer(opened(server, way))(prompts)
            right = scores_of(store, engine, prompts)
            ended.wrong += sum(right[name].token_logprobs != score.token_logprobs for name, score in true.items())
    server.close()
    return ended


def asked_twice(server: Any, prompts: list[Prompt], kept: dict[str, Score]) -> int:
    """Return how many prompts were asked and are not kept, so that they are asked again."""
    seen = {str(body["content"]) for body in server.bodies if "content" in body}
    seen |= {str(body["messages"][-1]["content"]) for body in server.bodies if "messages" in body}
    return sum(prompt.context in seen for prompt in prompts if prompt.example_id not in kept)


def swaps(chosen: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of the first table."""
    yield "| way of asking | requests | proof | share | swaps found | scores kept wrong | asked again: mean, most |"
    yield "|---|---|---|---|---|---|---|"
    for way in chosen.ways:
        prompts = prompts_of(way, chosen.prompts)
        true: dict[str, Score] = {}
        with tempfile.TemporaryDirectory() as folder:
            calm = trial(way, prompts, None, true, Path(folder))
        rng, trials = np.random.default_rng(1), []
        # The last requests of an audit are its last proof.
        for place in rng.integers(1, calm.requests - 1, size=chosen.trials):
            with tempfile.TemporaryDirectory() as folder:
                trials.append(trial(way, prompts, int(place), true, Path(folder)))
            print(f"{way}: {sum(ended.found for ended in trials)} of {len(trials)} found", file=sys.stderr, flush=True)
        again = [ended.again for ended in trials]
        cost = f"{calm.requests} | {calm.proof} | {calm.proof / calm.requests:.1%}"
        found = f"{sum(ended.found for ended in trials)} of {len(trials)}"
        wrong = sum(ended.wrong for ended in trials)
        yield f"| {WAYS[way]} | {cost} | {found} | {wrong} | {np.mean(again):.1f}, {max(again)} |"


def timed(chosen: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of the second table: a real server, with and without a known prompt in every request."""
    from server_llama_cpp import LlamaCpp

    server = LlamaCpp()
    data = open_dataset("winobias").limited(chosen.llama_cpp // 2)
    asked: list[Prompt] = []
    (task,) = open_tasks("next-word")
    for example in data.examples:
        asked += task.prompts(example)
    yield "| | requests | proof | prompts/s |"
    yield "|---|---|---|---|"
    try:
        for name in ("known prompt in every request", "without"):
            engine: Any = open_engine("smollm2", EngineOptions(server=f"http://127.0.0.1:{server.port}/v1"))
            if name == "without":
                engine._findings.method = replace(engine._findings.method, beside=None)
            start, before = time.perf_counter(), engine._client.sent
            count = sum(len(scores) for scores in engine.score([asked[i] for i in b] for b in engine.batches(asked)))
            seconds, sent = time.perf_counter() - start, engine._client.sent - before
            proof = f"{engine._proof.asked} ({engine._proof.asked / sent:.1%})"
            yield f"| {name} | {sent} | {proof} | {count / seconds:.1f} |"
    finally:
        server.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--prompts", type=int, default=100)
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=WAYS)
    parser.add_argument("--llama-cpp", type=int, default=0, help="prompts of WinoBias for a real server")
    chosen = parsed(parser, trials=2, prompts=40)
    with tempfile.TemporaryDirectory() as cache:
        if not chosen.llama_cpp:
            os.environ["EQUIPOISE_CACHE"] = cache
        for lines in (swaps(chosen), timed(chosen) if chosen.llama_cpp else ()):
            for line in lines:
                print(line, flush=True)
            print()


if __name__ == "__main__":
    main()
