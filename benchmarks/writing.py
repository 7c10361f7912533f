"""Measure how fast texts are written on a GPU: random weights of SmolLM2's and an 8B model's shape, 128 new tokens.

    python benchmarks/writing.py [--shape smollm2|8b] [--texts 2048]

Weights are random and have no end of text, so every text has all its tokens: the rate is that of the full work.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from equipoise.scoring.huggingface.engine import HuggingFaceEngine
from equipoise.scoring.huggingface.writing import GREEDY

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


def before(engine: HuggingFaceEngine, texts: list[str]) -> None:
    """Write as before: transformers' generate, 16 at a time."""
    for start in range(0, len(texts), 16):
        rows = engine._encoder.contexts(texts[start : start + 16])
        width = max(map(len, rows))
        ids = torch.tensor([[0] * (width - len(row)) + row for row in rows], device="cuda")
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows], device="cuda")
        engine._model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=NEW, pad_token_id=0, **GREEDY)


def rate(work: Callable[[], Any], texts: int) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return texts * NEW / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=SHAPES, default="smollm2")
    parser.add_argument("--texts", type=int, nargs="+", default=[256, 768, 2048])
    parser.add_argument("--check", action="store_true", help="compare texts written alone and among 768")
    options = parser.parse_args()
    engine = make_engine(options.shape)
    engine.generate(contexts(4), 4)
    old = rate(partial(before, engine, contexts(32)), 32)
    report(shape=options.shape, way="generate, 16 at a time", tokens_per_second=round(old))
    for count in options.texts:
        torch.cuda.reset_peak_memory_stats()
        new = rate(partial(engine.generate, contexts(count), NEW), count)
        memory = torch.cuda.max_memory_allocated() / 2**30
        row = {"tokens_per_second": round(new), "times": round(new / old, 1), "GiB": round(memory, 1)}
        report(shape=options.shape, way=f"{count} texts", **row)
    if not options.check:
        return
    alone = [engine.generate([context], NEW)[0].split() for context in contexts(6)]
    together = [text.split() for text in engine.generate(contexts(768), NEW)[:6]]
    same = sum(a == b for a, b in zip(alone, together, strict=True))
    report(shape=options.shape, equal_alone_and_among_768=f"{same} of 6")


def report(**row: Any) -> None:
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
