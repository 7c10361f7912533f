"""Can a model be tuned for balance without forgetting what the pronoun means?

Every arm tunes the same base in its own way (LoRA, our own sentences), with several seeds, as `equipoise tune` does:
of the steps that pass the guards, the one with the lowest validation loss is kept; where none passes, the last one. It
is then asked WinoBias, SynthBias (where they are on this machine), the built-in sentences, `gendered` (the pronoun
decides; neither its constructions nor its words are trained on), 200 general questions, and neutral text.

    python benchmarks/training.py --out runs/training                     # SmolLM2, main arms, three seeds
    python benchmarks/training.py --out runs/training --models smollm2,gemma=gemma.gguf
    python benchmarks/training.py --out runs/training --reduced           # few steps and sets, for two cores

A finished run of an arm is kept in the out folder, so the same command continues. `tables.md`, `values.json`,
`samples.md` and `curve-MODEL.png` are made of whatever is there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from shared.models import device, peak_gib, tiny_folder
from shared.options import parsed
from shared.training_tables import write_tables
from shared.tuned_models import PARTS, described, saved

from equipoise.scoring.default_model import model_folder
from equipoise.scoring.huggingface.loading import dequantise
from equipoise.training import Limits, Plan, Questions, open_training_sets, split_sets
from equipoise.training.leash import NeutralText, Reference, neutral_paragraphs
from equipoise.training.step_loss import StepLoss
from equipoise.training.trained_model import load_for_training, prepare, set_trained_weights
from equipoise.training.training_sets import Splits, control_sets, outside_sets
from equipoise.training.tune_folder import TuneFolder
from equipoise.training.tuning import TuneRun
from equipoise.training.validation import Outside, Validator

BASE, FIRST, DEFAULT = "base", "first default", "labels x 16"
ARMS: dict[str, dict[str, Any]] = {
    BASE: {"steps": 0},
    FIRST: {"decided": 0},
    "own answers x 16": {"decided": 16, "decided_target": "base"},
    DEFAULT: {"decided": 16},
    "labels x 4": {"decided": 4},
    "labels x 8": {"decided": 8},
    "labels x 32": {"decided": 32},
    "labels x 16, weight 0.5": {"decided": 16, "weight": 0.5},
    "labels x 16, weight 2": {"decided": 16, "weight": 2.0},
    "labels x 16, no contrast": {"decided": 16},
    "labels x 16, upper layers": {"decided": 16},
    "labels x 16, labels of resolvable sets": {"decided": 16, "target": "labels"},
}
"""Name -> what of the plan is different. "no contrast": sets in which the word decides have templates of their own."""

MAIN = (BASE, FIRST, "own answers x 16", DEFAULT)
"""Arms that run with every model and every seed; the others with the first of each."""


@dataclass(frozen=True)
class Sizes:
    """How much an arm trains and how much it is asked."""

    steps: int = 200
    sets: int = 16
    evaluated: int = 0
    rate: float = 0.0
    parts: tuple[str, ...] = PARTS

    def plan(self, arm: str, seed: int) -> Plan:
        """Return the plan of an arm; the share of sets in which the word decides is kept."""
        changes = {"steps": self.steps, **ARMS[arm]}
        changes["steps"] = max(1, changes["steps"])
        changes["decided"] = changes.get("decided", 0) * self.sets // 16
        sets = {"answerable": self.sets, "unanswerable": self.sets // 2}
        few = {"validation_sets": 64, "outside_sets": 128, "checkpoint_every": self.steps} if self.sets < 16 else {}
        return Plan(**sets, **few, seed=seed, learning_rate=self.rate, **changes)


def sets_for(arm: str, seed: int) -> Splits:
    """Return the sets that an arm trains and validates on."""
    splits = split_sets(open_training_sets("grammar", seed=seed), seed=seed)
    train = splits.train
    if arm != "labels x 16, no contrast":
        return splits
    # Half of the templates for sets in which the word decides, the other half for ambiguous ones.
    shared = sorted({item.template for item in train if item.decided} & {s.template for s in train if not s.decided})
    half = set(shared[::2])
    kept = tuple(s for s in train if s.template not in shared or (s.template in half) == s.decided)
    return replace(splits, train=kept)


def upper_layers_only(model: Any) -> None:
    """Leave the lower half of the layers as it is."""
    layers = model.config.get_text_config().num_hidden_layers
    for name, weight in model.named_parameters():
        parts = name.split(".")
        if "layers" in parts and int(parts[parts.index("layers") + 1]) < layers // 2:
            weight.requires_grad_(False)


def run_job(folder: Path, model: str, arm: str, seed: int, sizes: Sizes, out: Path) -> None:
    """Tune one arm and write its values by set, its guards' sentences and what it writes."""
    torch.manual_seed(seed)
    torch.set_float32_matmul_precision("high")  # on a GPU products of 19 bits; several times as fast
    begun = time.perf_counter()
    network, tokenizer = load_for_training(str(folder), device=device())
    facts: dict[str, Any] = {"model": model, "arm": arm, "seed": seed}
    if arm != BASE:
        plan = sizes.plan(arm, seed)
        network, reference = prepare(network, model, plan)
        if arm == "labels x 16, upper layers":
            upper_layers_only(network)
        facts |= tuned(network, tokenizer, reference, plan, sets_for(arm, seed))
    trained = time.perf_counter()
    parts, texts = described(network, tokenizer, sizes.parts, sizes.evaluated)
    saved(out.with_suffix(".npz"), parts)
    times = {"training": trained - begun, "evaluation": time.perf_counter() - trained}
    times["processor"] = time.process_time()
    facts |= {"samples": texts, "seconds": times, "peak_gib": peak_gib()}
    out.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n")


