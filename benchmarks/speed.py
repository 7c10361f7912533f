"""How fast is scoring, against lm-evaluation-harness and against our own plain path? `make bench` runs it.

    python benchmarks/speed.py --harness HARNESS_PYTHON [--prompts 2000] [--sets synthbias,winoidentity,mcq]

The same model (SmolLM2-135M-Instruct), prompts, cores and dtype (float32) on all sides, each in a process of its own,
one after the other; loading the model does not count, tokenising does. The harness runs with the best of several batch
sizes. Tokens are those that enter the model, padding included. SynthBias and WinoBias are read from EQUIPOISE_DATA or
the cache (`equipoise data fetch`).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.datasets import open_dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.records import Prompt
from equipoise.scoring.default_model import model_folder
from equipoise.scoring.packing.rules import arrange
from equipoise.tasks import TaskOptions, open_task

SIDES = ("harness", "plain", "packed")
BARS = {"synthbias": 2.4, "winoidentity": 2.7, "mcq": 3.3}
REPEATED = 0.03
"""Largest share of tokens that may be computed beyond the distinct ones of the whole set."""

WHAT = {
    "synthbias": "SynthBias, next word",
    "winoidentity": "WinoIdentity, next word: 26 markers x 2 pronouns of the same sentences",
    "mcq": "SynthBias, multiple choice: 5 option orders of the same sentences",
}


def prompts_of(name: str, count: int) -> list[Prompt]:
    """Return so many prompts of a set."""
    if name == "winoidentity":
        # Spread over both types; the referent is marked with each of 25 markers, and not at all.
        dataset = identity_dataset(open_dataset("winobias"), recipe(augmentations=["R"]), limit=-(-count // 52))
        prompts = [prompt for example in dataset.examples for prompt in open_task("next-word").prompts(example)]
        # The paper's question alone: what Equipoise asks beside it ("young nurse") costs the harness a row each.
        prompts = [replace(prompt, continuations=prompt.continuations[:2]) for prompt in prompts]
        return list(dict.fromkeys(prompts))[:count]
    orders = 5 if name == "mcq" else 1
    task = open_task("mcq" if name == "mcq" else "next-word", TaskOptions(seeds=tuple(range(orders))))
    dataset = open_dataset("synthbias").limited(-(-count // (2 * orders)))
    return [prompt for example in dataset.examples for prompt in task.prompts(example)][:count]


def our_side(side: str, folder: str, asked: str, answers: str, threads: str) -> None:
    """Score the prompts of a file with our engine, packed or padded, and write what it took."""
    import torch

    from equipoise.scoring.engine import EngineOptions
    from equipoise.scoring.opening import open_engine

    torch.set_num_threads(int(threads))
    prompts = [Prompt(str(i), "bench", "", one[0], tuple(one[1])) for i, one in enumerate(json.loads(_read(asked)))]
    engine: Any = open_engine(folder, EngineOptions(device="cpu", dtype="float32"))
    if side == "plain":
        engine._choose_mode()
        engine._mode = "padded"  # as if the model could do no better
    seen: list[int] = []
    engine._model.register_forward_pre_hook(
        lambda _, __, named: seen.append(named["input_ids"].numel()), with_kwargs=True
    )
    list(engine.score([prompts[:4]]))  # whatever is made on first use is made
    seen.clear()
    start = time.perf_counter()
    batches = engine.batches(prompts)
    values: list[Any] = [None] * len(prompts)
    for places, scores in zip(batches, engine.score([prompts[i] for i in batch] for batch in batches), strict=True):
        for place, score in zip(places, scores, strict=True):
            values[place] = score.logprobs
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    flat = [value for logprobs in values for value in logprobs]
    told = {
        "seconds": seconds,
        "tokens": sum(seen),
        "peak": peak,
        "values": flat,
        "distinct": _distinct(engine, prompts),
    }
    Path(answers).write_text(json.dumps(told))


def _distinct(engine: Any, prompts: Sequence[Prompt]) -> int:
    """Return how many tokens the prompts have where every shared prefix counts once."""
    return sum(map(len, arrange(engine._encoder.questions(prompts), "packed", row_tokens=10**9)))


def _read(path: str) -> str:
    return Path(path).read_text()


def measured(side: str, prompts: Sequence[Prompt], chosen: argparse.Namespace) -> dict[str, Any]:
    """Return what one side took for the prompts, in a process of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        asked, answers = Path(scratch) / "asked.json", Path(scratch) / "answers.json"
        folder, threads = str(model_folder()), str(chosen.threads)
        if side == "harness":
            pairs = [(prompt.context, one) for prompt in prompts for one in prompt.continuations]
            asked.write_text(json.dumps(pairs))
            script = str(Path(__file__).with_name("harness_side.py"))
            command = [chosen.harness, script, folder, str(asked), str(answers), chosen.batches, threads]
        else:
            asked.write_text(json.dumps([(prompt.context, prompt.continuations) for prompt in prompts]))
            command = [sys.executable, __file__, "--side", side, folder, str(asked), str(answers), threads]
        environment = {**os.environ, "OMP_NUM_THREADS": threads, "TOKENIZERS_PARALLELISM": "false"}
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        told: dict[str, Any] = json.loads(answers.read_text())
        return told


def main() -> None:
    if sys.argv[1:2] == ["--side"]:
        return our_side(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--harness", required=True, help="the Python of an environment with lm-eval in it")
    parser.add_argument("--prompts", type=int, default=2000)
    parser.add_argument("--sets", default=",".join(WHAT))
    parser.add_argument("--sides", default=",".join(SIDES), help="`harness,packed` leaves the padded rows out")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--batches", default="4,16,64", help="batch sizes among which the harness's best is found")
    chosen = parser.parse_args()
    missed = []
    for name in chosen.sets.split(","):
        prompts = prompts_of(name, chosen.prompts)
        print(f"\n{WHAT[name]}: {len(prompts):,} prompts, SmolLM2-135M-Instruct, float32, {chosen.threads} threads")
        print(
            f"{'':<22}{'prompts/s':>10}{'tokens':>10}{'ratio':>8}{'peak GiB':>10}{'largest difference':>20}", flush=True
        )
        told: dict[str, dict[str, Any]] = {}
        for side in chosen.sides.split(","):
            here = told[side] = measured(side, prompts, chosen)
            speed, base = (len(prompts) / told[one]["seconds"] for one in (side, "harness"))
            apart = np.abs(np.array(here["values"]) - np.array(told["harness"]["values"])).max()
            label = f"lm-eval (batch {here['batch']})" if side == "harness" else side
            print(
                f"{label:<22}{speed:>10.1f}{here['tokens']:>10,}{speed / base:>8.2f}{here['peak'] / 2**30:>10.2f}"
                f"{apart:>15.1e} nats",
                flush=True,
            )
        ratio = told["harness"]["seconds"] / told["packed"]["seconds"]
        missed += [name] if ratio < BARS[name] else []
        print(f"packed is {ratio:.2f} times as fast as lm-evaluation-harness; the bar is {BARS[name]}")
        distinct = told["packed"]["distinct"]
        beyond = told["packed"]["tokens"] / distinct - 1
        print(f"{distinct:,} tokens are distinct; {beyond:.1%} more were computed, at most {REPEATED:.0%}")
        missed += [f"{name} (tokens)"] if beyond > REPEATED else []
    sys.exit(f"below the bar: {', '.join(missed)}" if missed else 0)


if __name__ == "__main__":
    main()
