"""Is the packed engine exact? Scores a dataset packed and one sentence at a time, and compares every number.

python benchmarks/exactness.py --data winobias
python benchmarks/exactness.py --data synthbias --limit 500

Ends with 1 where float32 differs by more than 0.001 nats.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from shared.models import tiny_folder
from shared.options import parsed
from shared.scoring import prompts_of, scores_of

from equipoise.datasets import open_dataset
from equipoise.measuring.measure import Plan, measure, measured_items
from equipoise.metrics import METRICS
from equipoise.options import EngineOptions
from equipoise.records import Measurement, Prompt, RunKey, Score
from equipoise.scoring.engine import identity_key
from equipoise.scoring.huggingface.head import head_at
from equipoise.scoring.huggingface.model import vocabulary_sums
from equipoise.scoring.huggingface.schedule import Batch
from equipoise.scoring.opening import open_engine
from equipoise.scoring.packing.rules import planned
from equipoise.tasks import open_task

SHOWN = ("accuracy", "perplexity", "ucerf", "ucerf_signed", "fp", "eo_sum", "accuracy_gap", "desirability_gap")


@torch.inference_mode()
def plain_scores(engine: Any, prompts: Iterable[Prompt]) -> list[Score]:
    """Return the scores from one plain pass for each candidate, without packing, padding or batches."""
    prompts = list(prompts)
    questions = engine._encoder.questions(prompts)
    batch = Batch(prompts, planned(questions, "padded", row_tokens=0))
    with engine._passes.in_use():
        sequences = [pair for question in questions for pair in zip(question.sequences, question.starts, strict=True)]
        batch.values = np.concatenate([_plain_values(engine, *pair) for pair in sequences])
    scores: list[Score] = engine._scored(batch, identity_key(engine))
    return scores


def _plain_values(engine: Any, sequence: tuple[int, ...], start: int) -> NDArray[np.float64]:
    """Return the log-probability of each token from the start on, and the sums over the vocabulary there."""
    ids = torch.tensor([sequence[:-1]], device=engine.device)
    places = torch.arange(start - 1, len(sequence) - 1, device=engine.device)
    with head_at(engine._model.get_output_embeddings(), places):
        logits = engine._model(input_ids=ids, use_cache=False).logits[0].float()
    targets = torch.tensor(sequence[start:], device=engine.device)
    values = torch.log_softmax(logits, dim=-1).gather(1, targets[:, None])
    return torch.cat([values, vocabulary_sums(logits)], dim=1).double().cpu().numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--data", default="winobias")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--bos", default="auto")
    chosen = parsed(parser, model="tiny", data="builtin", limit=8)
    with tempfile.TemporaryDirectory() as scratch:
        model = str(tiny_folder(Path(scratch))) if chosen.model == "tiny" else chosen.model
        engine = open_engine(model, EngineOptions(dtype=chosen.dtype, bos=chosen.bos))
    dataset = open_dataset(chosen.data)
    if chosen.limit:
        dataset = dataset.limited(chosen.limit)
    task = open_task("next-word")
    prompts = prompts_of(dataset, task)

    start = time.perf_counter()
    packed = scores_of(engine, prompts)
    middle = time.perf_counter()
    single = plain_scores(engine, prompts)
    end = time.perf_counter()

    both = [task.outcomes(dataset.examples, prompts, scores) for scores in (packed, single)]
    difference = np.abs(both[0].logprobs - both[1].logprobs)
    changed = int((both[0].predicted != both[1].predicted).sum())
    print(f"{engine.name}, {chosen.dtype}, {dataset.name}: {len(prompts):,} prompts, {dataset.sets:,} sets")
    print(f"packed {len(prompts) / (middle - start):.1f} prompts/s, one at a time {len(prompts) / (end - middle):.1f}")
    print(f"differences of at most {difference.max():.2e} nats, {difference.mean():.2e} on average")
    print(f"predictions changed: {changed}")
    tables = [_table(outcomes) for outcomes in both]
    for key, row in tables[0].items():
        other = tables[1][key].estimate
        mine = row.estimate
        print(
            f"{key[0]:<18} {key[1]:<12} {mine.value:.4f} [{mine.low:.4f}, {mine.high:.4f}]"
            f"   one at a time {other.value:.4f} [{other.low:.4f}, {other.high:.4f}]   n={mine.n}"
        )
    sys.exit(chosen.dtype == "float32" and bool(difference.max() > 1e-3))


def _table(outcomes: object) -> dict[tuple[str, str], Measurement]:
    plan = Plan([METRICS[name] for name in SHOWN], by=())
    rows, _ = measure(measured_items(outcomes, plan), plan, RunKey("", "", ""))  # type: ignore[arg-type]
    return {(row.metric, row.group): row for row in rows if row.group.startswith("type=")}


if __name__ == "__main__":
    main()