def tuned(network: Any, tokenizer: Any, reference: Reference, plan: Plan, sets: Splits) -> dict[str, Any]:
    """Take all steps and leave the model at the step that is kept; return its number, all validations and faults."""
    questions = Questions(tokenizer)
    paragraphs = neutral_paragraphs()
    cut = 3 * len(paragraphs) // 4
    losses = StepLoss(sets.train, questions, NeutralText(tokenizer, paragraphs[:cut]), reference, plan)
    outside = Outside(outside_sets(plan.outside_sets), control_sets(plan.outside_sets))
    unseen = NeutralText(tokenizer, paragraphs[cut:])
    validator = Validator(sets.validation, questions, unseen, plan, outside, reference)
    run = TuneRun(network, losses, validator, plan, Limits())
    with TemporaryDirectory() as work:
        folder = TuneFolder(Path(work))
        folder.path.mkdir()
        state = run.train(folder, lambda what, done, total: None)
    if state.best:
        set_trained_weights(network, state.best)
    kept = state.best_step if state.best else None
    return {"kept": kept, "steps": state.step, "faults": state.faults, "validations": state.validations}


def folders(models: str, out: Path, *, smoke: bool) -> dict[str, Path]:
    """Return a folder with safetensors weights for each model by name: NAME, or NAME=GGUF file or folder."""
    if smoke:
        return {"tiny": tiny_folder(out / "tiny")}
    made = {}
    for text in models.split(","):
        name, _, path = text.partition("=")
        if not path:
            made[name] = model_folder()
        elif Path(path).is_dir():
            made[name] = Path(path)
        else:
            made[name] = out / "models" / name
            if not made[name].is_dir():
                made[name].parent.mkdir(parents=True, exist_ok=True)
                dequantise(Path(path), made[name])
                begin_with_bos(made[name])
    return made


def begin_with_bos(folder: Path) -> None:
    """Let the tokenizer of that folder put its beginning-of-text token before a text; a GGUF's often does not."""
    from tokenizers.processors import TemplateProcessing
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    token, number = tokenizer.bos_token, tokenizer.bos_token_id
    if number is None or tokenizer("a")["input_ids"][0] == number:
        return
    post = TemplateProcessing(single=f"{token} $A", pair=f"{token} $A {token} $B", special_tokens=[(token, number)])
    tokenizer.backend_tokenizer.post_processor = post
    tokenizer.save_pretrained(folder)
    if AutoTokenizer.from_pretrained(folder)("a")["input_ids"][0] != number:
        raise SystemExit(f"{folder}: its tokenizer does not begin a text with {token}")


