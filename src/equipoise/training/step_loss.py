"""The loss of one step: task + weight x UCerF + leash + what is asked where the group word decides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..records import ABSENT, Integers
from .batches import Questions, candidate_logprobs
from .leash import NeutralText, Reference, divergence, leash_loss, own_answers
from .objective import ucerf_loss
from .training_sets import TrainingSet
from .tune_plan import Plan


class StepLoss:
    """Draws the sets of a step and computes its losses. What a step draws depends on the seed and its number only."""

    def __init__(
        self, sets: Sequence[TrainingSet], questions: Questions, neutral: NeutralText, reference: Reference, plan: Plan
    ) -> None:
        self._questions, self._neutral, self._reference, self._plan = questions, neutral, reference, plan
        positions: dict[int | None, list[TrainingSet]] = defaultdict(list)
        self._decided = [item for item in sets if item.decided]
        for item in (item for item in sets if not item.decided):
            positions[(item.members[0].gold if plan.balanced else 0) if item.answerable else None].append(item)
        self._unanswerable = positions.pop(None, [])
        self._answerable = [positions[position] for position in sorted(key for key in positions if key is not None)]

    def drawn(self, step: int) -> list[TrainingSet]:
        """Return the sets of a step: answerable ones, then unanswerable ones where a loss asks for them."""
        rng = np.random.default_rng([self._plan.seed, step])
        chosen: list[TrainingSet] = []
        pools = len(self._answerable)
        for number, pool in enumerate(self._answerable):
            chosen += _some(pool, (self._plan.answerable + number) // pools, rng)
        asked = self._plan.weight > 0 or self._plan.target == "base"
        return chosen + _some(self._unanswerable, self._plan.unanswerable if asked else 0, rng)

    def drawn_decided(self, step: int) -> list[TrainingSet]:
        """Return the sets of a step in which the group word decides."""
        return _some(self._decided, self._plan.decided, np.random.default_rng([self._plan.seed, step, 2]))

    def parts(self, model: Any, step: int) -> dict[str, Tensor]:
        """Return the losses of a step by name, `loss` being their weighted sum."""
        plan = self._plan
        batch = self._questions.batch(self.drawn(step))
        base = own_answers(self._reference, batch) if plan.target == "base" else None
        logprobs = candidate_logprobs(model, batch)
        batch = {name: batch[name].to(logprobs.device) for name in ("gold", "sets", "stereotype")}
        with_answer = batch["gold"] != ABSENT
        zero = logprobs.new_zeros(())
        parts = {"task": zero, "ucerf": zero, "ucerf_unanswerable": zero, "mass": zero}
        if base is not None:
            parts["task"] = divergence(logprobs, base.averaged).mean()
            parts["mass"] = torch.relu(base.log_mass - torch.logsumexp(logprobs, dim=1)).mean()
        elif bool(with_answer.any()):
            seen = self._seen(batch, with_answer, step)
            parts["task"], parts["mass"] = _task_losses(logprobs[seen], batch["gold"][seen])
        # Computed without a weight, too: the learning curves show it for every run.
        for name, rows in (("ucerf", with_answer), ("ucerf_unanswerable", ~with_answer)):
            if bool(rows.any()):
                parts[name] = self._unfairness(logprobs[rows], {key: value[rows] for key, value in batch.items()})
        if base is None and bool((~with_answer).any()):
            parts["mass"] = parts["mass"] - torch.logsumexp(logprobs[~with_answer], dim=1).mean()
        tokens = self._neutral.batch(step, size=plan.leash_rows)
        parts["leash"] = leash_loss(model, self._reference, tokens) if plan.leash else zero
        unfair = plan.weight * (parts["ucerf"] + parts["ucerf_unanswerable"])
        parts["decided"] = self._understanding(model, step) if plan.decided else zero
        kept = plan.mass * parts["mass"] + plan.leash * parts["leash"]
        parts["loss"] = parts["task"] + unfair + parts["decided"] + kept
        return parts

    def _understanding(self, model: Any, step: int) -> Tensor:
        """Return the loss where the group word decides: each sentence has a target of its own, without parity."""
        drawn = self.drawn_decided(step)
        if not drawn:
            return torch.zeros((), device=next(model.parameters()).device)
        batch = self._questions.batch(drawn)
        logprobs = candidate_logprobs(model, batch)
        if self._plan.decided_target == "labels":
            task, mass = _task_losses(logprobs, batch["gold"].to(logprobs.device))
        else:
            base = own_answers(self._reference, batch)
            task = divergence(logprobs, base.shares).mean()
            mass = torch.relu(base.log_mass - torch.logsumexp(logprobs, dim=1)).mean()
        return task + self._plan.mass * mass

    def _unfairness(self, logprobs: Tensor, batch: Mapping[str, Tensor]) -> Tensor:
        plan = self._plan
        return ucerf_loss(
            logprobs,
            batch["gold"],
            batch["sets"],
            temperature=plan.temperature,
            estimator=plan.estimator,
            parity=plan.parity,
        )

    def _seen(self, batch: Mapping[str, Tensor], with_answer: Tensor, step: int) -> Tensor:
        """Return which rows the task loss sees."""
        if self._plan.task_members == "stereotypical":
            return with_answer & (batch["gold"] == batch["stereotype"])
        if self._plan.task_members == "one":
            rows = _one_of_each(batch["sets"].cpu().numpy(), np.random.default_rng([self._plan.seed, step, 1]))
            chosen = torch.zeros_like(with_answer)
            chosen[torch.from_numpy(rows).to(chosen.device)] = True
            return with_answer & chosen
        return with_answer


def _some(pool: Sequence[TrainingSet], count: int, rng: np.random.Generator) -> list[TrainingSet]:
    """Return that many sets of the pool at random, at most all."""
    places = rng.choice(max(1, len(pool)), size=min(count, len(pool)), replace=False)
    return [pool[int(place)] for place in places]


def _task_losses(logprobs: Tensor, gold: Tensor) -> tuple[Tensor, Tensor]:
    """Return the cross-entropy over the candidates, and the negative raw log-probability of the right one."""
    raw = logprobs.gather(1, gold[:, None]).squeeze(1)
    return (torch.logsumexp(logprobs, dim=1) - raw).mean(), -raw.mean()


def _one_of_each(sets: Integers, rng: np.random.Generator) -> Integers:
    """Return one row of each set, at random."""
    shuffled = rng.permutation(len(sets))
    _, first = np.unique(sets[shuffled], return_index=True)
    rows: Integers = shuffled[first]
    return rows
