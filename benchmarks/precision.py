"""What do fewer bits change? The same prompts in float32, bfloat16, float16, int8 and int4, held against float32.

python benchmarks/precision.py [--model FOLDER] [--data winobias] [--limit 400] [--bos auto] [--dtypes bfloat16,float16]

The default model comes from a file of 4 bits in groups of 32, so rounding it to 8 or 4 bits again changes next to
nothing. The lines "lost bits drawn" are of the same model with the bits that its file lost drawn at random, uniformly
within half a step of 4 bits: a model whose weights are on no grid, like one as it was trained.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from equipoise.datasets import open_dataset
from equipoise.measuring.measure import Plan, measure, measured_items
from equipoise.metrics import METRICS
from equipoise.records import Outcomes, Prompt, RunKey, Score
from equipoise.scoring.default_model import model_folder
from equipoise.scoring.engine import EngineOptions
from equipoise.scoring.huggingface import engine as engines
from equipoise.scoring.huggingface import head
from equipoise.scoring.opening import open_engine
from equipoise.tasks import open_task

GROUP = 32
STEPS = 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=None)
    parser.add_argument("--data", default="winobias")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--bos", default="auto")
    parser.add_argument("--dtypes", default="bfloat16,float16")
    chosen = parser.parse_args()
    folder = str(chosen.model or model_folder())
    dataset = open_dataset(chosen.data)
    dataset = dataset.limited(chosen.limit) if chosen.limit else dataset
    task = open_task("next-word")
    prompts = [prompt for example in dataset.examples for prompt in task.prompts(example)]

    def outcomes(model: str, *, plain_head: bool = False, **options: Any) -> Outcomes:
        start = time.perf_counter()
        scores = scored(model, prompts, EngineOptions(bos=chosen.bos, **options), plain_head=plain_head)
        print(f"# {options} {time.perf_counter() - start:.1f} s", flush=True)
        return task.outcomes(dataset.examples, prompts, scores)

    exact = outcomes(folder, dtype="float32")
    report("float32", exact, exact)
    for dtype in filter(None, chosen.dtypes.split(",")):
        report(f"{dtype}, rounded logits", exact, outcomes(folder, dtype=dtype, plain_head=True))
        report(f"{dtype}, logits in float32", exact, outcomes(folder, dtype=dtype))
    for bits in ("int8", "int4"):
        report(bits, exact, outcomes(folder, dtype="float32", quantize=bits))
    with tempfile.TemporaryDirectory() as scratch:
        dither(folder, scratch)
        drawn = outcomes(scratch, dtype="float32")
        report("lost bits drawn, float32", drawn, drawn)
        for bits in ("int8", "int4"):
            report(f"lost bits drawn, {bits}", drawn, outcomes(scratch, dtype="float32", quantize=bits))


def scored(model: str, prompts: Sequence[Prompt], options: EngineOptions, *, plain_head: bool) -> list[Score]:
    """Return the scores of the prompts; with a plain head, logits are rounded to the model's dtype."""
    kept = head.is_widened
    if plain_head:
        head.is_widened = engines.is_widened = lambda _: False
    try:
        engine = open_engine(model, options)
        order = engine.batches(prompts)
        scores: dict[int, Score] = {}
        for places, batch in zip(order, engine.score([prompts[i] for i in batch] for batch in order), strict=True):
            scores |= dict(zip(places, batch, strict=True))
        return [scores[place] for place in range(len(prompts))]
    finally:
        head.is_widened = engines.is_widened = kept


def report(name: str, exact: Outcomes, other: Outcomes) -> None:
    """Print how far the log-probabilities are apart, and what that changes."""
    difference = np.abs(exact.logprobs - other.logprobs)
    row = {
        "name": name,
        "n": len(difference),
        "largest_nats": float(f"{difference.max():.2g}"),
        "mean_nats": float(f"{difference.mean():.2g}"),
        "changed_answers": int((exact.predicted != other.predicted).sum()),
        "exact_ties": int((other.logprobs[:, 0] == other.logprobs[:, 1]).sum()),
        **metrics(other),
    }
    print(json.dumps(row), flush=True)


def metrics(outcomes: Outcomes) -> dict[str, float]:
    """Return accuracy and UCerF of each type of sentence."""
    plan = Plan([METRICS[name] for name in ("accuracy", "ucerf")], by=("type",), resamples=200)
    rows, _ = measure(measured_items(outcomes, plan), plan, RunKey("", "", ""))
    return {f"{row.metric} {row.group}": round(row.estimate.value, 4) for row in rows if row.group.startswith("type=")}


@torch.inference_mode()
def dither(source: str, target: str) -> None:
    """Save the model with every weight of its linear layers moved at random, within half a step of 4 bits."""
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32)
    generator = torch.Generator().manual_seed(0)
    for layer in model.modules():
        if type(layer) is torch.nn.Linear and layer is not model.get_output_embeddings():
            groups = layer.weight.reshape(len(layer.weight), -1, GROUP)
            step = (groups.amax(dim=2, keepdim=True) - groups.amin(dim=2, keepdim=True)) / STEPS
            groups += (torch.rand(groups.shape, generator=generator) - 0.5) * step
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(source).save_pretrained(target)
    assert (Path(target) / "model.safetensors").exists()


if __name__ == "__main__":
    main()
