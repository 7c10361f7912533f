"""Is a model that was trained on published sentences found by comparing them with new ones, and no other model?

python benchmarks/seen.py [--data winobias] [--seeds 20] [--limit 400]

Small models (some 300,000 parameters) are trained here from nothing: on the published sentences themselves, on these
with their answers, on new sentences like those that they are compared with, or on those of another grammar. Each is
asked the published sentences and new ones (`--data fresh`), and `equipoise compare` says whether it does better on the
published ones. Only the first two kinds have seen them.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
from shared.options import parsed
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import equipoise
from equipoise.comparing.seen import BITS, MEASURES, Seen, seen_before
from equipoise.datasets import open_dataset
from equipoise.datasets.fresh import load_fresh
from equipoise.options import DatasetOptions
from equipoise.records import Example
from equipoise.tasks.next_word import NextWord
from equipoise.training.grammar import grammar_dataset

transformers.logging.set_verbosity_error()

KINDS = ("published", "published, with answers", "new ones", "another grammar")
SIZE = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 192}
EPOCHS, BATCH, RATE, PIECES = 5, 16, 3e-3, 1200
TRAINED_SEED = 10_000
"""Fresh sentences for training are drawn with this seed and later ones, those that are asked with earlier ones."""


@cache
def texts(kind: str, data: str, seed: int, limit: int) -> tuple[str, ...]:
    """Return what a model of that kind is trained on."""
    if kind == "new ones":
        examples: Sequence[Example] = load_fresh(count=limit, seed=TRAINED_SEED + seed).examples
    elif kind == "another grammar":
        examples = grammar_dataset(seed=seed, resolvable=limit // 2, ambiguous=limit // 2).examples
    else:
        examples = open_dataset(data, DatasetOptions(limit=limit)).examples
    if "answers" not in kind:
        return tuple(example.text for example in examples)
    asked = [(example, NextWord().prompts(example)[0]) for example in examples]
    return tuple(f"{prompt.context}{prompt.continuations[example.gold or 0]}" for example, prompt in asked)


def make_tokenizer(several: Sequence[str]) -> Any:
    """Return a byte-level tokenizer made for these texts."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES, special_tokens=["<s>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(several, trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="<s>")


def trained(several: Sequence[str], tokenizer: Any, seed: int) -> Any:
    """Return a small model that was trained on these texts from nothing."""
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=256, **SIZE)
    model = transformers.LlamaForCausalLM(config)
    rows = [torch.tensor([tokenizer.bos_token_id, *tokenizer(text)["input_ids"]]) for text in several]
    steps = EPOCHS * -(-len(rows) // BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    for _ in range(EPOCHS):
        order = torch.randperm(len(rows))
        for start in range(0, len(rows), BATCH):
            batch = [rows[place] for place in order[start : start + BATCH]]
            tokens = torch.nn.utils.rnn.pad_sequence(batch, batch_first=True, padding_value=tokenizer.bos_token_id)
            # What is padded after a text is neither read by it nor learnt.
            labels = torch.nn.utils.rnn.pad_sequence(batch, batch_first=True, padding_value=-100)
            loss = model(input_ids=tokens, labels=labels).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return model.eval()


def tests_of(kind: str, data: str, seed: int, limit: int, out: Path) -> list[Seen]:
    """Return what is said of one model that was trained here."""
    every = [text for other in KINDS for text in texts(other, data, seed, limit)]
    tokenizer = make_tokenizer(every)
    model = trained(texts(kind, data, seed, limit), tokenizer, seed)
    chosen = {"limit": limit, "seed": seed, "resamples": 20, "metrics": ["accuracy", "candidate_mass"], "bos": "always"}
    run = equipoise.audit(
        (model, tokenizer), [data, "fresh"], ["next-word", "sentence"], out=out, progress=False, **chosen
    )
    return seen_before([run], (data, "fresh"))


def row(kind: str, several: Sequence[Sequence[Seen]]) -> str:
    """Return the line of the table of models of one kind: how many are found, and by what."""
    found = [{test.measure for test in tests if test.better} for tests in several]
    by = [sum(measure in names for names in found) for measure in MEASURES]
    bits = [test.difference.value for tests in several for test in tests if test.measure == BITS]
    counts = (len(found), sum(map(bool, found)), *by)
    return f"| {kind} | {' | '.join(map(str, counts))} | {sum(bits) / len(bits):+.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="winobias", help="the published sentences")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--limit", type=int, default=200, help="sentences of each dataset")
    chosen = parsed(parser, data="builtin", seeds=1, limit=120)
    torch.set_num_threads(1)
    print(f"| trained on | models | found | {' | '.join(f'by {measure}' for measure in MEASURES)} | bits a character |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for kind in KINDS:
        several = []
        for seed in range(chosen.seeds):
            with tempfile.TemporaryDirectory() as folder:
                several.append(tests_of(kind, chosen.data, seed, chosen.limit, Path(folder) / "run"))
        print(row(kind, several), flush=True)


if __name__ == "__main__":
    main()
