"""How much of the variation of values each factor makes, where values have known noise and some cells may be missing.

Values are taken apart by least squares in stages: a stage gets what the stages before it leave. Terms of one stage
share what they explain together evenly over the orders in which they could be added (Lindeman, Merenda & Gold 1980);
in a complete table the order makes no difference. Resampled values hold the noise once more than the values do, so the
mean gain of a sum of squares over resamples is what noise adds to it, and is taken off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, permutations

import numpy as np

from ..records import Floats, Strings, UndefinedMetric

NOISE, REST = "noise", "rest"
Stages = Sequence[Mapping[str, Strings]]
"""In each stage the terms, as the level that each value has."""


@dataclass(frozen=True, eq=False)
class Shares:
    """What each term explains of the variation, as a share of all of it: of the values, and of each resample."""

    values: Mapping[str, float]
    samples: Mapping[str, Floats]


def attribution(values: Floats, samples: Floats, stages: Stages) -> Shares:
    """Return the share of each term, of what no term explains, and of noise; resamples are columns of `samples`."""
    observed = squares(values[:, None], stages)
    drawn = squares(samples, stages)
    total = sum(float(part[0]) for part in observed.values())
    if total <= 1e-15:
        raise UndefinedMetric("all values are equal: there is no variation to divide")
    noise = {name: max(float(drawn[name].mean() - observed[name][0]), 0.0) for name in observed}
    shares = {name: max(float(observed[name][0]) - noise[name], 0.0) / total for name in observed}
    totals = np.maximum(np.sum(list(drawn.values()), axis=0) - sum(noise.values()), 1e-15)
    resampled = {name: np.clip((drawn[name] - 2 * noise[name]) / totals, 0.0, 1.0) for name in observed}
    shares[NOISE] = max(1 - sum(shares.values()), 0.0)
    resampled[NOISE] = np.clip(1 - np.sum(list(resampled.values()), axis=0), 0.0, 1.0)
    return Shares(shares, resampled)


def squares(columns: Floats, stages: Stages) -> dict[str, Floats]:
    """Return the sum of squares of each term and of the rest, for every column of values."""
    centred = columns - columns.mean(axis=0)
    made: dict[str, Floats] = {}
    before: list[Strings] = []
    for stage in stages:
        explained = {
            subset: _explained(centred, [*before, *(stage[name] for name in subset)])
            for subset in chain.from_iterable(combinations(stage, size) for size in range(len(stage) + 1))
        }
        orders = list(permutations(stage))
        for name in stage:
            gains = [_gain(explained, stage, order, name) for order in orders]
            made[name] = np.mean(gains, axis=0)
        before += stage.values()
    made[REST] = np.maximum((centred**2).sum(axis=0) - _explained(centred, before), 0.0)
    return made


def _gain(
    explained: Mapping[tuple[str, ...], Floats], stage: Mapping[str, Strings], order: tuple[str, ...], name: str
) -> Floats:
    """Return what a term explains beyond those before it in an order."""
    earlier = order[: order.index(name)]
    without = tuple(term for term in stage if term in earlier)
    with_it = tuple(term for term in stage if term in earlier or term == name)
    return np.maximum(explained[with_it] - explained[without], 0.0)


def _explained(centred: Floats, terms: Sequence[Strings]) -> Floats:
    """Return the sum of squares that the levels of the terms explain together."""
    if not terms:
        return np.zeros(centred.shape[1])
    levels = [(term[:, None] == np.unique(term)[None, :]).astype(np.float64) for term in terms]
    design = np.concatenate(levels, axis=1)
    left, sizes, _ = np.linalg.svd(design, full_matrices=False)
    basis = left[:, sizes > 1e-9 * max(float(sizes.max(initial=0.0)), 1e-300)]
    explained: Floats = ((basis.T @ centred) ** 2).sum(axis=0)
    return explained
