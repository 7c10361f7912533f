"""The U of every counterfactual set by run and by uncertainty estimator, from stored outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..records import Floats, Integers, Strings, UndefinedMetric
from ..stats.bootstrap import cluster_numbers, weight_chunks
from ..uncertainty import ESTIMATORS, Estimator
from .conformal import is_calibratable
from .ensembles import is_worded
from .items import Items

SAME = 1e-9
"""Estimators whose values all lie closer than this are one: margin and top probability with two candidates."""


@dataclass(frozen=True)
class SetValues:
    """U by run, estimator and set, and the changed answers by run and set; sets are averaged over option orders.

    `clusters` numbers the resampling unit of each set, `groups` names its occupation ("" where it has none). `axis`
    says what `estimators` names: estimators, or the wordings of the question.
    """

    runs: Sequence[str]
    estimators: Sequence[str]
    values: Floats
    flipped: Floats
    set_ids: Strings
    clusters: Integers
    groups: Strings
    axis: str = "estimator"

    @property
    def sets(self) -> int:
        """The number of sets."""
        return len(self.set_ids)

    def weights(self, *, resamples: int, seed: int) -> NDArray[np.float32]:
        """Return how often each set was drawn in each resample of whole clusters, as (sets, resamples)."""
        chunks = weight_chunks(int(self.clusters.max()) + 1, resamples=resamples, seed=seed)
        return np.concatenate([chunk[self.clusters] for chunk in chunks()], axis=1)

    def means(self, weights: NDArray[np.float32]) -> Floats:
        """Return UCerF by run, estimator and resample."""
        means: Floats = (self.values.reshape(-1, self.sets) @ weights) / weights.sum(axis=0)
        return means.reshape(len(self.runs), len(self.estimators), -1)

    def group_means(self, run: int, weights: NDArray[np.float32]) -> tuple[Strings, Floats]:
        """Return the occupations, and UCerF of each by estimator, occupation and resample; NaN where none was drawn."""
        names = np.array(sorted(set(self.groups.tolist()) - {""}), dtype=object)
        inside = (self.groups[None, :] == names[:, None]).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            totals = np.stack([(inside * values) @ weights for values in self.values[run]])
            means: Floats = totals / (inside @ weights)
        return names, means


def usable_estimators(runs: Sequence[Items]) -> list[Estimator]:
    """Return the estimators that all runs have what is needed for: candidates, or sums over the whole vocabulary."""
    return [estimator for estimator in ESTIMATORS.values() if all(is_usable(estimator, items) for items in runs)]


def is_usable(estimator: Estimator, items: Items) -> bool:
    """Return whether the items have what the estimator needs."""
    if estimator.over == "wordings":
        return is_worded(items.outcomes)
    if estimator.over == "labels":
        return is_calibratable(items.outcomes)
    if estimator.over == "open answers":
        # A greedy answer has certainty 1 by construction.
        return bool(items.open_answers.all()) and bool((items.outcomes.probs.max(axis=1) < 1 - 1e-9).any())
    return not estimator.reduction or estimator.reduction in items.outcomes.reductions


def set_values(runs: Mapping[str, Items], rows: Integers, column: str, estimators: Sequence[Estimator]) -> SetValues:
    """Return the values of `column` (`u` or `u_signed`) of all sets among the rows; all runs have the same items.

    Estimators that give the same values are named together, as "margin, top-probability".
    """
    first = next(iter(runs.values()))
    inside = np.zeros(len(first), dtype=bool)
    inside[rows] = True
    places = first.members[:, 0] if len(first.members) else np.empty(0, dtype=np.int64)
    places = places[inside[places]]
    if not len(places):
        raise UndefinedMetric("no counterfactual set: a comparison of estimators needs sets with two members")
    codes = cluster_numbers(first.outcomes.set_id[places])
    firsts = places[np.unique(codes, return_index=True)[1]]
    counts = np.bincount(codes)

    def by_set(items: Items, name: str, estimator: Estimator | None = None) -> Floats:
        columns = items.shared if estimator is None else items.columns(estimator)
        return np.bincount(codes, columns[name][places]) / counts

    values = np.array([[by_set(items, column, estimator) for estimator in estimators] for items in runs.values()])
    names, kept = _distinct(values, [estimator.name for estimator in estimators])
    return SetValues(
        runs=list(runs),
        estimators=names,
        values=values[:, kept],
        flipped=np.array([by_set(items, "flipped") for items in runs.values()]),
        set_ids=first.outcomes.set_id[firsts],
        clusters=cluster_numbers(first.outcomes.cluster_id[firsts]),
        groups=first.outcomes.group("occupation")[firsts],
    )


def _distinct(values: Floats, names: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return the names with equal estimators joined, and the place of the first of each."""
    together: dict[int, list[str]] = {}
    for place, name in enumerate(names):
        alike = [other for other in together if np.abs(values[:, other] - values[:, place]).max() < SAME]
        together.setdefault(alike[0] if alike else place, []).append(name)
    return [", ".join(equal) for equal in together.values()], list(together)
