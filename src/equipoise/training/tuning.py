"""`tune`: from a model and data to an adapter that passes the guards, by steps with checkpoints to resume from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ..progress import Progress, silent
from .batches import Questions
from .leash import NeutralText, Reference, neutral_paragraphs
from .objective import TrainingError
from .step_loss import StepLoss
from .trained_model import load_for_training, prepare, save, set_trained_weights, trained_weights
from .training_sets import GRAMMAR, Splits, control_sets, open_training_sets, outside_sets, split_sets
from .tune_folder import TuneFolder
from .tune_plan import Limits, Plan
from .validation import Outside, Validation, Validator

STEPS_APART = 10**6
"""Between the seeds of two runs, so that their steps share none."""


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
        state = run.train(folder, progress or silent)
        if state.best:
            set_trained_weights(network, state.best)
            folder.keep_model(partial(save, network, tokenizer, plan))
        counts = {"validation_sets": validator.sets, "outside_sets": validator.outside_sets}
        counts["control_sets"] = validator.control_sets
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
    outside = Outside(outside_sets(plan.outside_sets), control_sets(plan.outside_sets))
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


@dataclass
class State:
    """The state of a run: the next step, the rows of the curves, and the best weights that passed the guards."""

    step: int = 0
    curves: list[dict[str, float]] = field(default_factory=list)
    validations: list[dict[str, float]] = field(default_factory=list)
    best_step: int = -1
    best_loss: float = float("inf")
    best: dict[str, Any] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    lowest: float = float("inf")
    waited: int = 0


class TuneRun:
    """A model, its losses and its validation: what the loop needs."""

    def __init__(self, model: Any, losses: StepLoss, validator: Validator, plan: Plan, limits: Limits) -> None:
        self._model, self._losses, self._validator = model, losses, validator
        self._plan, self._limits = plan, limits
        weights = [weight for weight in model.parameters() if weight.requires_grad]
        self._optimiser = torch.optim.AdamW(weights, lr=plan.rate, weight_decay=0.0, betas=(0.9, 0.98))

    def train(self, folder: TuneFolder, progress: Progress) -> State:
        """Return the state at the end; a checkpoint in the folder is continued."""
        state = self._restored(folder)
        if not state.validations:
            state.validations.append({"step": 0, **self._validator.run(self._model).row()})
        while state.step < self._plan.steps and state.waited < self._plan.patience:
            state.curves.append(self.step(state.step))
            state.step += 1
            if state.step % self._plan.validate_every == 0 or state.step == self._plan.steps:
                self._validate(state)
            if state.step % self._plan.checkpoint_every == 0:
                self._keep(folder, state)
            progress("tune", state.step, self._plan.steps)
        self._keep(folder, state)
        return state

    def step(self, step: int) -> dict[str, float]:
        """Take one step and return its row of the learning curves."""
        for group in self._optimiser.param_groups:
            group["lr"] = self._plan.rate_at(step)
        # What a model's own dropout leaves out depends on the step alone, not on what was computed before.
        torch.manual_seed((self._plan.seed * STEPS_APART + step) % 2**63)
        parts = self._losses.parts(self._model, step)
        self._optimiser.zero_grad(set_to_none=True)
        parts["loss"].backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(
            [weight for weight in self._model.parameters() if weight.requires_grad], 1.0
        )
        self._optimiser.step()
        row = {"step": step, **{name: float(value.detach()) for name, value in parts.items()}, "gradient": float(norm)}
        if not all(value == value for value in row.values()):
            raise TrainingError(f"the loss is not a number at step {step}; lower the learning rate")
        return row

    def _validate(self, state: State) -> None:
        values = self._validator.run(self._model)
        before = Validation(**{name: value for name, value in state.validations[0].items() if name != "step"})
        state.faults = values.faults(before, self._limits)
        state.validations.append({"step": state.step, **values.row()})
        # A model that learns to look at the word looks at it everywhere at first. So it may go on while it learns.
        state.waited = 0 if values.loss < state.lowest else state.waited + 1
        state.lowest = min(state.lowest, values.loss)
        if not state.faults and values.loss < state.best_loss:
            state.best_step, state.best_loss = state.step, values.loss
            state.best = trained_weights(self._model)

    def _keep(self, folder: TuneFolder, state: State) -> None:
        weights = trained_weights(self._model)
        optimiser = self._optimiser.state_dict()
        # Not asdict, which would copy the best weights once more.
        folder.save_checkpoint({"state": dict(vars(state)), "weights": weights, "optimiser": optimiser})
        folder.write_rows("curves.csv", state.curves)
        folder.write_rows("validation.csv", state.validations)

    def _restored(self, folder: TuneFolder) -> State:
        kept = folder.checkpoint()
        if kept is None:
            return State()
        set_trained_weights(self._model, kept["weights"])
        self._optimiser.load_state_dict(kept["optimiser"])
        return State(**kept["state"])
