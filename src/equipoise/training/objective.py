"""A differentiable UCerF: how differently a model treats the members of counterfactual sets, as a loss.

UCerF's desirability is +c (certainty) for a right answer and -c for a wrong one. That sign has no gradient. Here it is
softened: s = 2 softmax(logprobs / temperature)[right answer] - 1, which is tanh(difference / 2t) for two candidates
and becomes the sign as the temperature goes to 0. At temperature 0 the loss is 1 - UCerF exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..records import ABSENT, EquipoiseError
from .certainty import certainty, length

DISPARITIES = ("range", "pairwise", "deviation")
PARITIES = ("certainty", "signed", "both")


class TrainingError(EquipoiseError):
    """Input that the training loss or the tuning cannot use; names the row or argument."""


def ucerf_loss(
    logprobs: Tensor,
    gold: Tensor,
    sets: Tensor,
    *,
    temperature: float = 0.5,
    estimator: str = "perplexity",
    parity: str = "both",
    disparity: str = "range",
) -> Tensor:
    """Return 1 - UCerF of the batch as a scalar with gradients, in [0, 1]; 0: all groups are treated alike.

    logprobs: (n, k) log-probabilities of the k candidates, as the model gives them; they are renormalised here.
    gold: (n,) index of the right candidate, -1 in every row of a batch of unanswerable sets.
    sets: (n,) integers; rows with the same number form one counterfactual set of two or more groups.
    temperature: softness of the sign, above 0 to train; 0 gives the metric itself, with no gradient through the sign.
    estimator: a name of `CERTAINTIES`; the metric's default is "perplexity".
    parity: for unanswerable sets. "certainty" asks for equal certainty (the metric `ucerf`), "signed" for equal signed
        certainty (`ucerf_signed`: a flip costs), "both" is the mean of the two. Answerable sets ignore it.
    disparity: "range", "pairwise" or "deviation", as in `equipoise.metrics.fairness.disparity`.
    """
    return ucerf_values(
        logprobs,
        gold,
        sets,
        temperature=temperature,
        estimator=estimator,
        parity=parity,
        disparity=disparity,
    ).mean()


def ucerf_values(
    logprobs: Tensor,
    gold: Tensor,
    sets: Tensor,
    *,
    temperature: float = 0.5,
    estimator: str = "perplexity",
    parity: str = "both",
    disparity: str = "range",
) -> Tensor:
    """Return 1 - U of each set, in ascending order of the set numbers; the arguments are those of `ucerf_loss`."""
    _check_choices(temperature, parity, disparity)
    _check_batch(logprobs, gold, sets)
    # Half precision would lose the difference between two sure answers.
    logprobs = logprobs.float() if logprobs.dtype in (torch.float16, torch.bfloat16) else logprobs
    members = _members(sets, gold)
    sureness = certainty(logprobs, estimator=estimator)
    if bool((gold != ABSENT).all()):
        desirability = soft_sign(logprobs, gold, temperature) * sureness
        return _disparity(_apart(desirability, members), members, disparity) / 2
    plain = _disparity(_apart(sureness, members), members, disparity)
    if parity == "certainty":
        return plain
    signed = _disparity(_choices_apart(logprobs, sureness, members, temperature), members, disparity) / 2
    return signed if parity == "signed" else (plain + signed) / 2


def soft_sign(logprobs: Tensor, index: Tensor, temperature: float) -> Tensor:
    """Return 2 softmax(logprobs / temperature)[index] - 1 of each row, in [-1, 1]; the sign itself at temperature 0."""
    if temperature == 0:
        best = logprobs.amax(dim=1, keepdim=True)
        alone = (logprobs == best).sum(dim=1) == 1
        chosen = logprobs.gather(1, index[:, None]).squeeze(1) == best.squeeze(1)
        return torch.where(alone & chosen, 1.0, -1.0).to(logprobs.dtype)
    share = torch.softmax(logprobs / temperature, dim=1).gather(1, index[:, None]).squeeze(1)
    return 2 * share - 1


class _Members(NamedTuple):
    """Where the rows of a batch go in a (sets, largest set) table, and which of its cells are filled."""

    set_of: Tensor
    place: Tensor
    filled: Tensor


def _members(sets: Tensor, gold: Tensor) -> _Members:
    numbers, set_of, counts = torch.unique(sets, return_inverse=True, return_counts=True)
    if bool((counts < 2).any()):
        number = numbers[counts < 2][0].item()
        raise TrainingError(f"set {number} has one member; a counterfactual set needs at least two")
    answerable = gold != ABSENT
    answered = torch.zeros_like(counts).index_add(0, set_of, answerable.to(counts.dtype))
    mixed = (answered > 0) & (answered < counts)
    if bool(mixed.any()):
        raise TrainingError(
            f"set {numbers[mixed][0].item()} mixes rows with a right answer and rows without one (gold -1)"
        )
    if bool(answerable.any()) and not bool(answerable.all()):
        raise TrainingError("the batch mixes answerable and unanswerable sets; call the loss once for each and add")
    order = torch.argsort(set_of, stable=True)
    starts = torch.cumsum(counts, 0) - counts
    place = torch.empty_like(set_of)
    place[order] = torch.arange(len(sets), device=sets.device) - starts[set_of[order]]
    filled = torch.arange(int(counts.max()), device=sets.device)[None, :] < counts[:, None]
    return _Members(set_of, place, filled)


def _apart(values: Tensor, members: _Members) -> Tensor:
    """Return |a - b| for all members a and b of each set, as (sets, members, members)."""
    table = _table(values, members)
    return (table[:, :, None] - table[:, None, :]).abs()


def _choices_apart(logprobs: Tensor, sureness: Tensor, members: _Members, temperature: float) -> Tensor:
    """Return how far apart the choices of members are: |c_a - c_b| for the same choice, c_a + c_b for different ones.

    See `equipoise.metrics.fairness.choice_disparity`. With two candidates this is |D_a - D_b| with the sign of the
    first; with more, the distance of the vectors c x softmax(logprobs / temperature).
    """
    if logprobs.shape[1] == 2:
        first = torch.zeros(len(logprobs), dtype=torch.long, device=logprobs.device)
        return _apart(soft_sign(logprobs, first, temperature) * sureness, members)
    if temperature > 0:
        shares = torch.softmax(logprobs / temperature, dim=1) * sureness[:, None]
        return torch.stack([_apart(share, members) for share in shares.unbind(dim=1)]).sum(dim=0)
    best = logprobs.amax(dim=1, keepdim=True)
    tied = (logprobs == best).sum(dim=1) > 1
    choices = _table(torch.where(tied, ABSENT, logprobs.argmax(dim=1)), members)
    decided = choices != ABSENT
    differs = (choices[:, :, None] != choices[:, None, :]) & decided[:, :, None] & decided[:, None, :]
    table = _table(sureness, members)
    return torch.where(differs, table[:, :, None] + table[:, None, :], _apart(sureness, members))


def _table(values: Tensor, members: _Members) -> Tensor:
    return values.new_zeros(members.filled.shape).index_put((members.set_of, members.place), values)


def _disparity(apart: Tensor, members: _Members, kind: str) -> Tensor:
    """Return how far apart the members of each set are; see `equipoise.metrics.fairness.disparity`."""
    filled = members.filled
    pairs = torch.triu(filled[:, :, None] & filled[:, None, :], diagonal=1)
    apart = torch.where(pairs, apart, 0.0).flatten(1)
    if kind == "range":
        return apart.amax(dim=1)
    counts = filled.sum(dim=1)
    if kind == "deviation":
        return 2 * length(apart) / counts
    return apart.sum(dim=1) / (counts * (counts - 1) / 2)


def _check_choices(temperature: float, parity: str, disparity: str) -> None:
    if not 0 <= temperature < float("inf"):
        raise TrainingError(f"temperature must be a number of at least 0, not {temperature}")
    for name, value, known in (("parity", parity, PARITIES), ("disparity", disparity, DISPARITIES)):
        if value not in known:
            raise TrainingError(f"{name} {value!r} is not one of {', '.join(known)}")


def _check_batch(logprobs: Tensor, gold: Tensor, sets: Tensor) -> None:
    if logprobs.ndim != 2 or not logprobs.is_floating_point():
        raise TrainingError(f"logprobs must be a floating-point table (n, k), not of shape {tuple(logprobs.shape)}")
    n, k = logprobs.shape
    if n == 0:
        raise TrainingError("the batch is empty; the loss of no sets is undefined")
    if k < 2:
        raise TrainingError(f"logprobs needs at least two candidates in each row, not {k}")
    for name, column in (("gold", gold), ("sets", sets)):
        if column.shape != (n,) or column.is_floating_point() or column.dtype == torch.bool:
            raise TrainingError(f"{name} must hold {n} integers, one for each row of logprobs")
    wrong = (gold < ABSENT) | (gold >= k)
    if bool(wrong.any()):
        place = int(wrong.nonzero()[0])
        raise TrainingError(f"gold[{place}] is {int(gold[place])}; it must be a candidate from 0 to {k - 1}, or -1")
    broken = ~torch.isfinite(logprobs.detach())
    if bool(broken.any()):
        row, candidate = (int(index) for index in broken.nonzero()[0])
        value = float(logprobs[row, candidate].detach())
        raise TrainingError(f"logprobs[{row}, {candidate}] is {value}; it must be finite")
