"""How near to the matrix ceiling of a GPU does the packed engine come? Needs torch, transformers and numpy alone.

Random bf16 weights in the shape of Llama-3-8B; what counts is the time, not the text. Needs a tokenizer.json, and the
sentences of SynthBias and WinoBias in a folder laid out like EQUIPOISE_DATA:

    python benchmarks/gpu.py --data DATA --tokenizer tokenizer.json [--part sweep|synthbias|winoidentity|growth]

A share of the ceiling counts 2 x (weights without embedding and head) operations for every *distinct* token of the
whole set, so that whatever is computed twice, or is padding, counts against it.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import re
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from equipoise.records import Prompt
from equipoise.scoring.huggingface import engine as huggingface
from equipoise.scoring.huggingface.engine import HuggingFaceEngine
from equipoise.scoring.huggingface.passes import Mode
from equipoise.scoring.packing.planners import prefetch
from equipoise.scoring.packing.prefix_tree import Sequences, shared_prefixes

MARKERS = re.split(
    r"\s+",
    "young old rich poor Christian Muslim Jewish gay straight Black white Asian American immigrant tall short married "
    "single disabled able-bodied pregnant vegan local foreign quiet",
)


def llama(layers: int = 32) -> LlamaForCausalLM:
    """Return a model in the shape of Llama-3-8B with random weights."""
    config = LlamaConfig(
        vocab_size=128_256,
        hidden_size=4096,
        intermediate_size=14_336,
        num_hidden_layers=layers,
        num_attention_heads=32,
        num_key_value_heads=8,
        rope_theta=500_000.0,
        max_position_embeddings=8192,
        tie_word_embeddings=False,
    )
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16)
        model = LlamaForCausalLM(config)
        torch.set_default_dtype(torch.float32)
    return model.eval()


def synthbias(data: Path, count: int) -> list[Prompt]:
    """Return next-word prompts of pairs of SynthBias, in a fixed random order of pairs."""
    with open(data / "synthbias/synthbias_data.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    pairs: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        blank = re.sub(rf"\b{row['pronoun']}\b", "_", row["sample"], count=1, flags=re.IGNORECASE)
        pairs.setdefault(blank + row["occ_1"], []).append(row)
    names = list(pairs)
    np.random.default_rng(0).shuffle(names)
    chosen = itertools.islice((row for name in names for row in pairs[name]), count)
    return [_prompt(str(i), r["sample"], r["pronoun"], (r["occ_1"], r["occ_2"])) for i, r in enumerate(chosen)]


def winoidentity(data: Path, count: int) -> list[Prompt]:
    """Return prompts shaped like WinoIdentity's: each marker before one, the other, and both."""
    prompts: list[Prompt] = []
    names = "|".join(
        line.strip()
        for side in ("male", "female")
        for line in (data / f"winobias/{side}_occupations.txt").read_text().splitlines()
        if line.strip()
    )
    for file in sorted((data / "winobias").glob("*stereotyped*")):
        for line in file.read_text().splitlines():
            text = re.sub(r"^\d+ ", "", line).replace(" '", "'")
            pronoun = re.findall(r"\[(\w+)\]", text)[-1]
            text = re.sub(r"[\[\]]", "", text)
            found = list(dict.fromkeys(re.findall(names, text)))
            if len(found) < 2:
                continue
            first, second = found[:2]
            prompts.append(_prompt(str(len(prompts)), text, pronoun, (first, second)))
            for marker, places in itertools.product(MARKERS, ((first,), (second,), (first, second))):
                changed = text
                for place in places:
                    changed = changed.replace(place, f"{marker} {place}", 1)
                prompts.append(_prompt(str(len(prompts)), changed, pronoun, (first, second)))
                if len(prompts) == count:
                    return prompts
    return prompts


def _prompt(name: str, text: str, pronoun: str, candidates: tuple[str, ...]) -> Prompt:
    question = f'{text} The pronoun "{pronoun}" refers to the'
    return Prompt(name, "next-word", "", question, tuple(f" {candidate}" for candidate in candidates))


