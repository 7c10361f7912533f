"""How a model does on the validation sets and outside of them, and whether it cheats: the guards of tuning.

A model can lower the UCerF loss without treating people better. It can answer everything with 50% (certainty 0), give
both members the same wrong answer, choose the first-mentioned person always, or lose all mass on the candidates.
It can also learn a rule that holds for the training data only, which the validation sets do not show: `outside` does.
And it can ignore the group word altogether, which no sentence shows in which the word must not matter: see `Control`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from ..records import ABSENT, Floats
from .batches import Batch, Questions, candidate_logprobs
from .certainty import certainty
from .leash import NeutralText, Reference, divergence, own_answers
from .objective import ucerf_values
from .training_sets import TrainingSet, spread
from .tune_plan import Limits, Plan
from .understanding import CHANCE, Control, mean_interval


@dataclass(frozen=True)
class Validation:
    """Values on the validation sets. `ucerf` is over answerable sets, `signed` (ucerf_signed) over unanswerable ones.

    `first` is the share of answers that name the first-mentioned person, `loss` what early stopping minimises.
    The values `outside_…` are over sets from outside the training data: `outside_first` and `outside_second` are the
    accuracy where the right person is mentioned first and second. Those named `word_…` are over sentences in which the
    group word decides (see `Understanding`). A value over no sets is NaN.
    """

    loss: float
    accuracy: float
    ucerf: float
    signed: float
    flips: float
    flips_unanswerable: float
    certainty: float
    mass: float
    first: float
    perplexity: float
    outside_accuracy: float = float("nan")
    outside_first: float = float("nan")
    outside_second: float = float("nan")
    outside_ucerf: float = float("nan")
    outside_flips: float = float("nan")
    word_accuracy: float = float("nan")
    word_low: float = float("nan")
    word_male: float = float("nan")
    word_female: float = float("nan")
    word_other: float = float("nan")
    word_change_low: float = float("nan")
    word_change_high: float = float("nan")
    word_marker: float = float("nan")
    word_marker_low: float = float("nan")
    word_marker_change_low: float = float("nan")
    word_marker_change_high: float = float("nan")
    accuracy_change_low: float = float("nan")
    accuracy_change_high: float = float("nan")
    outside_change_low: float = float("nan")
    outside_change_high: float = float("nan")

    def faults(self, before: Validation, limits: Limits) -> list[str]:
        """Return how the model cheats, against the values before tuning, as sentences; an empty list if it does not."""
        faults = []
        if self._lost("accuracy", before, limits.accuracy):
            faults.append(f"accuracy fell from {self._change('accuracy', before)}")
        if _fell(before.mass, self.mass, limits.mass):
            faults.append(f"the candidates' probability fell from {before.mass:.3f} to {self.mass:.3f}")
        if self.certainty < limits.certainty * before.certainty:
            faults.append(f"certainty fell from {before.certainty:.3f} to {self.certainty:.3f}")
        if self.perplexity > (1 + limits.perplexity) * before.perplexity:
            faults.append(f"perplexity of neutral text rose from {before.perplexity:.2f} to {self.perplexity:.2f}")
        return faults + self._faults_outside(before, limits) + self._faults_of_understanding(before, limits)

    def _faults_of_understanding(self, before: Validation, limits: Limits) -> list[str]:
        """Return whether the model may have lost the meaning of the group word; a base without it has none to lose."""
        faults = []
        if before.word_low > CHANCE and self.word_change_low < -limits.word:
            rule = "the model learns to ignore the group word"
            if self.word_change_high >= 0:
                rule = f"a loss of more than {100 * limits.word:g} points is not excluded"
            change = self._change("word", before)
            faults.append(f"the share of right answers where the group word decides went from {change}: {rule}")
        # Too few sets to exclude a small loss, so this one must be shown.
        if before.word_marker_low > CHANCE and self.word_marker_change_high < -limits.word:
            change = self._change("word_marker", before)
            faults.append(f"the share of right answers where a marker of a person decides fell from {change}")
        return faults

    def _faults_outside(self, before: Validation, limits: Limits) -> list[str]:
        """Return what is lost on the built-in sentences: accuracy, or accuracy at one position of the right person."""
        faults = []
        if self._lost("outside", before, limits.outside):
            change = self._change("outside", before)
            faults.append(f"accuracy on the built-in sentences, which are not trained on, fell from {change}")
        for place, other in (("first", "second"), ("second", "first")):
            old, new = getattr(before, f"outside_{place}"), getattr(self, f"outside_{place}")
            if _fell(old, new, limits.position):
                where = f"the built-in sentences whose right person is mentioned {place}"
                rule = f"the model learns to name the {other} person"
                faults.append(f"accuracy on {where} fell from {old:.3f} to {new:.3f}: {rule}")
        return faults

    def _lost(self, part: str, before: Validation, limit: float) -> bool:
        """Return whether accuracy fell by more than the limit, and by more than chance explains, set by set.

        A model that guesses gets another accuracy with every change, so the value alone says nothing.
        """
        fell = _fell(getattr(before, _ACCURACY[part]), getattr(self, _ACCURACY[part]), limit)
        return fell and not getattr(self, f"{part}_change_high") >= 0

    def _change(self, part: str, before: Validation) -> str:
        old, new = (getattr(values, _ACCURACY[part]) for values in (before, self))
        low, high = (100 * getattr(self, f"{part}_change_{end}") for end in ("low", "high"))
        interval = "" if math.isnan(low) else f", by {100 * (new - old):+.1f} points [{low:+.1f}, {high:+.1f}]"
        return f"{old:.3f} to {new:.3f}{interval}"

    def row(self) -> dict[str, float]:
        """Return the values by name."""
        return asdict(self)


_ACCURACY = {
    "accuracy": "accuracy", "outside": "outside_accuracy", "word": "word_accuracy", "word_marker": "word_marker",
}  # fmt: skip
"""Sets whose accuracy is compared with the base's, set by set -> the value that is."""


