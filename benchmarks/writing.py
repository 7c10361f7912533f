"""Measure how fast texts are written on a GPU: random weights of SmolLM2's and an 8B model's shape, 128 new tokens.

    python benchmarks/writing.py [--shape smollm2|8b] [--texts 2048]
    python benchmarks/writing.py --model smollm2 [--dtype bfloat16]

Random weights have no end of text, so every text has all its tokens: the rate is that of the full work. A real model
(--model) reasons about the built-in and WinoBias sentences; its texts end by themselves, and only their tokens count.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from equipoise.datasets import open_datasets
from equipoise.options import EngineOptions
from equipoise.records import Context
from equipoise.scoring.huggingface.engine import HuggingFaceEngine
from equipoise.scoring.huggingface.writing import GREEDY
from equipoise.scoring.opening import open_engine
from equipoise.tasks.chain_of_thought import ChainOfThought

NAMES = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads")
SHAPES = {
    "smollm2": dict(zip(NAMES, (576, 1536, 30, 9, 3), strict=True)),
    "8b": dict(zip(NAMES, (4096, 14336, 32, 32, 8), strict=True)),
}
VOCABULARY = 49152
PROMPT, NEW = 60, 128


def make_engine(shape: str) -> HuggingFaceEngine:
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {f"w{number}": number for number in range(VOCABULARY)}
    backend = Tokenizer(models.WordLevel(words, unk_token="w0"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend)
    ends = {"eos_token_id": None, "bos_token_id": None}
    config = LlamaConfig(vocab_size=VOCABULARY, max_position_embeddings=2048, **ends, **SHAPES[shape])
    torch.manual_seed(0)
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16)
        model = LlamaForCausalLM(config)
        torch.set_default_dtype(torch.float32)
    return HuggingFaceEngine(model, tokenizer, name=shape, weights={"sha256": "0"})


def contexts(count: int) -> list[str]:
    """Return texts of about 60 tokens, all different."""
    return [
        " ".join(f"w{(number * 7919 + place * 104729) % VOCABULARY}" for place in range(PROMPT - number % 8))
        for number in range(count)
    ]


def reasoned(count: int) -> list[Context]:
    """Return the questions of a chain of thought about that many built-in and WinoBias sentences."""
    examples = [example for dataset in open_datasets(["builtin", "winobias"]) for example in dataset.examples]
    task = ChainOfThought()
    return [turns.first for example in examples[:count] for turns in task.turns(example)]


def before(engine: HuggingFaceEngine, texts: Sequence[Context]) -> None:
    """Write as before: transformers' generate, 16 at a time."""
    end = engine._model.generation_config.eos_token_id
    for start in range(0, len(texts), 16):
        rows = engine._encoder.contexts(texts[start : start + 16])
        width = max(map(len, rows))
        ids = torch.tensor([[0] * (width - len(row)) + row for row in rows], device=engine.device)
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows], device=engine.device)
        limits = {"max_new_tokens": NEW, "pad_token_id": 0}
        written = engine._model.generate(input_ids=ids, attention_mask=mask, **limits, **GREEDY)
        engine._encoder.texts(written[:, width:].tolist(), {end} - {None})


def rate(engine: HuggingFaceEngine, work: Callable[[], Any]) -> float:
    """Return the tokens that are written in a second, ends of texts included."""
    tokens, texts = [0], engine._encoder.texts

    def counted(rows: Sequence[Sequence[int]], stops: Collection[int]) -> list[str]:
        ends = (next((place + 1 for place, token in enumerate(row) if token in stops), len(row)) for row in rows)
        tokens[0] += sum(ends)
        return texts(rows, stops)

    engine._encoder.texts = counted  # type: ignore[method-assign]
    wait = torch.cuda.synchronize if torch.cuda.is_available() else list
    wait()
    start = time.perf_counter()
    work()
    wait()
    spent = time.perf_counter() - start
    engine._encoder.texts = texts  # type: ignore[method-assign]
    return tokens[0] / spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=SHAPES, default="smollm2")
    parser.add_argument("--model", help="real weights instead of random ones")
    parser.add_argument("--dtype", default="bfloat16", help="of --model")
    parser.add_argument("--texts", type=int, nargs="+", default=[256, 768, 2048])
    parser.add_argument("--check", action="store_true", help="compare texts written alone and among 768")
    options = parser.parse_args()
    if options.model:
        engine = open_engine(options.model, EngineOptions(dtype=options.dtype))
        assert isinstance(engine, HuggingFaceEngine)
        name, asked = f"{engine.name}, real weights, {options.dtype}", reasoned
    else:
        engine, name, asked = make_engine(options.shape), options.shape, contexts
    engine.generate(asked(4), 4)
    old = rate(engine, partial(before, engine, asked(min(32, max(options.texts)))))
    report(shape=name, way="generate, 16 at a time", tokens_per_second=round(old))
    for count in options.texts:
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        new = rate(engine, partial(engine.generate, asked(count), NEW))
        memory = torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else 0.0
        row = {"tokens_per_second": round(new), "times": round(new / old, 1), "GiB": round(memory, 1)}
        report(shape=name, way=f"{count} texts", **row)
    if not options.check:
        return
    alone = [engine.generate([context], NEW)[0].split() for context in asked(6)]
    together = [text.split() for text in engine.generate(asked(768), NEW)[:6]]
    same = sum(a == b for a, b in zip(alone, together, strict=True))
    report(shape=name, equal_alone_and_among_768=f"{same} of 6")


def report(**row: Any) -> None:
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
