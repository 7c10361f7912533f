"""What a user may choose about tuning: weights of the losses, steps, splits, and limits of the guards."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..options import TuningOptions
from .certainty import CERTAINTIES
from .objective import TrainingError

TASK_MEMBERS = ("all", "one", "stereotypical")


@dataclass(frozen=True, kw_only=True)
class Plan(TuningOptions):
    """How to tune. The loss is task + `weight` x UCerF + `leash` x KL on neutral text.

    `target` says what the task loss asks for. "base": the base model's own answer, averaged over the members of a set,
    so that it keeps what it knows and gives all members the same answer. "labels": the right answers of the data.
    The task loss is the cross-entropy over the candidates, plus `mass` x a part that keeps the candidates probable: for
    labels the negative raw log-probability of the right answer, else what their log-probability has lost to the base.
    `task_members` says which members of a set it sees: "all" (for labels: counterfactual augmentation), "one" (one at
    random) or "stereotypical" (those whose answer fits the stereotype). `balanced` draws as many sets about the first
    person as about the second in every step.
    `decided` sets a step are of another kind: the group word decides who is meant. There each sentence has a target of
    its own, the right answer or the base's (`decided_target`), and no parity is asked for.
    `outside_sets` is how many built-in sets each validation asks at most, 0 for all: they are never trained on.
    """

    answerable: int = 16
    unanswerable: int = 8
    mass: float = 0.2
    leash_rows: int = 4
    task_members: str = "all"
    balanced: bool = True
    warmup: int = 10
    checkpoint_every: int = TuningOptions.validate_every
    held_out: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, choices in (("task_members", TASK_MEMBERS), ("estimator", tuple(CERTAINTIES))):
            if getattr(self, name) not in choices:
                raise TrainingError(f"{name} {getattr(self, name)!r} is not one of {', '.join(choices)}")
        for name in ("answerable", "checkpoint_every", "leash_rows"):
            if getattr(self, name) < 1:
                raise TrainingError(f"{name} must be at least 1, not {getattr(self, name)}")
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int | float) and not 0 <= value < float("inf"):
                raise TrainingError(f"{field.name} must be a number of at least 0, not {value}")

    @property
    def rate(self) -> float:
        """The learning rate: the one chosen, or the default of the method."""
        return self.learning_rate or {"lora": 5e-4, "full": 1e-4}[self.method]

    def rate_at(self, step: int) -> float:
        """Return the learning rate of a step: a linear rise, then a linear fall to a tenth."""
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.rate * (1 - 0.9 * done)


@dataclass(frozen=True)
class Limits:
    """How far the tuned model may fall behind the base before a checkpoint is refused.

    `accuracy`, `mass`, `certainty` (as a share) and `perplexity` (as a share) are about the validation sets. `outside`
    is the accuracy that may be lost on the built-in sentences, which are never trained on, and `position` the accuracy
    that may be lost on those whose right person is mentioned first, or second. `word` is about the sentences of
    `gendered`, in which the group word decides: the interval of the change must exclude a loss of more than this.
    """

    accuracy: float = 0.02
    outside: float = 0.02
    word: float = 0.02
    position: float = 0.1
    mass: float = 0.1
    certainty: float = 0.5
    perplexity: float = 0.1
