"""How fast are texts written on a GPU? Random weights of SmolLM2's or an 8B model's shape, 128 new tokens.

    python benchmarks/writing.py [--shape smollm2|8b] [--texts 256 768 2048]
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
from shared.models import SHAPES, llama, peak_gib, wait
from shared.options import parsed
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from equipoise.datasets import open_datasets
from equipoise.options import EngineOptions
from equipoise.records import Context
from equipoise.scoring.huggingface.engine import HuggingFaceEngine
from equipoise.scoring.huggingface.writing import GREEDY
from equipoise.scoring.opening import open_engine
from equipoise.tasks.chain_of_thought import ChainOfThought

VOCABULARY = 49152
PROMPT = 60


def make_engine(shape: str) -> HuggingFaceEngine:
    """Return the engine of a model with random weights, whose tokenizer has a token for each word."""
    words = {f"w{number}": number for number in range(VOCABULARY)}
    backend = Tokenizer(models.WordLevel(words, unk_token="w0"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend)
    model = llama(shape, VOCABULARY, max_position_embeddings=2048, eos_token_id=None, bos_token_id=None)
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


def before(engine: HuggingFaceEngine, texts: Sequence[Context], new: int) -> None:
    """Write with transformers' generate, 16 at a time."""
    end = engine._model.generation_config.eos_token_id
    for start in range(0, len(texts), 16):
        rows = engine._encoder.contexts(texts[start : start + 16])
        width = max(map(len, rows))
        ids = torch.tensor([[0] * (width - len(row)) + row for row in rows], device=engine.device)
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows], device=engine.device)
        limits = {"max_new_tokens": new, "pad_token_id": 0}
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
    wait()
    start = time.perf_counter()
    work()
    wait()
    spent = time.perf_counter() - start
    engine._encoder.texts = texts  # type: ignore[method-assign]
    return tokens[0] / spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="smollm2")
    parser.add_argument("--model", help="real weights instead of random ones")
    parser.add_argument("--dtype", default="bfloat16", help="of --model")
    parser.add_argument("--texts", type=int, nargs="+", default=[256, 768, 2048])
    parser.add_argument("--new", type=int, default=128, help="tokens to write")
    parser.add_argument("--check", type=int, default=0, help="compare texts written alone and among that many")
    chosen = parsed(parser, shape="tiny", texts=[6], new=4, check=6)
    if chosen.model:
        engine: Any = open_engine(chosen.model, EngineOptions(dtype=chosen.dtype))
        name, asked = f"{engine.name}, real weights, {chosen.dtype}", reasoned
    else:
        engine, name, asked = make_engine(chosen.shape), chosen.shape, contexts
    engine.generate(asked(4), 4)
    old = rate(engine, partial(before, engine, asked(min(32, max(chosen.texts))), chosen.new))
    report(shape=name, way="generate, 16 at a time", tokens_per_second=round(old))
    for count in chosen.texts:
        peak_gib()
        new = rate(engine, partial(engine.generate, asked(count), chosen.new))
        row = {"tokens_per_second": round(new), "times": round(new / old, 1), "GiB": round(peak_gib(), 1)}
        report(shape=name, way=f"{count} texts", **row)
    if chosen.check:
        few = min(6, chosen.check)
        alone = [engine.generate([context], chosen.new)[0].split() for context in asked(few)]
        together = [text.split() for text in engine.generate(asked(chosen.check), chosen.new)[:few]]
        same = sum(a == b for a, b in zip(alone, together, strict=True))
        report(shape=name, equal_alone_and_among_others=f"{same} of {few}")


def report(**row: Any) -> None:
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
