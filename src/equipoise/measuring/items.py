"""What metrics read of every item: one value each, those of a counterfactual set on its first item."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics import confidence, fairness
from ..metrics.sides import side_columns
from ..records import ABSENT, Booleans, EquipoiseError, Floats, Integers, Outcomes
from ..stats import bootstrap
from ..uncertainty import Estimator, perplexity

Columns = dict[str, NDArray[Any]]


def set_members(outcomes: Outcomes) -> Integers:
    """Return the rows of each counterfactual set as (sets, members), ABSENT-padded; rows of no set are left out."""
    sided = outcomes.group("sides") != ""
    # A sentence pair is one row; rows that share its id are repeats of one question, not counterparts.
    alone = np.where(sided, np.arange(len(outcomes)).astype(str), "")
    parts = zip(outcomes.pair_id, outcomes.variant, alone, strict=True)
    names = np.array([f"{pair}\0{variant}\0{row}" for pair, variant, row in parts])
    numbers = bootstrap.cluster_numbers(names)
    order = np.argsort(numbers, kind="stable")
    sizes = np.bincount(numbers)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    members = np.full((len(sizes), int(sizes.max())), ABSENT, dtype=np.int64)
    members[numbers[order], rank] = order
    return members[sizes > 1]


def item_columns(outcomes: Outcomes, estimator: Estimator, *, disparity: str = "range") -> Columns:
    """Return the columns that metrics read, one value an item (see COLUMNS)."""
    certainty = _certainty(outcomes, estimator)
    predicted = outcomes.predicted
    nothing = np.full(len(outcomes), np.nan)
    correct = np.where(outcomes.labelled, (predicted == outcomes.gold).astype(float), np.nan)
    side = np.where(outcomes.labelled, outcomes.group("side"), "")
    positive, chosen = fairness.resolved_to_positive(predicted, outcomes.gold, side)
    answered = np.where(outcomes.answerable, correct, np.nan)
    desirability = fairness.desirability(answered, certainty)
    columns = {
        "correct": correct,
        "perplexity": perplexity(outcomes.probs),
        "certainty": certainty,
        "desirability": desirability,
        "performance": np.where(outcomes.answerable, correct, 1 - certainty),
        "stereotype": outcomes.group("stereotype"),
        "gender": outcomes.group("gender"),
        "positive": positive,
        "chosen_positive": chosen,
        "mass": np.exp(outcomes.logprobs).sum(axis=1),
        **{name: outcomes.reductions.get(name, nothing) for name in ("vocab_bits", "vocab_mass")},
        "probs": outcomes.probs,
        "logprobs": outcomes.logprobs,
        "gold": outcomes.gold,
        **side_columns(outcomes),
        "confidence": confidence.coreference_confidence(outcomes.gold, outcomes.logprobs),
        "confidence_pair": confidence.pair_confidence(outcomes.gold, outcomes.logprobs),
        "confidence_marked": confidence.coreference_confidence(
            outcomes.gold, outcomes.logprobs if outcomes.marked is None else outcomes.marked
        ),
    }
    members = set_members(outcomes)
    signed = fairness.signed_certainty(predicted, certainty)
    values = _set_values(members, outcomes.answerable, certainty, desirability, signed, disparity)
    # A set's value stands on its first item, so that item and set metrics share one set of weights.
    for name, value in values.items():
        columns[name] = np.full(len(outcomes), np.nan)
        columns[name][members[:, 0]] = value
    return columns


def _certainty(outcomes: Outcomes, estimator: Estimator) -> Floats:
    if not estimator.reduction:
        return estimator.certainty(outcomes.probs)
    if estimator.reduction not in outcomes.reductions:
        raise EquipoiseError(
            f"estimator {estimator.name} looks at the whole vocabulary, which was not summed up when these items were"
            " scored; audit a model with --reductions"
        )
    return outcomes.reductions[estimator.reduction]


def _set_values(
    members: Integers, answerable: Booleans, certainty: Any, desirability: Any, signed: Any, disparity: str
) -> Columns:
    if not len(members):
        return {name: np.empty(0) for name in ("u", "u_eq3", "u_signed")}

    def of(column: Any) -> Any:
        return np.where(members == ABSENT, np.nan, column[members])

    eq3 = fairness.pair_ucerf(of(desirability), kind=disparity)
    unanswerable = fairness.pair_ucerf_unanswerable(of(certainty), kind=disparity)
    return {
        "u": np.where(answerable[members[:, 0]], eq3, unanswerable),
        "u_eq3": eq3,
        "u_signed": fairness.pair_ucerf(of(signed), kind=disparity),
    }