def ceiling(seconds: float, size: int = 8192) -> float:
    """Return the operations a second of a large bf16 matrix product on random data, kept up for so long.

    A burst of some milliseconds runs at the full clock; whatever lasts longer meets the card's power limit.
    """
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        a @ b
    torch.cuda.synchronize()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        for _ in range(10):
            a @ b
        torch.cuda.synchronize()
        count += 10
    return count * 2 * size**3 / (time.perf_counter() - start)


def distinct_tokens(engine: HuggingFaceEngine, prompts: list[Prompt]) -> int:
    """Return how many tokens a prefix tree of all prompts has (the last token of a candidate is not computed)."""
    questions = engine._encoder.questions(prompts)
    sequences = Sequences.of(
        [(*sequence[:-1], 0) for question in questions for sequence in question.sequences],
        [start for question in questions for start in question.starts],
    )
    ordered = sequences.take(np.lexsort(sequences.tokens.T[::-1]))
    computed = ordered.lengths - 1
    return int((computed - shared_prefixes(ordered.tokens, computed)).sum())


def timed(engine: HuggingFaceEngine, prompts: list[Prompt]) -> tuple[float, np.ndarray]:
    """Return the seconds that planning and scoring take, and the log-probabilities."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    order = engine.batches(prompts)
    scores: list[tuple[float, ...] | None] = [None] * len(prompts)
    for places, batch in zip(order, engine.score([prompts[i] for i in part] for part in order), strict=True):
        for place, score in zip(places, batch, strict=True):
            scores[place] = score.logprobs
    return time.perf_counter() - start, np.array(scores)


def alone(engine: HuggingFaceEngine, prompts: list[Prompt]) -> float:
    """Return the seconds that the device takes for the passes of all prompts, back to back, planned beforehand."""
    ordered = [prompts[i] for batch in engine.batches(prompts) for i in batch]
    rows = engine._arranged(engine._encoder.questions(ordered), "packed")
    height = engine.shape.rows
    best = float("inf")
    for _ in range(3):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for first in range(0, len(rows), height):
            engine._passes.run(rows[first : first + height], "packed")
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return best


class Bench:
    """The model, the ceiling, and one line of figures for each run."""

    def __init__(self, tokenizer: Path) -> None:
        self.tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(tokenizer))
        self.model = llama()
        body = sum(p.numel() for n, p in self.model.named_parameters() if "embed" not in n and "lm_head" not in n)
        self.operations = 2 * body
        time.sleep(3)
        self.burst = ceiling(0.03)
        self.sustained = ceiling(3.0)
        print(f"{torch.cuda.get_device_name()}, {body / 1e9:.2f}e9 weights without embedding and head")
        print(f"8192^3 product: {self.burst / 1e12:.0f} TFLOP/s in a burst, {self.sustained / 1e12:.0f} over 3 s")

    def engine(self, *, mode: Mode | None, compiled: str = "never", **shape: int) -> HuggingFaceEngine:
        # One model serves all engines: undo what the last one made of it.
        self.model.set_attn_implementation("sdpa")
        for layer in self.model.model.layers:
            layer._compiled_call_impl = None
        torch.compiler.reset()
        known = {"sha256": "0"}
        engine = HuggingFaceEngine(self.model, self.tokenizer, name="random", weights=known)
        engine.compiled = compiled
        engine._mode = mode
        engine.shape = engine.shape._replace(**shape)
        return engine

    def line(self, what: str, seconds: float, prompts: int, tokens: int) -> None:
        rate = tokens * self.operations / seconds
        shares = f"{rate / self.burst:.3f} of the burst, {rate / self.sustained:.3f} of the sustained ceiling"
        print(f"{what:<52} {seconds:6.2f} s {prompts / seconds:6.0f} prompts/s  {shares}", flush=True)


def growth(bench: Bench, prompts: list[Prompt]) -> None:
    """Print how speed, the wait for plans and memory change with the number of prompts; all is compiled before."""
    engine = bench.engine(mode=None, compiled="always")
    timed(engine, prompts[:4096])
    waited = [0.0]

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
    for count in (1_000, 5_000, 20_000, 50_000, 100_000, 200_000):
        if count > len(prompts):
            break
        torch.cuda.reset_peak_memory_stats()
        waited[0] = 0.0
        seconds, _ = timed(engine, prompts[:count])
        gpu, host = torch.cuda.max_memory_allocated(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(
            f"{count:>8,} prompts {seconds:7.2f} s {count / seconds:6.0f} prompts/s, waited {waited[0]:.2f} s for plans"
            f" ({waited[0] / seconds:.1%}), peak {gpu / 2**30:.2f} GiB on the GPU, {host / 2**30:.2f} in the process",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--part", choices=["sweep", "synthbias", "winoidentity", "growth"], default="synthbias")
    parser.add_argument("--prompts", type=int)
    chosen = parser.parse_args()
    bench = Bench(chosen.tokenizer)
    if chosen.part == "winoidentity":
        whole_winoidentity(bench, winoidentity(chosen.data, chosen.prompts or 239_400))
        return
    if chosen.part == "growth":
        growth(bench, winoidentity(chosen.data, chosen.prompts or 200_000))
        return
    prompts = synthbias(chosen.data, chosen.prompts or 8192)
    tokens = distinct_tokens(bench.engine(mode="packed"), prompts)
    print(f"SynthBias: {len(prompts):,} prompts, {tokens:,} distinct tokens")
    rows = []
    for size in (64, 128, 256) if chosen.part == "synthbias" else (64, 256):
        engine = bench.engine(mode="padded", padded_rows=size)
        timed(engine, prompts[:1024])
        seconds, plain = timed(engine, prompts)
        rows.append(seconds)
        bench.line(f"one padded row a prompt, {size} rows a pass", seconds, len(prompts), tokens)
    shapes = [(1024, 8)] if chosen.part == "synthbias" else [(512, 16), (1024, 8), (1024, 16), (2048, 4)]
    for compiled in ("never", "always"):
        for width, height in shapes:
            engine = bench.engine(mode=None, compiled=compiled, row_tokens=width, rows=height)
            start = time.perf_counter()
            timed(engine, prompts[:2048])
            first = time.perf_counter() - start
            seconds, packed = min((timed(engine, prompts) for _ in range(2)), key=lambda run: run[0])
            what = f"packed, {height} rows of {width}, compiled {compiled} (first {first:.0f} s)"
            bench.line(what, seconds, len(prompts), tokens)
            bench.line("    the same passes on the device alone", alone(engine, prompts), len(prompts), tokens)
            difference = np.abs(packed - plain)
            print(
                f"    {min(rows) / seconds:.2f} times the best padded; off by {difference.max():.3f} nats at most, "
                f"{difference.mean():.4f} on average; {engine.notes}"
            )


def whole_winoidentity(bench: Bench, prompts: list[Prompt]) -> None:
    """Score the whole set from texts to log-probabilities, planning and compilation included."""
    engine = bench.engine(mode="packed", compiled="auto")
    tokens = distinct_tokens(engine, prompts)
    print(f"WinoIdentity-like: {len(prompts):,} prompts, {tokens:,} distinct tokens")
    engine._mode = None
    seconds, _ = timed(engine, prompts)
    bench.line("packed, planning and compilation included", seconds, len(prompts), tokens)
    some = prompts[: len(prompts) // 5]
    spent, packed = timed(engine, some)
    bench.line("packed, a fifth of them, already compiled", spent, len(some), distinct_tokens(engine, some))
    few = prompts[: len(prompts) // 20]
    spent, plain = timed(bench.engine(mode="padded", padded_rows=256), few)
    bench.line("one padded row a prompt, a twentieth of them", spent, len(few), distinct_tokens(engine, few))
    difference = np.abs(packed[: len(few)] - plain)
    print(
        f"    {len(prompts) / seconds / (len(few) / spent):.2f} times the padded; "
        f"off by {difference.max():.3f} nats at most, {difference.mean():.4f} on average"
    )


if __name__ == "__main__":
    main()
