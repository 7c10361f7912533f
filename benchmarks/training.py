"""Does training with the UCerF loss beat the task loss and counterfactual augmentation at equal accuracy?

python benchmarks/training.py FOLDER                          all: prepare, run, report (a GPU: under ten minutes)
python benchmarks/training.py FOLDER --reduced                LoRA, fewer steps and arms, for two cores
python benchmarks/training.py FOLDER --step prepare|run|overhead|report

`prepare` writes the sentences (needs EQUIPOISE_DATA), `run` trains and scores (needs torch and transformers only),
`overhead` compares time and memory of a step with and without the UCerF loss, `report` measures, tests and draws.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from equipoise.records import Example
from equipoise.training.counterfactual_set import TrainingSet
from equipoise.training.loop import TuneRun
from equipoise.training.model import load_for_training, prepare, set_trained_weights, trained_weights
from equipoise.training.neutral import NeutralText, neutral_paragraphs
from equipoise.training.objective import ucerf_loss
from equipoise.training.plan import Limits, Plan
from equipoise.training.questions import Questions, candidate_logprobs
from equipoise.training.step_loss import StepLoss
from equipoise.training.validation import Validator, spread

ARMS: dict[str, dict[str, Any]] = {
    "stereotypical half": {"weight": 0.0, "task_members": "stereotypical"},
    "task loss": {"weight": 0.0, "task_members": "one"},
    "augmentation": {"weight": 0.0, "task_members": "all"},
    "UCerF x 0.5": {"weight": 0.5},
    "UCerF x 1": {"weight": 1.0},
    "UCerF x 2": {"weight": 2.0},
    "UCerF x 5": {"weight": 5.0},
}
OWN_ARMS: dict[str, dict[str, Any]] = {
    "UCerF own answers x 0": {"weight": 0.0, "target": "base"},
    "UCerF own answers x 1": {"weight": 1.0, "target": "base"},
    "UCerF own answers x 5": {"weight": 5.0, "target": "base"},
}
"""Arms that learn no labels; the base's own answers, averaged within sets, are their target."""
REDUCED_ARMS = ("stereotypical half", "task loss", "augmentation", "UCerF x 1", "UCerF x 5")
REDUCED_SETS = 64
"""Evaluation sets of each part in the reduced version, half of them answerable: scoring all takes longer than training.

Under 30 sets of a kind there is no interval of a paired difference.
"""

REDUCED_STEPS = 30

RATES = {"full": (2e-5, 5e-5, 1e-4), "lora": (5e-4, 1e-3)}
NEUTRAL = Path(__file__).with_name("training_neutral.txt")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--step", choices=("all", "prepare", "run", "overhead", "report"), default="all")
    parser.add_argument("--data", default="synthbias", help="what to train on: synthbias, grammar or a path")
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--workers", type=int, default=0, help="runs at a time; by default 1, without a GPU one a core")
    parser.add_argument("--rate", type=float, default=0.0, help="learning rate; by default chosen on validation sets")
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument("--method", choices=("full", "lora"), default="full")
    parser.add_argument("--reduced", action="store_true")
    return parser.parse_args()


def write_sets(file: Path, data: str, limit: int) -> None:
    """Write training sets, validation sets and the evaluation sets, at most `limit` of each."""
    from equipoise.datasets import open_dataset
    from equipoise.training.training_sets import SYNTHBIAS_EVALUATION, open_training_sets, sets_of, split_sets

    splits = split_sets(open_training_sets(data, markers=data == "grammar"))
    evaluation = {
        "winobias": sets_of(open_dataset("winobias")),
        "synthbias": sets_of(open_dataset("synthbias").limited(SYNTHBIAS_EVALUATION)),
        "builtin": sets_of(open_dataset("builtin")),
        "held-out occupations": spread(splits.occupations, 600),
        "held-out templates": spread(splits.templates, 600),
    }
    parts = {"train": splits.train, "validation": splits.validation}
    parts |= {name: _some(sets, limit) for name, sets in evaluation.items()}
    content = {name: [_record(item) for item in sets] for name, sets in parts.items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"data": data, "held_out": splits.held_out, "parts": content}))
    print({name: len(sets) for name, sets in parts.items()}, "held out:", ", ".join(splits.held_out))


