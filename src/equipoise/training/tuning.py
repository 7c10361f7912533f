"""`tune`: from a model and data to an adapter that passes the guards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..progress import Progress
from .folder import TuneFolder
from .loop import State, TuneRun
from .model import load_for_training, prepare, save, set_trained_weights
from .neutral import NeutralText, Reference, neutral_paragraphs
from .objective import TrainingError
from .outside import outside_sets
from .plan import Limits, Plan
from .questions import Questions
from .step_loss import StepLoss
from .training_sets import GRAMMAR, Splits, open_training_sets, split_sets
from .validation import Validator


@dataclass(frozen=True)
class Tuned:
    """What tuning came to: the values before and after, the step that was kept, and why later ones were not."""

    out: Path
    before: dict[str, float]
    after: dict[str, float]
    step: int
    faults: tuple[str, ...]


def tune(
    model: str,
    *,
    data: str = GRAMMAR,
    out: Path,
    plan: Plan | None = None,
    limits: Limits | None = None,
    markers: bool = True,
    device: str = "auto",
    progress: Progress | None = None,
) -> Tuned:
    """Tune a model for balance, write the adapter into `out`, and return how the validation sets changed.

    The same call continues a run that was interrupted. A finished run is returned as it is. The weights that are kept
    have the lowest validation loss of all that pass the guards. If none passes, no model is written and the faults
    are a TrainingError; `training/report.json` and the curves show what happened.
    """
    plan, limits = plan or Plan(), limits or Limits()
    folder = TuneFolder(out)
    settings = {"model": model, "data": data, "markers": markers, **asdict(plan), "limits": asdict(limits)}
    with folder.begun(settings):
        if folder.report is not None:
            folder.tidy()
            return _tuned(out, folder.report)  # a run that was refused is refused again
        splits = split_sets(
            open_training_sets(data, seed=plan.seed, markers=markers), seed=plan.seed, held_out=plan.held_out
        )
        folder.write_trained_on([*splits.train, *splits.validation])
        network, tokenizer = load_for_training(model, device=device)
        network, reference = prepare(network, model, plan)
        losses, validator = _questions(tokenizer, splits, reference, plan)
        run = TuneRun(network, losses, validator, plan, limits)
        state = run.train(folder, progress or (lambda what, done, total: None))
        if state.best:
            set_trained_weights(network, state.best)
            folder.keep_model(partial(save, network, tokenizer, plan))
        counts = {"validation_sets": validator.sets, "outside_sets": validator.outside_sets}
        report = {**_report(state, splits.held_out), **counts}
        folder.finish(report)
        return _tuned(out, report)


def _questions(tokenizer: Any, splits: Splits, reference: Reference, plan: Plan) -> tuple[StepLoss, Validator]:
    """Return the losses of the training sets and the validation, which see different neutral texts."""
    questions = Questions(tokenizer)
    paragraphs = neutral_paragraphs()
    # The last quarter is never used as a leash, so that its perplexity says something.
    cut = 3 * len(paragraphs) // 4
    neutral, unseen = NeutralText(tokenizer, paragraphs[:cut]), NeutralText(tokenizer, paragraphs[cut:])
    losses = StepLoss(splits.train, questions, neutral, reference, plan)
    outside = outside_sets(plan.outside_sets)
    return losses, Validator(splits.validation, questions, unseen, plan, outside, reference)


def _report(state: State, held_out: Sequence[str]) -> dict[str, Any]:
    refused = not state.best
    kept = next((row for row in state.validations if row["step"] == state.best_step), state.validations[-1])
    return {
        "step": 0 if refused else state.best_step,
        "refused": refused,
        "steps": state.step,
        "before": state.validations[0],
        "after": kept,
        "faults_at_the_end": state.faults,
        "held_out_occupations": list(held_out),
    }


def _tuned(out: Path, report: dict[str, Any]) -> Tuned:
    if report.get("refused"):
        faults = "; ".join(report["faults_at_the_end"])
        raise TrainingError(f"no checkpoint passed the guards, so no adapter was saved: {faults}")
    return Tuned(out, report["before"], report["after"], report["step"], tuple(report["faults_at_the_end"]))
