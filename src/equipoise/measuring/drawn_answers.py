"""How accuracy and equalized odds move when answers are drawn, from stored probabilities and without the model.

The reason for a certainty-aware metric (UCerF paper, section 3.1): a metric of answers depends on how they are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..metrics import fairness
from ..records import EquipoiseError, Floats, Integers, Outcomes, UndefinedMetric

GREEDY = 0.0
"""The temperature of the most probable answer."""


@dataclass(frozen=True)
class Drawn:
    """A type's answers at one temperature: means over draws and their standard deviations; NaN where undefined.

    `expected` is the accuracy over all possible draws, computed exactly.
    """

    kind: str
    temperature: float
    n: int
    expected: float
    accuracy: tuple[float, float]
    odds: tuple[float, float]


def drawn_answers(
    outcomes: Outcomes, temperatures: Sequence[float], *, draws: int = 100, seed: int = 0
) -> Iterator[Drawn]:
    """Yield accuracy and equalized odds of the most probable answers, then of drawn ones, for each type with labels."""
    if draws < 2:
        raise EquipoiseError(f"draws must be at least 2, not {draws}")
    if any(not temperature > 0 for temperature in temperatures):
        raise EquipoiseError("temperature must be above 0")
    kinds = outcomes.group("type")
    usable = outcomes.labelled & (outcomes.sides == "")
    for kind in sorted(set(kinds[usable].tolist())):
        items = outcomes.take(usable & (kinds == kind))
        for temperature in (GREEDY, *temperatures):
            yield _drawn(items, kind, temperature, draws, seed)


def _drawn(items: Outcomes, kind: str, temperature: float, draws: int, seed: int) -> Drawn:
    if temperature == GREEDY:
        right = float((items.predicted == items.gold).mean())
        return Drawn(kind, temperature, len(items), right, (right, 0.0), (_odds(items, items.predicted), 0.0))
    probs = at_temperature(items.probs, temperature)
    expected = float(probs[np.arange(len(items)), items.gold].mean())
    rng = np.random.default_rng(seed)
    cumulative = probs.cumsum(axis=1)
    rights, odds = [], []
    for _ in range(draws):
        chosen = (rng.random((len(items), 1)) > cumulative[:, :-1]).sum(axis=1)
        rights.append(float((chosen == items.gold).mean()))
        odds.append(_odds(items, chosen))
    return Drawn(kind, temperature, len(items), expected, _spread(rights), _spread(odds))


def at_temperature(probs: Floats, temperature: float) -> Floats:
    """Return the probabilities at another temperature: p^(1/T), renormalised."""
    with np.errstate(divide="ignore"):
        logits = np.log(probs) / temperature
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float64)


def _odds(items: Outcomes, chosen: Integers) -> float:
    positive, resolved = fairness.resolved_to_positive(chosen, items.gold, items.group("side"))
    try:
        return float(fairness.eo_sum(positive, resolved, items.group("stereotype").astype(str)))
    except UndefinedMetric:
        return float("nan")


def _spread(values: Sequence[float]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1))
