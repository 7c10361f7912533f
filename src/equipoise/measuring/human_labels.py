"""Which certainty agrees best with people? Of items that people have labelled, by uncertainty estimator.

An estimator is good if the model agrees with people where it is certain, and disagrees where it is not: the area under
the ROC curve. Its certainty is calibrated if 1/k + (1 - 1/k) c, the confidence that it stands for, is as high as the
share of items in which people say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ..metrics.calibration import ece
from ..records import Booleans, Estimate, Floats, UndefinedMetric
from ..stats.bootstrap import cluster_numbers, weight_chunks
from ..stats.maximum import radius
from ..uncertainty import Estimator
from .estimators import Resamples, interval_of
from .items import Items

Weights = NDArray[np.float32]


@dataclass(frozen=True)
class Agreeing:
    """How one estimator's certainty goes with what people say; `ahead` is its AUROC less the first estimator's."""

    estimator: str
    auroc: Estimate
    calibration_error: Estimate
    overconfidence: Estimate
    ahead: Estimate | None


@dataclass(frozen=True)
class LabelStudy:
    """What people's labels of one dataset say about the estimators of one run."""

    agreement: Estimate
    rows: Sequence[Agreeing]

    @property
    def ahead(self) -> list[Agreeing]:
        """The estimators whose AUROC is higher than the first one's, all together at the level (Bonferroni)."""
        return [row for row in self.rows if row.ahead is not None and row.ahead.low > 0]

    @property
    def behind(self) -> list[Agreeing]:
        """The estimators whose AUROC is lower than the first one's."""
        return [row for row in self.rows if row.ahead is not None and row.ahead.high < 0]


def is_labelled_by_people(items: Items) -> bool:
    """Return whether the items are sentence pairs with labels of people."""
    return bool(items.applicable["labelled pairs"].any())


def label_study(items: Items, estimators: Sequence[Estimator], plan: Resamples) -> LabelStudy:
    """Return how each estimator's certainty goes with people's labels, with intervals by resampling clusters."""
    rows = np.flatnonzero(items.applicable["labelled pairs"])
    hits = items.predicted[rows] == items.outcomes.gold[rows]
    if not hits.any() or hits.all():
        raise UndefinedMetric("the model agrees with people everywhere or nowhere, so certainty cannot predict it")
    clusters = cluster_numbers(items.outcomes.cluster_id[rows])
    chunks = weight_chunks(int(clusters.max()) + 1, resamples=plan.resamples, seed=plan.seed)
    weights: Weights = np.concatenate([chunk[clusters] for chunk in chunks()], axis=1)
    k, n = items.outcomes.k, len(rows)
    drawn_agreement = (hits @ weights) / weights.sum(axis=0)
    first: Floats | None = None
    studied = []
    others = max(1, len(estimators) - 1)
    for estimator in estimators:
        certainty = items.certainty(estimator)[rows]
        confidence = np.clip(1 / k + (1 - 1 / k) * certainty, 0.0, 1.0)
        curve = np.concatenate([auroc(hits, certainty, np.ones((n, 1))), auroc(hits, certainty, weights)])
        errors = ece(hits.astype(float), confidence), ece(hits.astype(float), confidence, weights=weights)
        over = (confidence @ weights) / weights.sum(axis=0) - drawn_agreement
        studied.append(
            Agreeing(
                estimator.name,
                interval_of(curve[0], curve[1:], n, plan),
                _error(float(errors[0]), np.asarray(errors[1]), n, plan),
                interval_of(float(confidence.mean() - hits.mean()), over, n, plan),
                None if first is None else _difference(curve - first, n, plan, others),
            )
        )
        first = curve if first is None else first
    return LabelStudy(interval_of(float(hits.mean()), drawn_agreement, n, plan), studied)


def _difference(curves: Floats, n: int, plan: Resamples, tests: int) -> Estimate:
    """Return the difference of two areas; the intervals of all of them hold together (Bonferroni)."""
    reach = NormalDist().inv_cdf(1 - (1 - plan.level) / (2 * tests)) * float(np.std(curves[1:], ddof=1))
    if reach < 1e-12:
        return Estimate.alone(curves[0], level=plan.level, n=n, method="no interval: both order all items alike")
    method = "bootstrap standard error, Bonferroni"
    return Estimate.around(curves[0], reach, (-1.0, 1.0), level=plan.level, n=n, method=method)


def _error(value: float, samples: Floats, n: int, plan: Resamples) -> Estimate:
    """Return a calibration error; resampling makes it larger, so its interval is as wide as the deviations are."""
    reach = radius(np.abs(samples - value), level=plan.level)
    return Estimate.around(value, reach, (0.0, np.inf), level=plan.level, n=n, method="bootstrap of deviations")


def auroc(hits: Booleans, certainty: Floats, weights: NDArray[np.floating]) -> Floats:
    """Return the probability that a hit is more certain than a miss, ties one half, for each column of weights."""
    order = np.argsort(certainty, kind="stable")
    values, hit, drawn = certainty[order], hits[order], weights[order].astype(np.float64)
    groups = np.cumsum(np.concatenate([[0], np.diff(values) > 1e-12]).astype(np.int64))
    misses_in = np.zeros((int(groups[-1]) + 1, drawn.shape[1]))
    np.add.at(misses_in, groups[~hit], drawn[~hit])
    below = np.cumsum(misses_in, axis=0) - misses_in / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        area = (drawn[hit] * below[groups[hit]]).sum(axis=0) / (drawn[hit].sum(axis=0) * drawn[~hit].sum(axis=0))
    result: Floats = area
    return result
