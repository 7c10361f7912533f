"""Measure how fast a real model scores on a GPU, from texts to log-probabilities: SmolLM2 on all of SynthBias.

python benchmarks/scoring.py [--model smollm2] [--data synthbias] [--dtype bfloat16] [--compiled auto|always|never]
"""

from __future__ import annotations

import argparse
import json
import time

import torch

from equipoise.datasets import open_dataset
from equipoise.options import EngineOptions
from equipoise.records import Prompt
from equipoise.scoring.huggingface.engine import HuggingFaceEngine
from equipoise.scoring.opening import open_engine
from equipoise.tasks import open_task


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--data", default="synthbias")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--compiled", choices=("auto", "always", "never"), default="auto")
    parser.add_argument("--bos", default="auto")
    chosen = parser.parse_args()
    engine = open_engine(chosen.model, EngineOptions(dtype=chosen.dtype, bos=chosen.bos))
    assert isinstance(engine, HuggingFaceEngine)
    engine.compiled = chosen.compiled
    dataset = open_dataset(chosen.data)
    dataset = dataset.limited(chosen.limit) if chosen.limit else dataset
    task = open_task("next-word")
    prompts = [prompt for example in dataset.examples for prompt in task.prompts(example)]
    for run in ("first", "again"):
        first, whole = seconds(engine, prompts)
        row = {"model": engine.name, "dtype": chosen.dtype, "compiled": chosen.compiled, "run": run}
        row |= {"prompts": len(prompts), "first_scores_s": round(first, 2), "seconds": round(whole, 2)}
        print(json.dumps({**row, "prompts_per_second": round(len(prompts) / whole)}), flush=True)


def seconds(engine: HuggingFaceEngine, prompts: list[Prompt]) -> tuple[float, float]:
    """Return the seconds until the first scores, and until all: planning, tokenising and (first run) compiling."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    start, first, scored = time.perf_counter(), 0.0, 0
    order = engine.batches(prompts)
    for scores in engine.score([prompts[place] for place in batch] for batch in order):
        first = first or time.perf_counter() - start
        scored += len(scores)
    assert scored == len(prompts)
    return first, time.perf_counter() - start


if __name__ == "__main__":
    main()
