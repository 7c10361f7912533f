"""Sampling that may stop early, with intervals that hold whenever it stops: a group-sequential rule.

The looks are planned before anything is scored: at n_1 < n_2 < … < n_K units, each half as many again as the one
before. Each look spends an equal part of the error (Bonferroni over looks, the simplest of the error-spending rules of
Lan & DeMets 1983), so the chance that any of the K intervals misses the truth is at most the error asked for,
whatever the reason to stop at one of them. Drawing all units ends sampling, and needs no look.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

METHOD = "group-sequential, error spent equally over the planned looks (Lan & DeMets 1983)"
FIRST, GROWTH = 96, 1.5


def planned_looks(units: int, *, first: int = FIRST, growth: float = GROWTH) -> list[int]:
    """Return the numbers of units at which to look, the last of them before all are drawn (none for few units)."""
    looks: list[int] = []
    size = first
    # A look at nearly everything would spend error and save nothing.
    while size <= 0.95 * units:
        looks.append(size)
        size = int(np.ceil(size * growth))
    return looks


def balanced_order(strata: Sequence[str], rng: np.random.Generator) -> list[int]:
    """Return a random order of the units of which every beginning holds its share of every stratum, within one unit.

    Within a stratum the order is a random permutation; the strata are dealt evenly, each from a random start.
    """
    names = np.asarray(strata)
    place = np.empty(len(names))
    for name in sorted(set(names.tolist())):
        members = np.flatnonzero(names == name)
        place[rng.permutation(members)] = (np.arange(len(members)) + rng.random()) / len(members)
    return [int(unit) for unit in np.argsort(place, kind="stable")]
