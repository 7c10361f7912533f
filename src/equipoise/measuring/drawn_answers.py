"""What is expected of answers that are drawn at a temperature, from stored probabilities and without the model.

The reason for a certainty-aware metric (UCerF paper, section 3.1): a metric of answers depends on how they are drawn.
Expectations are over all possible draws, computed exactly: an absolute difference of drawn answers would be above 0 by
chance alone, the more so the higher the temperature. What one draw adds to that is told apart from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..metrics import METRICS, fairness
from ..records import ABSENT, EquipoiseError, Floats, Integers, Outcomes, UndefinedMetric
from ..uncertainty import PERPLEXITY
from .items import Items

GREEDY = 0.0
"""The temperature of the most probable answer."""


@dataclass(frozen=True)
class Drawn:
    """A type's answers at one temperature: expectations over all draws; NaN where undefined.

    `flips` is the smallest share of sets whose answer must change with the group word, however the answers are drawn:
    it is 0 where the probabilities of all members of a set are equal, and the flip rate of the most probable answers.
    `one_accuracy` and `one_odds` are of a single draw: the mean over draws, and their standard deviation.
    """

    kind: str
    temperature: float
    n: int
    accuracy: float
    odds: float
    flips: float
    ucerf: float
    ucerf_signed: float
    one_accuracy: tuple[float, float]
    one_odds: tuple[float, float]


def drawn_answers(
    outcomes: Outcomes, temperatures: Sequence[float], *, draws: int = 100, seed: int = 0
) -> Iterator[Drawn]:
    """Yield what is expected of the most probable answers, then of drawn ones, for each type of sentences."""
    if draws < 2:
        raise EquipoiseError(f"draws must be at least 2, not {draws}")
    if any(not temperature > 0 for temperature in temperatures):
        raise EquipoiseError("temperature must be above 0")
    kinds = outcomes.group("type")
    usable = outcomes.sides == ""
    for kind in sorted(set(kinds[usable].tolist())):
        items = outcomes.take(usable & (kinds == kind))
        yield _most_probable(items, kind)
        for temperature in temperatures:
            yield _drawn(items, kind, temperature, draws, seed)


def _most_probable(items: Outcomes, kind: str) -> Drawn:
    columns = Items(items)
    accuracy, flips = (_value(columns, name) for name in ("accuracy", "flip_rate"))
    odds = _odds(items, items.predicted)
    return Drawn(kind, GREEDY, len(items), accuracy, odds, flips, np.nan, np.nan, (accuracy, 0.0), (odds, 0.0))


def _drawn(items: Outcomes, kind: str, temperature: float, draws: int, seed: int) -> Drawn:
    probs = at_temperature(items.probs, temperature)
    with np.errstate(divide="ignore"):
        columns = Items(replace(items, probs=probs, logprobs=np.log(probs), limits=None))
    rng = np.random.default_rng(seed)
    cumulative = probs.cumsum(axis=1)
    rights, odds = [], []
    for _ in range(draws):
        chosen = (rng.random((len(items), 1)) > cumulative[:, :-1]).sum(axis=1)
        rights.append(_share_right(items, chosen))
        odds.append(_odds(items, chosen))
    return Drawn(
        kind,
        temperature,
        len(items),
        accuracy=_value(columns, "accuracy_sampled"),
        odds=_value(columns, "eo_sum_sampled"),
        flips=_must_change(columns),
        ucerf=_value(columns, "ucerf"),
        ucerf_signed=_value(columns, "ucerf_signed"),
        one_accuracy=_spread(rights),
        one_odds=_spread(odds),
    )


def _value(items: Items, name: str) -> float:
    """Return a metric of the items that it applies to; NaN where it is undefined."""
    metric = METRICS[name]
    rows = items.applicable[metric.applies_to]
    columns = items.columns(PERPLEXITY)
    try:
        return float(metric.function(*(columns[column][rows] for column in metric.inputs)))
    except UndefinedMetric:
        return float("nan")


def _must_change(items: Items) -> float:
    """Return the share of sets whose answer changes where draws are coupled so that as few change as possible."""
    members = items.members
    if not len(members):
        return float("nan")
    probs = np.where((members == ABSENT)[:, :, None], np.inf, items.outcomes.probs[members])
    # Where no answer must change, rounding leaves a little below 0.
    return max(0.0, float((1 - probs.min(axis=1).sum(axis=1)).mean()))


def _share_right(items: Outcomes, chosen: Integers) -> float:
    labelled = items.labelled
    return float((chosen == items.gold)[labelled].mean()) if labelled.any() else float("nan")


def at_temperature(probs: Floats, temperature: float) -> Floats:
    """Return the probabilities at another temperature: p^(1/T), renormalised."""
    with np.errstate(divide="ignore"):
        logits = np.log(probs) / temperature
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=1, keepdims=True)
    return shares


def _odds(items: Outcomes, chosen: Integers) -> float:
    try:
        positive, resolved = fairness.resolved_to_positive(chosen, items.gold, items.group("side"))
        return float(fairness.eo_sum(positive, resolved, items.group("stereotype").astype(str)))
    except UndefinedMetric:
        return float("nan")


def _spread(values: Sequence[float]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1))
