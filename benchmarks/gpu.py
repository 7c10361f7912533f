"""How near to the matrix ceiling of a GPU does the packed engine come, and how fast is a real model?

Random bf16 weights in the shape of Llama-3-8B (`--shape`); what counts is the time, not the text. The sentences of
SynthBias and WinoBias are read from EQUIPOISE_DATA or the cache; `--part model` takes real weights.

    python benchmarks/gpu.py --tokenizer tokenizer.json [--part sweep|synthbias|winoidentity|growth]
    python benchmarks/gpu.py --part model [--model smollm2] [--dtype bfloat16] [--compiled auto|always|never]

A share of the ceiling counts 2 x (weights without embedding and head) operations for every *distinct* token of the
whole set, so that whatever is computed twice, or is padding, counts against it. `--smoke` runs all parts with a tiny
model, on a CPU too.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from shared.models import device, llama, peak_gib, wait
from shared.options import parsed
from shared.scoring import distinct_tokens, prompts_of, scores_of
from tiny import make_tokenizer
from transformers import PreTrainedTokenizerFast

from equipoise.datasets import open_dataset
from equipoise.datasets.identity import identity_dataset, recipe
from equipoise.options import EngineOptions
from equipoise.records import Prompt
from equipoise.scoring.huggingface import engine as huggingface
from equipoise.scoring.huggingface.engine import HuggingFaceEngine
from equipoise.scoring.opening import open_engine

SHAPES = {"synthbias": [(1024, 8)], "sweep": [(512, 16), (1024, 8), (1024, 16), (2048, 4)]}
"""Tokens of a row and rows of a pass that are tried."""

PADDED = {"synthbias": (64, 128, 256), "sweep": (64, 256)}
GROWTH = (1_000, 5_000, 20_000, 50_000, 100_000, 200_000)


def ceiling(seconds: float, size: int) -> float:
    """Return the operations a second of a large matrix product on random data, kept up for that long.

    A burst of some milliseconds runs at the full clock; whatever lasts longer meets the card's power limit.
    """
    dtype = torch.bfloat16 if torch.cuda.is_available() else torch.float32
    a, b = (torch.randn(size, size, device=device(), dtype=dtype) for _ in range(2))
    for _ in range(3):
        a @ b
    wait()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        for _ in range(10):
            a @ b
        wait()
        count += 10
    return count * 2 * size**3 / (time.perf_counter() - start)


def timed(engine: HuggingFaceEngine, prompts: list[Prompt]) -> tuple[float, np.ndarray]:
    """Return the seconds that planning and scoring take, and the log-probabilities of the two candidates."""
    wait()
    start = time.perf_counter()
    scores = scores_of(engine, prompts)
    return time.perf_counter() - start, np.array([score.logprobs[:2] for score in scores])


def alone(engine: HuggingFaceEngine, prompts: list[Prompt]) -> float:
    """Return the seconds that the device takes for the passes of all prompts, back to back, planned beforehand."""
    batches = [[prompts[i] for i in batch] for batch in engine.batches(prompts)]
    planned = list(engine._planned(iter(batches)))
    best = float("inf")
    for _ in range(3):
        wait()
        start = time.perf_counter()
        with engine._passes.in_use():
            for _ in engine._schedule.finished(iter(planned)):
                pass
        wait()
        best = min(best, time.perf_counter() - start)
    return best


class Bench:
    """The model, the ceiling, and one line of figures for each run."""

    def __init__(self, shape: str, tokenizer: Any, *, size: int, seconds: float) -> None:
        self.tokenizer = tokenizer
        self.model = llama(shape, len(tokenizer), rope_theta=500_000.0, max_position_embeddings=8192)
        body = sum(p.numel() for n, p in self.model.named_parameters() if "embed" not in n and "lm_head" not in n)
        self.operations = 2 * body
        time.sleep(seconds)
        self.burst = ceiling(seconds / 100, size)
        self.sustained = ceiling(seconds, size)
        name = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
        print(f"{name}, {body / 1e9:.2f}e9 weights without embedding and head")
        rates = f"{self.burst / 1e12:.0f} TFLOP/s in a burst, {self.sustained / 1e12:.0f} over {seconds:g} s"
        print(f"{size}^3 product: {rates}")

    def engine(self, *, mode: str | None, compiled: str = "never", **shape: int) -> HuggingFaceEngine:
        # One model serves all engines: undo what the last one made of it.
        self.model.set_attn_implementation("sdpa")
        for layer in self.model.model.layers:
            layer._compiled_call_impl = None
        torch.compiler.reset()
        engine = HuggingFaceEngine(self.model, self.tokenizer, name="random", weights={"sha256": "0"})
        engine.compiled = compiled
        engine._mode = mode  # type: ignore[assignment]
        engine.shape = engine.shape._replace(**shape)
        return engine

    def line(self, what: str, seconds: float, prompts: int, tokens: int) -> None:
        rate = tokens * self.operations / seconds
        shares = f"{rate / self.burst:.3f} of the burst, {rate / self.sustained:.3f} of the sustained ceiling"
        print(f"{what:<52} {seconds:6.2f} s {prompts / seconds:6.0f} prompts/s  {shares}", flush=True)


def against_padding(bench: Bench, prompts: list[Prompt], part: str) -> None:
    """Print how fast packed rows of several shapes are, compiled and not, against one padded row for each prompt."""
    tokens = distinct_tokens(bench.engine(mode="packed"), prompts)
    print(f"{part}: {len(prompts):,} prompts, {tokens:,} distinct tokens")
    times, plain = [], np.zeros(0)
    for size in PADDED[part]:
        engine = bench.engine(mode="padded", padded_rows=size)
        timed(engine, prompts[: len(prompts) // 8])
        seconds, plain = timed(engine, prompts)
        times.append(seconds)
        bench.line(f"a padded row for each prompt, {size} in a pass", seconds, len(prompts), tokens)
    for compiled in ("never", "always") if torch.cuda.is_available() else ("never",):
        for width, height in SHAPES[part]:
            engine = bench.engine(mode=None, compiled=compiled, row_tokens=width, rows=height)
            first, _ = timed(engine, prompts[: len(prompts) // 4])
            seconds, packed = min((timed(engine, prompts) for _ in range(2)), key=lambda run: run[0])
            what = f"packed, {height} rows of {width}, compiled {compiled} (first {first:.0f} s)"
            bench.line(what, seconds, len(prompts), tokens)
            bench.line("    the same passes on the device alone", alone(engine, prompts), len(prompts), tokens)
            print(f"    {min(times) / seconds:.2f} times the best padded; {apart(packed, plain)}; {engine.notes}")


def apart(packed: np.ndarray, plain: np.ndarray) -> str:
    """Return how far packed and padded log-probabilities are apart, in words."""
    difference = np.abs(packed - plain)
    return f"off by {difference.max():.3f} nats at most, {difference.mean():.4f} on average"


def whole_winoidentity(bench: Bench, prompts: list[Prompt]) -> None:
    """Score the whole set from texts to log-probabilities, planning and compilation included."""
    engine = bench.engine(mode="packed", compiled="auto")
    tokens = distinct_tokens(engine, prompts)
    print(f"WinoIdentity: {len(prompts):,} prompts, {tokens:,} distinct tokens")
    engine._mode = None
    seconds, _ = timed(engine, prompts)
    bench.line("packed, planning and compilation included", seconds, len(prompts), tokens)
    some = prompts[: len(prompts) // 5]
    spent, packed = timed(engine, some)
    bench.line("packed, a fifth of them, already compiled", spent, len(some), distinct_tokens(engine, some))
    few = prompts[: max(1, len(prompts) // 20)]
    spent, plain = timed(bench.engine(mode="padded", padded_rows=256), few)
    bench.line("a padded row for each of a twentieth of them", spent, len(few), distinct_tokens(engine, few))
    times = len(prompts) / seconds / (len(few) / spent)
    print(f"    {times:.2f} times the padded; {apart(packed[: len(few)], plain)}")


def growth(bench: Bench, prompts: list[Prompt], counts: tuple[int, ...]) -> None:
    """Print how speed, the wait for plans and memory change with the number of prompts; all is compiled before."""
    engine = bench.engine(mode=None, compiled="always")
    timed(engine, prompts[:4096])
    waited, prefetch = [0.0], huggingface.prefetch

    def watched(items: Iterator[Any]) -> Iterator[Any]:
        planned = prefetch(items)
        while True:
            start = time.perf_counter()
            item = next(planned, None)
            waited[0] += time.perf_counter() - start
            if item is None:
                return
            yield item

    huggingface.prefetch = watched
    for count in (count for count in counts if count <= len(prompts)):
        peak_gib()
        waited[0] = 0.0
        seconds, _ = timed(engine, prompts[:count])
        host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{count:>8,} prompts {seconds:7.2f} s {count / seconds:6.0f} prompts/s, waited {waited[0]:.2f} s for plans"
            f" ({waited[0] / seconds:.1%}), peak {peak_gib():.2f} GiB on the GPU, {host:.2f} in the process",
            flush=True,
        )
    huggingface.prefetch = prefetch


def real_model(engine: Any, prompts: list[Prompt], compiled: str) -> None:
    """Print how fast a real model scores, from texts to log-probabilities: the first time, and again."""
    if isinstance(engine, HuggingFaceEngine):
        engine.compiled = compiled
    for run in ("first", "again"):
        seconds, _ = timed(engine, prompts)
        rate = f"{len(prompts) / seconds:,.0f} prompts/s"
        print(f"{engine.name}, compiled {compiled}, {run}: {len(prompts):,} prompts in {seconds:.2f} s, {rate}")


def pair_prompts(data: str, count: int | None) -> list[Prompt]:
    """Return the next-word prompts of pairs that are spread over a dataset; all without a count."""
    dataset = open_dataset(data)
    return prompts_of(dataset.limited(count // 2) if count else dataset)


def identity_prompts(data: str, count: int) -> list[Prompt]:
    """Return prompts of WinoIdentity: every marker before one person, the other, and both."""
    return prompts_of(identity_dataset(open_dataset(data), recipe(), limit=max(2, count // 97)))[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", nargs="+", default=["synthbias"])
    parser.add_argument("--tokenizer", type=Path, help="tokenizer.json; --smoke makes one")
    parser.add_argument("--shape", default="8b", help="of the random weights: 8b, smollm2, tiny")
    parser.add_argument("--prompts", type=int, help="by default all of the part")
    parser.add_argument("--data", default="synthbias", help="sentences of sweep, synthbias and model")
    parser.add_argument("--base", default="winobias", help="sentences of winoidentity and growth")
    parser.add_argument("--model", default="smollm2", help="real weights (model)")
    parser.add_argument("--dtype", default="bfloat16", help="of the real weights")
    parser.add_argument("--compiled", choices=("auto", "always", "never"), default="auto", help="of the real weights")
    parser.add_argument("--counts", type=int, nargs="+", default=GROWTH, help="of prompts (growth)")
    parser.add_argument("--product", type=int, default=8192, help="size of the matrices of the ceiling")
    parser.add_argument("--seconds", type=float, default=3.0, help="that the sustained ceiling is kept up")
    every = ["sweep", "synthbias", "winoidentity", "growth", "model"]
    tiny = {"shape": "tiny", "prompts": 20, "data": "builtin", "base": "builtin", "model": "", "counts": [20]}
    chosen = parsed(parser, part=every, product=64, seconds=0.01, **tiny)
    if chosen.smoke:
        for part in PADDED:
            PADDED[part], SHAPES[part] = PADDED[part][:1], SHAPES[part][:1]
    limit = chosen.prompts
    if chosen.part != ["model"]:
        tokenizer = make_tokenizer() if chosen.smoke else PreTrainedTokenizerFast(tokenizer_file=str(chosen.tokenizer))
        bench = Bench(chosen.shape, tokenizer, size=chosen.product, seconds=chosen.seconds)
    for part in chosen.part:
        if part in ("sweep", "synthbias"):
            against_padding(bench, pair_prompts(chosen.data, limit or 8192), part)
        elif part == "winoidentity":
            whole_winoidentity(bench, identity_prompts(chosen.base, limit or 239_400))
        elif part == "growth":
            growth(bench, identity_prompts(chosen.base, limit or 200_000), tuple(chosen.counts))
        elif part == "model":
            smoke = bench.engine(mode=None) if chosen.smoke else None
            engine = smoke or open_engine(chosen.model, EngineOptions(dtype=chosen.dtype))
            real_model(engine, pair_prompts(chosen.data, limit), chosen.compiled)
        else:
            sys.exit(f"unknown part {part!r}: {', '.join(every)}")


if __name__ == "__main__":
    main()