def jobs(models: dict[str, Path], arms: list[str], seeds: int) -> list[tuple[str, str, int]]:
    """Return every model, arm and seed to run, the main arms first."""
    first = next(iter(models))
    main = [(model, arm, seed) for seed in range(seeds) for model in models for arm in arms if arm in MAIN]
    others = [(first, arm, 0) for arm in arms if arm not in MAIN]
    return [job for job in main + others if job[1] != BASE or job[2] == 0]  # nothing is drawn for the base


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/training"), help="folder for the results")
    parser.add_argument("--models", default="smollm2", help="NAME, or NAME=GGUF file or folder; separated by commas")
    parser.add_argument("--arms", default="", help=f"separated by semicolons, or all; of: {'; '.join(ARMS)}")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each main arm; the others run once")
    parser.add_argument("--workers", type=int, default=14 if torch.cuda.is_available() else 2)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--sets", type=int, default=16, help="answerable sets in a step")
    parser.add_argument("--evaluated", type=int, default=0, help="sets of each type that are asked; 0: all")
    parser.add_argument("--parts", default=",".join(PARTS), help="evaluation datasets, separated by commas")
    parser.add_argument("--rate", type=float, default=0.0, help="learning rate; 0: the default of LoRA")
    parser.add_argument("--reduced", action="store_true", help="few steps and sets, for two cores")
    parser.add_argument("--job", default="", help=argparse.SUPPRESS)
    few = f"{BASE};{FIRST};{DEFAULT}"
    tiny = {"steps": 2, "sets": 4, "evaluated": 8, "seeds": 1, "parts": "builtin,gendered"}
    chosen = parsed(parser, **tiny, arms=few, out=Path("runs/smoke"))
    if chosen.reduced:
        chosen.steps, chosen.sets, chosen.evaluated, chosen.rate = 100, 4, 64, 1e-3
        chosen.seeds = 1
        chosen.arms = chosen.arms or ";".join((BASE, FIRST, DEFAULT))
    sizes = Sizes(chosen.steps, chosen.sets, chosen.evaluated, chosen.rate, tuple(chosen.parts.split(",")))
    chosen.out.mkdir(parents=True, exist_ok=True)
    models = folders(chosen.models, chosen.out, smoke=chosen.smoke)
    if chosen.job:
        model, arm, seed = chosen.job.split("|")
        torch.set_num_threads(1)
        run_job(models[model], model, arm, int(seed), sizes, chosen.out / name_of(model, arm, int(seed)))
        return
    begun = time.perf_counter()
    arms = list(ARMS if chosen.arms == "all" else MAIN) if chosen.arms in ("", "all") else chosen.arms.split(";")
    todo = jobs(models, arms, chosen.seeds)
    with ThreadPoolExecutor(chosen.workers) as pool:
        failed = sum(pool.map(lambda job: in_process(chosen.out, *job), todo))
    print(f"{len(todo)} runs took {time.perf_counter() - begun:.0f} s, {chosen.workers} at a time; {failed} failed")
    write_tables(chosen.out, BASE, FIRST)
    print(f"{chosen.out}/tables.md")
    raise SystemExit(1 if failed else 0)


def name_of(model: str, arm: str, seed: int) -> str:
    """Return the name of a run's files, without a dot: their endings are added to it."""
    return f"{model}-{arm}-{seed}".replace(" ", "_").replace(",", "").replace(".", "p")


def in_process(out: Path, model: str, arm: str, seed: int) -> bool:
    """Run a job in a process of its own, unless it has been run; return whether it failed."""
    file = out / f"{name_of(model, arm, seed)}.json"
    if file.is_file():
        return False
    command = [sys.executable, __file__, *sys.argv[1:], "--job", f"{model}|{arm}|{seed}"]
    ended = subprocess.run(command, capture_output=True, text=True)
    state = "done" if ended.returncode == 0 else f"FAILED\n{ended.stderr[-2000:]}"
    print(f"{model}, {arm}, seed {seed}: {state}", flush=True)
    return ended.returncode != 0


if __name__ == "__main__":
    main()
