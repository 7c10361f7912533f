"""The loop over steps, with validation, guards, early stopping, and checkpoints to resume from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from ..progress import Progress
from .model import set_trained_weights, trained_weights
from .objective import TrainingError
from .plan import Limits, Plan
from .step_loss import StepLoss
from .validation import Validation, Validator

if TYPE_CHECKING:
    from .folder import TuneFolder


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
        if not state.faults and values.loss < state.best_loss:
            state.best_step, state.best_loss, state.waited = state.step, values.loss, 0
            state.best = trained_weights(self._model)
        else:
            state.waited += 1

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