def _some(sets: Sequence[TrainingSet], limit: int) -> list[TrainingSet]:
    """Return at most `limit` sets, half of them answerable; 0 for all."""
    kinds = [[item for item in sets if item.answerable == answerable] for answerable in (True, False)]
    return [item for kind in kinds for item in spread(kind, limit // 2)] if limit else list(sets)


def _record(item: TrainingSet) -> dict[str, Any]:
    names = ("id", "text", "candidates", "gold", "answerable", "stereotype", "set_id", "cluster_id")
    members = [
        {**{name: getattr(example, name) for name in names}, "groups": {}, "slots": dict(example.slots)}
        for example in item.members
    ]
    return {"id": item.id, "template": item.template, "members": members}


def read_sets(file: Path) -> dict[str, list[TrainingSet]]:
    """Return the sets by part."""
    parts = json.loads(file.read_text())["parts"]
    return {name: [_training_set(record) for record in records] for name, records in parts.items()}


def _training_set(record: dict[str, Any]) -> TrainingSet:
    members = [Example(**{**member, "candidates": tuple(member["candidates"])}) for member in record["members"]]
    return TrainingSet(record["id"], tuple(members), record["template"])


class Bench:
    """A model and the sets of the experiment: trains an arm from the base weights and scores every evaluation set."""

    def __init__(self, folder: Path, model: str, plan: Plan) -> None:
        torch.set_float32_matmul_precision("high")
        self.folder, self.plan = folder, plan
        self.parts = read_sets(folder / "sets.json")
        network, tokenizer = load_for_training(model)
        self.model, self.reference = prepare(network, model, plan)
        self.start = trained_weights(self.model)
        self.questions = Questions(tokenizer)
        paragraphs = neutral_paragraphs()
        cut = 3 * len(paragraphs) // 4
        self.leash = NeutralText(tokenizer, paragraphs[:cut])
        self.unseen = NeutralText(tokenizer, paragraphs[cut:])
        self.text = NeutralText(tokenizer, NEUTRAL.read_text(encoding="utf-8").split("\n\n"))

    def train(self, plan: Plan) -> tuple[list[dict[str, float]], float]:
        """Return the learning curves of a run and its seconds; the model is left trained."""
        set_trained_weights(self.model, self.start)
        losses = StepLoss(self.parts["train"], self.questions, self.leash, self.reference, plan)
        run = TuneRun(self.model, losses, self.validator(plan), plan, Limits())
        began = time.perf_counter()
        curves = [run.step(step) for step in range(plan.steps)]
        return curves, time.perf_counter() - began

    def validator(self, plan: Plan) -> Validator:
        outside = [item for item in self.parts["builtin"] if item.answerable]
        return Validator(self.parts["validation"], self.questions, self.unseen, plan, outside, self.reference)

    @torch.no_grad()
    def scores(self) -> dict[str, np.ndarray]:
        """Return the raw log-probabilities of every evaluation part, in the order of its sets' members."""
        self.model.eval()
        scores = {}
        for name, sets in self.parts.items():
            if name not in ("train", "validation"):
                parts = [
                    candidate_logprobs(self.model, self.questions.batch(sets[start : start + 256])).cpu().numpy()
                    for start in range(0, len(sets), 256)
                ]
                scores[name] = np.concatenate(parts)
        scores["perplexity"] = np.array([self.text.perplexity(self.model)])
        self.model.train()
        return scores

    def keep(self, arm: str, plan: Plan | None) -> str:
        """Train an arm (None: the base as it is), score it and write both; return a line about it."""
        file = self.folder / "scores" / f"{arm.replace(' ', '_')}--{plan.seed if plan else 0}.npz"
        set_trained_weights(self.model, self.start)
        curves, seconds = self.train(plan) if plan else ([], 0.0)
        used = plan or self.plan
        validation = self.validator(used).run(self.model).row()
        about = {"arm": arm, "plan": asdict(used), "seconds": seconds, "validation": validation, "curves": curves}
        scores = self.scores()
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(file, about=np.array(json.dumps(about)), **scores)
        return f"{arm} {used.seed}: {seconds:.0f} s, accuracy {validation['accuracy']:.3f}, U {validation['ucerf']:.3f}"


_bench: Bench | None = None


def _open(folder: Path, model: str, plan: Plan, threads: int) -> None:
    global _bench
    if threads:
        torch.set_num_threads(threads)
    _bench = Bench(folder, model, plan)


def _run(job: tuple[str, Plan | None]) -> str:
    assert _bench is not None
    line = _bench.keep(*job)
    print(line, flush=True)
    return line


def _pilot(plan: Plan) -> tuple[float, float]:
    """Return the validation loss of augmentation at a learning rate, and the rate."""
    assert _bench is not None
    _bench.train(plan)
    return _bench.validator(plan).run(_bench.model).loss, plan.rate


def run_all(options: argparse.Namespace, plan: Plan, arms: list[str]) -> None:
    """Train and score every arm with every seed, several at a time."""
    began = time.perf_counter()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    context = multiprocessing.get_context("spawn")
    # Two processes of one thread, not one of two: threads that share a core with other programs wait for each other.
    cores = 0 if torch.cuda.is_available() else os.cpu_count() or 1
    workers = options.workers or cores or 1
    with context.Pool(workers, _open, (options.folder, options.model, plan, cores // workers)) as pool:
        rates = (options.rate or plan.learning_rate,) if options.rate or plan.learning_rate else RATES[plan.method]
        if len(rates) > 1:
            pilots = [replace(plan, **ARMS["augmentation"], learning_rate=rate) for rate in rates]
            losses = pool.map(_pilot, pilots, chunksize=1)
            print("learning rates by validation loss:", losses, flush=True)
            rates = (min(losses)[1],)
        plan = replace(plan, learning_rate=rates[0])
        jobs: list[tuple[str, Plan | None]] = [("base", None)] if 0 in seeds else []
        choices = {**ARMS, **OWN_ARMS}
        jobs += [(arm, replace(plan, **choices[arm], seed=seed)) for seed in seeds for arm in arms]
        pool.map(_run, jobs, chunksize=1)
        pool.close()
        pool.join()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, processor = time.perf_counter() - began, used.ru_utime + used.ru_stime
    print(f"{len(jobs)} runs in {seconds:.0f} s, {processor:.0f} s of processor time, {workers} at a time", flush=True)


def overhead(bench: Bench, *, repeats: int = 20) -> dict[str, float]:
    """Return milliseconds and MiB of a pass with its gradients: plain cross-entropy, and with the UCerF loss added."""
    batch = bench.questions.batch([item for item in bench.parts["train"] if item.answerable][:32])
    cuda = torch.cuda.is_available()
    figures = {}
    for name in ("warm-up", "cross-entropy", "with UCerF"):
        if cuda:
            torch.cuda.reset_peak_memory_stats()
        times = []
        for _ in range(repeats if cuda else 3):
            began = time.perf_counter()
            logprobs = candidate_logprobs(bench.model, batch)
            gold, sets = (batch[key].to(logprobs.device) for key in ("gold", "sets"))
            loss = torch.nn.functional.cross_entropy(logprobs, gold)
            loss = loss + ucerf_loss(logprobs, gold, sets) if name == "with UCerF" else loss
            bench.model.zero_grad(set_to_none=True)
            loss.backward()
            if cuda:
                torch.cuda.synchronize()
            times.append(1000 * (time.perf_counter() - began))
        figures[f"{name}, ms"] = float(np.median(times))
        figures[f"{name}, MiB"] = torch.cuda.max_memory_allocated() / 2**20 if cuda else float("nan")
    return figures


def main() -> None:
    options = arguments()
    plan = Plan(method=options.method, answerable=32, unanswerable=16, steps=options.steps, leash_rows=8)
    arms = [arm.strip() for arm in options.arms.split(",")]
    if options.reduced:
        steps = min(options.steps, REDUCED_STEPS)
        plan = Plan(method="lora", answerable=4, unanswerable=2, steps=steps, leash_rows=1, warmup=5)
        plan = replace(plan, validation_sets=24, learning_rate=1e-3)
        arms = [arm for arm in arms if arm in REDUCED_ARMS or arm in OWN_ARMS]
    plan = replace(plan, target="labels", balanced=options.data != "synthbias")
    if options.step in ("all", "prepare"):
        write_sets(options.folder / "sets.json", options.data, REDUCED_SETS if options.reduced else 0)
    if options.step == "overhead":
        print(json.dumps(overhead(Bench(options.folder, options.model, plan)), indent=2))
    if options.step in ("all", "run"):
        run_all(options, plan, arms)
    if options.step in ("all", "report"):
        from training_report import report

        report(options.folder)


if __name__ == "__main__":
    main()
