"""Certainty by the size of an item's conformal set, and how often the sets hold the right answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..records import Booleans, Estimate, Floats, Outcomes, UndefinedMetric
from ..stats.bootstrap import cluster_numbers
from ..stats.bounded import mean_interval
from ..stats.conformal import LEVEL, thresholds
from ..uncertainty import inside_set, set_certainty


def is_calibratable(outcomes: Outcomes) -> bool:
    """Return whether enough items have a right answer that the text settles."""
    try:
        _thresholds(outcomes)
    except UndefinedMetric:
        return False
    return True


def conformal_certainty(outcomes: Outcomes) -> Floats:
    """Return (k - size of the conformal set) / (k - 1) of each item."""
    return set_certainty(outcomes.probs, _thresholds(outcomes))


def coverage(outcomes: Outcomes, *, level: float = 0.95) -> Estimate:
    """Return how often the set holds the right answer; it claims at least 90%."""
    rows = np.flatnonzero(_calibrating(outcomes))
    sets = inside_set(outcomes.probs, _thresholds(outcomes))
    hits = sets[rows, outcomes.gold[rows]].astype(float)
    clusters = cluster_numbers(outcomes.cluster_id[rows])
    units = np.bincount(clusters, hits) / np.bincount(clusters)
    estimate = mean_interval(units, (0.0, 1.0), level=level)
    method = f"split-conformal, claimed {LEVEL:.0%}"
    return replace(estimate, value=float(hits.mean()), n=len(rows), method=method)


def _calibrating(outcomes: Outcomes) -> Booleans:
    # A label of a sentence that its text does not settle is not what a model should know.
    settled: Booleans = outcomes.labelled & (outcomes.answerable | (outcomes.sides != ""))
    return settled


def _thresholds(outcomes: Outcomes) -> Floats:
    gold = np.maximum(outcomes.gold, 0)
    right = np.where(_calibrating(outcomes), outcomes.probs[np.arange(len(outcomes)), gold], np.nan)
    return thresholds(right, cluster_numbers(outcomes.cluster_id))