def _fell(old: float, new: float, limit: float) -> bool:
    """Return whether a value fell by more than the limit; a fall of exactly the limit passes, rounding aside."""
    return old - new > limit + 1e-9


@dataclass(frozen=True)
class Outside:
    """Sets that are never trained on: the built-in ones, and those in which the group word decides."""

    sets: Sequence[TrainingSet] = ()
    control: Sequence[TrainingSet] = ()


class Validator:
    """Asks a model the validation sets and the sets from outside, always the same."""

    def __init__(
        self,
        sets: Sequence[TrainingSet],
        questions: Questions,
        neutral: NeutralText,
        plan: Plan,
        outside: Outside | None = None,
        reference: Reference | None = None,
    ) -> None:
        self._plan, self._neutral, self._reference = plan, neutral, reference
        outside = outside or Outside()
        chosen = spread([item for item in sets if not item.decided], plan.validation_sets)
        decided = [item for item in sets if item.decided] if plan.decided else []
        self.sets, self.outside_sets, self.control_sets = len(chosen), len(outside.sets), len(outside.control)
        self._batches = _batches(chosen, questions)
        self._decided = _batches(spread(decided, plan.validation_sets // 4), questions)
        self._outside = _batches(outside.sets, questions)
        self._control = Control(outside.control, questions, reference)
        self._own: list[torch.Tensor] = []
        self._base_right: dict[str, Floats] = {}

    @torch.no_grad()
    def run(self, model: Any) -> Validation:
        """Return how the model does; its training mode is left as it was."""
        training = model.training
        model.eval()
        asked, asked_outside = (
            [candidate_logprobs(model, batch).cpu() for batch in batches] for batches in (self._batches, self._outside)
        )
        parts = [self._measure(*pair) for pair in zip(asked, self._batches, strict=True)]
        outside = [self._measure(*pair) for pair in zip(asked_outside, self._outside, strict=True)]
        for part, logprobs, shares in zip(parts, asked, self._own_answers(), strict=False):
            part["task"] = divergence(logprobs, shares).double().numpy()
        perplexity = self._neutral.perplexity(model)
        decided = [self._decided_loss(model, batch) for batch in self._decided]
        understanding = self._control.run(model).row()
        changes = self._changes("accuracy", self._batches, asked)
        changes |= self._changes("outside", self._outside, asked_outside)
        model.train(training)
        values = {name: _mean(parts, name) for name in (*_SHOWN, *_HIDDEN)}
        unfair = np.nan_to_num(np.array([1 - values["ucerf"], values["unanswerable"]])).sum()
        loss = float(np.nan_to_num(values["task"]) + self._plan.weight * unfair)
        loss += float(np.concatenate(decided).mean()) if decided else 0.0
        beyond = {f"outside_{shown}": _mean(outside, name) for shown, name in _OUTSIDE.items()}
        shown = {name: values[name] for name in _SHOWN}
        return Validation(loss=loss, perplexity=perplexity, **shown, **beyond, **understanding, **changes)

    def _changes(self, part: str, batches: Sequence[Batch], asked: Sequence[torch.Tensor]) -> dict[str, float]:
        """Return the interval of the change of accuracy from the base's, set by set; nothing without a base."""
        if self._reference is None or not any(map(_is_answerable, batches)):
            return {}
        if part not in self._base_right:
            with self._reference.model() as base:
                answers = [candidate_logprobs(base, batch).cpu() for batch in batches]
            self._base_right[part] = _right_by_set(answers, batches)
        low, high = mean_interval(_right_by_set(asked, batches) - self._base_right[part])
        return {f"{part}_change_low": low, f"{part}_change_high": high}

    def _decided_loss(self, model: Any, batch: Batch) -> Floats:
        """Return the loss of each validation sentence in which the group word decides."""
        logprobs = candidate_logprobs(model, batch).cpu()
        if self._plan.decided_target == "labels" or self._reference is None:
            losses = -torch.log_softmax(logprobs, dim=1).gather(1, batch["gold"][:, None]).squeeze(1)
        else:
            losses = divergence(logprobs, own_answers(self._reference, batch).shares.cpu())
        values: Floats = losses.double().numpy()
        return values

    def _own_answers(self) -> list[torch.Tensor]:
        """Return the base's answers to the validation sets, asked once; nothing where labels are the target."""
        if self._reference is not None and self._plan.target == "base" and not self._own:
            self._own = [own_answers(self._reference, batch).averaged.cpu() for batch in self._batches]
        return self._own

    def _measure(self, logprobs: torch.Tensor, batch: dict[str, torch.Tensor]) -> dict[str, Floats]:
        gold, sets = batch["gold"], batch["sets"]
        chosen = logprobs.argmax(dim=1)
        flipped = _flipped(chosen, sets)
        values = {
            "certainty": certainty(logprobs, estimator=self._plan.estimator),
            "mass": logprobs.exp().sum(dim=1),
            "first": (chosen == 0).double(),
        }
        if not _is_answerable(batch):
            unfair = [self._unfairness(logprobs, batch, parity) for parity in ("signed", self._plan.parity)]
            values |= {"signed": 1 - unfair[0], "unanswerable": unfair[1], "flips_unanswerable": flipped}
        else:
            right = torch.log_softmax(logprobs, dim=1).gather(1, gold[:, None]).squeeze(1)
            correct = (chosen == gold).double()
            values |= {"accuracy": correct, "task": -right, "flips": flipped}
            values |= {"right_first": correct[gold == 0], "right_second": correct[gold == 1]}
            values |= {"ucerf": 1 - self._unfairness(logprobs, batch, "both")}
        return {name: tensor.double().numpy() for name, tensor in values.items()}

    def _unfairness(self, logprobs: torch.Tensor, batch: dict[str, torch.Tensor], parity: str) -> torch.Tensor:
        """Return 1 - U of each set by the metric itself: temperature 0."""
        estimator = self._plan.estimator
        return ucerf_values(logprobs, batch["gold"], batch["sets"], temperature=0.0, estimator=estimator, parity=parity)


_SHOWN = ("accuracy", "ucerf", "signed", "flips", "flips_unanswerable", "certainty", "mass", "first")
_HIDDEN = ("task", "unanswerable")
_OUTSIDE = {
    "accuracy": "accuracy", "first": "right_first", "second": "right_second", "ucerf": "ucerf", "flips": "flips",
}  # fmt: skip


def _batches(sets: Sequence[TrainingSet], questions: Questions) -> list[Batch]:
    """Return the questions of the sets, 32 sets at a time; answerable and unanswerable ones apart."""
    return [
        questions.batch(part[start : start + 32])
        for answerable in (True, False)
        for part in [[item for item in sets if item.answerable == answerable]]
        for start in range(0, len(part), 32)
    ]


def _is_answerable(batch: Mapping[str, torch.Tensor]) -> bool:
    """Return whether the questions of a batch have right answers: all have, or none has."""
    return int(batch["gold"][0]) != ABSENT


def _right_by_set(asked: Sequence[torch.Tensor], batches: Sequence[Batch]) -> Floats:
    """Return the share of right answers in each answerable set."""
    shares = []
    for logprobs, batch in zip(asked, batches, strict=True):
        if _is_answerable(batch):
            right, sets = (logprobs.argmax(dim=1) == batch["gold"]).double().numpy(), batch["sets"].numpy()
            shares.append(np.bincount(sets, right) / np.bincount(sets))
    return np.concatenate(shares)


def _flipped(chosen: torch.Tensor, sets: torch.Tensor) -> torch.Tensor:
    """Return 1 for each set whose members choose different candidates, else 0."""
    count = int(sets.max()) + 1
    low = torch.full((count,), 10**6).scatter_reduce(0, sets, chosen, "amin")
    high = torch.full((count,), -1).scatter_reduce(0, sets, chosen, "amax")
    return (high > low).double()


def _mean(parts: Sequence[Mapping[str, Floats]], name: str) -> float:
    values = [part[name] for part in parts if name in part and len(part[name])]
    return float(np.concatenate(values).mean()) if values else float("nan")
